// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_PEER_CALLS_H_
#define LOCUS_APPS_LOCUSD_STRICT_PEER_CALLS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/strict/strict_news.h"
#include "apps/locusd/strict/strict_settings.h"
#include "src/base/os/private_file.h"
#include "src/http/fetcher.h"
#include "src/http/tls_context.h"

namespace locus::locusd {

// Calls the other nodes of a set. The token goes to loopback or over TLS only.
// Thread safety: all methods may be called from any thread; they block.
class PeerCalls {
 public:
  // `tls`: whether the other nodes speak it. FAILED_PRECONDITION: a file cannot be used.
  // UNAVAILABLE: no thread.
  static absl::StatusOr<std::unique_ptr<PeerCalls>> Make(const StrictSettings& settings, bool tls);

  // Connects, and where there is TLS checks the certificate, as who calls for the first time does.
  // FAILED_PRECONDITION: the certificate. UNAVAILABLE: nobody answers.
  absl::Status Greet(const std::string& address, absl::Duration timeout) const;
  // Tells all of them at the same time; the answers are in the order of the addresses.
  std::vector<absl::StatusOr<StrictNews>> Tell(const StrictNews& news,
                                               std::span<const std::string> addresses,
                                               absl::Duration timeout);
  // Has the node take these sections. The answer is the newest table version that it knows, and how
  // many it got.
  struct Taken {
    uint64_t table_version = 0;
    uint64_t sections = 0;
  };
  absl::StatusOr<Taken> Take(const std::string& address, std::span<const uint32_t> sections,
                             absl::Duration timeout);
  // Asks the node to hand these over to the node named `to`; the answer is how many it handed over.
  absl::StatusOr<Taken> AskFor(const std::string& address, std::span<const uint32_t> sections,
                               const std::string& to, absl::Duration timeout);

 private:
  PeerCalls() = default;
  absl::StatusOr<http::FetchRequest> RequestOf(const std::string& address, const char* target,
                                               std::string body, absl::Duration timeout) const;
  absl::StatusOr<Taken> Change(const std::string& address, const char* target, std::string body,
                               absl::Duration timeout);
  std::vector<absl::StatusOr<http::HttpAnswer>> FetchAll(
      std::vector<absl::StatusOr<http::FetchRequest>> requests);

  std::unique_ptr<http::TlsContext> tls_;  // nullptr: plain text
  internal::PrivateText token_ = {};       // of size 0: none
  std::unique_ptr<http::Fetcher> fetcher_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_PEER_CALLS_H_
