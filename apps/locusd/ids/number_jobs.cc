// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/number_jobs.h"

#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "apps/locusd/ids/id_api.h"
#include "apps/locusd/ids/list_text.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"
#include "src/number/type_text.h"

namespace locus::locusd {

using internal::ParseDecimal;
using internal::Quoted;
using internal::ToAbsl;

namespace {

constexpr size_t kMost = IdApi::kMost;
constexpr std::string_view kField = "field.";
// Written by the loop of the server; more are left to those that may take their time.
constexpr size_t kMostAtOnce = 100;

using PartsPtr = std::shared_ptr<const IdParts>;

absl::StatusOr<std::string> NameIn(std::string_view part) {
  LOCUS_RETURN_IF_ERROR(RefusePlus(part));
  std::optional<std::string> name = internal::Unescaped(part);
  if (name) return *std::move(name);
  return absl::InvalidArgumentError(absl::StrCat(Quoted(part), ": a % has no two hex digits"));
}

absl::Status ReadNumber(const Query& query, const char* name, std::optional<int64_t>& value) {
  const std::string* const text = query.Find(name);
  if (text == nullptr) return absl::OkStatus();
  const auto number = ParseDecimal(*text, std::numeric_limits<int64_t>::max());
  if (!number) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "=", Quoted(*text), " is no number of 0 to 2^63 - 1"));
  }
  value = static_cast<int64_t>(*number);
  return absl::OkStatus();
}

absl::StatusOr<WantedCounting> ReadWanted(const Query& query) {
  WantedCounting wanted;
  LOCUS_RETURN_IF_ERROR(ReadNumber(query, "start", wanted.start));
  LOCUS_RETURN_IF_ERROR(ReadNumber(query, "step", wanted.step));
  LOCUS_RETURN_IF_ERROR(ReadNumber(query, "max_value", wanted.max_value));
  if (const std::string* const text = query.Find("at_max")) {
    if (*text != "error" && *text != "wrap") {
      return absl::InvalidArgumentError(
          absl::StrCat("at_max=", Quoted(*text), " is neither error nor wrap"));
    }
    wanted.at_max =
        *text == "wrap" ? SequencerOptions::AtMax::kWrap : SequencerOptions::AtMax::kError;
  }
  if (const std::string* const text = query.Find("ttl")) {
    absl::Duration& ttl = wanted.ttl.emplace();
    if (!absl::ParseDuration(*text, &ttl) || ttl < absl::ZeroDuration()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "ttl=", Quoted(*text), " is no duration with a unit, such as 48h or 3600s, or 0"));
    }
  }
  return wanted;
}

// A service that has as many counters as it may has no other one.
absl::Status Refusal(const absl::Status& status) {
  return absl::IsResourceExhausted(status) ? absl::NotFoundError(status.message()) : status;
}

absl::Status Contradiction(absl::string_view message) { return absl::AbortedError(message); }

// Waits for what is asked of the store of types. One that does not answer may come back while there
// is time: then it is asked anew by the next call.
absl::StatusOr<std::shared_ptr<NumberGenerator>> WaitFor(
    const TypedNumbers& all, std::shared_ptr<TypedNumbers::Opening>& opening, Deadline deadline) {
  auto opened = all.Wait(opening, deadline);
  if (!absl::IsUnavailable(opened.status())) return opened;
  opening = nullptr;
  std::this_thread::sleep_until(deadline);
  return absl::DeadlineExceededError(opened.status().message());
}

// A generator that may have to be opened first.
class Typed {
 public:
  Typed(TypedNumbers& all, std::string type, std::string key, WantedCounting wanted)
      : all_(all), type_(std::move(type)), key_(std::move(key)), wanted_(std::move(wanted)) {}

  const std::string& type() const { return type_; }

  // UNAVAILABLE without a deadline: it would have to wait.
  absl::Status Opened(std::optional<Deadline> deadline) {
    if (generator_ == nullptr) generator_ = all_.Find(type_, key_);
    if (generator_ == nullptr) {
      if (opening_ == nullptr) {
        LOCUS_ASSIGN_OR_RETURN(opening_, all_.Open(type_, key_));
      }
      if (!deadline) return absl::UnavailableError("the type is not read yet");
      LOCUS_ASSIGN_OR_RETURN(generator_, WaitFor(all_, opening_, *deadline));
    }
    if (wanted_.empty()) return absl::OkStatus();
    const absl::Status agrees = wanted_.CheckAgreesWith(generator_->Type());
    return agrees.ok() ? agrees : Contradiction(agrees.message());
  }

