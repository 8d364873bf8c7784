// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_FETCHER_H_
#define LOCUS_SRC_HTTP_FETCHER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/http/connection.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context.h"

namespace locus::http {

// A request of its own connection.
struct FetchRequest {
  Endpoint endpoint;
  // nullptr: plain text. Otherwise it must outlive the fetcher.
  const TlsContext* tls = nullptr;
  std::string method = "GET";  // in capitals
  std::string target = "/";    // path and query
  // Besides Host, Connection and Content-Length. Names and values hold no line break.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  // Of the answer's head, 16 KiB are taken. kHeadOnly: the connection is closed behind it, however
  // long the body is.
  size_t most_body_bytes = size_t{1} << 20;
  static constexpr size_t kHeadOnly = SIZE_MAX;
  // For all of it, from the call on.
  absl::Duration timeout = absl::Seconds(5);
};

// An HTTP/1.1 client for many requests at once, by one thread that waits for none of them. The
// caller bounds their number. Redirections are not followed: they are answers.
//
// Thread safety: all methods may be called from any thread.
class Fetcher {
 public:
  // Called once, by the fetcher's thread. UNAVAILABLE: no complete answer in
  // time, or no HTTP; OUT_OF_RANGE: the answer is too long. In both cases the server may have
  // served the request. FAILED_PRECONDITION: TLS refused the certificate. Must not wait.
  using Done = std::function<void(absl::StatusOr<HttpAnswer>)>;

  // UNAVAILABLE: no thread.
  static absl::StatusOr<std::unique_ptr<Fetcher>> Start();
  // Answers requests under way with UNAVAILABLE. A name that is being looked up is waited for.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  void Fetch(FetchRequest request, Done done);

 private:
  class Rep;
  explicit Fetcher(std::shared_ptr<Rep> rep);
  std::shared_ptr<Rep> rep_;
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_FETCHER_H_
