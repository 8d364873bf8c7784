// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_NODE_MEMBER_ADDRESS_H_
#define LOCUS_SRC_CLUSTER_NODE_MEMBER_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/raft/node/transport.h"

namespace locus::cluster_node {

// Where a member is reached: by the other nodes, and by clients. The members of the cluster hold
// both as one text, "host:port host:port".
struct MemberAddress {
  std::string raft;
  std::string api;

  std::string Text() const { return raft + " " + api; }
  // INVALID_ARGUMENT: `text` is not two addresses, or longer than a member's may be.
  static absl::StatusOr<MemberAddress> Parse(std::string_view text);
};

// Sends to members whose addresses are texts of MemberAddress.
class MemberTransport : public raft::Transport {
 public:
  // `to_addresses` must outlive it.
  explicit MemberTransport(raft::Transport& to_addresses) : to_addresses_(to_addresses) {}

  absl::Status Start(Receive receive) override { return to_addresses_.Start(std::move(receive)); }
  void Stop() override { to_addresses_.Stop(); }
  void Send(raft::NodeId to, const std::string& address, raft::Message message) override {
    to_addresses_.Send(to, RaftOf(address), std::move(message));
  }
  void NoteMembers(const raft::Members& members) override;

 private:
  static std::string RaftOf(const std::string& address) {
    return address.substr(0, address.find(' '));
  }

  raft::Transport& to_addresses_;
};

}  // namespace locus::cluster_node

#endif  // LOCUS_SRC_CLUSTER_NODE_MEMBER_ADDRESS_H_
