// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locus/id/number_values.h"
#include "apps/locus/line/values.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "locus/number_format.h"
#include "nlohmann/json.hpp"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/number/pattern/field_text.h"

namespace locus::cli {

using internal::FieldValueOf;
using internal::QuotedUtf8;
using internal::ToAbsl;

namespace {

constexpr uint64_t kMostNext = 1'000'000;

absl::StatusOr<absl::TimeZone> ParseTimeZone(std::string_view name) {
  absl::TimeZone zone;
  if (!name.empty() && absl::LoadTimeZone(ToAbsl(name), &zone)) return zone;
  return absl::InvalidArgumentError(absl::StrCat(
      QuotedUtf8(name), " is not a time zone that this system knows, such as Asia/Shanghai"));
}

// The options of both verbs.
struct PatternLine {
  std::string pattern;
  absl::TimeZone zone = absl::UTCTimeZone();

  void DeclareOn(VerbLine& line) {
    line.Text("PATTERN", &pattern, "The pattern, such as {date:yyyyMMdd}{seq:8}; see locus(1)");
    line.Value("--time-zone ZONE", &zone, ParseTimeZone,
               "The time zone of the number, such as Asia/Shanghai")
        .Default("UTC");
  }

  absl::StatusOr<NumberFormat> Compile() const {
    absl::StatusOr<NumberFormat> format = NumberFormat::Compile(pattern, zone);
    if (format.ok()) return format;
    return absl::InvalidArgumentError(absl::StrCat("PATTERN: ", format.status().message()));
  }
};

struct GivenField {
  std::string_view name;
  std::string_view value;
};

absl::Status WrongField(std::string_view given, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("--field ", QuotedUtf8(given), ": ", ToAbsl(reason)));
}

absl::StatusOr<std::vector<GivenField>> SplitFields(const std::vector<std::string>& words,
                                                    const NumberFormat& format) {
  std::vector<GivenField> given;
  for (const std::string& word : words) {
    size_t equals = word.find('=');
    if (equals == std::string::npos) return WrongField(word, "is not NAME=VALUE");
    std::string_view name = std::string_view(word).substr(0, equals);
    auto field = std::find_if(format.fields().begin(), format.fields().end(),
                              [&](const NumberField& each) { return each.name == name; });
    if (field == format.fields().end()) {
      return WrongField(word, absl::StrCat("the pattern has no field ", QuotedUtf8(name)));
    }
    if (field->kind == NumberField::Kind::kCheck) {
      return WrongField(word, "the check digit is computed, not given");
    }
    for (const GivenField& before : given) {
      if (before.name == name) return WrongField(word, "is given more than once");
    }
    given.push_back({name, std::string_view(word).substr(equals + 1)});
  }
  return given;
}

absl::StatusOr<FieldValue> GivenValue(const NumberField& field,
                                      const std::vector<GivenField>& given) {
  auto found = std::find_if(given.begin(), given.end(),
                            [&](const GivenField& each) { return each.name == field.name; });
  if (found != given.end()) return FieldValueOf(field, found->value);
  return absl::InvalidArgumentError(absl::StrCat("--field ", field.name, "=VALUE is required"));
}

// Date and time set the number's one time; nullopt: neither is given.
absl::StatusOr<std::optional<absl::Time>> TimeOf(const std::vector<GivenField>& given,
                                                 absl::TimeZone zone) {
  std::optional<absl::Time> time;
  for (const GivenField& each : given) {
    if (each.name != "date" && each.name != "time") continue;
    absl::StatusOr<absl::Time> parsed = ParseInstant(each.value, zone);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("field ", QuotedUtf8(each.name), ": ", parsed.status().message()));
    }
    if (time && *time != *parsed) {
      return absl::InvalidArgumentError(
          "the fields \"date\" and \"time\" are parts of one time, but name two");
    }
    time = *parsed;
  }
  return time;
}

absl::StatusOr<std::string> FormatGiven(const NumberFormat& format,
                                        const std::vector<std::string>& words) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<GivenField> given, SplitFields(words, format));
  LOCUS_ASSIGN_OR_RETURN(std::optional<absl::Time> time, TimeOf(given, format.zone()));
  std::vector<FieldValue> values;
  for (const NumberField& field : format.fields()) {
    if (!field.has_value()) continue;
    LOCUS_ASSIGN_OR_RETURN(FieldValue value, GivenValue(field, given));
    values.push_back(value);
  }
  return format.Format(time.value_or(absl::Now()), values);
}

struct NumberLine {
  StoreUri store;
  std::optional<StoreUri> ceiling;
  std::string type, key;
  int64_t count = 1;
  std::vector<std::string> fields;
};

