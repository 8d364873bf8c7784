// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_NUMBER_PATTERN_NAIVE_NUMBER_FORMAT_H_
#define LOCUS_TESTS_NUMBER_PATTERN_NAIVE_NUMBER_FORMAT_H_

#include <iconv.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace locus::testing {

// NumberFormat done slowly and without cleverness: it gets the pieces instead of reading a pattern,
// lets Abseil compute and check the time, and reads a text by trying every width of every field.
struct NaivePiece {
  enum Kind { kLiteral, kUnit, kDigits, kBuyer, kText, kCheck };
  Kind kind;
  // Of kLiteral its characters, of kUnit its letters, of kText its alphabet. UTF-8.
  std::string text;
  size_t min = 0;  // width in characters
  size_t max = 0;
};

// Appends the characters of a text as iconv finds them. Returns false if it is not UTF-8.
inline bool SplitCharacters(std::string text, std::vector<std::string>& characters) {
  iconv_t reader = iconv_open("UTF-32LE", "UTF-8");
  char* at = text.data();
  size_t left = text.size();
  bool valid = true;
  while (left > 0 && valid) {
    std::array<char, 4> one;  // iconv stops for want of room after each character
    char* out = one.data();
    size_t room = one.size();
    char* before = at;
    iconv(reader, &at, &left, &out, &room);
    valid = room == 0;
    if (valid) characters.emplace_back(before, at);
  }
  iconv_close(reader);
  return valid;
}

inline std::vector<std::string> NaiveCharacters(const std::string& text) {
  std::vector<std::string> characters;
  EXPECT_TRUE(SplitCharacters(text, characters)) << text;
  return characters;
}

class NaiveNumberFormat {
 public:
  // One way to read a text.
  struct Reading {
    std::vector<std::string> values;  // of kDigits, kBuyer and kText
    std::optional<absl::Time> time;
  };

  NaiveNumberFormat(std::vector<NaivePiece> pieces, absl::TimeZone zone)
      : pieces_(std::move(pieces)), zone_(zone) {}

  // `values` as they are written in the number. nullopt: yy cannot write the year.
  std::optional<std::string> Format(absl::Time time, const std::vector<std::string>& values) const {
    std::string out;
    size_t value = 0;
    for (const NaivePiece& piece : pieces_) {
      if (piece.kind == NaivePiece::kLiteral) {
        out += piece.text;
      } else if (piece.kind == NaivePiece::kCheck) {
        out += CheckDigit(out);
      } else if (piece.kind == NaivePiece::kUnit) {
        int64_t year = zone_.At(time).cs.year();
        if (piece.text == "yy" && (year < 2000 || year > 2099)) return std::nullopt;
        out += Unit(piece.text, time);
      } else {
        out += values.at(value++);
      }
    }
    return out;
  }

  std::vector<Reading> ReadAll(const std::string& text) const {
    std::vector<Reading> readings;
    Partial partial;
    std::vector<std::string> characters;
    if (SplitCharacters(text, characters)) Read(characters, 0, 0, partial, readings);
    return readings;
  }

 private:
  struct Partial {
    std::vector<std::string> values;
    std::map<std::string, std::string> units;
  };

  static bool AllOf(const std::string& text, const std::string& alphabet) {
    std::vector<std::string> allowed = NaiveCharacters(alphabet);
    for (const std::string& character : NaiveCharacters(text)) {
      if (std::find(allowed.begin(), allowed.end(), character) == allowed.end()) return false;
    }
    return true;
  }
  static std::string Joined(const std::vector<std::string>& text, size_t at, size_t width) {
    std::string joined;
    for (size_t i = at; i < at + width; ++i) joined += text[i];
    return joined;
  }

  // Damm's digit by its defining property: appended, it brings the state back to 0.
  static std::string CheckDigit(const std::string& text) {
    static const std::vector<std::string> kTable = {
        "0317598642", "7092154863", "4206871359", "1750983426", "6123045978",
        "3674209581", "5869720134", "8945362017", "9438617205", "2581436790"};
    char state = '0';
    for (char c : text) {
      if (std::string("0123456789").find(c) != std::string::npos) {
        state = kTable[static_cast<size_t>(state - '0')][static_cast<size_t>(c - '0')];
      }
    }
    for (char digit = '0'; digit <= '9'; ++digit) {
      if (kTable[static_cast<size_t>(state - '0')][static_cast<size_t>(digit - '0')] == '0') {
        return std::string(1, digit);
      }
    }
    return "none";
  }

  std::string Unit(const std::string& letters, absl::Time time) const {
    static const std::map<std::string, std::string> kFormats = {
        {"yyyy", "%E4Y"}, {"yy", "%y"}, {"MM", "%m"}, {"dd", "%d"},
        {"HH", "%H"},     {"mm", "%M"}, {"ss", "%S"}};
    if (letters != "SSS") return absl::FormatTime(kFormats.at(letters), time, zone_);
    return absl::FormatTime("%E3S", time, zone_).substr(3);
  }

  void Read(const std::vector<std::string>& text, size_t at, size_t piece, Partial& partial,
            std::vector<Reading>& readings) const {
    if (piece == pieces_.size()) {
      if (at != text.size()) return;
      Reading reading{partial.values, std::nullopt};
      if (!partial.units.empty()) {
        reading.time = FirstTime(partial.units);
        if (!reading.time) return;
      }
      readings.push_back(reading);
      return;
    }
    const NaivePiece& now = pieces_[piece];
    for (size_t width = now.min; width <= now.max && at + width <= text.size(); ++width) {
      std::string part = Joined(text, at, width);
      Partial next = partial;
      bool fits = false;
      switch (now.kind) {
        case NaivePiece::kLiteral:
          fits = part == now.text;
          break;
        case NaivePiece::kCheck:
          fits = part == CheckDigit(Joined(text, 0, at));
          break;
        case NaivePiece::kUnit:
          fits = AllOf(part, "0123456789");
          next.units[now.text] = part;
          break;
        case NaivePiece::kDigits:
        case NaivePiece::kBuyer:
          fits = AllOf(part, "0123456789");
          next.values.push_back(part);
          break;
        case NaivePiece::kText:
          fits = AllOf(part, now.text);
          next.values.push_back(part);
          break;
      }
      if (fits) Read(text, at + width, piece + 1, next, readings);
    }
  }

  // The earliest of the instants that Abseil knows near the local time, and of those a unit later,
  // that is written with these units.
  std::optional<absl::Time> FirstTime(const std::map<std::string, std::string>& units) const {
    auto get = [&](const std::string& letters, int otherwise) {
      return units.contains(letters) ? std::stoi(units.at(letters)) : otherwise;
    };
    int year = units.contains("yy") ? 2000 + get("yy", 0) : get("yyyy", 0);
    if (year == 0) return std::nullopt;
    absl::CivilSecond local(year, get("MM", 1), get("dd", 1), get("HH", 0), get("mm", 0),
                            get("ss", 0));
    absl::TimeZone::TimeInfo near = zone_.At(local);
    std::optional<absl::Time> first;
    for (absl::Time time : {near.pre, near.trans, near.post}) {
      time += absl::Milliseconds(get("SSS", 0));
      bool same = true;
      for (const auto& [letters, digits] : units) same = same && Unit(letters, time) == digits;
      if (same && (!first || time < *first)) first = time;
    }
    return first;
  }

  std::vector<NaivePiece> pieces_;
  absl::TimeZone zone_;
};

}  // namespace locus::testing

#endif  // LOCUS_TESTS_NUMBER_PATTERN_NAIVE_NUMBER_FORMAT_H_
