// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_TCP_CALLERS_H_
#define LOCUS_SRC_RAFT_TCP_CALLERS_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "src/raft/node/transport.h"
#include "src/raft/tcp/tcp_transport.h"
#include "src/raft/tcp/wire.h"
#include "src/raft/types.h"

namespace locus::raft {

// Those who call this node: takes their connections, asks who they are, and reads their messages.
// Thread safety: of the thread that runs `io`.
class Callers {
 public:
  // Called for each caller that was let in: who it is, and where it says that it is reached.
  using Learn = std::function<void(NodeId from, const std::string& address)>;

  // All outlive it. `tls` nullptr: plain text.
  Callers(boost::asio::io_context& io, const TcpOptions& options, boost::asio::ssl::context* tls,
          Learn learn)
      : io_(io), options_(options), tls_(tls), learn_(std::move(learn)), acceptor_(io) {}

  // UNAVAILABLE: the port is taken.
  absl::Status Listen(const boost::asio::ip::tcp::endpoint& at);
  void Start(Transport::Receive receive);

 private:
  template <typename T>
  using awaitable = boost::asio::awaitable<T>;

  awaitable<void> Accept();
  awaitable<void> Serve(std::shared_ptr<Wire> wire);
  awaitable<void> Hear(std::shared_ptr<Wire> wire);

  boost::asio::io_context& io_;
  const TcpOptions& options_;
  boost::asio::ssl::context* const tls_;
  const Learn learn_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Transport::Receive receive_;
  size_t callers_ = 0;
  std::map<std::pair<NodeId, bool>, std::weak_ptr<Wire>> serving_;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_TCP_CALLERS_H_
