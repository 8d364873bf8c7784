// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locus/cluster/cluster_line.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/place/password.h"
#include "apps/locus/place/uri_options.h"
#include "locus/open.h"
#include "src/base/os/check.h"

namespace locus::cli {

using nlohmann::ordered_json;

Option& ClusterLine::DeclareOn(VerbLine& line) {
  line.Flag("--json", &json, "As one JSON object");
  return StoreOption(line, "URI", &uri,
                     absl::StrCat("The cluster, by the API addresses of its nodes: ",
                                  internal::UriForms(internal::kMembers)))
      .Offers(Offer::kClusterUris);
}

absl::StatusOr<std::unique_ptr<LocusdCluster>> ClusterLine::Open() const {
  return OpenLocusdCluster(uri.text, AskFor(PasswordFor::kStore));
}

ordered_json MemberJson(const LocusdMember& member) {
  return {{"id", absl::StrCat(member.id)},
          {"raft", member.raft},
          {"api", member.api},
          {"voter", member.voter},
          {"leader", member.leader}};
}

std::string Strength(const std::vector<LocusdMember>& members, size_t failed) {
  size_t voters = 0;
  for (const LocusdMember& member : members) voters += member.voter;
  auto count = [](size_t n, absl::string_view what) {
    return absl::StrCat(n, " ", what, n == 1 ? "" : "s");
  };
  std::string text = count(voters, "voter");
  if (members.size() > voters) {
    absl::StrAppend(&text, ", ", count(members.size() - voters, "learner"));
  }
  const size_t most = voters == 0 ? 0 : (voters - 1) / 2;
  const size_t spare = most - std::min(most, failed);
  const absl::string_view voter = failed > 0 ? "further voter" : "voter";
  if (failed > 0) absl::StrAppend(&text, ", ", failed, " of them silent");
  absl::StrAppend(&text, "; ", spare == 0 ? absl::StrCat("no ", voter) : count(spare, voter),
                  " may fail");
  return text;
}

namespace {

struct AddLine {
  ClusterLine cluster;
  std::string api;
  bool learner = false;
  absl::Duration timeout = LocusdAddOptions().patience;
};

// One line when something has changed, at most each second.
class Notes {
 public:
  explicit Notes(std::string_view verb) : verb_(verb) {}

  void Show(const LocusdAddOptions::Progress& progress) {
    if (progress.match == match_ && progress.commit == commit_) return;
    const absl::Time now = absl::Now();
    if (now < next_) return;
    next_ = now + absl::Seconds(1);
    match_ = progress.match;
    commit_ = progress.commit;
    Note(verb_, absl::StrCat("node ", progress.id, " is a learner, and has ", progress.match,
                             " of ", progress.commit, " entries",
                             progress.silent_for ? ""
                                                 : "; the leader has not heard it yet: `locus "
                                                   "cluster status` says why"));
  }

