// SPDX-License-Identifier: Apache-2.0
// locus encode, decode, inspect and keys.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <regex>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/order_id.h"
#include "locus/order_no.h"
#include "locus/shard_gene.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

using nlohmann::json;
using testing::CommandTest;
using ::testing::ElementsAre;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::RunningCommand;
using ::testing::StartsWith;
using testing::WriteFile;

class GoldenNumbersTest : public CommandTest {
 protected:
  void SetUp() override {
    golden_ = golden::Load("order_no.json");
    std::string ring = "locus-key-ring 1\nactive 1\n";
    for (const auto& [version, hex] : golden_.at("keys").items()) {
      ring += version + " " + absl::Base64Escape(golden::BytesOfHex(hex.get<std::string>())) + "\n";
    }
    WriteFile(keys_, ring);
    chmod(keys_.c_str(), 0600);
  }

  static std::string IdText(const json& line) {
    return OrderId::FromBytes(golden::BytesOfHex(line.at("order_id"))).value().ToString();
  }

  // Runs each group of valid lines (space and version) that has a number of `scheme` through
  // encode and decode.
  void CheckBothWays(const std::string& scheme) {
    struct Group {
      std::string ids, numbers;
    };
    std::map<std::pair<std::string, int>, Group> groups;
    for (const json& line : golden_.at("valid")) {
      if (!line.contains(scheme) || line.at(scheme).is_null()) continue;
      Group& group = groups[{line.at("space"), line.at("key_version")}];
      group.ids += IdText(line) + "\n";
      const json& number = line.at(scheme);
      group.numbers += (number.is_object() ? number.at("text") : number).get<std::string>() + "\n";
    }
    ASSERT_FALSE(groups.empty());
    for (const auto& [key, group] : groups) {
      std::vector<std::string> options = {
          "--keys",   keys_,  "--space",       key.first,
          "--scheme", scheme, "--key-version", std::to_string(key.second)};
      std::vector<std::string> encode = options, decode = options;
      encode.insert(encode.begin(), "encode");
      decode.insert(decode.begin(), "decode");
      if (scheme == "ctr64") encode.push_back("--allow-keystream-reuse");
      Outcome outcome = RunLocus(encode, group.ids);
      EXPECT_EQ(outcome.exit, 0) << outcome.err;
      EXPECT_EQ(outcome.out, group.numbers);
      outcome = RunLocus(decode, group.numbers);
      EXPECT_EQ(outcome.exit, 0) << outcome.err;
      EXPECT_EQ(outcome.out, group.ids);
    }
  }

  json golden_;
};

TEST_F(GoldenNumbersTest, Siv_BothWays) { CheckBothWays("siv"); }
TEST_F(GoldenNumbersTest, Ff1_BothWays) { CheckBothWays("ff1"); }
TEST_F(GoldenNumbersTest, Ctr64_BothWays) { CheckBothWays("ctr64"); }

TEST_F(GoldenNumbersTest, Siv_NamesItsOwnKeyVersion) {
  const json& line = golden_.at("valid").at(0);
  std::string text = line.at("siv").at("text");
  std::vector<std::string> words = {"decode", "--keys", keys_, "--space", line.at("space"), text};
  EXPECT_EQ(RunLocus(words).out, IdText(line) + "\n");
  EXPECT_EQ(RunLocus({"decode", "--keys", keys_, "--space", line.at("space"),
                      line.at("siv").at("hex").get<std::string>()})
                .out,
            IdText(line) + "\n");
  words.insert(words.end() - 1, {"--key-version", "127"});
  Outcome outcome = RunLocus(words);
  EXPECT_EQ(outcome.exit, 3) << "another version was asked for";
  EXPECT_EQ(outcome.out, "\n");
}

