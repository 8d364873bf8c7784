// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_SERVER_H_
#define LOCUS_SRC_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/http/body_stream.h"
#include "src/http/tls_context.h"

// An HTTP/1.1 server with a limit for everything that a client sends and a deadline for all that it
// does. It hides Boost.Beast, which costs 20 s of compile time per file.

namespace locus::http {

struct ServerRequest;
struct ServerAnswer;

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // host:port; port 0: a free one
  // nullptr: plain text. Otherwise it must outlive the server; clients need no certificate. With
  // Server::ReplaceTls another takes its place.
  const TlsContext* tls = nullptr;
  // Each has connections of its own.
  size_t threads = 1;
  // More connections are closed as soon as they are made.
  size_t most_connections = 1024;
  // The same of those of one address. 0: no limit.
  size_t most_connections_per_address = 0;
  size_t most_header_bytes = size_t{16} << 10;
  size_t most_body_bytes = size_t{1} << 20;
  // Of all bodies that were received and are not answered yet, without the first 4 KiB of each;
  // beyond, 503. At least most_body_bytes are taken. Larger: more memory under load.
  size_t most_bytes_of_bodies = size_t{64} << 20;
  // For a request to be sent, and again for its answer to be taken. Longer: a slow client keeps its
  // connection longer.
  absl::Duration request_timeout = absl::Seconds(10);
  // Between two requests.
  absl::Duration idle_timeout = absl::Seconds(60);
  // Asked where a body follows a head, before any of it is read. False: the handler gets the
  // request without it (body_unread), and the connection is closed behind the answer. Empty: all
  // are read. Must not block.
  std::function<bool(const ServerRequest&)> reads_body = {};
  // Called where connections cannot be taken, as without descriptors: at most every 10 s by each
  // thread. Must not block. May be empty.
  std::function<void(const std::string& why)> on_accept_failure = {};
  // Called where a TLS handshake failed that the client had begun, at most once per second: with
  // the client's address, the reason, and how many failed since the last call. Must not block. May
  // be empty.
  std::function<void(const std::string& peer, const std::string& why, uint64_t untold)>
      on_handshake_failure = {};
  // Called for each connection that is closed at once since there are too many, with the client's
  // address. Must not block. May be empty.
  std::function<void(const std::string& peer)> on_connection_refused = {};
  // Called for each answer that the server gives without its handler, before it is sent, with the
  // client's address. Must not block. May be empty.
  std::function<void(const std::string& peer, ServerAnswer&)> on_refusal = {};
};

struct ServerRequest {
  // The value of the first header of this name, in any case; empty: there is none.
  std::string_view Header(std::string_view name) const;

  std::string method;  // in capitals
  std::string path;    // of the target, as it was sent; "*" of OPTIONS
  std::string query;   // behind '?'
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string peer;  // the client's address
  // Of the answer only its head is sent. A handler may make a GET of a HEAD; this remains.
  bool head_only = false;
  bool body_unread = false;  // it has a body, which reads_body did not want
};

struct ServerAnswer {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  // besides Content-Length
  std::string body;
  // Makes the body instead, in a thread of the server, and is kept until the answer was sent.
  std::function<std::string()> make_body = nullptr;
  // The body, sent in chunks as it is written; the connection is closed behind it. A drain ends it,
  // and so does a client that takes nothing for request_timeout.
  std::shared_ptr<BodyStream> stream = nullptr;
};

// Thread safety: all methods may be called from any thread.
class Server {
 public:
  // Called once, by any thread; a Respond that is dropped without a call answers 500.
  using Respond = std::function<void(ServerAnswer)>;
  // Called by a thread of the server, which waits for nothing meanwhile: it must not block.
  using Handler = std::function<void(ServerRequest, Respond)>;

  // Listens. INVALID_ARGUMENT: `listen` is not host:port. UNAVAILABLE: the port is taken.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       Handler handler);
  // Drain(0).
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;
  // Handshakes that begin from now on use these certificates; connections that are open keep
  // theirs, and the context that they need. Requires a server with ServerOptions::tls, and not
  // nullptr.
  void ReplaceTls(std::shared_ptr<const TlsContext> tls);
  // From now on each answer closes its connection, so that clients go to another server before this
  // one is drained.
  void CloseAfterAnswers();
  // Takes no new connections. Answers the requests that have begun to come, and those that come
  // within 100 ms on open connections; waits up to `within` until all are closed. Then closes the
  // rest.
  void Drain(absl::Duration within);

  struct Stats {
    uint64_t connections = 0;   // open
    uint64_t refused = 0;       // beyond these limits
    uint64_t requests = 0;      // that the handler got
    uint64_t bad_requests = 0;  // that broke a limit, a deadline or the protocol
  };
  Stats stats() const;

 private:
  class Rep;
  explicit Server(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_SERVER_H_
