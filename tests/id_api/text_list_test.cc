// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/text_list.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus::locusd {
namespace {

using Texts = std::vector<std::string>;

std::optional<Texts> Read(const std::string& body, size_t most = 10) {
  Texts texts;
  const bool is_list = ReadTextList(body, "buyers", most, [&texts](std::string_view text) {
    texts.emplace_back(text);
    return true;
  });
  if (!is_list) return std::nullopt;
  return texts;
}

TEST(TextListTest, ListsOfTexts_AreRead) {
  EXPECT_EQ(Read(R"({"buyers":["1"]})"), Texts({"1"}));
  EXPECT_EQ(Read(" {\n\"buyers\" :\t[ \"1\" , \"\" ,\"33\"]\r} "), Texts({"1", "", "33"}));
  EXPECT_EQ(Read(R"({"b\u0075yers":["\u0031\n2","\ud83d\ude00"]})"), Texts({"1\n2", "\U0001F600"}));
  EXPECT_EQ(Read(R"({"buyers":["1","2"]})", 2), Texts({"1", "2"}));
}

TEST(TextListTest, WhatIsSomethingElse_IsNot) {
  for (const char* const body : {"",
                                 "{}",
                                 "[]",
                                 "null",
                                 R"({"buyers":[]})",
                                 R"({"buyers":["1"]}x)",
                                 R"({"buyers":["1"]} {})",
                                 R"({"buyers":["1"],"buyers":["2"]})",
                                 R"({"buyers":["1"],"a":1})",
                                 R"({"a":["1"]})",
                                 R"({"buyers":[1]})",
                                 R"({"buyers":[["1"]]})",
                                 R"({"buyers":[{}]})",
                                 R"({"buyers":"1"})",
                                 R"({"buyers":["1",null]})",
                                 R"({"buyers":["1",]})",
                                 R"({"buyers":["1"})",
                                 R"({"buyers":["1")",
                                 R"({"buyers":["1\x"]})",
                                 "{\"buyers\":[\"\xff\"]}",
                                 R"({"buyers":["1"]/**/})",
                                 R"({"buyers":{"buyers":["1"]}})",
                                 R"(["buyers",["1"]])"}) {
    EXPECT_EQ(Read(body), std::nullopt) << body;
  }
  EXPECT_EQ(Read(R"({"buyers":["1","2","3"]})", 2), std::nullopt);
  EXPECT_FALSE(ReadTextList(R"({"buyers":["1","2"]})", "buyers", 9,
                            [](std::string_view text) { return text != "2"; }));
}

// Whatever it takes, another parser reads the same in it.
TEST(TextListTest, MutatedBodies_AreReadAsByAnotherParser) {
  std::mt19937_64 random(91);
  const std::string base = R"({"buyers":["12","a\"b","\u00e9","",  "7"]})";
  const std::string_view letters = "{}[]\":,\\u0e1 bn\xc3\xa9";
  size_t taken = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string body = base;
    for (uint64_t edits = random() % 3; edits > 0; --edits) {
      const size_t at = random() % body.size();
      if (random() % 2 == 0) {
        body[at] = letters[random() % letters.size()];
      } else {
        body.erase(at, 1);
      }
    }
    const std::optional<Texts> texts = Read(body);
    if (!texts) continue;
    ++taken;
    const auto twin = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
    ASSERT_EQ(twin, nlohmann::json({{"buyers", *texts}})) << body;
  }
  EXPECT_GT(taken, 1000u);
}

}  // namespace
}  // namespace locus::locusd
