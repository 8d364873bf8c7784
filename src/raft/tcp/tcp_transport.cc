// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/tcp_transport.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "src/base/backoff.h"
#include "src/base/check.h"
#include "src/base/loopback.h"
#include "src/base/mutex.h"
#include "src/base/random_word.h"
#include "src/base/resolve.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context_rep.h"
#include "src/raft/codec.h"
#include "src/raft/tcp/frame.h"
#include "src/raft/tcp/wire.h"

namespace locus::raft {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using boost::system::error_code;
using http::Endpoint;
using internal::MutexLock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr size_t kMostCallers = 128;
constexpr size_t kMostLinks = 4 * kMostMembers;
constexpr size_t kMostBatchBytes = 256 << 10;
constexpr size_t kReadBytes = 64 << 10;
constexpr auto kGreeting = seconds(2);  // of connecting, TLS and Hello together
constexpr auto kIdle = seconds(60);     // a link with nothing to send ends
constexpr auto kCheck = milliseconds(250);

// How long so many bytes may take on the way: 1 MB/s at least.
std::chrono::steady_clock::duration TimeFor(size_t bytes) {
  return seconds(3) + milliseconds(bytes / 1000);
}

absl::Status Broken(std::string_view what, const error_code& error) {
  return absl::UnavailableError(
      absl::StrCat(absl::string_view(what.data(), what.size()), ": ", error.message()));
}

// Bytes of a connection as frames.
class FramedWire {
 public:
  FramedWire(std::shared_ptr<Wire> wire, size_t most) : wire_(std::move(wire)), reader_(most) {}

  awaitable<absl::StatusOr<std::string_view>> Read() {
    while (true) {
      auto frame = reader_.Next();
      if (!frame.ok()) co_return frame.status();
      if (*frame) {
        awaited_ = 0;  // the next one has a time of its own
        co_return **frame;
      }
      if (watched_) Watch();
      chunk_.resize(kReadBytes);
      size_t read = 0;
      const error_code error = co_await wire_->ReadSome(chunk_.data(), chunk_.size(), read);
      if (error) co_return Broken("reading", error);
      reader_.Feed({chunk_.data(), read});
    }
  }
  // From now on frames may be of this size, and once one has begun its rest has to come in time.
  void Expect(size_t most) {
    reader_.set_most(most);
    watched_ = true;
  }

 private:
  void Watch() {
    const size_t lacks = reader_.Lacks();
    if (lacks == 0) wire_->Disarm();
    if (lacks > awaited_) wire_->Arm(TimeFor(lacks));  // one has begun, or its size is known now
    awaited_ = std::max(lacks, awaited_);
  }

  std::shared_ptr<Wire> wire_;
  FrameReader reader_;
  std::string chunk_;
  bool watched_ = false;
  size_t awaited_ = 0;
};

}  // namespace

class TcpTransport::Rep {
 public:
  Rep(TcpOptions options, std::unique_ptr<http::TlsContext> tls)
      : options_(std::move(options)), tls_(std::move(tls)), acceptor_(io_) {}
  ~Rep() { Stop(); }

