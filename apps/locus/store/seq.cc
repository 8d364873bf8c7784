// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

constexpr uint64_t kHighest = std::numeric_limits<int64_t>::max();
constexpr uint64_t kLongestTtl = uint64_t{100} * 365 * 86400;

absl::StatusOr<int64_t> Number(const char* option, std::string_view text, uint64_t max) {
  std::optional<uint64_t> number = ParseDecimal(text, max);
  if (number) return static_cast<int64_t>(*number);
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": ", Quoted(text), " is not a number, 0..", max));
}

// What every seq verb takes.
struct SeqLine {
  std::string verb;
  std::string store_text, key, prefix, step = "1", max_value = "0", at_max = "error", ttl = "0";
  std::optional<std::string> ceiling_text;
  StoreUri store;
  std::optional<StoreUri> ceiling;
  SequencerOptions options;

  void DeclareOn(VerbLine& line) {
    line.Required("--store", "URI", &store_text,
                  absl::StrCat("Where the numbers are: ", kStoreUriHelp));
    line.Option("--ceiling", "URI", &ceiling_text,
                "With --store redis...: a store of mysql or sqlite that keeps its numbers from "
                "repeating after Redis lost some");
    line.Required("--key", "K", &key, "Whose number: 1 to 512 bytes");
    line.Option("--prefix", "P", &prefix, "Stands before the key in the store");
    line.Option("--step", "S", &step, "Between two numbers of a key [1]");
    line.Option("--max-value", "M", &max_value, "The highest number; 0: none [0]");
    line.Choice("--at-max", {"error", "wrap"}, &at_max,
                "Past the highest number: fail, or start again at the step [error]");
    line.Option("--ttl", "SECONDS", &ttl,
                "A key that nobody names for so long is forgotten; 0: keys stay [0]");
  }

  absl::Status Understand() {
    LOCUS_ASSIGN_OR_RETURN(store, StoreUri::Parse(store_text));
    if (ceiling_text) {
      LOCUS_ASSIGN_OR_RETURN(ceiling, StoreUri::Parse(*ceiling_text));
    }
    options.key_prefix = prefix;
    LOCUS_ASSIGN_OR_RETURN(options.step, Number("--step", step, kHighest));
    LOCUS_ASSIGN_OR_RETURN(options.max_value, Number("--max-value", max_value, kHighest));
    LOCUS_ASSIGN_OR_RETURN(int64_t seconds, Number("--ttl", ttl, kLongestTtl));
    options.ttl = absl::Seconds(seconds);
    if (at_max == "wrap") options.at_max = SequencerOptions::AtMax::kWrap;
    return options.Check();
  }
};

// `call` gets the sequencer and appends to the text to be printed.
template <typename Call>
int RunSeq(SeqLine& seq, VerbLine& line, std::span<const std::string> words,
           const std::string& verb, const Call& call) {
  seq.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  std::string out;
  auto run = [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(seq.Understand());
    LOCUS_ASSIGN_OR_RETURN(
        std::unique_ptr<Sequencer> sequencer,
        OpenSequencer(seq.store, seq.ceiling ? &*seq.ceiling : nullptr, seq.options));
    absl::Status called = call(*sequencer, out);
    if (!absl::IsNotFound(called) && !absl::IsOutOfRange(called)) return called;
    // These tell of the key alone.
    return absl::Status(called.code(), absl::StrCat(called.message(), " in ", seq.store_text));
  };
  absl::Status status = run();
  if (absl::IsInvalidArgument(status)) return WrongUsage(verb, status);
  return status.ok() ? PrintAll(verb, out) : Fail(verb, status);
}

}  // namespace

int RunSeqNext(std::span<const std::string> words) {
  SeqLine seq;
  VerbLine line("seq next", "Takes the next number of a key, and prints it.");
  return RunSeq(seq, line, words, "seq next", [&](Sequencer& sequencer, std::string& out) {
    auto number = sequencer.Next(seq.key);
    if (number.ok()) absl::StrAppend(&out, *number, "\n");
    return number.status();
  });
}

int RunSeqBatch(std::span<const std::string> words) {
  SeqLine seq;
  std::string count_text = "1";
  VerbLine line("seq batch", "Takes the next N numbers of a key, and prints FIRST STEP COUNT.");
  line.Option("--count", "N", &count_text, "How many numbers [1]");
  auto call = [&](Sequencer& sequencer, std::string& out) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(int64_t count, Number("--count", count_text, kHighest));
    LOCUS_ASSIGN_OR_RETURN(SequenceBatch batch, sequencer.NextBatch(seq.key, count));
    absl::StrAppend(&out, batch.first, " ", batch.step, " ", batch.count, "\n");
    return absl::OkStatus();
  };
  return RunSeq(seq, line, words, "seq batch", call);
}

int RunSeqSet(std::span<const std::string> words) {
  SeqLine seq;
  std::string value_text;
  VerbLine line("seq set", "Puts a key at a number; the next one is that plus the step.");
  line.Required("--value", "V", &value_text, "The number");
  auto call = [&](Sequencer& sequencer, std::string&) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(int64_t value, Number("--value", value_text, kHighest));
    return sequencer.Set(seq.key, value);
  };
  return RunSeq(seq, line, words, "seq set", call);
}

int RunSeqSetIfNotExists(std::span<const std::string> words) {
  SeqLine seq;
  std::string value_text;
  VerbLine line("seq set-if-not-exists",
                "Puts a key at a number if it has none, and prints \"set\" or \"kept\".");
  line.Required("--value", "V", &value_text, "The number");
  auto call = [&](Sequencer& sequencer, std::string& out) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(int64_t value, Number("--value", value_text, kHighest));
    LOCUS_ASSIGN_OR_RETURN(bool set, sequencer.SetIfNotExists(seq.key, value));
    out = set ? "set\n" : "kept\n";
    return absl::OkStatus();
  };
  return RunSeq(seq, line, words, "seq set-if-not-exists", call);
}

int RunSeqGet(std::span<const std::string> words) {
  SeqLine seq;
  VerbLine line("seq get", "Prints the last number of a key; exits 1 if the key is unknown.");
  return RunSeq(seq, line, words, "seq get", [&](Sequencer& sequencer, std::string& out) {
    auto number = sequencer.Get(seq.key);
    if (number.ok()) absl::StrAppend(&out, *number, "\n");
    return number.status();
  });
}

}  // namespace locus
