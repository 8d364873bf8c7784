// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_VERB_LINE_H_
#define LOCUS_APPS_LOCUS_LINE_VERB_LINE_H_

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "apps/locus/line/option.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

// The command line of one verb: declares what the verb takes, then reads the words.
//
// To declare an option, write its name and the name of its value in one string, then where the
// value goes, then its limits, then the help. The value that the target has beforehand is the
// default and is shown in the help; a std::optional target has none.
//
//   uint64_t count = 1;
//   std::optional<std::string> svg;
//   VerbLine line("ring", "Prints each shard's portion of the ring.", "locus ring table.json");
//   line.Number("--count N", &count, {.least = 1, .most = 1000}, "How many");
//   line.File("--svg OUT", &svg, FileUse::kWrite, "Also draw the ring into this file");
//   line.File("FILE", &path, FileUse::kRead, "The routing table");           // an operand
//   if (std::optional<int> exit = line.Parse(words)) return *exit;
//
// Parse() refuses unknown and repeated options, reports all missing ones at once, checks each value
// against its type and limits, and refuses an output file that is also an input (path_check.h).
// A name without a leading '-' declares an operand; operands are read in the order declared.
//
// Options may stand anywhere before "--"; everything after that is an operand. A word is an option
// if it begins with '-' and is neither "-" nor followed by a digit, so negative numbers are
// operands. An option's value is the next word, even one that looks like an option, or follows '='.
//
// Targets must outlive Parse().
class VerbLine {
 public:
  // `verb` as in Verb::name. `example` is a command that works as it stands once its files exist.
  VerbLine(std::string_view verb, std::string_view purpose, std::string_view example);
  ~VerbLine();

  // An option without a value.
  Option& Flag(const std::string& name, bool* given, const std::string& help);

  // A value taken as it is.
  template <typename Target>
  Option& Text(const std::string& spec, Target* target, const std::string& help) {
    return Value(spec, target, TakeText, help);
  }

  // A decimal whole number in range.limits; no sign, no leading zeros.
  template <typename Target>
  Option& Number(const std::string& spec, Target* target, const WholeRange& range,
                 const std::string& help) {
    using Integer = typename TargetOf<Target>::Type;
    static_assert(std::integral<Integer>);
    LOCUS_CHECK(range.most <= static_cast<uint64_t>(std::numeric_limits<Integer>::max()));
    auto read = [range](std::string_view text) -> absl::StatusOr<Integer> {
      absl::StatusOr<uint64_t> number = ReadWhole(text, range);
      if (!number.ok()) return number.status();
      return static_cast<Integer>(*number);
    };
    return Value(spec, target, read, help);
  }

  // A number above 0 that may have a fraction.
  template <typename Target>
  Option& Factor(const std::string& spec, Target* target, const std::string& help) {
    return Value(spec, target, ReadFactor, help);
  }

  // A number of seconds, or a number with one of the units ms, s, m, h, d.
  template <typename Target>
  Option& Duration(const std::string& spec, Target* target, const DurationRange& range,
                   const std::string& help) {
    return Value(
        spec, target, [range](std::string_view text) { return ReadDuration(text, range); }, help);
  }

  // One of `choices`. Required unless *target is one of them beforehand.
  Option& Choice(const std::string& name, const std::vector<std::string>& choices,
                 std::string* target, const std::string& help);
  Option& Choice(const std::string& name, const std::vector<std::string>& choices,
                 std::optional<std::string>* target, const std::string& help);

  // The name of a file; Parse() checks it against all others.
  Option& File(const std::string& spec, std::string* target, FileUse use, const std::string& help);
  Option& File(const std::string& spec, std::optional<std::string>* target, FileUse use,
               const std::string& help);

  // Any type: `read` takes a std::string_view and answers an absl::StatusOr of the type. Its
  // message says what is wrong with the value; Parse() puts the option's name before it.
  template <typename Target, typename Read>
  Option& Value(const std::string& spec, Target* target, Read read, const std::string& help) {
    Option& option = Add(spec, help);
    option.read = [target, read](const std::string& text) -> absl::Status {
      auto value = read(text);
      if (!value.ok()) return value.status();
      *target = *std::move(value);
      return absl::OkStatus();
    };
    if constexpr (TargetOf<Target>::kIsOptional) {
      option.required = false;
    } else {
      option.shown_default = ShownDefault(*target);
    }
    return option;
  }

  // Any number of times, none included; each takes one value.
  Option& Repeated(const std::string& spec, std::vector<std::string>* values,
                   const std::string& help);
  // The same, at least once; operands that follow the option are values of it too.
  Option& List(const std::string& spec, std::vector<std::string>* values, const std::string& help);

  // Any number of operands, none included, after all others.
  enum class WithoutAny { kNothing, kReadsStdin };
  Option& Tail(const std::string& name, std::vector<std::string>* values, WithoutAny without,
               const std::string& help);

  // The words after "--", which are no operands then: a command, to be run as it stands.
  Option& Command(const std::string& name, std::vector<std::string>* words,
                  const std::string& help);

  // nullopt: everything was read. Otherwise the exit code: the help was asked for and printed, or
  // the usage is wrong and the word at fault named on stderr.
  std::optional<int> Parse(std::span<const std::string> words);

 private:
  template <typename Target>
  struct TargetOf {
    using Type = Target;
    static constexpr bool kIsOptional = false;
  };
  template <typename Target>
  struct TargetOf<std::optional<Target>> {
    using Type = Target;
    static constexpr bool kIsOptional = true;
  };

  static absl::StatusOr<std::string> TakeText(std::string_view text);
  static absl::StatusOr<uint64_t> ReadWhole(std::string_view text, const WholeRange& range);
  static absl::StatusOr<double> ReadFactor(std::string_view text);
  static absl::StatusOr<absl::Duration> ReadDuration(std::string_view text,
                                                     const DurationRange& range);

  static std::string ShownDefault(const std::string& text) { return text; }
  static std::string ShownDefault(absl::Duration duration);
  template <typename T>
  static std::string ShownDefault(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) return absl::StrCat(value);
    return "";
  }

  Option& Add(const std::string& spec, const std::string& help);

  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// INVALID_ARGUMENT: `text` is not in `range`. For limits that depend on other options; `because` is
// appended to the message.
inline absl::Status NotInRange(std::string_view option, uint64_t value, uint64_t least,
                               uint64_t most, std::string_view because) {
  return absl::InvalidArgumentError(absl::StrCat(internal::ToAbsl(option), ": \"", value,
                                                 "\" is not in ", least, "..", most,
                                                 internal::ToAbsl(because)));
}

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_VERB_LINE_H_