TEST_F(CommandTest, Decode_RefusesWhatIsNoNumberOfItsKeys) {
  std::string number = RunLocus({"encode", "--keys", keys_, "5"}).out;
  number.pop_back();
  Outcome outcome = RunLocus({"decode", "--keys", keys_, number, "7", "--space", "other"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.out, "\n\n");
  EXPECT_THAT(outcome.err, StartsWith("locus decode: value 1: "));
  EXPECT_THAT(outcome.err, HasSubstr("locus decode: value 2: "));
}

TEST_F(CommandTest, Encode_WideIds) {
  std::string wide =
      RunLocus({"encode", "--keys", keys_, "--scheme", "siv"}, "00007fffffffffff0080000000000000\n")
          .err;
  std::string id =
      OrderId::FromParts(ShardGene(), OrderId::kMaxNarrowSequence + 1).value().ToString();
  Outcome siv = RunLocus({"encode", "--keys", keys_, id});
  EXPECT_EQ(siv.exit, 0) << siv.err;
  EXPECT_EQ(RunLocus({"decode", "--keys", keys_}, siv.out).out, id + "\n");
  EXPECT_EQ(RunLocus({"encode", "--keys", keys_, "--scheme", "ff1", id}).exit, 3);
  EXPECT_EQ(
      RunLocus({"encode", "--keys", keys_, "--scheme", "ctr64", "--allow-keystream-reuse", id})
          .exit,
      3);
}

TEST_F(CommandTest, Encode_WithoutTheKey_IsRefused) {
  Outcome outcome = RunLocus({"encode", "--keys", keys_, "--key-version", "9", "5"});
  EXPECT_EQ(outcome.exit, 3);
  outcome = RunLocus({"encode", "--keys", directory_ / "missing", "5"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("missing"));
}

json Inspect(std::vector<std::string> words) {
  words.insert(words.begin(), "inspect");
  Outcome outcome = RunLocus(words);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  return json::parse(outcome.out);
}

std::set<std::string> Members(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

TEST_F(CommandTest, Inspect_TellsWhatItKnows) {
  OrderId id = OrderId::FromParts(ShardGene::FromUint16(uint16_t{40961}), 123456789).value();
  json bare = Inspect({id.ToString()});
  EXPECT_EQ(bare, json({{"kind", "order_id"},
                        {"width", 64},
                        {"gene", 40961},
                        {"cohort", id.cohort()},
                        {"sequence", "123456789"},
                        {"order_id", id.ToString()}}));

  json full = Inspect({"--table", table_, "--keys", keys_, id.ToString()});
  EXPECT_EQ(full.at("shard"), "b,c");
  EXPECT_EQ(full.at("key_version"), 1);

  std::string number = full.at("order_no");
  EXPECT_EQ(Inspect({number}), json({{"kind", "order_no"},
                                     {"width", 64},
                                     {"gene", 40961},
                                     {"key_version", 1},
                                     {"order_no", number}}));
  json opened = Inspect({"--keys", keys_, "--table", table_, number});
  EXPECT_EQ(opened.at("order_id"), id.ToString());
  EXPECT_EQ(opened.at("sequence"), "123456789");
  EXPECT_EQ(opened.at("cohort"), id.cohort());
  EXPECT_EQ(opened.at("shard"), "b,c");
}

TEST_F(CommandTest, Inspect_Decimal64_IsWhatTheSchemeSays) {
  std::string number = RunLocus({"encode", "--keys", keys_, "--scheme", "ff1", "77"}).out;
  number.pop_back();
  json with_key = Inspect({"--keys", keys_, "--scheme", "ff1", "--key-version", "1", number});
  EXPECT_EQ(with_key.at("kind"), "order_no");
  EXPECT_EQ(with_key.at("order_id"), "77");
  EXPECT_EQ(Members(Inspect({"--scheme", "ff1", number})),
            (std::set<std::string>{"kind", "width", "gene", "order_no"}));
  EXPECT_EQ(Inspect({number}).at("kind"), "order_id");
}

TEST_F(CommandTest, Inspect_WideIdsAndRefusals) {
  OrderId wide = OrderId::FromParts(ShardGene(), OrderId::kMaxNarrowSequence + 1).value();
  EXPECT_EQ(Inspect({wide.ToString()}).at("width"), 128);
  std::string number = Inspect({"--keys", keys_, wide.ToString()}).at("order_no");
  EXPECT_EQ(Inspect({number}).at("width"), 128);
  Outcome outcome = RunLocus({"inspect", "nonsense", "5"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.out, StartsWith("\n{"));
  EXPECT_THAT(RunLocus({"inspect", "5000ffffffffffff00007fffffffffff"}).err,
              HasSubstr("is not an order ID: its sequence is below 2^47"));
  number[25] = number[25] == '0' ? '1' : '0';
  EXPECT_EQ(RunLocus({"inspect", "--keys", keys_, number}).exit, 3) << "it is not authentic";
}

TEST_F(CommandTest, ANumberOfARetiredKey_IsNamedSo) {
  std::string number = RunLocus({"encode", "--keys", keys_, "77"}).out;
  number.pop_back();
  ASSERT_EQ(RunLocus({"keys", "rotate", keys_}).exit, 0);
  EXPECT_EQ(RunLocus({"decode", "--keys", keys_, number}).out, "77\n");
  ASSERT_EQ(RunLocus({"keys", "retire", "--destroy", keys_, "1"}).exit, 0);
  for (const char* verb : {"decode", "inspect"}) {
    Outcome outcome = RunLocus({verb, "--keys", keys_, number});
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_THAT(outcome.err, HasSubstr(number + " has key version 1, and the key ring has no key "
                                                "for it: it was retired"));
  }
}

TEST_F(CommandTest, JsonIsTaken_AlsoWhereItIsTheOnlyForm) {
  EXPECT_EQ(RunLocus({"gene", "--type", "text", "--json", "a\"b"}).out,
            absl::StrCat("{\"buyer\":\"a\\\"b\",\"gene\":",
                         ShardGene::Of(BuyerKey::Text("a\"b")).value(), "}\n"));
  EXPECT_EQ(RunLocus({"inspect", "--json", "77"}).out, RunLocus({"inspect", "77"}).out);
  EXPECT_EQ(RunLocus({"snowflake", "decode", "--json", "77"}).out,
            RunLocus({"snowflake", "decode", "77"}).out);
  EXPECT_THAT(RunLocus({"snowflake", "next", "--worker", "3", "--json"}).out,
              ::testing::MatchesRegex("\\{\"id\":\"[0-9]+\"\\}\n"));
}

TEST_F(CommandTest, ANumberOfOtherKeysOrSpace_IsNamedSo) {
  std::string number = RunLocus({"encode", "--keys", keys_, "77"}).out;
  number.pop_back();
  for (const char* verb : {"decode", "inspect"}) {
    Outcome outcome = RunLocus({verb, "--keys", keys_, "--space", "other", number});
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_THAT(outcome.err,
                HasSubstr(number + " was not made with these keys for space \"other\""));
  }
}

TEST_F(CommandTest, APastedNumber_MayHaveDashesAndSpaces) {
  std::string number = RunLocus({"encode", "--keys", keys_, "77"}).out;
  number.pop_back();
  std::string dashed = number.substr(0, 4) + "-" + number.substr(4, 10) + " " + number.substr(14);
  EXPECT_EQ(RunLocus({"decode", "--keys", keys_, dashed, number}).out, "77\n77\n");
  EXPECT_EQ(Inspect({"--keys", keys_, " " + dashed + " "}).at("order_id"), "77");
  EXPECT_EQ(Inspect({dashed}).at("order_no"), number);
  // An order ID is a number: what has a dash before it is another one.
  EXPECT_EQ(RunLocus({"inspect", "--", "-77"}).exit, 3);
  EXPECT_EQ(RunLocus({"inspect", "7 7"}).exit, 3);
  EXPECT_FALSE(OrderNo::Parse(dashed).ok()) << "the format itself refuses them";
}

TEST_F(CommandTest, ANumberPastedFromAPageOrAWindowsFile_IsRead) {
  std::string number = RunLocus({"encode", "--keys", keys_, "77"}).out;
  number.pop_back();
  std::string small = RunLocus({"encode", "--keys", keys_, "--scheme", "ff1", "77"}).out;
  small.pop_back();
  const std::string space = "\xC2\xA0", en = "\xE2\x80\x93", em = "\xE2\x80\x94",
                    bom = "\xEF\xBB\xBF";
  const std::string pasted = bom + number.substr(0, 4) + en + number.substr(4, 10) + space +
                             number.substr(14, 5) + em + number.substr(19) + "\r";
  for (const std::string& text : {pasted, number + "\r", space + number}) {
    EXPECT_EQ(RunLocus({"decode", "--keys", keys_, text}).out, "77\n");
    EXPECT_EQ(Inspect({text}).at("order_no"), number);
  }
  Outcome lines = RunLocus({"decode", "--keys", keys_}, number + "\r\n" + pasted + "\n");
  EXPECT_EQ(lines.out, "77\n77\n") << lines.err;
  EXPECT_EQ(RunLocus({"decode", "--keys", keys_, "--scheme", "ff1"}, small + "\r\n").out, "77\n");
  EXPECT_EQ(Inspect({"77\r"}).at("order_id"), "77");
  EXPECT_FALSE(OrderNo::Parse(pasted).ok()) << "the format itself refuses it";
}

TEST_F(CommandTest, ANumberOfAnotherLength_IsToldHowLongNumbersAre) {
  std::string number = RunLocus({"encode", "--keys", keys_, "77"}).out;
  number.resize(25);
  for (const Outcome& outcome :
       {RunLocus({"decode", "--keys", keys_, number}), RunLocus({"inspect", number})}) {
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_THAT(outcome.err, HasSubstr("has 25 letters and digits: an order_no has 26 or 32"));
  }
}

TEST_F(CommandTest, Inspect_WhileAVnodeMoves) {
  json table = json::parse(ReadFile(table_));
  table["moves"] = {{{"first", 0}, {"last", 255}, {"to", 2}, {"permyriad", 5000}}};
  WriteFile(table_, table.dump());
  OrderId low = OrderId::FromParts(ShardGene(), 0).value();
  ASSERT_EQ(low.cohort(), 0u);
  EXPECT_EQ(Inspect({"--table", table_, low.ToString()}).at("shard"), "b,c");
  std::string number = RunLocus({"encode", "--keys", keys_, low.ToString()}).out;
  number.pop_back();
  json undecided = Inspect({"--table", table_, number});
  EXPECT_EQ(undecided.at("shard"), "orders-a");
  EXPECT_EQ(undecided.at("target"), "b,c");
  EXPECT_FALSE(Inspect({"--table", table_, "--keys", keys_, number}).contains("target"));

  table["moves"][0]["permyriad"] = 10000;
  WriteFile(table_, table.dump());
  json decided = Inspect({"--table", table_, number});
  EXPECT_EQ(decided.at("shard"), "b,c");
  EXPECT_FALSE(decided.contains("target"));
}

TEST_F(CommandTest, Keys_LifeOfARing) {
  EXPECT_EQ(RunLocus({"keys", "new", keys_}).exit, 1) << "it exists";
  EXPECT_EQ(RunLocus({"keys", "list", keys_}).out, "1\tactive\n");
  EXPECT_EQ(RunLocus({"keys", "add", keys_}).out, "2\n");
  EXPECT_EQ(RunLocus({"keys", "list", keys_}).out, "1\tactive\n2\treadable\n");
  EXPECT_EQ(RunLocus({"keys", "activate", keys_, "2"}).exit, 0);
  EXPECT_EQ(RunLocus({"keys", "retire", keys_, "1"}).exit, 2) << "it was not confirmed";
  EXPECT_EQ(RunLocus({"keys", "list", keys_}).out, "1\treadable\n2\tactive\n");
  EXPECT_EQ(RunLocus({"keys", "retire", keys_, "1", "--destroy"}).exit, 0);
  EXPECT_EQ(RunLocus({"keys", "rotate", keys_}).out, "3\n");
  EXPECT_EQ(RunLocus({"keys", "list", keys_}).out, "1\tretired\n2\treadable\n3\tactive\n");
  EXPECT_EQ(RunLocus({"keys", "retire", keys_, "3", "--destroy"}).exit, 1) << "it is active";
  EXPECT_EQ(RunLocus({"keys", "activate", keys_, "1"}).exit, 1) << "it is retired";
  EXPECT_EQ(RunLocus({"keys", "activate", keys_, "9"}).exit, 1) << "there is none";
}

TEST_F(CommandTest, Keys_NeverShowKeyMaterial) {
  std::string ring = ReadFile(keys_);
  std::string key = ring.substr(ring.find("\n1 ") + 3, 43);
  chmod(keys_.c_str(), 0640);
  Outcome outcome = RunLocus({"keys", "list", keys_});
  EXPECT_EQ(outcome.exit, 1) << "others may read it";
  EXPECT_THAT(outcome.err + outcome.out, Not(HasSubstr(key)));
  chmod(keys_.c_str(), 0600);
  WriteFile(keys_, ring + "7 " + key + "\n");
  outcome = RunLocus({"keys", "list", keys_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr(keys_));
  EXPECT_THAT(outcome.err + outcome.out, Not(HasSubstr(key)));
}

TEST_F(CommandTest, Keys_ConcurrentCommands_LoseNothing) {
  constexpr int kCommands = 12;
  std::vector<std::unique_ptr<RunningCommand>> commands;
  for (int i = 0; i < kCommands; ++i) {
    commands.push_back(
        std::make_unique<RunningCommand>(std::vector<std::string>{"keys", "add", keys_}));
  }
  std::set<std::string> versions;
  for (auto& command : commands) {
    Outcome outcome = command->Finish();
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    versions.insert(outcome.out);
  }
  EXPECT_EQ(versions.size(), size_t{kCommands});
  std::string list = RunLocus({"keys", "list", keys_}).out;
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), kCommands + 1);
}

TEST_F(CommandTest, Keys_InterruptedWhileLocked_ChangeNothing) {
  int fd = open(keys_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  struct stat facts;
  ASSERT_EQ(fstat(fd, &facts), 0);
  std::string before = ReadFile(keys_);
  RunningCommand add({"keys", "add", keys_});
  // A line of /proc/locks with an arrow is one who waits.
  std::regex waiting("-> FLOCK [^\n]*:" + std::to_string(facts.st_ino) + " ");
  ASSERT_TRUE(Eventually([&] { return std::regex_search(ReadFile("/proc/locks"), waiting); }));
  add.Signal(SIGINT);
  EXPECT_EQ(add.Finish().exit, 130);
  close(fd);
  EXPECT_EQ(ReadFile(keys_), before);
}

}  // namespace
}  // namespace locus
