// SPDX-License-Identifier: Apache-2.0
// Sequence types (SequenceTypeStore).
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "apps/locus/audit/change_audit.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "nlohmann/json.hpp"
#include "routing/picture/text_grid.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/number/type_text.h"

namespace locus::cli {

using internal::Align;
using internal::StdoutStyle;
using internal::TextGrid;
using internal::ToAbsl;

namespace {

void DeclareStore(VerbLine& line, StoreUri* store) {
  StoreOption(line, "--store URI", store,
              absl::StrCat("The store of sequence types and counters: ",
                           internal::UriForms(internal::kCounters)))
      .Required()
      .Else("LOCUS_STORE");
}

void DeclareMayRepeat(VerbLine& line, bool* may_repeat) {
  line.Flag("--may-repeat", may_repeat,
            "Confirms a change after which a number may be written that was written before");
}

SequenceTypeStore::Repeats RepeatsOf(bool may_repeat) {
  using Repeats = SequenceTypeStore::Repeats;
  return may_repeat ? Repeats::kAllowed : Repeats::kRefused;
}

void DeclareName(VerbLine& line, std::string* name) {
  line.Text("NAME", name, "The type: 1 to 64 of a-z, 0-9, '_' and '-'");
}

// The options of a type, as far as they are given.
struct TypeLine {
  std::optional<int64_t> start, step, max_value, buffer;
  std::optional<std::string> at_max, period, zone, pattern, leftovers;
  std::optional<absl::Duration> ttl, lifetime;

  // `of_new`: shows the defaults.
  void DeclareOn(VerbLine& line, bool of_new) {
    auto with_default = [&](Option& option, const char* text) {
      if (of_new) option.Default(text);
    };
    with_default(
        line.Text("--pattern PATTERN", &pattern,
                  "How a number is written, such as {date:yyyyMMdd}{seq:8}, with one field "
                  "{seq:N}; see locus(1). Empty: plain numbers"),
        "");
    with_default(line.Choice("--period", {"none", "day", "month", "year"}, &period,
                             "Counting starts again with each; the pattern must write it"),
                 "none");
    with_default(line.Text("--time-zone ZONE", &zone,
                           "The time zone of period and pattern, such as Asia/Shanghai"),
                 "UTC");
    with_default(line.Number("--start N", &start, {.most = kHighestNumber},
                             "The first number of a counter; 0: the step"),
                 "0");
    with_default(line.Number("--step S", &step, {.most = kHighestNumber},
                             "The distance between two numbers"),
                 "1");
    with_default(line.Number("--max-value M", &max_value, {.most = kHighestNumber},
                             "The highest number; 0: what {seq:N} holds, or no limit"),
                 "0");
    with_default(line.Choice("--at-max", {"error", "wrap"}, &at_max,
                             "Past the highest number: fail, or start again at the first"),
                 "error");
    with_default(
        line.Duration("--ttl SECONDS", &ttl, {.most = kLongestTtl},
                      "A counter that no call uses for this time is forgotten; longer than "
                      "the period; 0: counters are kept"),
        "0");
    with_default(line.Number("--buffer N", &buffer, {.most = kHighestNumber},
                             "How many numbers a SegmentSequence takes at once; 0: by use"),
                 "0");
    with_default(line.Choice("--leftovers", {"return", "drop"}, &leftovers,
                             "What a NumberGenerator does with numbers that it took and did not "
                             "hand out when the period ends"),
                 "return");
    with_default(line.Duration("--lifetime SECONDS", &lifetime,
                               {.least = absl::Seconds(1), .most = absl::Hours(24)},
                               "Within this time a NumberGenerator counts by a changed type"),
                 "1m");
  }

