// SPDX-License-Identifier: Apache-2.0
#include "locus/sequencer.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/counter/call_counts.h"
#include "src/counter/sequencer_rules.h"

namespace locus {

using internal::Quoted;
using internal::ToAbsl;

namespace sequencer_rules {

int64_t Limit(const SequencerOptions& options) {
  return options.max_value == 0 ? std::numeric_limits<int64_t>::max() : options.max_value;
}

int64_t FirstNumber(const SequencerOptions& options) {
  return options.start == 0 ? options.step : options.start;
}

int64_t LongestBatch(const SequencerOptions& options) {
  int64_t limit = Limit(options);
  int64_t above_first = (limit - FirstNumber(options)) / options.step;
  return above_first >= limit / options.step ? limit / options.step : above_first + 1;
}

int64_t LastOfFirst(int64_t span, const SequencerOptions& options) {
  return FirstNumber(options) - options.step + span;
}

absl::Status AtLimit(std::string_view key, int64_t current, int64_t span,
                     const SequencerOptions& options) {
  int64_t count = span / options.step;
  return absl::OutOfRangeError(absl::StrCat("key ", Quoted(key), " is at ", current, "; ", count,
                                            count == 1 ? " more number by " : " more numbers by ",
                                            options.step, " would pass the limit ",
                                            Limit(options)));
}

absl::StatusOr<int64_t> Advance(std::optional<int64_t> current, int64_t span,
                                const SequencerOptions& options, std::string_view key) {
  if (!current) return LastOfFirst(span, options);
  if (*current <= Limit(options) - span) return *current + span;
  bool wraps = options.max_value != 0 && options.at_max == SequencerOptions::AtMax::kWrap;
  if (wraps) return LastOfFirst(span, options);
  return AtLimit(key, *current, span, options);
}

absl::Status NoNumber(std::string_view engine, std::string_view key, std::string_view stored) {
  return absl::DataLossError(absl::StrCat(ToAbsl(engine), " holds ", Quoted(stored), " for key ",
                                          Quoted(key),
                                          ", which is not a number from 0 to 2^63 - 1"));
}

}  // namespace sequencer_rules

namespace {

using sequencer_rules::FirstNumber;
using sequencer_rules::kLongestKey;
using sequencer_rules::kLongestPrefix;
using sequencer_rules::LastOfFirst;
using sequencer_rules::Limit;
using sequencer_rules::LongestBatch;

absl::Status Refuse(absl::string_view option, int64_t value, absl::string_view limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("sequencer option ", option, " is ", value, "; it must be ", limit));
}

absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Returns the result of `call` to the engine; counts the call and the numbers that it took.
template <typename Call>
auto Counted(internal::CallCounts& counts, Call call, int64_t numbers = 0) -> decltype(call()) {
  auto began = std::chrono::steady_clock::now();
  auto result = call();
  auto took = absl::FromChrono(std::chrono::steady_clock::now() - began);
  absl::Status status = StatusOf(result);
  counts.Count(status.ok() || absl::IsOutOfRange(status),
               status.ok() ? static_cast<uint64_t>(numbers) : 0, took);
  return result;
}

}  // namespace

std::string_view ToString(SequencerOptions::AtMax at_max) {
  switch (at_max) {
    case SequencerOptions::AtMax::kError:
      return "error";
    case SequencerOptions::AtMax::kWrap:
      return "wrap";
  }
  return "unknown";
}

absl::Status SequencerOptions::Check() const {
  if (key_prefix.size() > kLongestPrefix) {
    return Refuse("key_prefix", static_cast<int64_t>(key_prefix.size()), "at most 256 bytes long");
  }
  if (step < 1) return Refuse("step", step, "at least 1");
  if (max_value < 0) return Refuse("max_value", max_value, "0 (none) or at least the step");
  if (max_value != 0 && max_value < step) {
    return Refuse("max_value", max_value, absl::StrCat("0 (none) or at least the step ", step));
  }
  if (start < 0) return Refuse("start", start, "0 (the step) or at least 1");
  if (max_value != 0 && start > max_value) {
    return Refuse("start", start, absl::StrCat("at most max_value ", max_value));
  }
  if (ttl < absl::ZeroDuration() || ttl > absl::Hours(24 * 36500) ||
      absl::Trunc(ttl, absl::Milliseconds(1)) != ttl) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequencer option ttl is ", absl::FormatDuration(ttl),
                     "; it must be 0 (none) or whole milliseconds up to 100 years"));
  }
  return absl::OkStatus();
}

Sequencer::Sequencer(SequencerOptions options)
    : options_(std::move(options)), counts_(std::make_shared<internal::CallCounts>()) {}

SequencerStats Sequencer::Stats() const { return counts_->Stats(); }

absl::StatusOr<std::string> Sequencer::NameOf(std::string_view key) const {
  if (key.empty() || key.size() > kLongestKey) {
    return absl::InvalidArgumentError(absl::StrCat("key ", Quoted(key.substr(0, 64)),
                                                   key.size() > 64 ? "..." : "", " is ", key.size(),
                                                   " bytes; it must be 1 to 512"));
  }
  return options_.key_prefix + std::string(key);
}

absl::Status Sequencer::CheckValue(std::string_view key, int64_t value) const {
  if (value >= 0 && value <= Limit(options_)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("value ", value, " for key ", Quoted(key), " must be 0 to ", Limit(options_)));
}

