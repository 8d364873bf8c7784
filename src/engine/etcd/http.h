// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_HTTP_H_
#define LOCUS_SRC_ENGINE_ETCD_HTTP_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/etcd.h"
#include "src/engine/etcd/resolve.h"

// HTTP/1.1 with a deadline for each step. All of Boost.Beast is behind this header.

namespace locus::etcd {

struct Endpoint {
  std::string host;  // without brackets
  uint16_t port = 0;
  std::string text;  // "host:port", as given

  // INVALID_ARGUMENT, naming the text.
  static absl::StatusOr<Endpoint> Parse(std::string_view text);
};

// Certificates and keys, read once.
// Thread safety: may be used by any number of connections at once.
class TlsContext {
 public:
  // FAILED_PRECONDITION: a file that is missing, unreadable, open to others or no PEM.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Load(const EtcdOptions::Tls& options);
  ~TlsContext();

  struct Rep;
  Rep& rep() const { return *rep_; }

 private:
  explicit TlsContext(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

struct HttpRequest {
  std::string_view path;
  std::string_view token;  // of the header Authorization; empty: none
  std::string_view body;
};

struct HttpAnswer {
  unsigned status = 0;
  std::string date;  // as it stands; empty: there was none
  std::string body;
};

// One TCP connection, kept open between requests.
// Thread safety: none.
class HttpConnection {
 public:
  // `tls` nullptr: plain text. UNAVAILABLE: nobody there, or not by the deadline.
  // FAILED_PRECONDITION: the certificate of either side was refused.
  static absl::StatusOr<std::unique_ptr<HttpConnection>> Connect(const Endpoint& endpoint,
                                                                 const TlsContext* tls,
                                                                 TimePoint deadline);
  virtual ~HttpConnection() = default;

  // UNAVAILABLE: no whole answer by the deadline; the request may have been served all the same,
  // and the connection is of no further use.
  virtual absl::StatusOr<HttpAnswer> Post(const HttpRequest& request, TimePoint deadline) = 0;
  // False: the other side closed it, or said something unasked, so a request would be lost.
  virtual bool StillOpen() = 0;
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_HTTP_H_
