// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/callers.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <set>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/http/endpoint.h"
#include "src/raft/core/codec.h"
#include "src/raft/tcp/frame.h"
#include "src/raft/tcp/framed_wire.h"

namespace locus::raft {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kTellEvery(10);

// Empty: it has gone already.
std::string AddressOf(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  return error ? std::string() : peer.address().to_string();
}

}  // namespace

absl::Status Callers::Listen(const tcp::endpoint& at) {
  error_code error;
  acceptor_.open(at.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(at, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  return error ? Broken("listening on " + options_.listen, error) : absl::OkStatus();
}

void Callers::set_members(const Members& members) {
  members_ = members;
  std::set<NodeId> ids;
  for (const Member& member : members) ids.insert(member.id);
  places_.set_members(std::move(ids));
}

void Callers::Start(Transport::Receive receive) {
  receive_ = std::move(receive);
  asio::co_spawn(io_, Accept(), asio::detached);
}

Callers::awaitable<void> Callers::Accept() {
  while (true) {
    auto [error, socket] = co_await acceptor_.async_accept(kAwait);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors, say
      asio::steady_timer timer(io_, std::chrono::milliseconds(100));
      co_await timer.async_wait(kAwait);
      continue;
    }
    const std::string address = AddressOf(socket);
    const auto wire = std::make_shared<Wire>(std::move(socket), tls_);
    wire->set_peer(address);
    const CallerPlaces::Caller caller = ++last_caller_;
    wires_[caller] = wire;
    places_.Enter(caller, address, [this](CallerPlaces::Caller gone) { Close(gone); });
    asio::co_spawn(io_, Serve(caller, wire), asio::detached);
  }
}

void Callers::Close(CallerPlaces::Caller caller) {
  const auto wire = wires_.extract(caller);
  if (!wire.empty()) wire.mapped()->Close();
}

void Callers::Tell(Wire& wire, const std::string& why) {
  const auto now = std::chrono::steady_clock::now();
  if (!options_.on_refused) return;
  if (now < next_told_) {
    ++untold_;
    return;
  }
  next_told_ = now + kTellEvery;
  options_.on_refused(wire.peer(), why, std::exchange(untold_, 0));
}

Callers::awaitable<void> Callers::Serve(CallerPlaces::Caller caller, std::shared_ptr<Wire> wire) {
  co_await Hear(caller, wire);
  places_.Leave(caller);
  Close(caller);
}

// Any certificate of the cluster's authority opens the connection. To speak for a member, a
// certificate must name the member's host.
absl::Status Callers::Check(const Hello& hello, Wire& wire) const {
  LOCUS_RETURN_IF_ERROR(CheckHello(hello, options_.self, options_.cluster));
  if (tls_ == nullptr) return absl::OkStatus();
  const Member* member = FindMember(members_, hello.from);
  const bool known = member != nullptr && !member->address.empty();
  const std::string& address = known ? member->address : hello.address;
  const auto endpoint = http::Endpoint::Parse(address);
  if (endpoint.ok() && wire.PeerIs(endpoint->host)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the caller's certificate does not name ", internal::Quoted(address),
                   known ? ", where the members say that node " : ", where it says that node ",
                   hello.from, " is reached"));
}

Callers::awaitable<void> Callers::Hear(CallerPlaces::Caller caller, std::shared_ptr<Wire> wire) {
  wire->Arm(kGreeting);
  const error_code failed = co_await wire->Handshake("");
  if (failed) co_return Tell(*wire, wire->closed() ? "no TLS in time" : wire->Why(failed));
  FramedWire framed(wire, kMostHelloBytes);
  const auto first = co_await framed.Read();
  if (!first.ok()) co_return;
  const auto hello = DecodeHello(*first);
  if (!hello.ok()) co_return;
  const absl::Status status = Check(*hello, *wire);
  if (!status.ok()) Tell(*wire, std::string(status.message()));
  const std::string welcome = Framed(EncodeWelcome(status));
  // A refused caller also gets its welcome, with the reason.
  if (co_await wire->Write(welcome) || !status.ok()) co_return;
  wire->Disarm();
  if (wire->closed()) co_return;
  learn_(hello->from, hello->address);
  places_.Name(caller, hello->from, hello->bulk,
               [this](CallerPlaces::Caller gone) { Close(gone); });
  framed.Expect(hello->bulk ? kMostBulkFrameBytes : kMostFrameBytes);
  while (!wire->closed()) {
    const auto frame = co_await framed.Read();
    if (!frame.ok() || wire->closed()) co_return;
    auto message = DecodeMessage(*frame);
    if (!message.ok()) co_return;
    places_.Hear(caller);
    receive_(hello->from, *std::move(message));
    // Confirms the frame (frame.h).
    if (co_await wire->Write(std::string_view("\0", 1))) co_return;
  }
}

}  // namespace locus::raft