  void ChangeIn(SequenceType& type) const {
    if (start) type.start = *start;
    if (step) type.step = *step;
    if (max_value) type.max_value = *max_value;
    if (buffer) type.buffer = *buffer;
    if (ttl) type.expiry = *ttl;
    if (zone) type.zone = *zone;
    if (pattern) type.pattern = *pattern;
    if (period) type.period = *internal::ParsePeriod(*period);
    if (leftovers) type.leftovers = *internal::ParseLeftovers(*leftovers);
    if (lifetime) type.lifetime = *lifetime;
    if (at_max) {
      type.at_max =
          *at_max == "wrap" ? SequencerOptions::AtMax::kWrap : SequencerOptions::AtMax::kError;
    }
  }
};

// What is shown of a type, in this order.
std::vector<std::pair<const char*, std::string>> RowsOf(const SequenceType& type) {
  return {{"name", type.name},
          {"version", absl::StrCat(type.version)},
          {"pattern", type.pattern},
          {"period", std::string(ToString(type.period))},
          {"time_zone", type.zone},
          {"start", absl::StrCat(type.start == 0 ? type.step : type.start)},
          {"step", absl::StrCat(type.step)},
          {"max_value", absl::StrCat(type.counter_options().max_value)},
          {"at_max", std::string(ToString(type.at_max))},
          {"ttl", absl::FormatDuration(type.expiry)},
          {"buffer", absl::StrCat(type.buffer)},
          {"leftovers", std::string(ToString(type.leftovers))},
          {"lifetime", absl::FormatDuration(type.lifetime)}};
}

// The version that a type has now, also one that cannot be read.
absl::StatusOr<uint64_t> VersionOf(SequenceTypeStore& types, const std::string& name) {
  const absl::StatusOr<SequenceType> found = types.Find(name);
  if (found.ok()) return found->version;
  if (!absl::IsDataLoss(found.status())) return found.status();
  LOCUS_ASSIGN_OR_RETURN(const std::vector<SequenceTypeStore::Known> all, types.ListAny());
  for (const SequenceTypeStore::Known& known : all) {
    if (known.type.name == name) return known.type.version;
  }
  return found.status();
}

// Numbers are strings: JavaScript's end at 2^53.
nlohmann::ordered_json JsonOf(const SequenceType& type) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : RowsOf(type)) json[name] = value;
  return json;
}

// The exit code of a verb that printed `out` or failed.
int PrintOrFail(const std::string& verb, const absl::Status& status, const std::string& out) {
  if (absl::IsInvalidArgument(status)) return WrongUsage(verb, status);
  return status.ok() ? PrintAll(verb, out) : Fail(verb, status);
}

constexpr char kClusterRecords[] = "; on locusd:// and raft:// the cluster records it";

// As PrintOrFail, of a verb that changed a type, once that is recorded.
int EndOfChange(const std::string& verb, const absl::Status& status, const std::string& out,
                ChangeAudit& audit) {
  const int exit = PrintOrFail(verb, status, out);
  if (exit != kDone) return exit;
  const absl::Status recorded = audit.Finish("the sequence type was changed");
  return recorded.ok() ? kDone : Fail(verb, recorded);
}

std::string VersionLine(const SequenceType& type) {
  return IsQuiet() ? "" : absl::StrCat("version ", type.version, "\n");
}

}  // namespace

int RunSeqTypeCreate(std::span<const std::string> words) {
  StoreUri store;
  SequenceType type;
  TypeLine rule;
  VerbLine line("seq type create",
                "Stores a sequence type and prints its version. Creates a missing "
                "sqlite file, and the table of mysql. A type that was dropped goes on with its "
                "counters.",
                "locus seq type create invoices --store sqlite:numbers.db --period day "
                "--pattern '{date:yyyyMMdd}{seq:8}'");
  DeclareName(line, &type.name);
  DeclareStore(line, &store);
  rule.DeclareOn(line, /*of_new=*/true);
  bool may_repeat = false;
  DeclareMayRepeat(line, &may_repeat);
  ChangeAudit audit;
  audit.DeclareOn(line, kClusterRecords);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  std::string out;
  auto run = [&]() -> absl::Status {
    rule.ChangeIn(type);
    LOCUS_RETURN_IF_ERROR(type.Check());
    LOCUS_RETURN_IF_ERROR(audit.Open(store));
    LOCUS_ASSIGN_OR_RETURN(auto types, OpenSequenceTypes(store, /*create=*/true));
    audit.Follow(*types);
    LOCUS_ASSIGN_OR_RETURN(type, types->Create(type, RepeatsOf(may_repeat)));
    out = VersionLine(type);
    return absl::OkStatus();
  };
  return EndOfChange("seq type create", run(), out, audit);
}

int RunSeqTypeShow(std::span<const std::string> words) {
  StoreUri store;
  std::string name;
  bool json = false;
  VerbLine line("seq type show", "Prints a sequence type, one option a line.",
                "locus seq type show invoices --store sqlite:numbers.db");
  DeclareName(line, &name);
  DeclareStore(line, &store);
  line.Flag("--json", &json, "Print one JSON object");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  std::string out;
  auto run = [&]() -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(auto types, OpenSequenceTypes(store, /*create=*/false));
    LOCUS_ASSIGN_OR_RETURN(SequenceType type, types->Find(name));
    if (json) {
      out = JsonOf(type).dump() + "\n";
      return absl::OkStatus();
    }
    for (const auto& [option, value] : RowsOf(type)) {
      absl::StrAppend(&out, option, value.empty() ? "" : " ", value, "\n");
    }
    return absl::OkStatus();
  };
  return PrintOrFail("seq type show", run(), out);
}

