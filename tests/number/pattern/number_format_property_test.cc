// SPDX-License-Identifier: Apache-2.0
// NumberFormat against its naive twin, over random patterns, values, times and broken texts.
#include <algorithm>
#include <array>
#include <random>

#include "gtest/gtest.h"
#include "locus/number_format.h"
#include "tests/number/pattern/naive_number_format.h"

namespace locus {
namespace {

using testing::NaiveCharacters;
using testing::NaiveNumberFormat;
using testing::NaivePiece;

constexpr std::array kZones = {"UTC",           "Asia/Shanghai",     "America/New_York",
                               "Europe/London", "America/Sao_Paulo", "Australia/Lord_Howe",
                               "Pacific/Apia",  "America/Havana",    "Asia/Kathmandu",
                               "Africa/Cairo",  "Antarctica/Troll",  "America/St_Johns"};

// Pieces that break numbers: letters of the patterns, and characters that no number may have (a
// joiner, a surrogate, an overlong slash).
const std::vector<std::string> kWide = {"京",           "津",           "é",       "д", "😁",
                                        "\xE2\x80\x8D", "\xED\xA0\x80", "\xC0\xAF"};

absl::TimeZone Zone(const char* name) {
  absl::TimeZone zone;
  EXPECT_TRUE(absl::LoadTimeZone(name, &zone)) << name << ": tzdata is needed";
  return zone;
}

struct RandomFormat {
  std::string pattern;
  std::vector<NaivePiece> pieces;
  bool has_time = false;
};

class Source {
 public:
  explicit Source(uint64_t seed) : random_(seed) {}

  size_t Below(size_t limit) { return size_t{random_() % limit}; }
  uint64_t Word() { return random_(); }
  template <typename List>
  auto OneOf(const List& list) {
    return list[Below(std::size(list))];
  }

  RandomFormat Format() {
    RandomFormat format;
    size_t fields = 1 + Below(4);
    size_t date_at = Below(fields + 1);
    for (size_t i = 0; i < fields; ++i) {
      if (Below(3) == 0) AddLiteral(format);
      i == date_at ? AddDate(format) : AddField(format, i);
    }
    if (Below(3) == 0) AddLiteral(format);
    if (Below(3) == 0) {
      format.pattern += "{check}";
      format.pieces.push_back({NaivePiece::kCheck, "", 1, 1});
    }
    return format;
  }

  // As it is written in a number.
  std::string ValueOf(const NaivePiece& piece) {
    std::string alphabet = piece.kind == NaivePiece::kText ? piece.text : "0123456789";
    std::string value;
    std::vector<std::string> characters = NaiveCharacters(alphabet);
    for (size_t n = piece.min + Below(piece.max - piece.min + 1); n > 0; --n) {
      value += OneOf(characters);
    }
    return value;
  }

