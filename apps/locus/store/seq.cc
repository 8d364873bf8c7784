// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "nlohmann/json.hpp"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"
#include "src/number/type_text.h"

namespace locus::cli {
namespace {

// Counters of a type, also of one that was dropped, count only as the type says; so are, once
// there is the type, those of its plain name.
absl::Status CheckNoTypesCounter(const StoreUri& store, const std::string& counter) {
  absl::StatusOr<std::unique_ptr<SequenceTypeStore>> types =
      OpenSequenceTypes(store, /*create=*/false);
  if (absl::IsNotFound(types.status())) return absl::OkStatus();  // a store without rules
  LOCUS_RETURN_IF_ERROR(types.status());
  LOCUS_ASSIGN_OR_RETURN(const std::string type, internal::TypeThatCounts(**types, counter));
  if (type.empty()) return absl::OkStatus();
  return internal::CountedByItsType(
      counter, type, absl::StrCat("name it by --type ", type, " and the --key of the type"));
}

// What every seq verb takes.
struct SeqLine {
  StoreUri store;
  std::optional<StoreUri> ceiling;
  std::optional<std::string> key, type, prefix, at_max;
  std::optional<int64_t> step, max_value;
  std::optional<absl::Duration> ttl;
  bool only_reads = false;
  bool json = false;
  // Of the counter; set by Open.
  std::string counter;
  std::shared_ptr<Sequencer> sequencer;

  void DeclareOn(VerbLine& line) {
    StoreOption(line, "--store URI", &store,
                absl::StrCat("The store of the counter: ", internal::UriForms(internal::kCounters)))
        .Required()
        .Else("LOCUS_STORE");
    line.Flag("--json", &json, "Print a JSON object; numbers are texts in it");
    StoreOption(line, "--ceiling URI", &ceiling,
                "With --store redis...: a mysql or sqlite store whose ceilings keep numbers from "
                "repeating after Redis lost some");
    line.Text("--key K", &key,
              "The counter name: 1 to 512 bytes. With --type the key of a counter of that type");
    line.Text("--type T", &type,
              "Count by the sequence type T of the store (seq type create), in its current period; "
              "an option that contradicts the type is refused");
    line.Text("--prefix P", &prefix, "Put before the counter name in the store; not with --type");
    line.Number("--step S", &step, {.most = kHighestNumber}, "The distance between two numbers")
        .Default("1");
    line.Number("--max-value M", &max_value, {.most = kHighestNumber},
                "The highest number; 0: no limit")
        .Default("0");
    line.Choice("--at-max", {"error", "wrap"}, &at_max,
                "Past the highest number: fail, or start again at the first")
        .Default("error");
    line.Duration("--ttl SECONDS", &ttl, {.most = kLongestTtl},
                  "A counter that no call uses for this time is forgotten; 0: counters are kept. "
                  "With a unit if given: 10m, 2h, 1d")
        .Default("0");
  }

  // Sets counter and sequencer, by the type where there is a type.
  absl::Status Open() {
    if (!type && !key) return absl::InvalidArgumentError("--key K is required without --type");
    if (type && prefix) {
      return absl::InvalidArgumentError("--type excludes --prefix: its counters have none");
    }
    const WantedCounting wanted = Wanted();
    SequencerOptions options;
    options.key_prefix = prefix.value_or("");
    options.step = wanted.step.value_or(options.step);
    options.max_value = wanted.max_value.value_or(options.max_value);
    options.at_max = wanted.at_max.value_or(options.at_max);
    options.ttl = wanted.ttl.value_or(options.ttl);
    const StoreUri* const of_ceiling = ceiling ? &*ceiling : nullptr;
    if (!type) {
      LOCUS_RETURN_IF_ERROR(Check(options));
      counter = *key;
      if (!only_reads) {
        LOCUS_RETURN_IF_ERROR(internal::CheckCounterName("key", options.key_prefix + counter));
        LOCUS_RETURN_IF_ERROR(CheckNoTypesCounter(store, options.key_prefix + counter));
      }
      LOCUS_ASSIGN_OR_RETURN(sequencer, OpenSequencer(store, of_ceiling, options));
      return absl::OkStatus();
    }
    LOCUS_ASSIGN_OR_RETURN(auto sequences, OpenTypedSequences(store, of_ceiling));
    LOCUS_ASSIGN_OR_RETURN(TypedCounter opened,
                           sequences->Open(*type, key.value_or(""), absl::Now(), wanted));
    counter = std::move(opened.name);
    sequencer = std::move(opened.counters);
    return absl::OkStatus();
  }

