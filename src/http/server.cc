// SPDX-License-Identifier: Apache-2.0
#include "src/http/server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/mutex.h"
#include "src/base/resolve.h"
#include "src/base/text.h"
#include "src/http/body_sender.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context_rep.h"

namespace locus::http {

namespace asio = boost::asio;
namespace beast = boost::beast;

using asio::ip::tcp;
using boost::system::error_code;
using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;
using internal::ToAbsl;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

using Request = beast::http::request<beast::http::string_body>;
using Response = beast::http::response<beast::http::string_body>;
using RequestParser = beast::http::request_parser<beast::http::string_body>;

std::string TextOf(beast::string_view text) { return std::string(text.data(), text.size()); }

ServerRequest RequestOf(Request&& from, const std::string& peer) {
  ServerRequest request;
  request.method = TextOf(from.method_string());
  const std::string target = TextOf(from.target());
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string::npos) request.query = target.substr(mark + 1);
  for (const auto& field : from) {
    request.headers.emplace_back(TextOf(field.name_string()), TextOf(field.value()));
  }
  request.body = std::move(from.body());
  request.peer = peer;
  return request;
}

Response ResponseOf(ServerAnswer&& from, bool keep_alive, bool head) {
  Response response;
  response.version(11);
  response.result(from.status);
  for (const auto& [name, value] : from.headers) {
    response.insert(beast::string_view(name.data(), name.size()),
                    beast::string_view(value.data(), value.size()));
  }
  response.body() = std::move(from.body);
  response.keep_alive(keep_alive);
  response.prepare_payload();
  // The length is that of a GET, and the body stays away.
  if (head) response.body().clear();
  return response;
}

ServerAnswer Problem(unsigned status, std::string_view title) {
  ServerAnswer answer;
  answer.status = status;
  answer.headers.emplace_back("Content-Type", "application/problem+json");
  answer.body = absl::StrCat("{\"title\":\"", ToAbsl(title), "\",\"status\":", status, "}\n");
  return answer;
}

// What a request that cannot be read is answered with; nullopt: nothing.
std::optional<ServerAnswer> AnswerTo(const error_code& error) {
  using Error = beast::http::error;
  if (error == Error::header_limit) return Problem(431, "the header is too long");
  if (error == Error::buffer_overflow) {
    return Problem(431, "the trailer or the extension of a chunk is too long");
  }
  if (error == Error::body_limit) return Problem(413, "the body is too long");
  if (error == Error::end_of_stream || error == Error::partial_message) return std::nullopt;
  if (error.category() == beast::http::make_error_code(Error::bad_target).category()) {
    return Problem(400, "this is no HTTP request");
  }
  return std::nullopt;
}

// What others could read in another way than this server does.
std::optional<ServerAnswer> FlawOf(const Request& request) {
  using beast::http::field;
  if (request.version() >= 11 && request.count(field::host) != 1) {
    return Problem(400, "a request of HTTP/1.1 has one Host");
  }
  const size_t encodings = request.count(field::transfer_encoding);
  if (encodings == 0) return std::nullopt;
  if (encodings == 1 && request.version() >= 11 &&
      beast::iequals(request[field::transfer_encoding], "chunked")) {
    return std::nullopt;
  }
  return Problem(400, "the only Transfer-Encoding that is understood is chunked");
}

// Takes an answer to the coroutine that waits for it; without a call, 500.
class Answered {
 public:
  explicit Answered(std::function<void(ServerAnswer)> take) : take_(std::move(take)) {}
  ~Answered() { Give(Problem(500, "the server dropped the request")); }
  void Give(ServerAnswer answer) {
    if (given_.exchange(true)) return;
    take_(std::move(answer));
  }

 private:
  const std::function<void(ServerAnswer)> take_;
  std::atomic<bool> given_ = false;
};

}  // namespace

std::string_view ServerRequest::Header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (absl::EqualsIgnoreCase(each, ToAbsl(name))) return value;
  }
  return {};
}

// What all threads share.
class Server::Rep {
 public:
  Rep(const ServerOptions& options, Handler handler)
      : options_(options),
        handler_(std::move(handler)),
        // Not its own: the options' context outlives the server.
        tls_(std::shared_ptr<const TlsContext>(), options.tls) {}
  ~Rep() { Drain(absl::ZeroDuration()); }

