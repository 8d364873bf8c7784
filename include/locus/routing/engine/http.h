// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_HTTP_H_
#define LOCUS_ROUTING_ENGINE_HTTP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/routing/table_source.h"

namespace locus {

// How to fetch a routing table by HTTP.
struct HttpTableOptions {
  // "https://host:port/path?query" or "http://…", in ASCII, at most 8,192 bytes; without a user, a
  // password or a fragment. An IPv6 address is written in brackets. Messages leave the query out.
  std::string url;

  // Sent as "Authorization: Bearer …"; give at most one of them. The token is kept in memory that
  // core dumps leave out, and appears in no message. The file is read for every request, so that a
  // token can be replaced; only its owner may be able to read it. At most 65,536 bytes; a line
  // break at the end is removed.
  std::string token;
  std::string token_file;
  // False: sends a token only to loopback hosts or over TLS. True: also in plain text, which anyone
  // on the network path can read.
  bool token_in_plain_text = false;

  // With https: TLS 1.2 or newer; the server's certificate must be signed by an authority of
  // `ca_file` and name the URL's host.
  struct Tls {
    std::string ca_file;  // PEM; empty: the authorities of the system
    // PEM, both or neither: the client certificate, for a server that requires one. Only its owner
    // may be able to read the key's file.
    std::string certificate_file;
    std::string key_file;
  };
  Tls tls;

  // The time limit of one request, connecting included, in addition to `wait`; 1 ms to 1 h. Longer:
  // a server that hangs is noticed later.
  absl::Duration request_timeout = absl::Seconds(5);
  // How long the server is asked to hold a request while it has nothing newer ("Prefer: wait=30",
  // RFC 7240, rounded down to whole seconds); 0 to 1 h; 0: it is not asked. Longer: fewer requests,
  // but a server whose host disappeared is noticed later.
  absl::Duration wait = absl::Seconds(30);
  // The least time between requests, 10 ms to 1 h. If the server does not hold requests, a newer
  // table is seen this much later.
  absl::Duration poll_every = absl::Seconds(1);

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Counters since the source was opened.
struct HttpTableStats {
  uint64_t requests = 0;   // sent
  uint64_t connects = 0;   // connections made
  uint64_t unchanged = 0;  // answers 304
  uint64_t documents = 0;  // bodies read to their end
};

// Follows a document on any HTTP/1.1 server, static or dynamic. It sends GET with If-None-Match (or
// If-Modified-Since, once the document is two seconds old) and Prefer: wait on one connection that
// it keeps open. SourcedTable::version is a hash of the document, since several servers behind one
// name may give it different ETags. The document must be the body of a 200 with Content-Length or
// chunked encoding, so that a truncated one is never returned.
//
// UNAVAILABLE: no complete answer in time, or 408, 425, 429 or 5xx (the message has Retry-After).
// NOT_FOUND: 404 or 410. FAILED_PRECONDITION: 401, 403 or any other status, such as a redirect,
// whose target the message names; a compressed or too long body; a certificate that does not
// verify; a token_file that is missing or readable by others. LookNow drops a request that the
// server holds, and asks again without waiting; any other request under way is finished first.
// Fork: in a forked child Next returns FAILED_PRECONDITION, and destruction touches no socket.
class HttpTableSource : public TableSource {
 public:
  // Reads the files of the options; contacts no server. INVALID_ARGUMENT: HttpTableOptions::Check.
  // FAILED_PRECONDITION: a file is missing, unreadable, readable by others, or not PEM.
  static absl::StatusOr<std::unique_ptr<HttpTableSource>> Open(const HttpTableOptions& options);
  ~HttpTableSource() override;

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override;
  void LookNow() override;
  std::string place() const override;  // the URL without its query

  HttpTableStats Stats() const;

 private:
  class Rep;
  explicit HttpTableSource(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_HTTP_H_
