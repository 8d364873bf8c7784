// SPDX-License-Identifier: Apache-2.0
#include "src/number/type_text.h"

#include <limits>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

// First line of a dropped type. Readers that do not know it cannot read the text, and do not count
// by it.
constexpr std::string_view kDropped = "dropped=1\n";

// Before the number of an earlier pattern.
constexpr std::string_view kEarlier = "earlier_pattern_";

absl::Status Refuse(std::string_view reason) { return absl::InvalidArgumentError(ToAbsl(reason)); }

// The lines of a text; taken one by one until none may be left.
class Lines {
 public:
  static absl::StatusOr<Lines> Split(std::string_view text) {
    if (text.size() > kLongestTypeText) {
      return Refuse(absl::StrCat("has ", text.size(), " bytes, more than ", kLongestTypeText));
    }
    Lines lines;
    while (!text.empty()) {
      size_t end = text.find('\n');
      if (end == std::string_view::npos) return Refuse("ends within a line");
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      size_t equals = line.find('=');
      if (equals == std::string_view::npos) {
        return Refuse(absl::StrCat("has the line ", Quoted(line), ", which is not NAME=VALUE"));
      }
      std::string_view name = line.substr(0, equals);
      if (!lines.values_.emplace(name, line.substr(equals + 1)).second) {
        return Refuse(absl::StrCat("has ", Quoted(name), " twice"));
      }
    }
    return lines;
  }

  absl::StatusOr<std::string_view> Take(std::string_view name) {
    auto at = values_.find(name);
    if (at == values_.end()) return Refuse(absl::StrCat("lacks ", Quoted(name)));
    std::string_view value = at->second;
    values_.erase(at);
    return value;
  }
  absl::StatusOr<int64_t> TakeNumber(std::string_view name) {
    LOCUS_ASSIGN_OR_RETURN(std::string_view value, Take(name));
    auto number = ParseDecimal(value, std::numeric_limits<int64_t>::max());
    if (number) return static_cast<int64_t>(*number);
    return Refuse(absl::StrCat("has ", Quoted(value), " for ", Quoted(name),
                               ", which is not a number from 0 to 2^63 - 1"));
  }
  std::vector<std::string> TakeEarlier() {
    std::vector<std::string> patterns;
    while (true) {
      const auto at = values_.find(absl::StrCat(ToAbsl(kEarlier), patterns.size()));
      if (at == values_.end()) return patterns;
      patterns.emplace_back(at->second);
      values_.erase(at);
    }
  }
  absl::Status Done() const {
    if (values_.empty()) return absl::OkStatus();
    return Refuse(absl::StrCat("has the unknown name ", Quoted(values_.begin()->first)));
  }

 private:
  std::map<std::string_view, std::string_view> values_;
};

}  // namespace

std::string TypeTextOf(const SequenceType& type) {
  return absl::StrCat("start=", type.start, "\nstep=", type.step, "\nmax_value=", type.max_value,
                      "\nat_max=", ToAbsl(ToString(type.at_max)),
                      "\nexpiry_ms=", absl::ToInt64Milliseconds(type.expiry),
                      "\nbuffer=", type.buffer, "\nperiod=", ToAbsl(ToString(type.period)),
                      "\nzone=", type.zone, "\npattern=", type.pattern,
                      "\nleftovers=", ToAbsl(ToString(type.leftovers)),
                      "\nlifetime_s=", absl::ToInt64Seconds(type.lifetime), "\n");
}

std::string TypeInWords(const SequenceType& type) {
  std::vector<std::string> lines = absl::StrSplit(TypeTextOf(type), '\n', absl::SkipEmpty());
  for (std::string& line : lines) line[line.find('=')] = ' ';
  return absl::StrJoin(lines, ", ");
}

std::string ChangesOf(const SequenceType& before, const SequenceType& after) {
  const std::string old_text = TypeTextOf(before), new_text = TypeTextOf(after);
  const std::vector<std::string> old_lines = absl::StrSplit(old_text, '\n');
  const std::vector<std::string> new_lines = absl::StrSplit(new_text, '\n');
  LOCUS_CHECK(old_lines.size() == new_lines.size());
  std::vector<std::string> changes;
  for (size_t i = 0; i < old_lines.size(); ++i) {
    if (old_lines[i] == new_lines[i]) continue;
    const size_t name = old_lines[i].find('=');
    changes.push_back(absl::StrCat(old_lines[i].substr(0, name), " ", old_lines[i].substr(name + 1),
                                   " -> ", new_lines[i].substr(name + 1)));
  }
  return changes.empty() ? "nothing" : absl::StrJoin(changes, ", ");
}

