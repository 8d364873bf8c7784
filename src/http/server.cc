// SPDX-License-Identifier: Apache-2.0
#include "src/http/server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <chrono>
#include <map>
#include <set>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/resolve.h"
#include "src/base/run/mutex.h"
#include "src/base/run/seldom.h"
#include "src/base/text/text.h"
#include "src/http/answer_text.h"
#include "src/http/await.h"
#include "src/http/body_sender.h"
#include "src/http/conversation.h"
#include "src/http/endpoint.h"
#include "src/http/pending_answer.h"
#include "src/http/tls_context_rep.h"

namespace locus::http {

namespace asio = boost::asio;

using asio::ip::tcp;
using boost::system::error_code;
using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;
using internal::ToAbsl;

namespace {

// From a connection to its first request, over any network. A drain that closed one sooner would
// lose the request.
constexpr std::chrono::milliseconds kFirstRequestComes(100);

// Binds for a moment without SO_REUSEPORT, with which a second server would share the port of a
// first one unnoticed.
error_code BindAlone(const tcp::endpoint& at) {
  asio::io_context io;
  tcp::acceptor alone(io);
  error_code error;
  alone.open(at.protocol(), error);
  if (!error) alone.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) alone.bind(at, error);
  return error;
}

}  // namespace

std::string_view ServerRequest::Header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (absl::EqualsIgnoreCase(each, ToAbsl(name))) return value;
  }
  return {};
}

