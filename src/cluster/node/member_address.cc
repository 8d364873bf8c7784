// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/node/member_address.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::cluster_node {
namespace {

// host:port, of printable ASCII.
bool IsAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  for (char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  const auto port = internal::ParseDecimal(text.substr(colon + 1), 65535);
  return port && *port > 0;
}

}  // namespace

absl::StatusOr<MemberAddress> MemberAddress::Parse(std::string_view text) {
  const size_t blank = text.find(' ');
  if (text.size() <= raft::kMostAddressBytes && blank != std::string_view::npos &&
      IsAddress(text.substr(0, blank)) && IsAddress(text.substr(blank + 1))) {
    return MemberAddress{std::string(text.substr(0, blank)), std::string(text.substr(blank + 1))};
  }
  return absl::InvalidArgumentError(
      absl::StrCat(internal::Quoted(text),
                   " is not \"host:port host:port\", a member's addresses "
                   "for nodes and for clients, of at most ",
                   raft::kMostAddressBytes, " bytes"));
}

void MemberTransport::NoteMembers(const raft::Members& members) {
  raft::Members to = members;
  for (raft::Member& member : to) member.address = RaftOf(member.address);
  to_addresses_.NoteMembers(to);
}

}  // namespace locus::cluster_node
