// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_TCP_CALLS_H_
#define LOCUS_SRC_RAFT_TCP_CALLS_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "src/base/run/mutex.h"
#include "src/raft/core/types.h"
#include "src/raft/tcp/tcp_transport.h"
#include "src/raft/tcp/wire.h"

namespace locus::raft {

// The connections that this node makes, with their queues: two for a node, one of them for
// snapshots.
//
// Thread safety: for the thread that runs `io` only, except Links.
class Calls {
 public:
  // All outlive it. `tls` nullptr: plain text, to this machine only.
  Calls(boost::asio::io_context& io, const TcpOptions& options, boost::asio::ssl::context* tls)
      : io_(io), options_(options), tls_(tls) {}

  // As Transport::Send.
  void Send(NodeId to, const std::string& address, const Message& message);
  // The address that a calling node advertises; used if the members have none for it.
  void Learn(NodeId id, const std::string& address);
  // All other receivers are strangers, and only few of them are called.
  void set_members(std::set<NodeId> members) { members_ = std::move(members); }
  // TcpTransport::Links.
  std::vector<TcpTransport::Link> Links() const;

 private:
  struct Call;
  template <typename T>
  using awaitable = boost::asio::awaitable<T>;
  using Key = std::pair<NodeId, bool>;  // whether it is for snapshots

  void MakeRoomForStranger();
  void End(Call& call);
  void Show(const Call& call);
  static void DropOldest(Call& call);
  awaitable<void> Run(std::shared_ptr<Call> call);
  awaitable<absl::Status> Connect(Call& call);
  awaitable<absl::Status> Greet(Call& call, const std::string& host);
  awaitable<absl::Status> Pump(std::shared_ptr<Call> call);
  awaitable<void> Confirm(std::shared_ptr<Wire> wire, std::shared_ptr<Call> call);

  boost::asio::io_context& io_;
  const TcpOptions& options_;
  boost::asio::ssl::context* const tls_;
  std::map<Key, std::shared_ptr<Call>> calls_;
  std::set<NodeId> members_;
  uint64_t sends_ = 0;
  struct Learned {
    std::string address;
    uint64_t hello = 0;  // the number of its last one
  };
  std::map<NodeId, Learned> learned_;
  uint64_t hellos_ = 0;
  mutable internal::Mutex mutex_;
  std::map<Key, TcpTransport::Link> links_ ABSL_GUARDED_BY(mutex_);  // as Links shows them
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_TCP_CALLS_H_
