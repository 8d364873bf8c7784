// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_TCP_TCP_TRANSPORT_H_
#define LOCUS_SRC_RAFT_TCP_TCP_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/http/tls_context.h"
#include "src/raft/core/types.h"
#include "src/raft/node/transport.h"

namespace locus::raft {

struct TcpOptions {
  NodeId self = 0;
  std::string cluster;    // nodes of other clusters are refused
  std::string listen;     // host:port
  std::string advertise;  // where others reach this node; empty: `listen`
  // All three files, of the cluster's own authority. A node's certificate names the host of its
  // address, as a callee's and as a caller's; any holder of a certificate of this authority is a
  // node, but only one that names a member's host speaks for that member. Without TLS this node
  // speaks to its own machine only.
  std::optional<http::TlsFiles> tls;
  // Of messages that wait for a connection to one node; beyond it the oldest are dropped.
  size_t queue_bytes = 64 << 20;
  // Called for a caller that was not let in, with its address and why: at most once in 10 s for all
  // of them, with the number of refusals that were not reported. By the transport's thread; must
  // not block. May be empty.
  std::function<void(const std::string& peer, const std::string& why, uint64_t untold)> on_refused =
      {};
};

// Messages over TCP. A node connects to each node that it sends to, so two nodes have a connection
// in each direction: Calls makes the outgoing ones, Callers takes the incoming ones, each over a
// Wire; snapshots take a connection of their own, so that heartbeats do not wait behind them.
// Connections that break are made again after a jittered pause. A node that neither takes nor
// confirms its frames loses its connection after some seconds, more if much is under way.
//
// A caller must send a Hello within 2 seconds (its ID, the called node's, cluster and version), or
// it is refused with the reason. It can make this node hold no more bytes than it has sent, at most
// 20 MiB of messages or 257 MiB of a snapshot. Members always find a place, whatever strangers do,
// as callers and as called (caller_places.h).
//
// Thread safety: as Transport. One thread of its own.
class TcpTransport : public Transport {
 public:
  // Listens, and takes no call before Start. FAILED_PRECONDITION: `listen` is beyond loopback and
  // there is no TLS; TLS files that are missing or wrong; UNAVAILABLE: the port is taken.
  // INVALID_ARGUMENT: an address that is not host:port, an ID of 0, a cluster without a name.
  static absl::StatusOr<std::unique_ptr<TcpTransport>> Create(TcpOptions options);
  ~TcpTransport() override;

  absl::Status Start(Receive receive) override;
  void Stop() override;
  void Send(NodeId to, const std::string& address, Message message) override;
  void NoteMembers(const Members& members) override;

  struct Link {
    NodeId to = 0;
    bool bulk = false;
    std::string address;
    bool connected = false;
    std::string error;  // the last one
    uint64_t dropped = 0;
  };
  // The connections that this node has made or tried to make, except to nodes that got no message
  // for a minute.
  std::vector<Link> Links();

 private:
  class Rep;
  explicit TcpTransport(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_TCP_TCP_TRANSPORT_H_
