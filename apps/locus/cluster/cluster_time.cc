// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "apps/locus/cluster/cluster_line.h"
#include "apps/locus/line/verb.h"
#include "src/base/os/check.h"

namespace locus::cli {

using nlohmann::ordered_json;

namespace {

absl::Duration BehindOf(const LocusdTime& time) {
  return time.agreed ? *time.agreed - time.time : absl::ZeroDuration();
}

std::string TextOf(const LocusdTime& time, bool advanced) {
  const absl::Duration behind = BehindOf(time);
  std::string text = absl::StrCat("time ", absl::FormatTime(time.time, absl::UTCTimeZone()), "\n");
  if (!time.agreed) return absl::StrCat(text, "the clocks of a majority of the nodes disagree\n");
  absl::StrAppend(&text, "clocks ", absl::FormatTime(*time.agreed, absl::UTCTimeZone()), "\n",
                  absl::FormatDuration(absl::AbsDuration(behind)),
                  behind < absl::ZeroDuration() ? " ahead of" : " behind", " the clocks\n");
  if (behind <= absl::Seconds(1)) return text;
  return absl::StrCat(text, advanced ? "advanced; " : "to advance it would end ", time.ending,
                      advanced ? " leases ended\n" : " leases early\n");
}

std::string JsonOf(const LocusdTime& time, bool advanced) {
  ordered_json json = {{"time_ms", absl::ToUnixMillis(time.time)}, {"agreed_ms", nullptr}};
  if (time.agreed) json["agreed_ms"] = absl::ToUnixMillis(*time.agreed);
  json["ending"] = time.ending;
  json["advanced"] = advanced;
  return json.dump() + "\n";
}

absl::StatusOr<LocusdTime> Advance(LocusdCluster& cluster, bool yes) {
  LOCUS_ASSIGN_OR_RETURN(const LocusdTime seen, cluster.ShowTime());
  const absl::Duration behind = BehindOf(seen);
  if (!yes && behind > absl::Seconds(1)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the cluster's time is ", absl::FormatDuration(behind), " behind; to advance it ends ",
        seen.ending,
        " leases of worker IDs and strict sections early. No ID repeats; holders must acquire "
        "again, and numbers of strict sequences may be out of order until their owners have "
        "noticed. Where that is right, add --yes"));
  }
  // Leases that come to end while this runs are covered by the same --yes.
  return cluster.AdvanceTime(std::max(behind, absl::ZeroDuration()) + absl::Minutes(1));
}

}  // namespace

int RunClusterTime(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "cluster time";
  ClusterLine cluster;
  bool advance = false, yes = false;
  VerbLine line(kVerb,
                "Shows the time of a cluster of locusd, by which its leases end, beside the clock "
                "on which a majority of its nodes agrees. A time that is behind gains 1/16 by "
                "itself; --advance sets it to that clock at once, which ends leases early.",
                "locus cluster time locusd://127.0.0.1:7070");
  cluster.DeclareOn(line);
  line.Flag("--advance", &advance, "Set the time to that clock; it never goes back");
  line.Flag("--yes", &yes, "With --advance: do it, whatever leases end");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = cluster.Open();
  if (!opened.ok()) return EndVerb(kVerb, opened.status());
  const auto time = advance ? Advance(**opened, yes) : (*opened)->ShowTime();
  if (!time.ok()) return EndVerb(kVerb, time.status());
  const bool advanced = advance && BehindOf(*time) > absl::Seconds(1);
  return PrintAll(kVerb, cluster.json ? JsonOf(*time, advanced) : TextOf(*time, advanced));
}

}  // namespace locus::cli
