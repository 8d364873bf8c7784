// SPDX-License-Identifier: Apache-2.0
// Sets of strict sequences (StrictStore).
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/time_value.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "nlohmann/json.hpp"
#include "routing/picture/text_grid.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Align;
using internal::StdoutStyle;
using internal::TextGrid;
using nlohmann::ordered_json;

namespace {

struct StrictLine {
  StoreUri uri;
  SpaceName set;

  void DeclareOn(VerbLine& line) {
    StoreOption(line, "--store URI", &uri,
                absl::StrCat("The store of the set: ", internal::UriForms(internal::kStrictSets)))
        .Required()
        .Else("LOCUS_STORE");
    line.Value("--set S", &set, SpaceName::Parse, "The set in the store").Default(set.str());
  }
};

absl::Status Create(const StrictLine& line, const StrictSetOptions& options,
                    const StrictSetPast& past) {
  SignalsHeld until_written;
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenStrict(line.uri, /*create=*/true));
  return store->Create(line.set, options, past);
}

absl::Status DeclareRestored(const StrictLine& line) {
  SignalsHeld until_written;
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenStrict(line.uri, /*create=*/false));
  return store->DeclareRestored(line.set);
}

// Ascending numbers as "0-4", "7".
std::vector<std::string> RangesOf(const std::vector<uint32_t>& sections) {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < sections.size();) {
    size_t end = i + 1;
    while (end < sections.size() && sections[end] == sections[end - 1] + 1) ++end;
    ranges.push_back(end - i == 1 ? absl::StrCat(sections[i])
                                  : absl::StrCat(sections[i], "-", sections[end - 1]));
    i = end;
  }
  return ranges;
}

// Who has the sections of a set, by its store.
struct Shares {
  struct Owner {
    std::vector<uint32_t> sections;  // ascending, as all of these lists
    size_t ended = 0;                // of these, with a lease that has ended
    absl::Time first_end = absl::InfiniteFuture();
  };
  using Key = std::tuple<std::string, std::string, uint64_t>;  // name, address, instance
  std::map<Key, Owner> owners;
  std::map<std::string, std::vector<uint32_t>> handed_over;  // not taken yet, by the successor
  std::vector<uint32_t> free;
  size_t ended = 0;
  uint64_t max_seq = 0;  // the highest

  explicit Shares(const StrictSetView& view) {
    uint32_t next = 0;
    for (const StrictSectionView& of : view.sections) {
      while (next < of.section) free.push_back(next++);
      next = of.section + 1;
      max_seq = std::max(max_seq, of.max_seq);
      if (of.owner) {
        Owner& owner = owners[{of.owner->name, of.owner->address, of.owner->instance}];
        owner.sections.push_back(of.section);
        owner.first_end = std::min(owner.first_end, of.ends_at);
        owner.ended += of.ends_at <= view.now;
        ended += of.ends_at <= view.now;
      } else if (!of.successor.empty()) {
        handed_over[of.successor].push_back(of.section);
      } else {
        free.push_back(of.section);
      }
    }
    while (next < view.options.sections()) free.push_back(next++);
  }

  absl::Status Health(const StrictSetView& view) const {
    size_t moving = 0;
    for (const auto& [to, sections] : handed_over) moving += sections.size();
    const size_t without = free.size() + ended + moving;
    if (without == 0) return absl::OkStatus();
    std::vector<std::string> parts;
    if (!free.empty()) parts.push_back(absl::StrCat(free.size(), " are free"));
    if (ended > 0) parts.push_back(absl::StrCat("the leases of ", ended, " have ended"));
    if (moving > 0) parts.push_back(absl::StrCat(moving, " are handed over and not taken"));
    if (view.rest_until > view.now) {
      parts.push_back(
          absl::StrCat("after a loss the store grants none until ", UtcSeconds(view.rest_until)));
    }
    return absl::UnavailableError(
        absl::StrCat(without, " of ", view.options.sections(),
                     " sections have no owner: ", absl::StrJoin(parts, ", ")));
  }
};

// Numbers that may pass 2^53 are strings, for JavaScript.
std::string JsonOf(const SpaceName& set, const StrictSetView& view, const Shares& shares) {
  const absl::Status health = shares.Health(view);
  const StrictSetOptions& options = view.options;
  ordered_json json;
  json["healthy"] = health.ok();
  json["health"] = health.ok() ? "OK" : std::string(health.message());
  json["set"] = set.str();
  json["first_uid"] = absl::StrCat(options.first_uid);
  json["uids"] = absl::StrCat(options.uids);
  json["sections"] = options.sections();
  json["section_size"] = options.section_size;
  json["step"] = absl::StrCat(options.step);
  json["ttl_ms"] = absl::ToInt64Milliseconds(options.ttl);
  json["table_version"] = absl::StrCat(view.table_version);
  json["max_seq"] = absl::StrCat(shares.max_seq);
  json["losses"] = view.losses;
  json["now"] = UtcSeconds(view.now);
  json["rest_until"] =
      view.rest_until > view.now ? ordered_json(UtcSeconds(view.rest_until)) : ordered_json();
  json["owners"] = ordered_json::array();
  for (const auto& [key, owner] : shares.owners) {
    const auto& [name, address, instance] = key;
    json["owners"].push_back({{"name", name},
                              {"address", address},
                              {"instance", absl::StrCat(instance)},
                              {"sections", owner.sections.size()},
                              {"ended", owner.ended},
                              {"left_ms", absl::ToInt64Milliseconds(owner.first_end - view.now)},
                              {"ranges", RangesOf(owner.sections)}});
  }
  json["handed_over"] = ordered_json::array();
  for (const auto& [to, sections] : shares.handed_over) {
    json["handed_over"].push_back({{"to", to}, {"ranges", RangesOf(sections)}});
  }
  json["free"] = RangesOf(shares.free);
  return json.dump() + "\n";
}