 private:
  const std::string_view verb_;
  uint64_t match_ = UINT64_MAX;
  uint64_t commit_ = 0;
  absl::Time next_ = absl::InfinitePast();
};

absl::StatusOr<LocusdMember> Add(std::string_view verb, const AddLine& add,
                                 LocusdCluster& cluster) {
  Notes notes(verb);
  uint64_t id = 0;
  LocusdAddOptions options;
  options.promote = !add.learner;
  options.patience = add.timeout;
  options.on_progress = [&](const LocusdAddOptions::Progress& progress) {
    id = progress.id;
    notes.Show(progress);
    return !Interrupted();
  };
  absl::StatusOr<LocusdMember> member = cluster.Add(add.api, options);
  if (member.ok() || id == 0) return member;
  const std::string remove = absl::StrCat("locus cluster remove ", add.cluster.uri.text, " ", id);
  if (absl::IsFailedPrecondition(member.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(member.status().message(), ". Remove the learner: ", remove));
  }
  return absl::Status(
      member.status().code(),
      absl::StrCat(member.status().message(), ". The same command goes on from there; ", remove,
                   " gives it up"));
}

}  // namespace

int RunClusterAdd(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "cluster add";
  AddLine add;
  VerbLine line(kVerb,
                "Adds a node that runs and waits, with an empty data directory, to a cluster of "
                "locusd: as a learner first, and as a voter once it has the log. May be repeated "
                "after an error or an interruption. Changes the addresses of a member that has "
                "others now.",
                "locus cluster add locusd://127.0.0.1:7070 127.0.0.1:7080");
  add.cluster.DeclareOn(line);
  line.Text("HOST:PORT", &add.api, "The API address of the new node");
  line.Flag("--learner", &add.learner, "Leave it a learner, which gets the log and does not vote");
  line.Duration("--timeout D", &add.timeout, {.least = absl::Seconds(1), .most = absl::Hours(24)},
                "How long it may take to get the log");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto cluster = add.cluster.Open();
  if (!cluster.ok()) return EndVerb(kVerb, cluster.status());
  SignalsDeferred until_it_is_a_learner;
  absl::StatusOr<LocusdMember> member = Add(kVerb, add, **cluster);
  if (absl::IsCancelled(member.status())) {
    Complain(kVerb, std::string(member.status().message()));
    return kInterrupted;
  }
  if (!member.ok()) return EndVerb(kVerb, member.status());
  if (add.cluster.json) return PrintAll(kVerb, MemberJson(*member).dump() + "\n");
  return PrintAll(kVerb, absl::StrCat("node ", member->id, " at ", member->api,
                                      member->voter ? " votes\n" : " is a learner\n"));
}

int RunClusterRemove(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "cluster remove";
  ClusterLine cluster;
  uint64_t id = 0;
  LocusdRemoveOptions options;
  VerbLine line(kVerb,
                "Removes a node from a cluster of locusd; a leader hands its leadership over "
                "first. The node ends, and may come back with an empty data directory only.",
                "locus cluster remove locusd://127.0.0.1:7070 8302847502938475029");
  cluster.DeclareOn(line);
  line.Number("ID", &id, {.least = 1, .what = "a node's ID"}, "Of locus cluster status").Required();
  line.Flag("--force", &options.force,
            "Also where a majority of the voters that remain is silent: the cluster then stands "
            "still until they come back");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = cluster.Open();
  if (!opened.ok()) return EndVerb(kVerb, opened.status());
  auto members = (*opened)->Remove(id, options);
  if (!members.ok()) return EndVerb(kVerb, members.status());
  if (!cluster.json) {
    return PrintAll(kVerb,
                    absl::StrCat("node ", id, " is removed\nmembers ", Strength(*members), "\n"));
  }
  ordered_json json = {{"removed", absl::StrCat(id)}, {"members", ordered_json::array()}};
  for (const LocusdMember& member : *members) json["members"].push_back(MemberJson(member));
  return PrintAll(kVerb, json.dump() + "\n");
}

int RunClusterTransfer(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "cluster transfer";
  ClusterLine cluster;
  std::optional<uint64_t> id;
  VerbLine line(kVerb,
                "Hands the leadership of a cluster of locusd to a voter; without an ID to the one "
                "that has most of the log.",
                "locus cluster transfer locusd://127.0.0.1:7070");
  cluster.DeclareOn(line);
  line.Number("ID", &id, {.least = 1, .what = "a node's ID"}, "Of locus cluster status");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = cluster.Open();
  if (!opened.ok()) return EndVerb(kVerb, opened.status());
  auto leader = (*opened)->Transfer(id);
  if (!leader.ok()) return EndVerb(kVerb, leader.status());
  if (cluster.json) return PrintAll(kVerb, MemberJson(*leader).dump() + "\n");
  return PrintAll(kVerb, absl::StrCat("node ", leader->id, " at ", leader->api, " leads\n"));
}

}  // namespace locus::cli