int RunSeqTypeList(std::span<const std::string> words) {
  StoreUri store;
  bool json = false;
  VerbLine line("seq type list", "Prints a table of the sequence types of a store.",
                "locus seq type list --store sqlite:numbers.db");
  DeclareStore(line, &store);
  bool dropped = false;
  line.Flag("--dropped", &dropped, "Those that were dropped, and no others");
  line.Flag("--json", &json, "Print one JSON object a line");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  std::string out;
  absl::Status unread;
  auto run = [&]() -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(auto types, OpenSequenceTypes(store, /*create=*/false));
    LOCUS_ASSIGN_OR_RETURN(std::vector<SequenceTypeStore::Known> all, types->ListAny());
    TextGrid grid({Align::kLeftWhole, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight,
                   Align::kLeftWhole});
    grid.Add({"name", "period", "time_zone", "start", "step", "pattern"});
    for (const auto& [type, is_dropped, read] : all) {
      if (is_dropped != dropped) continue;
      if (!read.ok()) {
        if (unread.ok()) unread = read;
        const std::string version = absl::StrCat(type.version);
        if (json) {
          absl::StrAppend(
              &out, nlohmann::ordered_json{{"name", type.name}, {"version", version}}.dump(), "\n");
        }
        grid.Add({type.name, "?", "?", "?", "?", "?"});
        continue;
      }
      if (json) absl::StrAppend(&out, JsonOf(type).dump(), "\n");
      grid.Add({type.name, std::string(ToString(type.period)), type.zone,
                absl::StrCat(type.start == 0 ? type.step : type.start), absl::StrCat(type.step),
                type.pattern});
    }
    if (!json) grid.AppendTo(out, StdoutStyle());
    return absl::OkStatus();
  };
  const int exit = PrintOrFail("seq type list", run(), out);
  // Of what was dropped nobody counts.
  return exit != kDone || dropped || unread.ok() ? exit : Fail("seq type list", unread);
}

int RunSeqTypeAlter(std::span<const std::string> words) {
  StoreUri store;
  std::string name;
  std::optional<uint64_t> version;
  TypeLine rule;
  VerbLine line("seq type alter",
                "Changes the given options of a sequence type and prints its new version. Counters "
                "go on from "
                "their values; the period stays as it is.",
                "locus seq type alter invoices --store sqlite:numbers.db --step 2");
  DeclareName(line, &name);
  DeclareStore(line, &store);
  rule.DeclareOn(line, /*of_new=*/false);
  bool may_repeat = false;
  DeclareMayRepeat(line, &may_repeat);
  line.Number("--version V", &version, {.least = 1, .most = kHighestNumber},
              "Refused unless the type has this version");
  ChangeAudit audit;
  audit.DeclareOn(line, kClusterRecords);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  std::string out;
  auto run = [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(audit.Open(store));
    LOCUS_ASSIGN_OR_RETURN(auto types, OpenSequenceTypes(store, /*create=*/false));
    audit.Follow(*types);
    LOCUS_ASSIGN_OR_RETURN(SequenceType type, types->Find(name));
    rule.ChangeIn(type);
    if (version) type.version = *version;
    LOCUS_ASSIGN_OR_RETURN(type, types->Alter(type, RepeatsOf(may_repeat)));
    out = VersionLine(type);
    return absl::OkStatus();
  };
  return EndOfChange("seq type alter", run(), out, audit);
}

int RunSeqTypeDrop(std::span<const std::string> words) {
  StoreUri store;
  std::string name;
  std::optional<uint64_t> version;
  VerbLine line(
      "seq type drop",
      "Ends a sequence type: it counts no more numbers. Its name and counters stay. The name "
      "is never counted without a type; a type that is created again by it continues "
      "them.",
      "locus seq type drop invoices --store sqlite:numbers.db");
  DeclareName(line, &name);
  DeclareStore(line, &store);
  line.Number("--version V", &version, {.least = 1, .most = kHighestNumber},
              "Refused unless the type has this version");
  ChangeAudit audit;
  audit.DeclareOn(line, kClusterRecords);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto run = [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(audit.Open(store));
    LOCUS_ASSIGN_OR_RETURN(auto types, OpenSequenceTypes(store, /*create=*/false));
    audit.Follow(*types);
    if (!version) {
      LOCUS_ASSIGN_OR_RETURN(version, VersionOf(*types, name));
    }
    return types->Drop(name, *version);
  };
  return EndOfChange("seq type drop", run(), "", audit);
}

}  // namespace locus::cli