  // Near a change of the zone's offset, or anywhere from 1990 to 2105.
  absl::Time Time(absl::TimeZone zone) {
    absl::Time time =
        absl::FromUnixMillis(631'152'000'000 + static_cast<int64_t>(Word() % 3'629'000'000'000));
    absl::TimeZone::CivilTransition change;
    if (Below(2) == 0 && zone.NextTransition(time, &change)) {
      time = zone.At(change.to).pre +
             absl::Milliseconds(static_cast<int64_t>(Below(14'400'000)) - 7'200'000);
    }
    return time;
  }

 private:
  void AddLiteral(RandomFormat& format) {
    std::string literal = OneOf(
        std::vector<std::string>{"-", "NO.", "7", "A", "{", "}", "x9", "/", "№", "京é", "😀-"});
    for (char c : literal)
      format.pattern += (c == '{' || c == '}') ? std::string(2, c) : std::string(1, c);
    size_t width = NaiveCharacters(literal).size();
    format.pieces.push_back({NaivePiece::kLiteral, literal, width, width});
  }

  void AddDate(RandomFormat& format) {
    std::vector<std::string> units = {
        OneOf(std::vector<std::string>{"yyyy", "yy"}), "MM", "dd", "HH", "mm", "ss", "SSS"};
    units.resize(1 + Below(units.size()));
    std::shuffle(units.begin(), units.end(), random_);
    format.pattern += OneOf(std::vector<std::string>{"{date:", "{time:"});
    for (size_t i = 0; i < units.size(); ++i) {
      std::string separator = OneOf(std::vector<std::string>{"", "-", ":", "."});
      bool fuses = i > 0 && units[i][0] == units[i - 1][0];
      if (fuses && separator.empty()) separator = "_";
      if (i > 0 && !separator.empty()) {
        format.pattern += separator;
        format.pieces.push_back({NaivePiece::kLiteral, separator, 1, 1});
      }
      format.pattern += units[i];
      format.pieces.push_back({NaivePiece::kUnit, units[i], units[i].size(), units[i].size()});
    }
    format.pattern += '}';
    format.has_time = true;
  }

  void AddField(RandomFormat& format, size_t index) {
    std::string name = "f" + std::to_string(index);
    if (Below(2) == 0) {
      size_t width = 1 + Below(6);
      format.pattern += '{' + name + ':' + std::to_string(width) + '}';
      format.pieces.push_back({NaivePiece::kDigits, "", width, width});
      return;
    }
    auto [declared, alphabet] =
        OneOf(std::vector<std::pair<std::string, std::string>>{{"A-C", "ABC"},
                                                               {"0-9", "0123456789"},
                                                               {"A7-", "A7-"},
                                                               {"x/.", "x/."},
                                                               {"0-1A-B", "01AB"},
                                                               {"京津沪", "京津沪"},
                                                               {"A-B京", "AB京"},
                                                               {"а-д", "абвгд"},
                                                               {"é-ê7😀-😂", "éê7😀😁😂"}});
    size_t min = 1 + Below(3), max = min + Below(4);
    format.pattern += '{' + name + ':' + declared + ';' + std::to_string(min) +
                      (max == min && Below(2) == 0 ? "" : ".." + std::to_string(max)) + '}';
    format.pieces.push_back({NaivePiece::kText, alphabet, min, max});
  }

  std::mt19937_64 random_;
};

void ExpectSameReading(const NumberFormat& format, const NaiveNumberFormat& naive,
                       const std::string& text) {
  std::vector<NaiveNumberFormat::Reading> readings = naive.ReadAll(text);
  ASSERT_LE(readings.size(), 1u) << "ambiguous: " << text;
  absl::StatusOr<ParsedNumber> parsed = format.Parse(text);
  ASSERT_EQ(parsed.ok(), readings.size() == 1) << text << ": " << parsed.status();
  if (!parsed.ok()) {
    ASSERT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    return;
  }
  ASSERT_EQ(parsed->values.size(), readings[0].values.size());
  for (size_t i = 0; i < parsed->values.size(); ++i) {
    ASSERT_EQ(parsed->values[i].text, readings[0].values[i]);
  }
  ASSERT_EQ(parsed->time, readings[0].time) << text;
}

std::vector<FieldValue> ValuesOf(const RandomFormat& random,
                                 const std::vector<std::string>& texts) {
  std::vector<FieldValue> values;
  for (const NaivePiece& piece : random.pieces) {
    if (piece.kind == NaivePiece::kDigits) {
      values.push_back(FieldValue::Uint64(std::stoull(texts[values.size()])));
    } else if (piece.kind == NaivePiece::kText) {
      values.push_back(FieldValue::Text(texts[values.size()]));
    }
  }
  return values;
}

TEST(NumberFormatPropertyTest, RandomPatterns_AgreeWithTheNaiveTwin) {
  int compiled = 0, refused = 0, formatted = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    Source source(seed);
    RandomFormat random = source.Format();
    SCOPED_TRACE(random.pattern);
    absl::TimeZone zone = Zone(source.OneOf(kZones));
    absl::StatusOr<NumberFormat> format = NumberFormat::Compile(random.pattern, zone);
    if (!format.ok()) {
      std::string message(format.status().message());
      bool unclear = message.find("could not be parsed") != message.npos;
      ASSERT_TRUE(unclear || message.find("no digit can precede") != message.npos) << message;
      ++refused;
      continue;
    }
    ++compiled;
    NaiveNumberFormat naive(random.pieces, zone);
    for (int i = 0; i < 10; ++i) {
      absl::Time time = source.Time(zone);
      std::vector<std::string> texts;
      for (const NaivePiece& piece : random.pieces) {
        if (piece.kind == NaivePiece::kDigits || piece.kind == NaivePiece::kText) {
          texts.push_back(source.ValueOf(piece));
        }
      }
      absl::StatusOr<std::string> text = format->Format(time, ValuesOf(random, texts));
      std::optional<std::string> expected = naive.Format(time, texts);
      ASSERT_EQ(text.ok(), expected.has_value()) << text.status() << " " << time;
      if (!text.ok()) {
        ASSERT_EQ(text.status().code(), absl::StatusCode::kOutOfRange);
        continue;
      }
      ++formatted;
      ASSERT_EQ(*text, *expected) << time;
      ASSERT_GE(text->size(), format->min_length());
      ASSERT_LE(text->size(), format->max_length());
      absl::StatusOr<ParsedNumber> parsed = format->Parse(*text);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      ASSERT_EQ(parsed->time.has_value(), random.has_time);
      if (parsed->time) {
        ASSERT_LE(*parsed->time, time);
        ASSERT_EQ(format->Format(*parsed->time, ValuesOf(random, texts)).value(), *text);
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSameReading(*format, naive, *text));
      // Broken in some way; most of these are refused, and by both.
      std::string broken = *text;
      size_t at = source.Below(broken.size());
      switch (source.Below(6)) {
        case 0:
          broken.erase(at, 1);
          break;
        case 1:
          broken.insert(at, 1, source.OneOf(std::string("0123456789AB-x")));
          break;
        case 2:
          broken[at] = static_cast<char>(source.Word());
          break;
        case 3:  // a character, perhaps within another one
          broken.replace(at, 1, source.OneOf(kWide));
          break;
        case 4:  // perhaps another character of as many bytes
          broken[at] = static_cast<char>(broken[at] ^ (1 << source.Below(6)));
          break;
        default:
          broken[at] = source.OneOf(std::string("0123456789ABC-/x"));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSameReading(*format, naive, broken));
    }
  }
  EXPECT_GT(compiled, 3000);
  EXPECT_GT(refused, 20);
  EXPECT_GT(formatted, 20000);
}

// The offset that is kept for some minutes, around every change of every zone.
TEST(NumberFormatPropertyTest, EveryChangeOfOffset_IsAsAbseilHasIt) {
  int changes = 0;
  for (const char* name : kZones) {
    absl::TimeZone zone = Zone(name);
    NumberFormat format = NumberFormat::Compile("{time:yyyyMMddHHmmss.SSS}", zone).value();
    absl::Time time = absl::FromCivil(absl::CivilYear(1880), absl::UTCTimeZone());
    absl::TimeZone::CivilTransition change;
    std::mt19937_64 random(1);
    while (zone.NextTransition(time, &change) && change.to.year() < 2060) {
      ++changes;
      time = zone.At(change.from).trans;
      for (int64_t ms : {-3'600'000, -1, 0, 1, 999, 1000, 900'000, -900'000, 3'600'000}) {
        absl::Time near = time + absl::Milliseconds(ms + static_cast<int64_t>(random() % 2));
        EXPECT_EQ(format.Format(near, {}).value(), absl::FormatTime("%E4Y%m%d%H%M%E3S", near, zone))
            << name;
      }
    }
  }
  EXPECT_GT(changes, 1000);
}

}  // namespace
}  // namespace locus