// Compares the engine's answer with the request: rows can be edited by hand, and a server or proxy
// can answer anything.
absl::StatusOr<Sequencer::Taken> Sequencer::TakeNumbers(std::string_view key,
                                                        const std::string& name, int64_t count) {
  LOCUS_RETURN_IF_ERROR(CheckName(name, NameLook::kBefore));
  const int64_t span = count * options_.step;
  const int64_t lowest = std::min(span, LastOfFirst(span, options_));
  auto take = [&]() -> absl::StatusOr<Taken> {
    LOCUS_ASSIGN_OR_RETURN(Taken taken, Take(name, span));
    if (taken.last >= lowest && taken.last <= Limit(options_)) return taken;
    return absl::DataLossError(
        absl::StrCat("the engine returned ", taken.last, " as the last of ", count, " numbers by ",
                     options_.step, " for key ", Quoted(key), "; it must be ", lowest, " to ",
                     Limit(options_), ": check the stored value of the counter"));
  };
  LOCUS_ASSIGN_OR_RETURN(const Taken taken, Counted(*counts_, take, count));
  // The counter may have begun with this call, and its type may have been created at the same time.
  if (taken.last == LastOfFirst(span, options_)) {
    LOCUS_RETURN_IF_ERROR(CheckName(name, NameLook::kBegun));
  }
  return taken;
}

absl::Status Sequencer::CheckName(const std::string& name, NameLook look) const {
  return name_check_ ? name_check_(name, look) : absl::OkStatus();
}

absl::StatusOr<int64_t> Sequencer::Next(std::string_view key) {
  LOCUS_ASSIGN_OR_RETURN(std::string name, NameOf(key));
  LOCUS_ASSIGN_OR_RETURN(Taken taken, TakeNumbers(key, name, 1));
  return taken.last;
}

absl::StatusOr<SequenceBatch> Sequencer::NextBatch(std::string_view key, int64_t count) {
  LOCUS_ASSIGN_OR_RETURN(std::string name, NameOf(key));
  int64_t most = LongestBatch(options_);
  if (count < 1 || count > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a batch of ", count, " numbers for key ", Quoted(key), " must have 1 to ", most,
        ", all there are from ", FirstNumber(options_), " up to ", Limit(options_)));
  }
  LOCUS_ASSIGN_OR_RETURN(Taken taken, TakeNumbers(key, name, count));
  int64_t first = taken.last - (count - 1) * options_.step;
  return SequenceBatch{first, options_.step, count, taken.version};
}

absl::Status Sequencer::Set(std::string_view key, int64_t value) {
  LOCUS_ASSIGN_OR_RETURN(std::string name, NameOf(key));
  LOCUS_RETURN_IF_ERROR(CheckValue(key, value));
  LOCUS_RETURN_IF_ERROR(CheckName(name, NameLook::kBefore));
  LOCUS_RETURN_IF_ERROR(Counted(*counts_, [&] { return Store(name, value); }));
  return CheckName(name, NameLook::kBegun);
}

absl::StatusOr<bool> Sequencer::SetIfNotExists(std::string_view key, int64_t value) {
  LOCUS_ASSIGN_OR_RETURN(std::string name, NameOf(key));
  LOCUS_RETURN_IF_ERROR(CheckValue(key, value));
  LOCUS_RETURN_IF_ERROR(CheckName(name, NameLook::kBefore));
  LOCUS_ASSIGN_OR_RETURN(const bool is_new,
                         Counted(*counts_, [&] { return StoreNew(name, value); }));
  if (is_new) LOCUS_RETURN_IF_ERROR(CheckName(name, NameLook::kBegun));
  return is_new;
}

absl::StatusOr<int64_t> Sequencer::Get(std::string_view key) {
  LOCUS_ASSIGN_OR_RETURN(std::string name, NameOf(key));
  LOCUS_ASSIGN_OR_RETURN(std::optional<int64_t> value,
                         Counted(*counts_, [&] { return Load(name); }));
  if (value && *value < 0) {
    return absl::DataLossError(absl::StrCat("the engine returned ", *value, " for key ",
                                            Quoted(key),
                                            ", which is not a number from 0 to 2^63 - 1"));
  }
  if (value) return *value;
  return absl::NotFoundError(absl::StrCat("key ", Quoted(key), " is unknown"));
}

absl::StatusOr<bool> Sequencer::Return(std::string_view key, const SequenceBatch& batch,
                                       int64_t used) {
  LOCUS_ASSIGN_OR_RETURN(std::string name, NameOf(key));
  if (batch.step != options_.step || batch.count < 1 || used < 0 || used > batch.count) {
    return absl::InvalidArgumentError(absl::StrCat("of a batch of ", batch.count, " numbers by ",
                                                   batch.step, " for key ", Quoted(key), " ", used,
                                                   " cannot be used; the step is ", options_.step));
  }
  int64_t most = Limit(options_) / options_.step;
  int64_t lowest = std::min(options_.step, FirstNumber(options_));
  if (batch.count > most || batch.first < lowest ||
      batch.first > Limit(options_) - (batch.count - 1) * options_.step) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a batch of ", batch.count, " numbers by ", batch.step, " from ", batch.first, " for key ",
        Quoted(key), " was never taken: numbers are ", lowest, " to ", Limit(options_)));
  }
  if (used == batch.count) return true;
  const int64_t value = batch.first + (used - 1) * batch.step;
  // Engines store no number below 0.
  if (value < 0) return false;
  return Counted(*counts_, [&] { return PutBack(name, {batch.last(), batch.version}, value); });
}

}  // namespace locus