  absl::Status Start() {
    LOCUS_ASSIGN_OR_RETURN(Endpoint listen,
                           Endpoint::Parse(options_.listen, Endpoint::Port::kMayBeZero));
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<std::string> addresses,
        internal::Resolve(listen.host, std::chrono::steady_clock::now() + std::chrono::seconds(5)));
    error_code error;
    tcp::endpoint at(asio::ip::make_address(addresses[0], error), listen.port);
    for (size_t i = 0; !error && i < std::max<size_t>(options_.threads, 1); ++i) {
      auto loop = std::make_shared<Loop>(*this);
      error = loop->Listen(at);
      at.port(loop->port());
      loops_.push_back(std::move(loop));
    }
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", options_.listen, ": ", error.message()));
    }
    port_ = at.port();
    try {
      for (auto& loop : loops_) loop->Start();
    } catch (const std::system_error& thrown) {
      return absl::UnavailableError(absl::StrCat("a thread of a server: ", thrown.what()));
    }
    return absl::OkStatus();
  }

  uint16_t port() const { return port_; }

  void ReplaceTls(std::shared_ptr<const TlsContext> tls) {
    LOCUS_CHECK(options_.tls != nullptr && tls != nullptr);
    MutexLock lock(mutex_);
    tls_ = std::move(tls);
  }

  void Drain(absl::Duration within) {
    draining_ = true;
    for (auto& loop : loops_) loop->Drain();
    const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(within);
    {
      MutexLock lock(mutex_);
      while (under_way_ > 0 && std::chrono::steady_clock::now() < deadline) {
        ended_.WaitUntil(mutex_, deadline);
      }
    }
    for (auto& loop : loops_) loop->Stop();
    loops_.clear();
  }

  Stats stats() const {
    return {connections_.load(), refused_.load(), requests_.load(), bad_requests_.load()};
  }

 private:
  // One thread with its listening socket and its connections. Held also by answers under way.
  class Loop : public std::enable_shared_from_this<Loop> {
   public:
    explicit Loop(Rep& server) : server_(server), acceptor_(io_) {}

    error_code Listen(const tcp::endpoint& at) {
      error_code error;
      acceptor_.open(at.protocol(), error);
      if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
      if (!error && server_.options_.threads > 1) {
        const int yes = 1;  // the kernel shares connections among the threads
        if (setsockopt(acceptor_.native_handle(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) != 0)
          error = error_code(errno, boost::system::system_category());
      }
      if (!error) acceptor_.bind(at, error);
      if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
      return error;
    }
    uint16_t port() const {
      error_code ignored;
      return acceptor_.local_endpoint(ignored).port();
    }

    void Start() {
      asio::co_spawn(io_, Accept(), asio::detached);
      thread_ = std::thread([this] { io_.run(); });
    }
    void Drain() {
      asio::post(io_, [this] {
        error_code ignored;
        acceptor_.close(ignored);
        for (beast::tcp_stream* stream : idle_) stream->cancel();
        for (const auto& [body, wake] : bodies_) body->End();
      });
    }
    void Stop() {
      io_.stop();
      if (thread_.joinable()) thread_.join();
      for (const auto& [body, wake] : bodies_) body->Detach();
      // An answer that comes late keeps its connection's coroutine, but not the client.
      error_code ignored;
      for (beast::tcp_stream* stream : open_) stream->socket().close(ignored);
      open_.clear();
    }

   private:
    template <typename T>
    using awaitable = asio::awaitable<T>;

    awaitable<void> Accept() {
      while (true) {
        auto [error, socket] = co_await acceptor_.async_accept(kAwait);
        if (error == asio::error::operation_aborted || !acceptor_.is_open()) co_return;
        if (error) {
          // Out of descriptors, for example: not at once again.
          asio::steady_timer pause(io_, std::chrono::milliseconds(100));
          co_await pause.async_wait(kAwait);
          continue;
        }
        error_code ignored;
        std::string peer = socket.remote_endpoint(ignored).address().to_string(ignored);
        if (!server_.Enter(peer)) continue;
        asio::co_spawn(io_, Serve(std::move(socket), std::move(peer)), asio::detached);
      }
    }

    awaitable<void> Serve(tcp::socket socket, std::string peer) {
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      beast::tcp_stream stream(std::move(socket));
      open_.insert(&stream);
      if (server_.options_.tls == nullptr) {
        co_await Converse(stream, stream, peer);
      } else {
        const std::shared_ptr<const TlsContext> context = server_.tls();
        beast::ssl_stream<beast::tcp_stream&> tls(stream, context->rep().context);
        tls.set_verify_mode(asio::ssl::verify_none, ignored);
        stream.expires_after(absl::ToChronoNanoseconds(server_.options_.request_timeout));
        auto [error] = co_await tls.async_handshake(asio::ssl::stream_base::server, kAwait);
        if (error) {
          ++server_.bad_requests_;
        } else {
          co_await Converse(tls, stream, peer);
        }
      }
      open_.erase(&stream);
      server_.Leave(peer);
    }

    // Request after request. `lowest` is what `stream` reads from.
    template <typename Stream>
    awaitable<void> Converse(Stream& stream, beast::tcp_stream& lowest, const std::string& peer) {
      // Of what no limit of the parser counts, such as the trailers and the extensions of chunks,
      // it holds what has no end yet.
      beast::flat_buffer buffer(server_.LongestBuffer());
      bool keep_alive = true;
      while (keep_alive && !server_.draining_) {
        if (buffer.size() == 0 && !co_await WaitForRequest(stream, lowest, buffer)) break;
        RequestParser parser;
        parser.header_limit(static_cast<uint32_t>(server_.options_.most_header_bytes));
        parser.body_limit(server_.options_.most_body_bytes);
        lowest.expires_after(absl::ToChronoNanoseconds(server_.options_.request_timeout));
        error_code error = co_await Read(stream, buffer, parser);
        std::optional<ServerAnswer> answer = AnswerTo(error);
        if (!error) answer = FlawOf(parser.get());
        if (error || answer) {
          if (answer || parser.got_some()) ++server_.bad_requests_;
          if (answer) co_await Write(stream, lowest, ResponseOf(*std::move(answer), false, false));
          break;
        }
        keep_alive = parser.get().keep_alive();
        const bool head = parser.get().method() == beast::http::verb::head;
        const bool chunked = parser.get().version() >= 11;
        lowest.expires_never();
        server_.Began();
        ServerAnswer said = co_await Ask(RequestOf(parser.release(), peer));
        const std::function<std::string()> make_body = std::exchange(said.make_body, nullptr);
        if (make_body) said.body = make_body();
        if (said.stream != nullptr) {
          co_await WriteAsItComes(stream, lowest, std::move(said), chunked, head);
          server_.Ended();
          break;
        }
        keep_alive = keep_alive && !server_.draining_;
        const bool written =
            co_await Write(stream, lowest, ResponseOf(std::move(said), keep_alive, head));
        server_.Ended();
        if (!written) break;
      }
      error_code ignored;
      lowest.socket().shutdown(tcp::socket::shutdown_both, ignored);
    }

    // The first bytes of a request. False: the client is gone, or silent for too long, or the
    // server ends.
    template <typename Stream>
    awaitable<bool> WaitForRequest(Stream& stream, beast::tcp_stream& lowest,
                                   beast::flat_buffer& buffer) {
      constexpr size_t kFirst = 4096;
      lowest.expires_after(absl::ToChronoNanoseconds(server_.options_.idle_timeout));
      idle_.insert(&lowest);
      auto [error, size] = co_await stream.async_read_some(buffer.prepare(kFirst), kAwait);
      idle_.erase(&lowest);
      if (!error) buffer.commit(size);
      co_return !error;
    }

    template <typename Stream>
    awaitable<error_code> Read(Stream& stream, beast::flat_buffer& buffer, RequestParser& parser) {
      const auto deadline = std::chrono::steady_clock::now() +
                            absl::ToChronoNanoseconds(server_.options_.request_timeout);
      auto [error, size] = co_await beast::http::async_read_header(stream, buffer, parser, kAwait);
      if (error) co_return error;
      if (beast::iequals(parser.get()[beast::http::field::expect], "100-continue")) {
        beast::http::response<beast::http::empty_body> go_on(beast::http::status::continue_, 11);
        auto [failed, sent] = co_await beast::http::async_write(stream, go_on, kAwait);
        if (failed) co_return failed;
      }
      // The stream's own deadline never comes while there is always more to read.
      while (!parser.is_done()) {
        if (std::chrono::steady_clock::now() >= deadline) co_return beast::error::timeout;
        auto [failed, more] = co_await beast::http::async_read_some(stream, buffer, parser, kAwait);
        if (failed) co_return failed;
      }
      co_return error_code();
    }

    template <typename Stream>
    awaitable<bool> Write(Stream& stream, beast::tcp_stream& lowest, Response response) {
      lowest.expires_after(absl::ToChronoNanoseconds(server_.options_.request_timeout));
      auto [error, size] = co_await beast::http::async_write(stream, response, kAwait);
      co_return !error;
    }

    // The connection is then to be closed.
    template <typename Stream>
    awaitable<void> WriteAsItComes(Stream& stream, beast::tcp_stream& lowest, ServerAnswer said,
                                   bool chunked, bool head) {
      // What the kernel takes for a client that reads nothing is no more than a stream keeps.
      constexpr int kKernelBytes = 64 << 10;
      const std::shared_ptr<BodyStream> body = std::move(said.stream);
      asio::steady_timer bell(io_);
      auto wake = [&bell, &lowest, &body] {
        body->overrun() ? lowest.cancel() : void(bell.cancel());
      };
      bodies_.emplace(body.get(), wake);
      body->Attach([this, key = body.get()] {
        asio::post(io_, [this, key] {
          if (const auto at = bodies_.find(key); at != bodies_.end()) at->second();
        });
      });
      if (server_.draining_) body->End();
      error_code ignored;
      lowest.socket().set_option(asio::socket_base::send_buffer_size(kKernelBytes), ignored);
      const auto patience = absl::ToChronoNanoseconds(server_.options_.request_timeout);
      Response response = ResponseOf(std::move(said), /*keep_alive=*/false, /*head=*/true);
      response.erase(beast::http::field::content_length);
      response.chunked(chunked);
      beast::http::response_serializer<beast::http::string_body> header(response);
      lowest.expires_after(patience);
      auto [error, size] = co_await beast::http::async_write_header(stream, header, kAwait);
      if (!error && !head) co_await SendBody(stream, lowest, *body, bell, chunked, patience);
      body->Detach();
      bodies_.erase(body.get());
    }

    awaitable<ServerAnswer> Ask(ServerRequest request) {
      ++server_.requests_;
      auto start = [this, &request](auto resume) {
        auto shared = std::make_shared<decltype(resume)>(std::move(resume));
        auto answered = std::make_shared<Answered>(
            // The loop outlives its thread for answers that come late.
            [self = shared_from_this(), shared](ServerAnswer answer) {
              asio::post(self->io_, [shared, answer = std::move(answer)]() mutable {
                (*shared)(std::move(answer));
              });
            });
        server_.handler_(std::move(request),
                         [answered](ServerAnswer answer) { answered->Give(std::move(answer)); });
      };
      co_return co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(ServerAnswer)>(
          start, asio::use_awaitable);
    }

    Rep& server_;
    asio::io_context io_{1};
    tcp::acceptor acceptor_;
    std::set<beast::tcp_stream*> open_;  // all connections
    std::set<beast::tcp_stream*> idle_;  // connections between two requests
    // Bodies that are sent while they are made, and what wakes the coroutine that sends one.
    std::map<BodyStream*, std::function<void()>> bodies_;
    std::thread thread_;
  };

  // More than a header, whose own limit is to be met first.
  size_t LongestBuffer() const {
    constexpr size_t kPiece = size_t{16} << 10;
    return options_.most_header_bytes + kPiece;
  }
  std::shared_ptr<const TlsContext> tls() {
    MutexLock lock(mutex_);
    return tls_;
  }
  // Whether there is a place for a connection of this address; then it is to Leave.
  bool Enter(const std::string& address) {
    MutexLock lock(mutex_);
    const auto at = by_address_.try_emplace(address, 0).first;
    const size_t most = options_.most_connections_per_address;
    if (connections_ >= options_.most_connections || (most > 0 && at->second >= most)) {
      if (at->second == 0) by_address_.erase(at);
      ++refused_;
      return false;
    }
    ++connections_;
    ++at->second;
    return true;
  }
  void Leave(const std::string& address) {
    MutexLock lock(mutex_);
    --connections_;
    const auto at = by_address_.find(address);
    if (--at->second == 0) by_address_.erase(at);
  }
  void Began() {
    MutexLock lock(mutex_);
    ++under_way_;
  }
  void Ended() {
    MutexLock lock(mutex_);
    if (--under_way_ == 0) ended_.NotifyAll();
  }

  const ServerOptions options_;
  const Handler handler_;
  std::vector<std::shared_ptr<Loop>> loops_;
  uint16_t port_ = 0;
  std::atomic<bool> draining_ = false;
  std::atomic<uint64_t> connections_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<uint64_t> bad_requests_ = 0;
  Mutex mutex_;
  CondVar ended_;
  std::shared_ptr<const TlsContext> tls_ ABSL_GUARDED_BY(mutex_);  // of the next handshake
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, size_t> by_address_ ABSL_GUARDED_BY(mutex_);  // open connections
};

Server::Server(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      Handler handler) {
  auto rep = std::make_unique<Rep>(options, std::move(handler));
  LOCUS_RETURN_IF_ERROR(rep->Start());
  return std::unique_ptr<Server>(new Server(std::move(rep)));
}

uint16_t Server::port() const { return rep_->port(); }
void Server::ReplaceTls(std::shared_ptr<const TlsContext> tls) { rep_->ReplaceTls(std::move(tls)); }
void Server::Drain(absl::Duration within) { rep_->Drain(within); }
Server::Stats Server::stats() const { return rep_->stats(); }

}  // namespace locus::http