std::string TextOf(const SpaceName& set, const StrictSetView& view, const Shares& shares) {
  const StrictSetOptions& options = view.options;
  std::string out = absl::StrCat(
      "set ", set.str(), "\nuids ", options.first_uid, "-", options.first_uid + options.uids - 1,
      "\nsections ", options.sections(), "\nsection_size ", options.section_size, "\nstep ",
      options.step, "\nttl ", absl::FormatDuration(options.ttl), "\ntable_version ",
      view.table_version, "\nmax_seq ", shares.max_seq, "\nlosses ", view.losses, "\n");
  if (view.rest_until > view.now) {
    absl::StrAppend(&out, "rest_until ", UtcSeconds(view.rest_until), "\n");
  }
  TextGrid grid({Align::kLeftWhole, Align::kLeftWhole, Align::kRight, Align::kRight, Align::kRight,
                 Align::kLeft});
  grid.Add({"owner", "address", "sections", "ended", "left_s", "ranges"});
  for (const auto& [key, owner] : shares.owners) {
    const double left = absl::ToDoubleSeconds(owner.first_end - view.now);
    grid.Add({std::get<0>(key), std::get<1>(key), absl::StrCat(owner.sections.size()),
              absl::StrCat(owner.ended), absl::StrFormat("%.1f", left),
              absl::StrJoin(RangesOf(owner.sections), ",")});
  }
  for (const auto& [to, sections] : shares.handed_over) {
    grid.Add({absl::StrCat("(handed over to ", to, ")"), "", absl::StrCat(sections.size()), "", "",
              absl::StrJoin(RangesOf(sections), ",")});
  }
  if (!shares.free.empty()) {
    grid.Add({"(nobody)", "", absl::StrCat(shares.free.size()), "", "",
              absl::StrJoin(RangesOf(shares.free), ",")});
  }
  grid.AppendTo(out, StdoutStyle());
  return out;
}

}  // namespace

int RunStrictCreate(std::span<const std::string> words) {
  StrictLine strict;
  StrictSetOptions options;
  StrictSetPast past;
  VerbLine line("strict create",
                "Creates a set of strict sequences, with its sqlite file or tables, if it is "
                "missing. Its numbers begin above those of a store that was lost. A set that "
                "exists with other options is left as it is, and refused.",
                "locus strict create --store sqlite:strict.db --uids 10000000 --first-ever");
  strict.DeclareOn(line);
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  line.Number("--uids N", &options.uids, {.least = 1, .most = kMost}, "The users of the set");
  line.Number("--first-uid N", &options.first_uid, {.most = kMost}, "The first of them");
  line.Number("--section-size N", &options.section_size,
              {.least = 1, .most = std::numeric_limits<uint32_t>::max()},
              "Neighbouring users that share one stored number and one owner");
  line.Number("--step N", &options.step, {.least = 1, .most = kMost},
              "By how much the stored number is raised at once, ahead of use");
  line.Duration("--ttl SECONDS", &options.ttl, {.most = absl::Hours(1)},
                "How long the users of an owner that died are without numbers");
  line.Flag("--first-ever", &past.first_ever,
            "No number of this set was ever given out, in no store: begin at 1, at once. Not for a "
            "script that runs again: after a loss it would repeat numbers");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  return EndVerb("strict create", Create(strict, options, past));
}

int RunStrictStatus(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "strict status";
  StrictLine strict;
  bool json = false;
  VerbLine line(kVerb,
                "Prints who owns the sections of a set of strict sequences, by its store. The exit "
                "code is 0 where each section has an owner whose lease has not ended, otherwise 1.",
                "locus strict status --store sqlite:strict.db");
  strict.DeclareOn(line);
  line.Flag("--json", &json, "Print a JSON object");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto store = OpenStrict(strict.uri, /*create=*/false);
  if (!store.ok()) return EndVerb(kVerb, store.status());
  const absl::StatusOr<StrictSetView> view = (*store)->Show(strict.set);
  if (!view.ok()) return EndVerb(kVerb, view.status());
  const Shares shares(*view);
  const int printed =
      PrintAll(kVerb, json ? JsonOf(strict.set, *view, shares) : TextOf(strict.set, *view, shares));
  const absl::Status health = shares.Health(*view);
  return health.ok() ? printed : Fail(kVerb, health);
}

int RunStrictRestored(std::span<const std::string> words) {
  StrictLine strict;
  VerbLine line("strict restored",
                "Declares that an older state of the store of strict sequences was restored: all "
                "numbers are raised above those that were forgotten, and no sections are granted "
                "until the leases that were forgotten have ended. Use it before owners are "
                "started.",
                "locus strict restored --store sqlite:strict.db");
  strict.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  return EndVerb("strict restored", DeclareRestored(strict));
}

}  // namespace locus::cli