// State that all threads share.
class Server::Rep {
 public:
  Rep(const ServerOptions& options, Handler handler)
      : options_(options),
        handler_(std::move(handler)),
        // Without a count: the context outlives the server.
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
    if (!error && options_.threads > 1 && listen.port != 0) error = BindAlone(at);
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
    closes_ = draining_ = true;
    const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(within);
    {
      MutexLock lock(mutex_);
      loops_with_idle_ = loops_.size();
    }
    for (auto& loop : loops_) loop->Drain();
    {
      MutexLock lock(mutex_);
      while ((loops_with_idle_ > 0 || connections_ > 0) &&
             std::chrono::steady_clock::now() < deadline) {
        ended_.WaitUntil(mutex_, deadline);
      }
    }
    for (auto& loop : loops_) loop->Stop();
    loops_.clear();
  }

  void CloseAfterAnswers() { closes_ = true; }

  const ServerOptions& options() const { return options_; }
  bool TakeBodyBytes(size_t size) {
    const size_t most = std::max(options_.most_bytes_of_bodies, options_.most_body_bytes);
    if (body_bytes_.fetch_add(size) + size <= most) return true;
    body_bytes_ -= size;
    return false;
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
      asio::co_spawn(io_, Sweep(), asio::detached);
      thread_ = std::thread([this] { io_.run(); });
    }
    void Drain() {
      asio::post(io_, [this] { asio::co_spawn(io_, End(), asio::detached); });
    }
    void Stop() {
      io_.stop();
      if (thread_.joinable()) thread_.join();
      for (const auto& [body, wake] : bodies_) body->Detach();
      // An answer that comes late keeps its connection's coroutine, but not the client.
      error_code ignored;
      for (Connection* connection : open_) connection->socket.close(ignored);
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
          const TimePoint now = std::chrono::steady_clock::now();
          if (server_.options_.on_accept_failure && now >= next_told_) {
            next_told_ = now + std::chrono::seconds(10);
            server_.options_.on_accept_failure(error.message());
          }
          asio::steady_timer pause(io_, std::chrono::milliseconds(100));
          co_await pause.async_wait(kAwait);
          continue;
        }
        Take(std::move(socket));
      }
    }

    void Take(tcp::socket socket) {
      error_code ignored;
      std::string peer = socket.remote_endpoint(ignored).address().to_string(ignored);
      if (!server_.Enter(peer)) {
        if (server_.options_.on_connection_refused) server_.options_.on_connection_refused(peer);
        return;
      }
      asio::co_spawn(io_, Serve(std::move(socket), std::move(peer)), asio::detached);
    }

    // Of a drain. A connection that the kernel has taken is as good as one that was accepted: its
    // client has perhaps sent a request, and does not know whether a lost one had an effect.
    awaitable<void> End() {
      error_code error;
      acceptor_.non_blocking(true, error);
      while (!error) {
        tcp::socket socket(io_);
        acceptor_.accept(socket, error);
        if (!error) Take(std::move(socket));
      }
      acceptor_.close(error);
      for (const auto& [body, wake] : bodies_) body->End();
      if (server_.connections_ > 0) {
        asio::steady_timer timer(io_, kFirstRequestComes);
        co_await timer.async_wait(kAwait);
      }
      for (Connection* connection : open_) {
        connection->ends = true;
        const bool asks = connection->idle && connection->socket.available(error) > 0;
        if (connection->shakes_hands || (connection->idle && !asks)) {
          connection->socket.cancel(error);
        }
      }
      server_.LoopEndedIdle();
    }

    // Ends what waits beyond its deadline.
    awaitable<void> Sweep() {
      const absl::Duration often =
          std::min(server_.options_.request_timeout, server_.options_.idle_timeout) / 8;
      const auto pause = absl::ToChronoNanoseconds(
          std::clamp(often, absl::Milliseconds(5), absl::Milliseconds(500)));
      asio::steady_timer timer(io_);
      while (true) {
        timer.expires_after(pause);
        co_await timer.async_wait(kAwait);
        const TimePoint now = std::chrono::steady_clock::now();
        for (Connection* connection : open_) {
          if (connection->deadline > now) continue;
          connection->expired = true;
          error_code ignored;
          connection->socket.cancel(ignored);
        }
      }
    }

    awaitable<void> Serve(tcp::socket socket, std::string peer) {
      Connection connection(std::move(socket));
      connection.peer = std::move(peer);
      error_code ignored;
      connection.socket.set_option(tcp::no_delay(true), ignored);
      connection.socket.non_blocking(true, ignored);
      open_.insert(&connection);
      if (server_.options_.tls == nullptr) {
        co_await Converse(connection.socket, connection);
      } else {
        const std::shared_ptr<const TlsContext> context = server_.tls();
        asio::ssl::stream<tcp::socket&> tls(connection.socket, context->rep().context);
        tls.set_verify_mode(asio::ssl::verify_none, ignored);
        connection.Arm(server_.options_.request_timeout);
        connection.shakes_hands = true;
        auto [error] = co_await tls.async_handshake(asio::ssl::stream_base::server, kAwait);
        connection.shakes_hands = false;
        if (error || connection.expired) {
          ++server_.bad_requests_;
          // Probes connect and send nothing; what still waits at a drain has failed for no reason.
          const bool begun = BIO_number_read(SSL_get_rbio(tls.native_handle())) > 0;
          if (begun && !server_.draining_) {
            server_.TellOfHandshake(connection.peer,
                                    connection.expired ? "it took too long" : error.message());
          }
        } else {
          co_await Converse(tls, connection);
        }
      }
      server_.GiveBodyBytes(connection);
      open_.erase(&connection);
      server_.Leave(connection.peer);
    }

    // Request after request.
    template <typename Stream>
    awaitable<void> Converse(Stream& stream, Connection& connection) {
      Conversation<Stream, Rep> conversation(stream, connection, server_);
      bool keep_alive = true;
      while (keep_alive) {
        Received received = co_await conversation.Receive();
        connection.Disarm();
        if (!received.request) {
          if (received.refusal) {
            ++server_.bad_requests_;
            received.form.keep_alive = false;
            server_.TellOfRefusal(connection.peer, *received.refusal);
            if (co_await conversation.Say(*std::move(received.refusal), received.form, false)) {
              co_await conversation.Linger();
            }
          }
          break;
        }
        const bool head = received.request->method == "HEAD";
        received.request->head_only = head;
        const bool body_unread = received.request->body_unread;
        const std::shared_ptr<PendingAnswer> answer = Ask(*std::move(received.request));
        if (!answer->given()) {
          // Earlier answers do not wait for this one.
          if (!co_await conversation.Flush({})) break;
          auto await = [&](auto resume) { answer->Await(std::move(resume)); };
          co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
              await, asio::use_awaitable);
        }
        ServerAnswer said = answer->Take();
        server_.GiveBodyBytes(connection);
        const std::function<std::string()> make_body = std::exchange(said.make_body, nullptr);
        if (make_body) said.body = make_body();
        if (said.stream != nullptr) {
          co_await SayAsItComes(stream, connection, conversation, std::move(said), received.form,
                                head);
          break;
        }
        keep_alive = received.form.keep_alive = received.form.keep_alive && !server_.closes_;
        if (!co_await conversation.Say(std::move(said), received.form, head)) break;
        if (body_unread) co_await conversation.Linger();
      }
      co_await conversation.Flush({});
      error_code ignored;
      connection.socket.shutdown(tcp::socket::shutdown_both, ignored);
    }

    // The connection is then to be closed.
    template <typename Stream>
    awaitable<void> SayAsItComes(Stream& stream, Connection& connection,
                                 Conversation<Stream, Rep>& conversation, ServerAnswer said,
                                 AnswerForm form, bool head) {
      // For a client that reads nothing, the kernel buffers no more than a stream keeps.
      constexpr int kKernelBytes = 64 << 10;
      const std::shared_ptr<BodyStream> body = std::move(said.stream);
      asio::steady_timer bell(io_);
      error_code ignored;
      auto wake = [&bell, &connection, &body, &ignored] {
        bell.cancel();  // also then: it may be all that the coroutine waits for
        if (body->overrun()) connection.socket.cancel(ignored);
      };
      bodies_.emplace(body.get(), wake);
      body->Attach([this, key = body.get()] {
        asio::post(io_, [this, key] {
          if (const auto at = bodies_.find(key); at != bodies_.end()) at->second();
        });
      });
      if (server_.draining_) body->End();
      connection.socket.set_option(asio::socket_base::send_buffer_size(kKernelBytes), ignored);
      form.keep_alive = false;
      form.chunked = true;
      if (co_await conversation.Begin(said, form) && !head) {
        co_await SendBody(stream, connection, *body, bell, form.is_1_1,
                          server_.options_.request_timeout);
      }
      body->Detach();
      bodies_.erase(body.get());
    }

    // The handler may have answered when this returns.
    std::shared_ptr<PendingAnswer> Ask(ServerRequest request) {
      ++server_.requests_;
      auto answer = std::make_shared<PendingAnswer>(
          std::shared_ptr<asio::io_context>(shared_from_this(), &io_));
      server_.handler_(std::move(request),
                       [giver = std::make_shared<AnswerGiver>(answer)](ServerAnswer said) {
                         giver->Give(std::move(said));
                       });
      return answer;
    }

    Rep& server_;
    asio::io_context io_{1};
    tcp::acceptor acceptor_;
    TimePoint next_told_;  // of what accepting fails with
    std::set<Connection*> open_;
    // Bodies that are sent while they are made, and what wakes the coroutine that sends one.
    std::map<BodyStream*, std::function<void()>> bodies_;
    std::thread thread_;
  };

  std::shared_ptr<const TlsContext> tls() {
    MutexLock lock(mutex_);
    return tls_;
  }
  void GiveBodyBytes(Connection& connection) {
    body_bytes_ -= std::exchange(connection.body_bytes, 0);
  }
  void TellOfRefusal(const std::string& peer, ServerAnswer& answer) const {
    if (options_.on_refusal) options_.on_refusal(peer, answer);
  }
  void TellOfHandshake(const std::string& peer, const std::string& why) {
    if (!options_.on_handshake_failure) return;
    const std::optional<uint64_t> untold = handshakes_.Next();
    if (untold) options_.on_handshake_failure(peer, why, *untold);
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
    if (--connections_ == 0) ended_.NotifyAll();
    const auto at = by_address_.find(address);
    if (--at->second == 0) by_address_.erase(at);
  }
  void LoopEndedIdle() {
    MutexLock lock(mutex_);
    if (--loops_with_idle_ == 0) ended_.NotifyAll();
  }

  const ServerOptions options_;
  const Handler handler_;
  std::vector<std::shared_ptr<Loop>> loops_;
  uint16_t port_ = 0;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> closes_ = false;  // behind each answer
  std::atomic<uint64_t> connections_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<uint64_t> bad_requests_ = 0;
  internal::Seldom handshakes_;         // that failed
  std::atomic<size_t> body_bytes_ = 0;  // kept, beyond the first ones of each body
  Mutex mutex_;
  CondVar ended_;                                       // of connections, and of what follows
  size_t loops_with_idle_ ABSL_GUARDED_BY(mutex_) = 0;  // that have yet to end idle connections
  std::shared_ptr<const TlsContext> tls_ ABSL_GUARDED_BY(mutex_);     // of the next handshake
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
void Server::CloseAfterAnswers() { rep_->CloseAfterAnswers(); }
void Server::Drain(absl::Duration within) { rep_->Drain(within); }
Server::Stats Server::stats() const { return rep_->stats(); }

}  // namespace locus::http
