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
#include "src/http/resolve.h"
#include "src/http/tls_context.h"

// A client of HTTP/1.1 with a deadline for each step. All of Boost.Beast is behind this header.
// Messages of errors name no place: the caller knows what it speaks to.

namespace locus::http {

struct HttpRequest {
  std::string_view method;  // in capitals
  std::string_view target;  // path and query
  // Beyond Host and Content-Length. Names and values hold no line break.
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::string_view body;
};

struct HttpAnswer {
  // The value of the first header of this name, whatever its case; empty: there is none.
  std::string_view Header(std::string_view name) const;

  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// One TCP connection, kept open between requests. A request is answered whole by Send, or in steps:
// Begin, ReadHead, then ReadSome, ReadLine or ReadBody until the body has ended.
//
// What reads in steps answers CANCELLED after Interrupt and DEADLINE_EXCEEDED at the deadline;
// neither loses anything, and the same step may be called again. After any other error the
// connection is of no further use.
//
// Thread safety: none, but for Interrupt, which any thread may call while the connection lives.
class HttpConnection {
 public:
  // `tls` nullptr: plain text; otherwise it outlives the connection. UNAVAILABLE: nobody there, or
  // not by the deadline. FAILED_PRECONDITION: the certificate of either side was refused.
  static absl::StatusOr<std::unique_ptr<HttpConnection>> Connect(const Endpoint& endpoint,
                                                                 const TlsContext* tls,
                                                                 TimePoint deadline);
  virtual ~HttpConnection() = default;

  // UNAVAILABLE: no whole answer by the deadline; OUT_OF_RANGE: a body of more than `max_body`
  // bytes. In either case the request may have been served, and the connection is of no further
  // use. Interrupt does not shorten it.
  absl::StatusOr<HttpAnswer> Send(const HttpRequest& request, size_t max_body, TimePoint deadline);
  // False: the other side closed it, said something unasked, or has not ended its last answer: a
  // request would be lost.
  virtual bool StillOpen() = 0;

  // Sends a request; the answer before it was read to its end. UNAVAILABLE: not by the deadline; it
  // may have been served all the same.
  virtual absl::Status Begin(const HttpRequest& request, TimePoint deadline) = 0;
  // The answer but for its body. Interim answers (100, 102 to 199) are passed over.
  virtual absl::StatusOr<HttpAnswer> ReadHead(TimePoint deadline) = 0;
  // What has come of the body, as soon as anything has. Empty: the body has ended.
  absl::StatusOr<std::string> ReadSome(TimePoint deadline);
  // The next line of the body without its end; a last one need not have any. nullopt: the body has
  // ended. OUT_OF_RANGE: a line of more than `longest` bytes.
  absl::StatusOr<std::optional<std::string>> ReadLine(size_t longest, TimePoint deadline);
  // All that was not read yet. OUT_OF_RANGE: that is more than `max_body` bytes.
  absl::StatusOr<std::string> ReadBody(size_t max_body, TimePoint deadline);

  // The step that waits now, or else the next one to read, answers CANCELLED.
  virtual void Interrupt() = 0;

 protected:
  // As ReadSome, of what has not come yet.
  virtual absl::StatusOr<std::string> ReadPiece(TimePoint deadline) = 0;
  // As the head of the answer said; nullopt: it did not.
  virtual std::optional<uint64_t> BodyLength() const = 0;

  bool ignore_interrupts_ = false;
  std::string kept_;     // of the body, come but not given out yet
  size_t searched_ = 0;  // of kept_: no line ends here
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_CONNECTION_H_