  WantedCounting Wanted() const {
    WantedCounting wanted;
    wanted.step = step;
    wanted.max_value = max_value;
    wanted.ttl = ttl;
    if (at_max) {
      wanted.at_max =
          *at_max == "wrap" ? SequencerOptions::AtMax::kWrap : SequencerOptions::AtMax::kError;
    }
    return wanted;
  }

  absl::Status Check(const SequencerOptions& options) const {
    bool wraps = options.at_max == SequencerOptions::AtMax::kWrap;
    if (ceiling && (wraps || options.ttl != absl::ZeroDuration())) {
      return absl::InvalidArgumentError(
          "--ceiling excludes --at-max wrap and --ttl, since numbers repeat with both");
    }
    return options.Check();
  }
};

// What a call answers: names and values. Printed as JSON, or as the call's own text.
using Answer = nlohmann::ordered_json;

// `call` gets the sequencer, and sets the text to be printed and the answer.
template <typename Call>
int RunSeq(SeqLine& seq, VerbLine& line, std::span<const std::string> words,
           const std::string& verb, const Call& call) {
  seq.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  std::string out;
  Answer answer;
  auto run = [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(seq.Open());
    absl::Status called = call(*seq.sequencer, out, answer);
    if (!absl::IsNotFound(called) && !absl::IsOutOfRange(called)) return called;
    // These messages name the counter alone.
    return absl::Status(called.code(), absl::StrCat(called.message(), " in ", seq.store.text));
  };
  absl::Status status = run();
  if (absl::IsInvalidArgument(status)) return WrongUsage(verb, status);
  if (seq.json) out = answer.dump() + "\n";
  return status.ok() ? PrintAll(verb, out) : Fail(verb, status);
}

absl::Status WouldRepeat(const std::string& key, int64_t before, int64_t value) {
  return absl::FailedPreconditionError(
      absl::StrCat("key ", internal::Quoted(key), " is at ", before, ", and ", value,
                   " is below it: numbers up to ", before,
                   " would be given again; --lower sets it all the same"));
}

struct Marking {
  StoreUri store;
  std::optional<StoreUri> ceiling;
  bool first_ever = false;
  bool counters_set = false;
};

absl::StatusOr<std::string> Mark(const Marking& marking) {
  LOCUS_ASSIGN_OR_RETURN(
      const absl::Time marked,
      MarkFirstStart(marking.store, marking.ceiling ? &*marking.ceiling : nullptr));
  return absl::StrCat("marked ",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", marked, absl::UTCTimeZone()), "\n");
}

}  // namespace

int RunSeqCreate(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "seq create";
  Marking marking;
  VerbLine line(kVerb,
                "Marks a store whose counters may begin, creates its sqlite file or tables if they "
                "are missing, and prints when it was marked first. The ID service gives no "
                "sequence numbers from a store without the mark: it could be one that was lost.",
                "locus seq create --store sqlite:numbers.db --first-ever");
  StoreOption(line, "--store URI", &marking.store,
              absl::StrCat("The store of the counters: ", internal::UriForms(internal::kCounters)))
      .Required()
      .Else("LOCUS_STORE");
  StoreOption(line, "--ceiling URI", &marking.ceiling,
              "With --store redis...: the mysql or sqlite store of its ceilings, which is marked");
  line.Flag("--first-ever", &marking.first_ever,
            "No number was ever given out from this store. Not for a script that runs again: after "
            "a loss it would repeat numbers");
  line.Flag("--counters-set", &marking.counters_set,
            "The store was lost, and each counter was set to its last number or above; or it is of "
            "an earlier version");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (marking.first_ever == marking.counters_set) {
    return WrongUsage(
        kVerb, absl::InvalidArgumentError(
                   "say one of --first-ever (no number was ever given out from this store) and "
                   "--counters-set (each counter is at its last number or above)"));
  }
  const absl::StatusOr<std::string> marked = Mark(marking);
  return marked.ok() ? PrintAll(kVerb, *marked) : EndVerb(kVerb, marked.status());
}

int RunSeqNext(std::span<const std::string> words) {
  SeqLine seq;
  VerbLine line("seq next", "Takes the next number of a counter and prints it.",
                "locus seq next --store sqlite:numbers.db --key tickets");
  return RunSeq(seq, line, words, "seq next",
                [&](Sequencer& sequencer, std::string& out, Answer& answer) -> absl::Status {
                  auto number = sequencer.Next(seq.counter);
                  if (!number.ok()) return number.status();
                  answer["value"] = absl::StrCat(*number);
                  absl::StrAppend(&out, *number, "\n");
                  return absl::OkStatus();
                });
}

int RunSeqBatch(std::span<const std::string> words) {
  SeqLine seq;
  int64_t count = 1;
  VerbLine line("seq batch", "Takes the next N numbers of a counter and prints FIRST STEP COUNT.",
                "locus seq batch --store sqlite:numbers.db --key tickets --count 100");
  line.Number("--count N", &count, {.most = kHighestNumber}, "How many numbers");
  auto call = [&](Sequencer& sequencer, std::string& out, Answer& answer) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(SequenceBatch batch, sequencer.NextBatch(seq.counter, count));
    answer = {{"first", absl::StrCat(batch.first)},
              {"step", absl::StrCat(batch.step)},
              {"count", absl::StrCat(batch.count)}};
    absl::StrAppend(&out, batch.first, " ", batch.step, " ", batch.count, "\n");
    return absl::OkStatus();
  };
  return RunSeq(seq, line, words, "seq batch", call);
}

int RunSeqSet(std::span<const std::string> words) {
  SeqLine seq;
  int64_t value = 0;
  VerbLine line("seq set",
                "Sets a counter to a number, and prints the one before and the one now; the next "
                "is that plus the step. Refused where it would lower the counter.",
                "locus seq set --store sqlite:numbers.db --key tickets --value 5000");
  bool lower = false;
  line.Number("--value V", &value, {.most = kHighestNumber}, "The number").Required();
  line.Flag("--lower", &lower,
            "Confirms a number below the one that the counter has: numbers that were given may be "
            "given again");
  auto call = [&](Sequencer& sequencer, std::string& out, Answer& answer) -> absl::Status {
    absl::StatusOr<int64_t> before = sequencer.Get(seq.counter);
    if (!before.ok() && !absl::IsNotFound(before.status())) return before.status();
    if (before.ok() && value < *before && !lower) return WouldRepeat(seq.counter, *before, value);
    LOCUS_RETURN_IF_ERROR(sequencer.Set(seq.counter, value));
    answer["before"] = before.ok() ? Answer(absl::StrCat(*before)) : Answer(nullptr);
    answer["value"] = absl::StrCat(value);
    if (IsQuiet()) return absl::OkStatus();
    out = absl::StrCat("before ", before.ok() ? absl::StrCat(*before) : "none", "\nvalue ", value,
                       "\n");
    return absl::OkStatus();
  };
  return RunSeq(seq, line, words, "seq set", call);
}

int RunSeqSetIfNotExists(std::span<const std::string> words) {
  SeqLine seq;
  int64_t value = 0;
  VerbLine line("seq set-if-not-exists",
                "Sets a counter that has no number yet, and prints \"set\" or \"kept\".",
                "locus seq set-if-not-exists --store sqlite:numbers.db --key tickets --value 5000");
  line.Number("--value V", &value, {.most = kHighestNumber}, "The number").Required();
  auto call = [&](Sequencer& sequencer, std::string& out, Answer& answer) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(bool set, sequencer.SetIfNotExists(seq.counter, value));
    answer["set"] = set;
    out = set ? "set\n" : "kept\n";
    return absl::OkStatus();
  };
  return RunSeq(seq, line, words, "seq set-if-not-exists", call);
}

int RunSeqGet(std::span<const std::string> words) {
  SeqLine seq;
  seq.only_reads = true;
  VerbLine line("seq get", "Prints the last number of a counter; exits 1 if it has none.",
                "locus seq get --store sqlite:numbers.db --key tickets");
  return RunSeq(seq, line, words, "seq get",
                [&](Sequencer& sequencer, std::string& out, Answer& answer) -> absl::Status {
                  auto number = sequencer.Get(seq.counter);
                  if (!number.ok()) return number.status();
                  answer["value"] = absl::StrCat(*number);
                  absl::StrAppend(&out, *number, "\n");
                  return absl::OkStatus();
                });
}

}  // namespace locus::cli
