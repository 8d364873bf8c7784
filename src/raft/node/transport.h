// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_NODE_TRANSPORT_H_
#define LOCUS_SRC_RAFT_NODE_TRANSPORT_H_

#include <functional>

#include "absl/status/status.h"
#include "src/raft/node/shell.h"

namespace locus::raft {

// A network with threads of its own.
// Thread safety: all methods may be called from any thread.
class Transport : public Network {
 public:
  // Called by a thread of the transport for each message that comes.
  using Receive = std::function<void(NodeId from, Message message)>;
  virtual absl::Status Start(Receive receive) = 0;
  // When it returns, `receive` is not being called, and will not be called again.
  virtual void Stop() = 0;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_NODE_TRANSPORT_H_
