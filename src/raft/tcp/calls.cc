// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/calls.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>

#include "absl/strings/str_cat.h"
#include "src/base/os/loopback.h"
#include "src/base/os/random_word.h"
#include "src/base/run/backoff.h"
#include "src/http/endpoint.h"
#include "src/raft/core/codec.h"
#include "src/raft/tcp/frame.h"
#include "src/raft/tcp/framed_wire.h"
#include "src/raft/tcp/wire.h"

namespace locus::raft {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using http::Endpoint;
using internal::MutexLock;

constexpr size_t kMostStrangers = 16;
constexpr size_t kMostLearned = 4 * kMostMembers;
constexpr size_t kMostBatchBytes = 256 << 10;
constexpr auto kIdle = std::chrono::seconds(60);  // a link with nothing to send ends
constexpr auto kCheck = std::chrono::milliseconds(250);

}  // namespace

// The connection to one node, with its queue of frames.
struct Calls::Call {
  explicit Call(asio::io_context& io) : wake(io) {}
  TcpTransport::Link shown;
  std::deque<std::string> frames;
  size_t bytes = 0;        // of the frames
  uint64_t last_send = 0;  // its number
  bool ended = false;      // its coroutines are to end
  asio::steady_timer wake;
  std::shared_ptr<tcp::socket> connecting;
  std::shared_ptr<Wire> wire;
  std::deque<std::chrono::steady_clock::time_point> unconfirmed;  // until when, by frame
};

void Calls::Send(NodeId to, const std::string& address, const Message& message) {
  const bool bulk = std::holds_alternative<InstallSnapshot>(message);
  const auto known = calls_.find({to, bulk});
  std::shared_ptr<Call> call = known == calls_.end() ? nullptr : known->second;
  if (call == nullptr) {
    if (!members_.contains(to)) MakeRoomForStranger();
    call = calls_[{to, bulk}] = std::make_shared<Call>(io_);
    call->shown.to = to;
    call->shown.bulk = bulk;
    asio::co_spawn(io_, Run(call), asio::detached);
  }
  call->last_send = ++sends_;
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

// Answers to made-up IDs must not take the place of what members get.
void Calls::MakeRoomForStranger() {
  size_t strangers = 0;
  Call* oldest = nullptr;
  for (const auto& [key, call] : calls_) {
    if (members_.contains(key.first)) continue;
    ++strangers;
    if (oldest == nullptr || call->last_send < oldest->last_send) oldest = call.get();
  }
  if (strangers >= kMostStrangers) End(*oldest);
}

void Calls::End(Call& call) {
  call.ended = true;
  call.frames.clear();
  error_code ignored;
  if (call.connecting != nullptr) call.connecting->close(ignored);
  if (call.wire != nullptr) call.wire->Close();
  call.wake.cancel();
  const Key key{call.shown.to, call.shown.bulk};
  {
    MutexLock lock(mutex_);
    links_.erase(key);
  }
  calls_.erase(key);
}

// The address that was learned longest ago is forgotten first. Made-up IDs must not keep out a new
// node, and live nodes call again and again.
void Calls::Learn(NodeId id, const std::string& address) {
  learned_[id] = {address, ++hellos_};
  if (learned_.size() <= kMostLearned) return;
  learned_.erase(std::min_element(
      learned_.begin(), learned_.end(),
      [](const auto& a, const auto& b) { return a.second.hello < b.second.hello; }));
}

std::vector<TcpTransport::Link> Calls::Links() const {
  MutexLock lock(mutex_);
  std::vector<TcpTransport::Link> links;
  for (const auto& [key, link] : links_) links.push_back(link);
  return links;
}

// For Links.
void Calls::Show(const Call& call) {
  if (call.ended) return;
  MutexLock lock(mutex_);
  links_[{call.shown.to, call.shown.bulk}] = call.shown;
}

void Calls::DropOldest(Call& call) {
  call.bytes -= call.frames.front().size();
  call.frames.pop_front();
  ++call.shown.dropped;
}

// Runs while there is something to send now and then.
Calls::awaitable<void> Calls::Run(std::shared_ptr<Call> call) {
  internal::Backoff backoff({absl::Milliseconds(50), absl::Milliseconds(800), 0.5});
  while (!call->ended) {
    if (call->frames.empty()) {
      call->wake.expires_after(kIdle);
      auto [woken] = co_await call->wake.async_wait(kAwait);
      if (call->frames.empty() && !woken && !call->ended) End(*call);
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
}

Calls::awaitable<absl::Status> Calls::Connect(Call& call) {
  const auto endpoint = Endpoint::Parse(call.shown.address);
  if (!endpoint.ok()) {
    co_return absl::UnavailableError(
        absl::StrCat("node ", call.shown.to, " has no address: ", endpoint.status().message()));
  }
  if (tls_ == nullptr && !internal::IsLoopback(endpoint->host)) {
    co_return absl::FailedPreconditionError(absl::StrCat(
        call.shown.address, " is beyond loopback; nodes speak to others with TLS only"));
  }
  const auto socket = call.connecting = std::make_shared<tcp::socket>(io_);
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
  if (call.ended) co_return absl::UnavailableError("others took its place");
  call.wire = std::make_shared<Wire>(std::move(*socket), tls_);
  co_return co_await Greet(call, endpoint->host);
}

// TLS, hello and welcome.
Calls::awaitable<absl::Status> Calls::Greet(Call& call, const std::string& host) {
  const std::shared_ptr<Wire> wire = call.wire;
  wire->Arm(kGreeting);
  error_code error = co_await wire->Handshake(host);
  if (error) co_return absl::UnavailableError(absl::StrCat("TLS: ", wire->Why(error)));
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

Calls::awaitable<absl::Status> Calls::Pump(std::shared_ptr<Call> call) {
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
Calls::awaitable<void> Calls::Confirm(std::shared_ptr<Wire> wire, std::shared_ptr<Call> call) {
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

}  // namespace locus::raft