  // Requires Opened.
  NumberGenerator& generator() const { return *generator_; }

  // A type that was dropped is answered as one that never existed: NOT_FOUND.
  absl::Status Told(const absl::Status& failure) const {
    if (absl::IsFailedPrecondition(failure) && generator_->Stats().type_version == 0) {
      return absl::NotFoundError(failure.message());
    }
    return failure;
  }

 private:
  TypedNumbers& all_;
  const std::string type_;
  const std::string key_;
  const WantedCounting wanted_;
  std::shared_ptr<TypedNumbers::Opening> opening_;
  std::shared_ptr<NumberGenerator> generator_;
};

struct Counted {
  PartsPtr held;
  const std::string name;
  const bool lines;
  const size_t count;
  const bool has_key;     // it must be a type's then
  const bool has_wanted;  // likewise
  std::optional<Typed> typed;
  std::shared_ptr<TypedNumbers::Opening> asking = nullptr;
  SegmentSequence* plain = nullptr;
  std::vector<int64_t> numbers = {};
  std::string group = {};

  // Finds what the numbers are of.
  absl::Status Settle(std::optional<Deadline> deadline) {
    if (plain != nullptr) return absl::OkStatus();
    if (typed) {
      bool look = false;
      SegmentSequence* const known = has_key ? nullptr : held->sequences->Known(name, look);
      if (look) held->sequences->typed()->LookFor(name);
      if (!has_key) LOCUS_RETURN_IF_ERROR(IsNoTypesCounter(known != nullptr, deadline));
      const TypedNumbers& all = *held->sequences->typed();
      const bool goes_on =
          known != nullptr && all.Find(name, "") == nullptr && !all.IsType(name) && !has_wanted;
      if (goes_on) return Plainly();
      const absl::Status opened = typed->Opened(deadline);
      // One that was dropped is none that a sequence may have the name of.
      const bool no_type =
          (absl::IsNotFound(opened) && !all.IsType(name)) || absl::IsInvalidArgument(opened);
      if (opened.ok() || !no_type || has_key) return Refusal(opened);
      if (has_wanted) {
        return Contradiction(absl::StrCat(
            "sequence ", Quoted(name),
            " has no sequence type, which alone may say how it counts: ", opened.message()));
      }
    }
    return Plainly();
  }

  // The counter of a type counts as the type says, and not by its name.
  absl::Status IsNoTypesCounter(bool is_known, std::optional<Deadline> deadline) {
    const std::string type = internal::TypeOfCounter(name);
    if (type.empty()) return absl::OkStatus();
    TypedNumbers& all = *held->sequences->typed();
    if (is_known && !all.IsType(type)) return absl::OkStatus();
    if (!is_known) {
      if (asking == nullptr) {
        LOCUS_ASSIGN_OR_RETURN(asking, all.Ask(type));
      }
      if (!deadline) return absl::UnavailableError("the type is not read yet");
      const absl::Status found = WaitFor(all, asking, *deadline).status();
      if (absl::IsNotFound(found)) return absl::OkStatus();
      LOCUS_RETURN_IF_ERROR(found);
    }
    return Contradiction(absl::StrCat("sequence ", Quoted(name),
                                      " has the name of a counter of sequence type ", type,
                                      ", whose type alone says how it counts: ask for ",
                                      "/v1/sequences/", type, "/next?key=KEY"));
  }

  absl::Status Plainly() {
    LOCUS_ASSIGN_OR_RETURN(plain, held->sequences->Find(name));
    typed.reset();
    return absl::OkStatus();
  }

  absl::StatusOr<SequenceBlock> Block(int64_t left, std::optional<Deadline> deadline) {
    if (plain != nullptr) {
      return deadline ? plain->NextBlock(left, *deadline) : plain->TryNextBlock(left);
    }
    NumberGenerator& from = typed->generator();
    absl::StatusOr<NumberBlock> block =
        deadline ? from.NextBlock(left, *deadline) : from.TryNextBlock(left);
    if (!block.ok()) return typed->Told(block.status());
    // An answer is of one day, month or year: what the one before still gave becomes a gap.
    if (block->group != group) numbers.clear();
    group = block->group;
    return block->numbers;
  }

