// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_TLS_CONTEXT_H_
#define LOCUS_SRC_HTTP_TLS_CONTEXT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace locus::http {

struct TlsFiles {
  std::string ca_file;  // PEM; empty: the authorities of the system
  // PEM, both or neither: the client certificate. Only its owner may be able to read the key's
  // file.
  std::string certificate_file;
  std::string key_file;
};

// Certificates and keys, read once. TLS 1.2 or newer; the server's certificate must be signed by an
// authority and name the endpoint's host.
// Thread safety: may be used by any number of connections at once.
class TlsContext {
 public:
  // FAILED_PRECONDITION: a file is missing, unreadable, readable by others, or not PEM.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Load(const TlsFiles& files);
  ~TlsContext();

  // When the certificate ends, or one that was given with it, if that is earlier. InfiniteFuture:
  // there is no certificate.
  absl::Time not_after() const;

  // Whether peers that trust the same authorities accept the certificate for `host`, as a server's
  // and as a client's; its dates are not checked. FAILED_PRECONDITION: why they do not. Requires a
  // certificate.
  absl::Status CheckCertificateFor(const std::string& host) const;

  struct Rep;
  Rep& rep() const { return *rep_; }

 private:
  explicit TlsContext(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_TLS_CONTEXT_H_