namespace {

absl::StatusOr<SequenceType> TakeType(Lines& lines) {
  SequenceType type;
  LOCUS_ASSIGN_OR_RETURN(type.start, lines.TakeNumber("start"));
  LOCUS_ASSIGN_OR_RETURN(type.step, lines.TakeNumber("step"));
  LOCUS_ASSIGN_OR_RETURN(type.max_value, lines.TakeNumber("max_value"));
  LOCUS_ASSIGN_OR_RETURN(std::string_view at_max, lines.Take("at_max"));
  LOCUS_ASSIGN_OR_RETURN(int64_t expiry_ms, lines.TakeNumber("expiry_ms"));
  LOCUS_ASSIGN_OR_RETURN(type.buffer, lines.TakeNumber("buffer"));
  LOCUS_ASSIGN_OR_RETURN(std::string_view period_text, lines.Take("period"));
  LOCUS_ASSIGN_OR_RETURN(type.zone, lines.Take("zone"));
  LOCUS_ASSIGN_OR_RETURN(type.pattern, lines.Take("pattern"));
  LOCUS_ASSIGN_OR_RETURN(std::string_view leftovers_text, lines.Take("leftovers"));
  LOCUS_ASSIGN_OR_RETURN(int64_t lifetime_s, lines.TakeNumber("lifetime_s"));
  LOCUS_RETURN_IF_ERROR(lines.Done());
  type.expiry = absl::Milliseconds(expiry_ms);
  if (at_max != "error" && at_max != "wrap") {
    return Refuse(absl::StrCat("has ", Quoted(at_max), " for \"at_max\", not error or wrap"));
  }
  if (at_max == "wrap") type.at_max = SequencerOptions::AtMax::kWrap;
  std::optional<SequenceType::Period> period = ParsePeriod(period_text);
  if (!period) {
    return Refuse(
        absl::StrCat("has ", Quoted(period_text), " for \"period\", not none, day, month or year"));
  }
  type.period = *period;
  std::optional<SequenceType::Leftovers> leftovers = ParseLeftovers(leftovers_text);
  if (!leftovers) {
    return Refuse(
        absl::StrCat("has ", Quoted(leftovers_text), " for \"leftovers\", not return or drop"));
  }
  type.leftovers = *leftovers;
  type.lifetime = absl::Seconds(lifetime_s);
  return type;
}

// `stored` gets the type and its earlier patterns.
absl::Status ParseType(std::string_view text, StoredType& stored) {
  LOCUS_ASSIGN_OR_RETURN(Lines lines, Lines::Split(text));
  stored.earlier = lines.TakeEarlier();
  LOCUS_ASSIGN_OR_RETURN(stored.type, TakeType(lines));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SequenceType> ParseTypeText(std::string_view text) {
  LOCUS_ASSIGN_OR_RETURN(Lines lines, Lines::Split(text));
  return TakeType(lines);
}

std::string StoredTextOf(const SequenceType& type, const std::vector<std::string>& earlier) {
  std::string text = TypeTextOf(type);
  for (size_t i = 0; i < earlier.size(); ++i) {
    absl::StrAppend(&text, ToAbsl(kEarlier), i, "=", earlier[i], "\n");
  }
  return text;
}

std::string DroppedTextOf(std::string_view text) {
  const bool fits = kDropped.size() + text.size() <= kLongestTypeText;
  return absl::StrCat(ToAbsl(kDropped), fits ? ToAbsl(text) : "");
}

absl::StatusOr<StoredType> ParseStoredText(std::string_view text) {
  StoredType stored;
  if (!text.starts_with(kDropped)) {
    LOCUS_RETURN_IF_ERROR(ParseType(text, stored));
    return stored;
  }
  const bool is_readable = ParseType(text.substr(kDropped.size()), stored).ok();
  if (!is_readable) stored = StoredType();
  stored.is_readable = is_readable;
  stored.is_dropped = true;
  return stored;
}

}  // namespace locus::internal