  absl::Status Listen(const tcp::endpoint& at) {
    error_code error;
    acceptor_.open(at.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return Broken("listening on " + options_.listen, error);
    return absl::OkStatus();
  }

  absl::Status Start(Receive receive) {
    receive_ = std::move(receive);
    asio::co_spawn(io_, Accept(), asio::detached);
    try {
      thread_ = std::thread([this] { io_.run(); });
    } catch (const std::system_error& error) {
      return absl::UnavailableError(std::string("a thread of the transport: ") + error.what());
    }
    return absl::OkStatus();
  }

  void Stop() {
    MutexLock lock(stop_mutex_);
    if (!thread_.joinable()) return;
    io_.stop();
    thread_.join();
    calls_.clear();  // their timers go before io_
  }

  void Send(NodeId to, std::string address, Message message) {
    asio::post(io_, [this, to, address = std::move(address), message = std::move(message)] {
      Enqueue(to, address, message);
    });
  }

  std::vector<Link> Links() {
    MutexLock lock(mutex_);
    std::vector<Link> links;
    for (const auto& [key, link] : links_) links.push_back(link);
    return links;
  }

 private:
  // The connection to one node, with what is to be sent.
  struct Call {
    explicit Call(asio::io_context& io) : wake(io) {}
    Link shown;
    std::deque<std::string> frames;
    size_t bytes = 0;  // of the frames
    asio::steady_timer wake;
    std::shared_ptr<Wire> wire;
    std::deque<std::chrono::steady_clock::time_point> unconfirmed;  // until when, by frame
  };

  asio::ssl::context* tls() { return tls_ == nullptr ? nullptr : &tls_->rep().context; }

  void Enqueue(NodeId to, const std::string& address, const Message& message) {
    const bool bulk = std::holds_alternative<InstallSnapshot>(message);
    std::shared_ptr<Call>& call = calls_[{to, bulk}];
    if (call == nullptr) {
      if (calls_.size() > kMostLinks) {
        calls_.erase({to, bulk});
        return;
      }
      call = std::make_shared<Call>(io_);
      call->shown.to = to;
      call->shown.bulk = bulk;
      asio::co_spawn(io_, Run(call), asio::detached);
    }
    const auto learned = learned_.find(to);
    const std::string& where =
        address.empty() && learned != learned_.end() ? learned->second.address : address;
    if (!where.empty() && where != call->shown.address) {
      call->shown.address = where;
      if (call->wire != nullptr) call->wire->Close();
    }
    // One snapshot at a time; the leader sends it again if it does not arrive.
    if (bulk && (!call->frames.empty() || !call->unconfirmed.empty())) return;
    std::string frame = Framed(raft::Encode(message));
    call->bytes += frame.size();
    call->frames.push_back(std::move(frame));
    while (!bulk && call->bytes > options_.queue_bytes) DropOldest(*call);
    call->wake.cancel();
  }

  // For those who ask.
  void Show(const Call& call) {
    MutexLock lock(mutex_);
    links_[{call.shown.to, call.shown.bulk}] = call.shown;
  }

  static void DropOldest(Call& call) {
    call.bytes -= call.frames.front().size();
    call.frames.pop_front();
    ++call.shown.dropped;
  }

  // As long as there is something to send now and then.
  awaitable<void> Run(std::shared_ptr<Call> call) {
    internal::Backoff backoff({absl::Milliseconds(50), absl::Milliseconds(800), 0.5});
    while (true) {
      if (call->frames.empty()) {
        call->wake.expires_after(kIdle);
        auto [woken] = co_await call->wake.async_wait(kAwait);
        if (call->frames.empty() && !woken) break;
        continue;
      }
      absl::Status status = co_await Connect(*call);
      if (status.ok()) {
        backoff.Reset();
        call->shown.connected = true;
        call->shown.error.clear();
        Show(*call);
        status = co_await Pump(call);
        call->shown.connected = false;
      }
      if (call->wire != nullptr) call->wire->Close();
      call->wire.reset();
      call->shown.error = std::string(status.message());
      call->unconfirmed.clear();
      // Old by then; Raft sends again what still matters.
      while (!call->frames.empty()) DropOldest(*call);
      Show(*call);
      const absl::Duration pause = backoff.Next(internal::RandomWord().value_or(0));
      asio::steady_timer timer(io_, absl::ToChronoNanoseconds(pause));
      co_await timer.async_wait(kAwait);
    }
    calls_.erase({call->shown.to, call->shown.bulk});
    MutexLock lock(mutex_);
    links_.erase({call->shown.to, call->shown.bulk});
  }

  awaitable<absl::Status> Connect(Call& call) {
    const auto endpoint = Endpoint::Parse(call.shown.address);
    if (!endpoint.ok()) {
      co_return absl::UnavailableError(
          absl::StrCat("node ", call.shown.to, " has no address: ", endpoint.status().message()));
    }
    if (tls_ == nullptr && !internal::IsLoopback(endpoint->host)) {
      co_return absl::FailedPreconditionError(absl::StrCat(
          call.shown.address, " is beyond loopback; nodes speak to others with TLS only"));
    }
    const auto socket = std::make_shared<tcp::socket>(io_);
    {
      asio::steady_timer limit(io_, kGreeting);
      limit.async_wait([socket](const error_code& error) {
        error_code ignored;
        if (!error) socket->close(ignored);
      });
      error_code numeric;
      const auto address = asio::ip::make_address(endpoint->host, numeric);
      std::vector<tcp::endpoint> places;
      if (!numeric) {
        places.emplace_back(address, endpoint->port);
      } else {
        tcp::resolver resolver(io_);
        auto [error, found] =
            co_await resolver.async_resolve(endpoint->host, absl::StrCat(endpoint->port), kAwait);
        if (error) co_return Broken(call.shown.address, error);
        for (const auto& one : found) places.push_back(one.endpoint());
      }
      auto [error, place] = co_await asio::async_connect(*socket, places, kAwait);
      if (error) co_return Broken(call.shown.address, error);
      limit.cancel();
    }
    const auto wire = call.wire = std::make_shared<Wire>(std::move(*socket), tls());
    wire->Arm(kGreeting);
    error_code error = co_await wire->Handshake(endpoint->host);
    if (error) co_return Broken("TLS", error);
    Hello hello;
    hello.from = options_.self;
    hello.to = call.shown.to;
    hello.bulk = call.shown.bulk;
    hello.cluster = options_.cluster;
    hello.address = options_.advertise;
    const std::string frame = Framed(raft::Encode(hello));
    error = co_await wire->Write(frame);
    if (error) co_return Broken("hello", error);
    FramedWire framed(wire, kMostHelloBytes);
    const auto welcome = co_await framed.Read();
    if (!welcome.ok()) co_return welcome.status();
    wire->Disarm();
    co_return DecodeWelcome(*welcome);
  }

  awaitable<absl::Status> Pump(std::shared_ptr<Call> call) {
    const std::shared_ptr<Wire> wire = call->wire;
    asio::co_spawn(io_, Confirm(wire, call), asio::detached);
    while (!wire->closed()) {
      const auto now = std::chrono::steady_clock::now();
      if (!call->unconfirmed.empty() && now > call->unconfirmed.front()) {
        co_return absl::UnavailableError("what was sent is not confirmed");
      }
      if (call->frames.empty()) {
        call->wake.expires_after(kCheck);
        co_await call->wake.async_wait(kAwait);
        continue;
      }
      std::string batch;
      while (!call->frames.empty() && (batch.empty() || batch.size() < kMostBatchBytes)) {
        call->bytes -= call->frames.front().size();
        if (batch.empty()) {
          batch = std::move(call->frames.front());
        } else {
          batch += call->frames.front();
        }
        call->frames.pop_front();
        call->unconfirmed.push_back(now + 2 * TimeFor(batch.size()));
      }
      wire->Arm(TimeFor(batch.size()));
      const error_code error = co_await wire->Write(batch);
      if (error) co_return Broken("writing", error);
      wire->Disarm();
    }
    co_return absl::UnavailableError("the connection was closed");
  }

  // Reads what confirms frames.
  awaitable<void> Confirm(std::shared_ptr<Wire> wire, std::shared_ptr<Call> call) {
    std::string bytes(256, '\0');
    while (true) {
      size_t read = 0;
      const error_code error = co_await wire->ReadSome(bytes.data(), bytes.size(), read);
      if (error || call->wire != wire || read > call->unconfirmed.size()) break;
      call->unconfirmed.erase(call->unconfirmed.begin(),
                              call->unconfirmed.begin() + static_cast<ptrdiff_t>(read));
    }
    wire->Close();
    if (call->wire == wire) call->wake.cancel();
  }

  // --- Those who call.

  awaitable<void> Accept() {
    while (true) {
      auto [error, socket] = co_await acceptor_.async_accept(kAwait);
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // out of descriptors, say
        asio::steady_timer timer(io_, milliseconds(100));
        co_await timer.async_wait(kAwait);
        continue;
      }
      if (callers_ >= kMostCallers) continue;  // closes it
      asio::co_spawn(io_, Serve(std::make_shared<Wire>(std::move(socket), tls())), asio::detached);
    }
  }

