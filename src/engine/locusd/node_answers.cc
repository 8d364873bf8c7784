// SPDX-License-Identifier: Apache-2.0
#include "src/engine/locusd/node_answers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/http/api/members.h"
#include "src/http/endpoint.h"

namespace locus::locusd {
namespace {

using cluster_api::Members;
using internal::Printable;
using internal::Quoted;

constexpr size_t kMostMembers = 64;
constexpr size_t kMostText = 256;

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

// Of texts that are names: printable ASCII.
std::string NameIn(Members& members, const char* name) {
  std::string text = members.Text(name, kMostText);
  if (IsPrintable(text)) return text;
  members.Fail(absl::StrCat("\"", name, "\" is ", Quoted(text), ", which cannot be printed"));
  return "";
}

// "" where there is none.
std::string AddressIn(Members& members, const char* name) {
  std::string text = NameIn(members, name);
  if (text.empty() || http::Endpoint::Parse(text).ok()) return text;
  members.Fail(absl::StrCat("\"", name, "\" is ", Quoted(text), ", which is not host:port"));
  return "";
}

LocusdMember MemberIn(Members& members) {
  LocusdMember member;
  member.id = members.Token("id", UINT64_MAX);
  if (member.id == 0) members.Fail("a member's \"id\" is 0");
  // "host:port host:port": of the nodes, and of the API.
  const std::string both = NameIn(members, "address");
  const size_t space = std::min(both.find(' '), both.size());
  member.raft = both.substr(0, space);
  member.api = both.substr(std::min(space + 1, both.size()));
  for (const std::string& one : {member.raft, member.api}) {
    if (http::Endpoint::Parse(one).ok()) continue;
    members.Fail(absl::StrCat("a member's \"address\" is ", Quoted(both),
                              ", which is not host:port host:port"));
  }
  member.voter = members.Bool("voter");
  member.leader = members.Bool("leader");
  member.match = members.Number("match");
  member.forgot = members.Bool("forgot");
  member.silent_for = members.DurationOrNull("silent_ms");
  members.AllowOthers();
  return member;
}

LocusdNode::Role RoleIn(Members& members) {
  const std::string text = members.Text("role", kMostText);
  for (auto role :
       {LocusdNode::Role::kFollower, LocusdNode::Role::kCandidate, LocusdNode::Role::kLeader}) {
    if (ToString(role) == text) return role;
  }
  members.Fail(absl::StrCat("\"role\" is ", Quoted(text)));
  return LocusdNode::Role::kFollower;
}

absl::StatusOr<LocusdNode> Read(std::string_view body) {
  Members members(body);
  members.AllowOthers();
  LocusdNode node;
  node.id = members.Token("id", UINT64_MAX);
  if (node.id == 0) members.Fail("\"id\" is 0");
  node.cluster = NameIn(members, "cluster");
  node.version = NameIn(members, "version");
  node.raft = AddressIn(members, "raft");
  node.api = AddressIn(members, "api");
  node.role = RoleIn(members);
  node.leads_for_sure = members.Bool("leads_for_sure");
  node.term = members.Number("term");
  node.leader = members.TokenOrNull("leader", UINT64_MAX).value_or(0);
  node.removed = members.Bool("removed");
  node.commit = members.Number("commit");
  node.applied = members.Number("applied");
  node.last = members.Number("last");
  node.workers = members.Number("workers");
  node.held = members.Number("held");
  node.clock_off = members.SignedDuration("clock_off_ms");
  node.failure = Printable(members.Text("failure", 4096), 1024);
  node.unreached = Printable(members.TextOrNothing("unreached", 65536), 4096);
  if (const boost::json::array* all = members.Array("members", kMostMembers)) {
    for (const boost::json::value& one : *all) {
      Members of(one, "a member");
      node.members.push_back(MemberIn(of));
      LOCUS_RETURN_IF_ERROR(of.Finish());
      for (size_t i = 0; i + 1 < node.members.size(); ++i) {
        if (node.members[i].id == node.members.back().id) {
          members.Fail(absl::StrCat("the member ", node.members[i].id, " is listed twice"));
        }
      }
    }
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  if (node.leads_for_sure &&
      (node.role != LocusdNode::Role::kLeader || node.Find(node.id) == nullptr)) {
    return absl::InvalidArgumentError("a node leads that is no leader, or no member");
  }
  return node;
}

}  // namespace

absl::StatusOr<LocusdNode> ParseNode(std::string_view body) {
  absl::StatusOr<LocusdNode> node = Read(body);
  if (node.ok()) return node;
  return absl::DataLossError(absl::StrCat("GET /v1/status was answered by what no locusd says: ",
                                          node.status().message()));
}

absl::StatusOr<LocusdTime> ParseTime(std::string_view body) {
  Members members(body);
  members.AllowOthers();
  LocusdTime time;
  time.time = members.Time("time_ms");
  const absl::Time agreed = members.TimeOr("agreed_ms", absl::InfiniteFuture());
  if (agreed != absl::InfiniteFuture()) time.agreed = agreed;
  time.ending = members.Number("ending");
  const absl::Status status = members.Finish();
  if (status.ok()) return time;
  return absl::DataLossError(absl::StrCat("a time that no locusd gives: ", status.message()));
}

}  // namespace locus::locusd
