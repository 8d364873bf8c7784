// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_LOCUSD_IDS_PROCESS_H_
#define LOCUS_TESTS_LOCUSD_IDS_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "src/http/connection.h"
#include "src/http/tls_context.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// What a command printed, and its exit code.
struct LocusdRun {
  int code = -1;
  std::string out;
};
LocusdRun RunLocusd(const std::string& arguments, const TemporaryDirectory& directory);

// A file that only its owner may read.
void WriteSecret(const std::string& path, const std::string& text);

// The space of worker IDs, as an operator makes it once.
void MakeFirstSpace(const std::string& uri, const std::string& password = "");
// The mark of a store of sequences, which makes its file or tables; likewise.
void MarkFirstSequences(const std::string& uri, const std::string& password = "");

// The section [ids] with all parts on one file of SQLite, which has the space of worker IDs.
// `more_ids`: lines for the section itself.
std::string IdsOnOneFile(const TemporaryDirectory& directory, const std::string& more_ids = "");

// locusd by a configuration of the test's, on a port of its own.
// Thread safety: Ask may be called by any thread.
class IdsProcess {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  explicit IdsProcess(const TemporaryDirectory& directory, const std::string& name = "ids");

  uint16_t port() const { return port_; }
  std::string api() const;
  const std::string& config() const { return config_; }
  // The configuration: `top`, then [api] with the port and `more_api`, then `rest`.
  void Write(const std::string& top, const std::string& more_api, const std::string& rest);
  // Starts it, and waits until it says that it serves. False: it does not.
  bool Start(bool begin = false);
  // Starts it only. False: it did not start.
  bool Launch(bool begin = false);
  // Whether it has said so since it was started last.
  bool Serves() const;
  PrivateServer& process() { return *process_; }
  int WaitForEnd();
  std::string LogText() const;
  bool Logged(const std::string& text) const;
  // Waits for it: a thread of its own writes the log, after what the lines are about.
  bool Logs(const std::string& text) const;
  // Waits until the log has the text once more than before `action`.
  bool LogsAfter(const std::function<void()>& action, const std::string& text);

  // The token and the authority of Ask; nullptr: plain text.
  std::string token;
  const http::TlsContext* tls = nullptr;
  absl::StatusOr<http::HttpAnswer> Ask(const std::string& method, const std::string& target,
                                       const std::string& body = "",
                                       const Headers& headers = {}) const;
  // 0: no answer.
  unsigned StatusOf(const std::string& method, const std::string& target,
                    const std::string& body = "") const;
  // Fails the test where the answer is not 200.
  nlohmann::json Good(const std::string& method, const std::string& target,
                      const std::string& body = "") const;
  // Of /metrics; "": there is none.
  std::string Metric(const std::string& name) const;

 private:
  bool StartUntil(bool begin, const std::function<bool()>& is_up);

  const std::string config_;
  const std::string log_;
  const uint16_t port_ = FreePort();
  size_t served_before_ = 0;  // times that its log says so
  std::unique_ptr<PrivateServer> process_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_LOCUSD_IDS_PROCESS_H_