  awaitable<void> Serve(std::shared_ptr<Wire> wire) {
    ++callers_;
    co_await Listen(wire);
    wire->Close();
    --callers_;
  }

  // Whoever called longest ago is forgotten first: made-up IDs must not keep out a new node, and
  // those who are spoken with call again and again.
  void Learn(NodeId id, const std::string& address) {
    learned_[id] = {address, ++hellos_};
    if (learned_.size() <= kMostLinks) return;
    learned_.erase(std::min_element(
        learned_.begin(), learned_.end(),
        [](const auto& a, const auto& b) { return a.second.hello < b.second.hello; }));
  }

  awaitable<void> Listen(std::shared_ptr<Wire> wire) {
    wire->Arm(kGreeting);
    if (co_await wire->Handshake("")) co_return;
    FramedWire framed(wire, kMostHelloBytes);
    const auto first = co_await framed.Read();
    if (!first.ok()) co_return;
    const auto hello = DecodeHello(*first);
    if (!hello.ok()) co_return;
    absl::Status status = CheckHello(*hello, options_.self, options_.cluster);
    const std::string welcome = Framed(EncodeWelcome(status));
    if (co_await wire->Write(welcome) || !status.ok()) co_return;
    wire->Disarm();
    Learn(hello->from, hello->address);
    // A node has one connection of a kind: it calls anew when it has lost the last one.
    std::weak_ptr<Wire>& mine = serving_[{hello->from, hello->bulk}];
    if (const auto last = mine.lock(); last != nullptr) last->Close();
    mine = wire;
    framed.Expect(hello->bulk ? kMostBulkFrameBytes : kMostFrameBytes);
    while (!wire->closed()) {
      const auto frame = co_await framed.Read();
      if (!frame.ok() || wire->closed()) co_return;
      auto message = DecodeMessage(*frame);
      if (!message.ok()) co_return;
      receive_(hello->from, *std::move(message));
      if (co_await wire->Write(std::string_view("\0", 1))) co_return;
    }
  }

