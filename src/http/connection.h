// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_CONNECTION_H_
#define LOCUS_SRC_HTTP_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context.h"

// An HTTP/1.1 client with a deadline for each step and a limit for everything that a server sends.
// It hides Boost.Beast, which costs 20 s of compile time per file. Error messages do not name the
// server: the caller adds it.

namespace locus::http {

struct HttpRequest {
  std::string_view method;  // in capitals
  std::string_view target;  // path and query
  // Besides Host and Content-Length. Names and values hold no line break.
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::string_view body;
};

struct HttpAnswer {
  // The value of the first header of this name, in any case; empty: there is none.
  std::string_view Header(std::string_view name) const;

  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// One TCP connection, kept open between requests. Send makes a whole request; or call the steps:
// Begin, ReadHead, then ReadSome, ReadLine or ReadBody until the body has ended.
//
// A step that reads returns CANCELLED after Interrupt and DEADLINE_EXCEEDED at the deadline.
// Nothing is lost then, and the same step may be called again. After any other error the connection
// is of no further use.
//
// Thread safety: none, except Interrupt, which any thread may call while the connection lives.
class HttpConnection {
 public:
  // `tls` nullptr: plain text; otherwise it must outlive the connection. UNAVAILABLE: no connection
  // by the deadline. FAILED_PRECONDITION: the certificate of either side was refused.
  static absl::StatusOr<std::unique_ptr<HttpConnection>> Connect(const Endpoint& endpoint,
                                                                 const TlsContext* tls,
                                                                 TimePoint deadline);
  virtual ~HttpConnection() = default;

  // UNAVAILABLE: no complete answer by the deadline; OUT_OF_RANGE: a body of more than `max_body`
  // bytes. In both cases the server may have served the request, and the connection is of no
  // further use. Interrupt has no effect on it.
  absl::StatusOr<HttpAnswer> Send(const HttpRequest& request, size_t max_body, TimePoint deadline);
  // False: the server closed the connection, sent unrequested data, or has not ended its last
  // answer, so that a request would be lost.
  virtual bool StillOpen() = 0;

  // Sends a request; the answer before it must have been read to its end. UNAVAILABLE: it was not
  // sent completely by the deadline; the server may still have served it.
  virtual absl::Status Begin(const HttpRequest& request, TimePoint deadline) = 0;
  // The answer without its body. Interim answers (100, 102 to 199) are skipped. Where plain text
  // gets a TLS alert or nothing for its first answer, the error says that the port may speak TLS.
  virtual absl::StatusOr<HttpAnswer> ReadHead(TimePoint deadline) = 0;
  // The next part of the body, as soon as anything came. Empty: the body has ended.
  absl::StatusOr<std::string> ReadSome(TimePoint deadline);
  // The next line of the body, without the line break, which the last line may lack. nullopt: the
  // body has ended. OUT_OF_RANGE: a line of more than `longest` bytes.
  absl::StatusOr<std::optional<std::string>> ReadLine(size_t longest, TimePoint deadline);
  // The rest of the body. OUT_OF_RANGE: it has more than `max_body` bytes.
  absl::StatusOr<std::string> ReadBody(size_t max_body, TimePoint deadline);

  // Makes the step that waits now return CANCELLED, or the next one that reads if none waits.
  virtual void Interrupt() = 0;

 protected:
  // As ReadSome, but skips kept_.
  virtual absl::StatusOr<std::string> ReadPiece(TimePoint deadline) = 0;
  // As the head of the answer announced; nullopt: it did not.
  virtual std::optional<uint64_t> BodyLength() const = 0;

  bool ignore_interrupts_ = false;
  std::string kept_;     // of the body: received but not yet returned
  size_t searched_ = 0;  // an offset in kept_ before which no line ends
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_CONNECTION_H_