// The time is read once: it decides the counter and is written into the numbers.
absl::Status TakeNext(const NumberLine& line, std::string& out) {
  std::vector<NamedValue> values;
  for (const std::string& word : line.fields) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return WrongField(word, "is not NAME=VALUE");
    const std::string_view text = word;
    values.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  LOCUS_ASSIGN_OR_RETURN(auto sequences,
                         OpenTypedSequences(line.store, line.ceiling ? &*line.ceiling : nullptr));
  LOCUS_ASSIGN_OR_RETURN(TypedCounter counter, sequences->Open(line.type, line.key, absl::Now()));
  // A bad value of a field is refused here, before it costs a number.
  LOCUS_RETURN_IF_ERROR(counter.Written(0, values).status());
  LOCUS_ASSIGN_OR_RETURN(SequenceBatch batch,
                         counter.counters->NextBatch(counter.name, line.count));
  LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> numbers, counter.Written(batch, values));
  for (const std::string& number : numbers) absl::StrAppend(&out, number, "\n");
  return absl::OkStatus();
}

absl::Status ParseInto(const NumberFormat& format, std::string_view text, std::string& out) {
  LOCUS_ASSIGN_OR_RETURN(ParsedNumber number, format.Parse(text));
  nlohmann::ordered_json json;
  size_t next = 0;
  for (const NumberField& field : format.fields()) {
    switch (field.kind) {
      case NumberField::Kind::kTime:
        json[field.name] = IsoOf(*number.time, format);
        break;
      case NumberField::Kind::kDigits:
        json[field.name] = absl::StrCat(number.values[next++].number);
        break;
      case NumberField::Kind::kBuyer:
      case NumberField::Kind::kText:
        json[field.name] = number.values[next++].text;
        break;
      case NumberField::Kind::kCheck:  // checked by Parse; has no value
        break;
    }
  }
  out += json.dump();
  return absl::OkStatus();
}

}  // namespace

int RunNumberFormat(std::span<const std::string> words) {
  PatternLine pattern;
  std::vector<std::string> fields, more;
  VerbLine line("number format", "Prints a business number made by a pattern.",
                "locus number format '{date:yyyyMMdd}{seq:8}' --field seq=42");
  pattern.DeclareOn(line);
  line.Repeated("--field NAME=VALUE", &fields,
                "The value of a field; date and time are now unless given");
  line.Tail("NAME=VALUE", &more, VerbLine::WithoutAny::kNothing,
            "Further fields, after one --field");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (fields.empty() && !more.empty()) {
    return WrongUsage("number format", absl::StrCat("unexpected argument ", QuotedUtf8(more[0]),
                                                    "; write --field first"));
  }
  fields.insert(fields.end(), more.begin(), more.end());

  absl::StatusOr<NumberFormat> format = pattern.Compile();
  if (!format.ok()) return WrongUsage("number format", format.status());
  absl::StatusOr<std::string> number = FormatGiven(*format, fields);
  if (!number.ok()) return WrongUsage("number format", number.status());
  return PrintAll("number format", *number + "\n");
}

int RunNumberParse(std::span<const std::string> words) {
  PatternLine pattern;
  std::vector<std::string> texts;
  VerbLine line("number parse", "Prints the fields of each number, one JSON object a line.",
                "locus number parse '{date:yyyyMMdd}{seq:8}' 2026112000000042");
  pattern.DeclareOn(line);
  line.Tail("TEXT", &texts, VerbLine::WithoutAny::kReadsStdin,
            "Numbers of this pattern; without any, one is read from each line of stdin");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  absl::StatusOr<NumberFormat> format = pattern.Compile();
  if (!format.ok()) return WrongUsage("number parse", format.status());
  return AnswerEach("number parse", texts, [&](std::string_view text, std::string& out) {
    return ParseInto(*format, text, out);
  });
}

int RunNumberNext(std::span<const std::string> words) {
  NumberLine next;
  VerbLine line(
      "number next",
      "Takes the next numbers of a sequence type (seq type create) and prints one a line, written "
      "by its pattern; as decimals where it has none.",
      "locus number next --store sqlite:numbers.db --type invoices --count 3");
  StoreOption(line, "--store URI", &next.store,
              absl::StrCat("The store of sequence types and counters: ",
                           internal::UriForms(internal::kCounters)))
      .Required()
      .Else("LOCUS_STORE");
  StoreOption(line, "--ceiling URI", &next.ceiling,
              "With --store redis...: a mysql or sqlite store whose ceilings keep numbers from "
              "repeating after Redis lost some");
  line.Text("--type T", &next.type, "The type").Required();
  line.Text("--key K", &next.key,
            "The key of the counter: up to 400 bytes. Counters of two keys write equal numbers "
            "unless a field tells them apart");
  line.Number("--count N", &next.count, {.least = 1, .most = kMostNext},
              "How many numbers, all or none");
  line.Repeated("--field NAME=VALUE", &next.fields,
                "The value of another field of the pattern, for all of the numbers");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  std::string out;
  absl::Status status = TakeNext(next, out);
  if (absl::IsInvalidArgument(status)) return WrongUsage("number next", status);
  return status.ok() ? PrintAll("number next", out) : Fail("number next", status);
}

}  // namespace locus::cli