  const TcpOptions options_;
  const std::unique_ptr<http::TlsContext> tls_;
  Receive receive_;
  std::map<std::pair<NodeId, bool>, std::shared_ptr<Call>> calls_;
  std::map<std::pair<NodeId, bool>, std::weak_ptr<Wire>> serving_;
  struct Learned {
    std::string address;
    uint64_t hello = 0;  // the number of its last one
  };
  std::map<NodeId, Learned> learned_;  // by those who called
  uint64_t hellos_ = 0;
  size_t callers_ = 0;
  internal::Mutex mutex_;
  std::map<std::pair<NodeId, bool>, Link> links_ ABSL_GUARDED_BY(mutex_);  // as Links shows them
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  internal::Mutex stop_mutex_;  // of the thread's end
  std::thread thread_;
};

TcpTransport::TcpTransport(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
TcpTransport::~TcpTransport() = default;
absl::Status TcpTransport::Start(Receive receive) { return rep_->Start(std::move(receive)); }
void TcpTransport::Stop() { rep_->Stop(); }
std::vector<TcpTransport::Link> TcpTransport::Links() { return rep_->Links(); }
void TcpTransport::Send(NodeId to, const std::string& address, Message message) {
  rep_->Send(to, address, std::move(message));
}

absl::StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(TcpOptions options) {
  LOCUS_ASSIGN_OR_RETURN(const Endpoint listen, Endpoint::Parse(options.listen));
  if (options.advertise.empty()) options.advertise = options.listen;
  LOCUS_RETURN_IF_ERROR(Endpoint::Parse(options.advertise).status());
  if (options.self == 0) return absl::InvalidArgumentError("a node has an ID other than 0");
  if (options.cluster.empty() || options.cluster.size() > kMostClusterBytes ||
      options.advertise.size() > kMostAddressBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a cluster's name has 1 to ", kMostClusterBytes,
                                                   " bytes, an address at most ",
                                                   kMostAddressBytes));
  }
  std::unique_ptr<http::TlsContext> tls;
  if (options.tls) {
    const http::TlsFiles& files = *options.tls;
    if (files.ca_file.empty() || files.certificate_file.empty() || files.key_file.empty()) {
      return absl::FailedPreconditionError(
          "TLS between nodes takes three files: the authority, a certificate and its key");
    }
    LOCUS_ASSIGN_OR_RETURN(tls, http::TlsContext::Load(files));
  } else if (!internal::IsLoopback(listen.host)) {
    return absl::FailedPreconditionError(
        absl::StrCat("a node listens on ", options.listen, ", beyond loopback, with TLS only"));
  }
  LOCUS_ASSIGN_OR_RETURN(
      const auto addresses,
      internal::Resolve(listen.host, std::chrono::steady_clock::now() + seconds(5)));
  error_code error;
  const auto address = asio::ip::make_address(addresses.front(), error);
  if (error) return Broken(options.listen, error);
  auto rep = std::make_unique<Rep>(std::move(options), std::move(tls));
  LOCUS_RETURN_IF_ERROR(rep->Listen({address, listen.port}));
  return std::unique_ptr<TcpTransport>(new TcpTransport(std::move(rep)));
}

}  // namespace locus::raft
