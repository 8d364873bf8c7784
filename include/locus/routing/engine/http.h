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

// Where a routing table is to be had by HTTP, and how.
struct HttpTableOptions {
  // "https://host:port/path?query" or "http://…", in ASCII, at most 8,192 bytes; without a user, a
  // password or a fragment. An IPv6 address stands in brackets. Messages leave the query out.
  std::string url;

  // Sent as "Authorization: Bearer …": one of them or neither. The token is copied to memory that
  // is left out of core dumps, sent from there, and appears in no message. The file must be
  // readable by its owner only; it is read for every request, so that a token may be replaced. At
  // most 65,536 bytes; a line break at its end is not part of it.
  std::string token;
  std::string token_file;
  // False: a token goes to loopback hosts, and by TLS, only. True: also in plain text, to be read
  // by whoever listens on the way.
  bool token_in_plain_text = false;

  // With https: TLS 1.2 or newer; the server's certificate must be signed by an authority of
  // `ca_file` and name the URL's host.
  struct Tls {
    std::string ca_file;  // PEM; empty: the authorities of the system
    // PEM, both or neither: a certificate that the server asks of its clients. The key's file must
    // be readable by its owner only.
    std::string certificate_file;
    std::string key_file;
  };
  Tls tls;

  // One request, connecting included, but for the time that the server was asked to hold it; 1 ms
  // to 1 h. Longer: it takes longer until a server that hangs is noticed.
  absl::Duration request_timeout = absl::Seconds(5);
  // How long the server is asked to hold a request when it has nothing new ("Prefer: wait=30",
  // RFC 7240, rounded down to whole seconds); 0 to 1 h, 0: it is not asked. Longer: fewer requests;
  // a server that went without a word (its host was cut off) is noticed later by as much.
  absl::Duration wait = absl::Seconds(30);
  // The least time between requests, 10 ms to 1 h: how late a newer table is seen where the server
  // holds no requests.
  absl::Duration poll_every = absl::Seconds(1);

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Counts since a source was opened.
struct HttpTableStats {
  uint64_t requests = 0;   // sent
  uint64_t connects = 0;   // connections made
  uint64_t unchanged = 0;  // answers 304
  uint64_t documents = 0;  // bodies read to their end
};

// Follows a document on an HTTP/1.1 server, any that serves files or makes the document: GET with
// If-None-Match (or If-Modified-Since, once the document is two seconds old) and Prefer: wait, over
// one connection that is kept open. SourcedTable::version is a hash of the document: servers behind
// one name may give it different ETags. The whole document must be the body of a 200 with
// Content-Length or chunked: what was cut off is never handed out.
//
// UNAVAILABLE: no whole answer in time, 408, 425, 429 or 5xx (the message has Retry-After).
// NOT_FOUND: 404 or 410. FAILED_PRECONDITION: 401, 403, any other status, redirects among them (the
// message names where to), a body that is compressed or too long, a certificate that was refused, a
// token_file that is not there or open to others.
// LookNow drops a request that the server holds, and asks anew without wait; any other request
// under way is finished first.
// Fork: in a forked child Next answers FAILED_PRECONDITION, and destruction touches no socket.
class HttpTableSource : public TableSource {
 public:
  // Reads the files of the options; asks no server. INVALID_ARGUMENT: HttpTableOptions::Check.
  // FAILED_PRECONDITION: a file that is missing, unreadable, open to others or no PEM.
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