  absl::StatusOr<std::string> Go(std::optional<Deadline> deadline) {
    LOCUS_RETURN_IF_ERROR(Settle(deadline));
    while (numbers.size() < count) {
      const auto left = static_cast<int64_t>(count - numbers.size());
      LOCUS_ASSIGN_OR_RETURN(const SequenceBlock block, Block(left, deadline));
      for (int64_t i = 0; i < block.count; ++i) numbers.push_back(block.first + i * block.step);
    }
    ListText text(lines, "numbers",
                  group.empty() ? "" : absl::StrCat("\"group\":\"", group, "\","));
    for (const int64_t number : numbers) text.Element().Quote(number);
    return text.Take();
  }
};

struct Written {
  PartsPtr held;
  Typed typed;
  const bool lines;
  const size_t count;
  const std::vector<std::pair<std::string, std::string>> fields;
  std::vector<std::string> numbers = {};

  absl::StatusOr<std::string> Go(std::optional<Deadline> deadline) {
    LOCUS_RETURN_IF_ERROR(Refusal(typed.Opened(deadline)));
    if (!deadline && count > kMostAtOnce) {
      return absl::UnavailableError("takes its time");
    }
    std::vector<NamedValue> values;
    values.reserve(fields.size());
    for (const auto& [name, value] : fields) values.push_back({name, value});
    NumberGenerator& from = typed.generator();
    while (numbers.size() < count) {
      absl::StatusOr<std::string> number =
          deadline ? from.NextNamed(*deadline, values) : from.TryNextNamed(values);
      if (!number.ok()) return typed.Told(number.status());
      numbers.push_back(*std::move(number));
    }
    ListText text(lines, "numbers");
    for (const std::string& number : numbers) text.Element().Quote(std::string_view(number));
    return text.Take();
  }
};

template <typename Work>
IdJob JobOf(std::shared_ptr<Work> work) {
  return [work = std::move(work)](std::optional<Deadline> deadline) { return work->Go(deadline); };
}

}  // namespace

absl::StatusOr<IdJob> SequenceJob(std::string_view text, const Query& query, const PartsPtr& parts,
                                  bool lines) {
  if (!parts->sequences) return parts->sequences.Missing("sequences");
  LOCUS_ASSIGN_OR_RETURN(const std::string name, NameIn(text));
  LOCUS_RETURN_IF_ERROR(query.Only({"n", "key", "start", "step", "max_value", "at_max", "ttl"}));
  LOCUS_ASSIGN_OR_RETURN(const size_t count, query.Count("n", 1, kMost));
  LOCUS_ASSIGN_OR_RETURN(const WantedCounting wanted, ReadWanted(query));
  const std::string* const key = query.Find("key");
  TypedNumbers* const typed = parts->sequences->typed();
  if (key == nullptr) LOCUS_RETURN_IF_ERROR(parts->sequences->Check(name));
  if (typed == nullptr && key != nullptr) return TypedNumbers::HasNoTable(name);
  if (typed == nullptr && !wanted.empty()) {
    return Contradiction(TypedNumbers::HasNoTable(name).message());
  }
  auto counted = std::make_shared<Counted>(
      Counted{parts, name, lines, count, key != nullptr, !wanted.empty(), std::nullopt});
  if (typed != nullptr) counted->typed.emplace(*typed, name, key == nullptr ? "" : *key, wanted);
  return JobOf(std::move(counted));
}

absl::StatusOr<IdJob> NumberJob(std::string_view text, const Query& query, const PartsPtr& parts,
                                bool lines) {
  if (!parts->sequences) return parts->sequences.Missing("sequences");
  LOCUS_ASSIGN_OR_RETURN(const std::string type, NameIn(text));
  LOCUS_RETURN_IF_ERROR(
      query.Only({"count", "key", "field.*", "start", "step", "max_value", "at_max", "ttl"}));
  LOCUS_ASSIGN_OR_RETURN(const size_t count, query.Count("count", 1, kMost));
  LOCUS_ASSIGN_OR_RETURN(WantedCounting wanted, ReadWanted(query));
  const std::string* const key = query.Find("key");
  if (parts->sequences->typed() == nullptr) return TypedNumbers::HasNoTable(type);
  return JobOf(std::make_shared<Written>(Written{
      parts, Typed(*parts->sequences->typed(), type, key == nullptr ? "" : *key, std::move(wanted)),
      lines, count, query.Under(kField)}));
}

}  // namespace locus::locusd
