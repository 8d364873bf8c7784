// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_TCP_CALLERS_H_
#define LOCUS_SRC_RAFT_TCP_CALLERS_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "src/raft/core/types.h"
#include "src/raft/node/transport.h"
#include "src/raft/tcp/caller_places.h"
#include "src/raft/tcp/frame.h"
#include "src/raft/tcp/tcp_transport.h"
#include "src/raft/tcp/wire.h"

namespace locus::raft {

// Incoming connections: accepts them, checks each caller's Hello, and reads its messages. Thread
// safety: of the thread that runs `io`.
class Callers {
 public:
  // Called for each caller that was let in, with its ID and the address that it advertises.
  using Learn = std::function<void(NodeId from, const std::string& address)>;

  // All outlive it. `tls` nullptr: plain text.
  Callers(boost::asio::io_context& io, const TcpOptions& options, boost::asio::ssl::context* tls,
          Learn learn)
      : io_(io), options_(options), tls_(tls), learn_(std::move(learn)), acceptor_(io) {}

  // UNAVAILABLE: the port is taken.
  absl::Status Listen(const boost::asio::ip::tcp::endpoint& at);
  void Start(Transport::Receive receive);
  // All other callers are strangers.
  void set_members(const Members& members);

 private:
  template <typename T>
  using awaitable = boost::asio::awaitable<T>;

  awaitable<void> Accept();
  awaitable<void> Serve(CallerPlaces::Caller caller, std::shared_ptr<Wire> wire);
  awaitable<void> Hear(CallerPlaces::Caller caller, std::shared_ptr<Wire> wire);
  absl::Status Check(const Hello& hello, Wire& wire) const;
  void Close(CallerPlaces::Caller caller);
  // `wire` has just refused its caller, or was refused by it.
  void Tell(Wire& wire, const std::string& why);

  boost::asio::io_context& io_;
  const TcpOptions& options_;
  boost::asio::ssl::context* const tls_;
  const Learn learn_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Transport::Receive receive_;
  Members members_;
  CallerPlaces places_;
  CallerPlaces::Caller last_caller_ = 0;
  std::chrono::steady_clock::time_point next_told_;
  uint64_t untold_ = 0;
  std::map<CallerPlaces::Caller, std::shared_ptr<Wire>> wires_;  // of the callers that have a place
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_TCP_CALLERS_H_
