// SPDX-License-Identifier: Apache-2.0
// The verbs of tables that work on a place.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/table_place_fixture.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::RunningCommand;
using ::testing::StartsWith;
using testing::TablePlaceTest;
using testing::Variable;
using testing::Words;
using testing::WriteFile;

TEST_F(TablePlaceTest, NewTable_IsPublishedFromStdin) {
  std::string made = RunLocus({"table", "new", "--shard", "a=x://h", "b=x://i"}).out;
  EXPECT_EQ(RunLocus({"table", "publish", uri_}, made).out,
            "the first table here: 2 shards, 0 moves\n" + Said(1));
  EXPECT_EQ(ReadFile(path_), made);
  EXPECT_EQ(RunLocus({"table", "get", uri_}).out, made);
  EXPECT_EQ(RunLocus({"table", "get", "file://" + path_}).out, made);
  EXPECT_EQ(RunLocus({"table", "publish", uri_}, made).out, NothingToPublish(1));
  EXPECT_EQ(RunLocus({"table", "init", uri_}).exit, 0);
}

TEST_F(TablePlaceTest, TableMadeAnew_IsAnotherTableAndRefused) {
  Publish(RunLocus({"table", "new", "--shard", "a=x://h", "b=x://i"}).out);
  std::string again = RunLocus({"table", "new", "--shard", "a=x://other", "b=x://i"}).out;
  std::string refused = Publish(again, {"--next-epoch", "--expect", "1"});
  EXPECT_THAT(refused, HasSubstr("/table_id: the table is "));
  EXPECT_THAT(refused, Not(HasSubstr("add:"))) << "nothing would help";
  EXPECT_EQ(NewestEpoch(), 1u);
}

TEST_F(TablePlaceTest, EpochThatIsNotNewer_IsRefusedWithTheWayOut) {
  Publish(Document(5));
  std::string refused = Publish(Weighted(5, 7));
  EXPECT_THAT(refused, HasSubstr("epoch 5 was published since; compare with `locus table diff URI "
                                 "FILE`, then plan again from `locus table get URI`"));
  EXPECT_THAT(refused, Not(HasSubstr("--next-epoch")));
  EXPECT_EQ(RunLocus({"table", "publish", uri_, table_, "--next-epoch"}).exit, 2)
      << "it needs --expect";
  EXPECT_EQ(Publish(Weighted(5, 7), {"--next-epoch", "--expect", "5"}), Said(6));
  EXPECT_EQ(Publish(Weighted(5, 7), {"--next-epoch", "--expect", "5"}), NothingToPublish(6))
      << "repeated";
  EXPECT_THAT(Publish(Document(5), {"--next-epoch", "--expect", "5"}),
              HasSubstr("epoch 6 was published since"));
  EXPECT_EQ(Publish(Document(5), {"--next-epoch", "--expect", "6"}), Said(7));
}

TEST_F(TablePlaceTest, NewestTableAgain_IsNothingToPublishWhereTheExpectedHolds) {
  Publish(Document(4));
  Publish(Document(5), {"--expect", "4"});
  for (Words options : {Words{}, Words{"--expect", "5"}, Words{"--expect", "4"},
                        Words{"--next-epoch", "--expect", "4"}, Words{"--dry-run"}}) {
    EXPECT_EQ(Publish(Document(5), options), NothingToPublish(5));
  }
  EXPECT_EQ(NewestEpoch(), 5u);
  // It is there, but not because of this publication.
  EXPECT_THAT(Publish(Document(5), {"--expect", "3"}), HasSubstr("epoch 5 was published since"));
  for (Words options : {Words{"--expect", "9"}, Words{"--next-epoch", "--expect", "9"}}) {
    EXPECT_THAT(Publish(Document(5), options),
                HasSubstr("the highest epoch here is 5, not the expected 9"));
    EXPECT_THAT(Publish(Document(2), options),
                HasSubstr("the highest epoch here is 5, not the expected 9"))
        << "the epoch of the file is not the cause";
  }
  EXPECT_EQ(Publish(Document(5), {"--next-epoch", "--expect", "5"}), Said(6));
}

TEST_F(TablePlaceTest, Publication_PrintsWhatItChanges) {
  Publish(Document(1));
  Words words = {"table", "publish", uri_, "--change-shard", "orders-a", "--dry-run"};
  Outcome outcome = RunLocus(words, Document(2, "x://other"));
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("endpoint mysql://db1/a -> x://other"));
  EXPECT_THAT(outcome.out, HasSubstr("dry run, nothing published: epoch=2 at file "));
  EXPECT_EQ(NewestEpoch(), 1u);
  words.pop_back();
  outcome = RunLocus(words, Document(2, "x://other"));
  EXPECT_THAT(outcome.out, HasSubstr("endpoint mysql://db1/a -> x://other"));
  EXPECT_EQ(LastLine(outcome.out), Said(2));
  outcome =
      RunLocus({"table", "publish", uri_, "--quiet", "--change-shard", "orders-a"}, Weighted(3, 7));
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(NewestEpoch(), 3u);
}

TEST_F(TablePlaceTest, OutputThatFails_PublishesNothingAndIsAFailure) {
  Publish(Document(1));
  std::string document = directory_ / "next.json";
  WriteFile(document, Weighted(2, 7));
  RunningCommand publish({"table", "publish", uri_, document}, "/dev/full");
  Outcome outcome = publish.Finish();
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("stdout: cannot write: No space left on device"));
  EXPECT_EQ(NewestEpoch(), 1u);
}

TEST_F(TablePlaceTest, EndpointsThatShardsExchange_ArePublishedOnlyByTheirNames) {
  Publish(Moving(1, 500));
  json table = json::parse(Moving(2, 500));
  std::swap(table["shards"][0]["endpoint"], table["shards"][1]["endpoint"]);
  std::string refused = Publish(table.dump());
  EXPECT_THAT(refused, HasSubstr("gives shard 1 orders-a the endpoint of shard 2 b,c, "));
  EXPECT_THAT(refused, HasSubstr("add: --change-shard orders-a --change-shard 'b,c'\n"));
  EXPECT_THAT(Publish(table.dump(), {"--change-shard", "nobody"}),
              HasSubstr("--change-shard: the newest table has no shard \"nobody\""));
  EXPECT_EQ(Publish(table.dump(), {"--change-shard", "orders-a", "--change-shard", "b,c"}),
            Said(2));
  // The file from before is stale now: to publish it would exchange them back.
  EXPECT_THAT(Publish(Moving(1, 500), {"--next-epoch", "--expect", "2"}),
              HasSubstr("add: --change-shard orders-a --change-shard 'b,c'\n"));
}

TEST_F(TablePlaceTest, TextForPlainTerminals_IsPlain) {
  json table = json::parse(Document(1));
  table["shards"][0]["name"] = "\xE8\xAE\xA2\xE5\x8D\x95";
  Publish(table.dump());
  table["epoch"] = 2;
  table["shards"][0]["weight"] = 7;
  WriteFile(table_, table.dump());
  for (auto [locale, name] : {std::pair("C", "shard 1 \\u8ba2\\u5355:"),
                              std::pair("C.UTF-8", "shard 1 \xE8\xAE\xA2\xE5\x8D\x95:")}) {
    Variable environment("LC_ALL", locale);
    EXPECT_THAT(RunLocus({"table", "diff", uri_, table_}).out, HasSubstr(name));
    EXPECT_THAT(RunLocus({"table", "publish", uri_, table_, "--dry-run"}).out, HasSubstr(name));
  }
}

// What dropped another operator's half-done move, exit 0.
TEST_F(TablePlaceTest, MoveInProgress_IsDroppedOnlyByItsName) {
  Publish(Document(1));
  Publish(Moving(2, 0));
  EXPECT_THAT(Publish(Document(2)), HasSubstr("epoch 2 was published since"));
  Words options = {"--next-epoch", "--expect", "2"};
  std::string refused = Publish(Document(2), options);
  EXPECT_THAT(refused, HasSubstr("the move in progress of vnodes 0..99"));
  EXPECT_THAT(refused, HasSubstr("to publish it nevertheless, add: --change-move 0..99\n"));
  EXPECT_EQ(NewestEpoch(), 2u);
  for (const char* wrong : {"99..0", "0..65536", "x", "", "0..", "..9"}) {
    Words words = {"table", "publish", uri_, "--change-move", wrong};
    EXPECT_EQ(RunLocus(words, Document(3)).exit, 2) << wrong;
  }
  EXPECT_THAT(Publish(Document(3), {"--change-move", "0..100"}),
              HasSubstr("vnode 100 is named for a change of a move"));
  EXPECT_EQ(Publish(Moving(3, 500), {"--change-move", "0..99"}), Said(3));
  EXPECT_EQ(Publish(Document(4), {"--change-move", "0..99"}), Said(4));
}

TEST_F(TablePlaceTest, OwnersShardsAndEpochs_AreChangedOnlyByTheirNames) {
  Publish(Document(1));
  json table = json::parse(Document(1500));
  table["shards"].erase(1);
  table["ranges"] = {{{"last", 65535}, {"shard", 1}}};
  std::string refused = Publish(table.dump());
  EXPECT_THAT(refused,
              HasSubstr("add: --change-owner 32768..65535 --drop-shard 'b,c' --jump-to 1500\n"));
  EXPECT_THAT(Publish(table.dump(), {"--drop-shard", "nobody"}),
              HasSubstr("the newest table has no shard \"nobody\""));
  EXPECT_EQ(Publish(table.dump(),
                    {"--change-owner", "32768..65535", "--drop-shard", "b,c", "--jump-to", "1500"}),
            Said(1500));
}

TEST_F(TablePlaceTest, OtherEpochThanExpected_Fails) {
  EXPECT_THAT(Publish(Document(3), {"--expect", "2"}), HasSubstr("is 0, not the expected 2"));
  EXPECT_EQ(Publish(Document(3), {"--expect", "0"}), Said(3));
  Outcome outcome = RunLocus({"table", "publish", uri_, "--expect", "2"}, Document(4));
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("epoch 3 was published since"));
  EXPECT_EQ(NewestEpoch(), 3u);
}

TEST_F(TablePlaceTest, NoTable_IsRefusedBeforeThePlaceIsTouched) {
  Outcome outcome = RunLocus({"table", "publish", uri_}, "{\"epoch\": 1}");
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, StartsWith("locus table publish: stdin: "));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".lock"));
}

// What shell completion offers beside a table.
TEST_F(TablePlaceTest, FilesOfOtherKinds_AreCalledWhatTheyLookLike) {
  const std::string plan = directory_ / "plan.json", last_good = directory_ / "last-good";
  WriteFile(plan, RunLocus({"plan", "--table", table_, "--add", "c=x://c", "--json"}).out);
  Publish(Document(1));
  RunLocus({"table", "watch", uri_, "--count", "1", "--last-good", last_good});
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"order_id,customer\n1,2\n", "it looks like a CSV file"},
      {ReadFile(keys_), "it looks like a key ring"},
      {ReadFile(plan), "it looks like a plan, which `locus plan apply` makes a table of"},
      {ReadFile(last_good), "the last-good table of a router, whose table begins on the second"},
      {"", "it is empty"},
      {"hello\n", "it is no JSON object"}};
  const std::string file = directory_ / "file";
  for (const auto& [text, looks] : cases) {
    WriteFile(file, text);
    Outcome outcome = RunLocus({"table", "check", file});
    EXPECT_EQ(outcome.exit, 1);
    EXPECT_THAT(outcome.err, HasSubstr(file + ": it is not a routing table: "));
    EXPECT_THAT(outcome.err, HasSubstr(looks));
  }
  EXPECT_THAT(RunLocus({"plan", "apply", "--table", table_, "--plan", table_}).err,
              HasSubstr("it is not a plan: it looks like a routing table"));
}

TEST_F(TablePlaceTest, GetAndRestore_GoBackToAnEpoch) {
  Publish(Document(1));
  Publish(Weighted(2, 7));
  Outcome first = RunLocus({"table", "get", uri_, "--epoch", "1"});
  EXPECT_EQ(json::parse(first.out)["shards"][0]["weight"], 100);
  Outcome missing = RunLocus({"table", "get", uri_, "--epoch", "7"});
  EXPECT_EQ(missing.exit, 1);
  EXPECT_THAT(missing.err, HasSubstr("there are 1..2"));
  Outcome dry = RunLocus({"table", "restore", uri_, "1", "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("weight 7 -> 100"));
  EXPECT_EQ(NewestEpoch(), 2u);
  EXPECT_EQ(LastLine(RunLocus({"table", "restore", uri_, "1"}).out), Said(3));
  json now = json::parse(RunLocus({"table", "get", uri_}).out);
  EXPECT_EQ(now["epoch"], 3);
  EXPECT_EQ(now["shards"][0]["weight"], 100);
  EXPECT_EQ(RunLocus({"table", "restore", uri_, "8"}).exit, 1);
  EXPECT_EQ(RunLocus({"table", "restore", uri_, "first"}).exit, 2);
}

TEST_F(TablePlaceTest, SpoiledFile_IsRepairedAsTheRefusalSays) {
  Publish(Document(1));
  WriteFile(path_, "half a tab");
  for (const Words& words :
       {Words{"table", "publish", uri_, table_}, Words{"table", "restore", uri_, "1"}}) {
    Outcome refused = RunLocus(words);
    EXPECT_EQ(refused.exit, 1);
    EXPECT_THAT(refused.err, HasSubstr("`locus table restore " + uri_ +
                                       " EPOCH --replace-spoiled` publishes one again and keeps "
                                       "the spoiled file as " +
                                       path_ + ".spoiled"));
  }
  EXPECT_EQ(ReadFile(path_), "half a tab");
  Outcome restored = RunLocus({"table", "restore", uri_, "1", "--replace-spoiled"});
  EXPECT_EQ(LastLine(restored.out), Said(2)) << restored.err;
  EXPECT_EQ(ReadFile(path_ + ".spoiled"), "half a tab");
  EXPECT_EQ(NewestEpoch(), 2u);
}

// --replace-spoiled replaces the file that routers read, and met the kept one again and again.
TEST_F(TablePlaceTest, SpoiledKeptTable_IsRepairedAsTheRefusalSays) {
  Publish(Document(1));
  const std::string kept = path_ + ".epochs/00000000000000000002.json";
  WriteFile(kept, "half a tab");
  for (const Words& words :
       {Words{"table", "publish", uri_, table_}, Words{"table", "restore", uri_, "1"},
        Words{"table", "restore", uri_, "1", "--replace-spoiled"}}) {
    Outcome refused = RunLocus(words);
    EXPECT_EQ(refused.exit, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr(kept + ": line 1"), HasSubstr("or move it away"),
                                   HasSubstr("`locus table restore " + uri_ +
                                             " EPOCH --above 2` then publishes an earlier one"),
                                   Not(HasSubstr("--replace-spoiled"))));
  }
  ASSERT_EQ(rename(kept.c_str(), (kept + ".away").c_str()), 0);
  Outcome lost = RunLocus({"table", "restore", uri_, "1", "--above", "2"});
  EXPECT_THAT(lost.err, HasSubstr("(--lost-after 1)"));
  Outcome restored = RunLocus({"table", "restore", uri_, "1", "--above", "2", "--lost-after", "1"});
  EXPECT_EQ(LastLine(restored.out), Said(3)) << restored.err;
}

TEST_F(TablePlaceTest, RestoreWhileAMoveIsInProgress_NeedsItsName) {
  Publish(Document(1));
  Publish(Moving(2, 0));
  Outcome refused = RunLocus({"table", "restore", uri_, "1"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("add: --change-move 0..99\n"));
  EXPECT_EQ(LastLine(RunLocus({"table", "restore", uri_, "1", "--change-move", "0..99"}).out),
            Said(3));
}

// docs/run/routing.md, a place put back to an older state: routers run epoch 9, the place
// has epoch 4 at most.
TEST_F(TablePlaceTest, PlacePutBack_RestoreRefusesUntilTheLossIsNamed) {
  for (uint64_t epoch = 1; epoch <= 4; ++epoch) Publish(Document(epoch));
  std::string last_good = Weighted(9, 9);  // what routers have
  Outcome refused = RunLocus({"table", "restore", uri_, "3", "--above", "9"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("the highest epoch here is 4, and routers have epoch 9"));
  EXPECT_THAT(refused.err, HasSubstr("--lost-after 4"));
  EXPECT_EQ(NewestEpoch(), 4u);
  EXPECT_EQ(RunLocus({"table", "restore", uri_, "3", "--lost-after", "4"}).exit, 2)
      << "it needs --above";
  // What loses nothing: the table that routers have.
  EXPECT_EQ(Publish(last_good), Said(9));
  // Where nobody has it any more.
  Words words = {"table", "restore", uri_, "3", "--above", "12", "--lost-after", "9"};
  EXPECT_EQ(LastLine(RunLocus(words).out), Said(13));
  // A mistyped epoch would be the last but a few that there are.
  words = {"table", "restore", uri_, "3", "--above", "50000", "--lost-after", "13"};
  Outcome jump = RunLocus(words);
  EXPECT_EQ(jump.exit, 1);
  EXPECT_THAT(jump.err, HasSubstr("--jump-to 50001"));
  EXPECT_EQ(NewestEpoch(), 13u);
}

TEST_F(TablePlaceTest, RingAndPlan_TakeAPlace) {
  Publish(Document(1));
  Outcome ring = RunLocus({"ring", uri_});
  EXPECT_EQ(ring.exit, 0) << ring.err;
  EXPECT_EQ(ring.out, RunLocus({"ring", path_}).out);
  Outcome plan = RunLocus({"plan", "--table", uri_, "--add", "d=mysql://db4/d", "--json"});
  EXPECT_EQ(plan.exit, 0) << plan.err;
  Outcome next = RunLocus({"plan", "apply", "--table", uri_, "--plan", "-"}, plan.out);
  EXPECT_EQ(next.exit, 0) << next.err;
  EXPECT_EQ(Publish(next.out), Said(2));
  EXPECT_EQ(json::parse(RunLocus({"table", "get", uri_}).out)["moves"].size(), 1u);
  Outcome missing = RunLocus({"ring", "file:" + (directory_ / "missing")});
  EXPECT_EQ(missing.exit, 1);
  EXPECT_THAT(missing.err, HasSubstr("missing"));
}

TEST_F(TablePlaceTest, Diff_TakesEpochsFilesAndPlaces) {
  Publish(Document(1));
  EXPECT_THAT(RunLocus({"table", "diff", uri_}).err, HasSubstr("one table only"));
  Publish(Document(2, "x://second"), {"--change-shard", "orders-a"});
  Publish(Document(3, "x://third"), {"--change-shard", "orders-a"});
  std::string last = RunLocus({"table", "diff", uri_}).out;
  EXPECT_THAT(last, HasSubstr("x://second"));
  EXPECT_THAT(last, HasSubstr("x://third"));
  EXPECT_EQ(RunLocus({"table", "diff", uri_, "2"}).out, last);
  EXPECT_EQ(RunLocus({"table", "diff", uri_, "2", "3"}).out, last);
  EXPECT_THAT(RunLocus({"table", "diff", uri_, "1", "2"}).out, Not(HasSubstr("x://third")));
  EXPECT_THAT(RunLocus({"table", "diff", uri_, table_}).out, HasSubstr("x://third"));
  EXPECT_EQ(RunLocus({"table", "diff", path_, uri_}).out, "no difference\n");
  EXPECT_EQ(RunLocus({"table", "diff", path_, "-"}, ReadFile(path_)).out, "no difference\n");
  EXPECT_EQ(RunLocus({"table", "diff", uri_, "9"}).exit, 1);
  for (const Words& words : {Words{"table", "diff", path_}, Words{"table", "diff", path_, "2"},
                             Words{"table", "diff", path_, path_, "2"},
                             Words{"table", "diff", uri_, "0"}, Words{"table", "diff"}}) {
    EXPECT_EQ(RunLocus(words).exit, 2) << words.size();
  }
}

TEST_F(TablePlaceTest, WrongPlaces_AreNamed) {
  struct Case {
    std::string uri, named;
  };
  for (const Case& each :
       {Case{path_, "is not a URI"}, Case{"redis://h/0", "\"redis\""}, Case{"file:", "has no path"},
        Case{"file://host/x", "names a host"}, Case{"http://h/table.json", "can only be followed"},
        Case{"mysql://h", "place of tables \"mysql://h\" has no database"}}) {
    Outcome outcome = RunLocus({"table", "publish", each.uri, table_});
    EXPECT_EQ(outcome.exit, 2) << each.uri << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(each.named));
  }
  for (const char* uri : {"http://me:hunter2@h/x", "etcd://me:hunter2@h"}) {
    Outcome outcome = RunLocus({"table", "get", uri});
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_THAT(outcome.err, Not(HasSubstr("hunter2")));
    EXPECT_THAT(outcome.err, HasSubstr("LOCUS_TABLE_PASSWORD_FILE"));
  }
  Outcome nothing = RunLocus({"table", "get", uri_});
  EXPECT_EQ(nothing.exit, 1);
  EXPECT_THAT(nothing.err, HasSubstr(path_));
}

TEST_F(TablePlaceTest, Watch_PrintsEachTableUntilASignal) {
  Publish(Document(1));
  RunningCommand watch({"table", "watch", uri_, "--last-good", directory_ / "last.json"});
  EXPECT_EQ(watch.ReadLine(), "epoch=1 shards=2 source=file " + path_);
  Publish(Document(2));
  EXPECT_EQ(watch.ReadLine(), "epoch=2 shards=2 source=file " + path_);
  WriteFile(path_ + ".tmp", "[]");
  std::filesystem::rename(path_ + ".tmp", path_);
  std::filesystem::remove(path_);
  Publish(Document(3));
  EXPECT_EQ(watch.ReadLine(), "epoch=3 shards=2 source=file " + path_);
  watch.Signal(SIGTERM);
  Outcome outcome = watch.Finish();
  EXPECT_EQ(outcome.exit, 130);
}

TEST_F(TablePlaceTest, Watch_EndsAtItsCount) {
  Publish(Document(5));
  RunningCommand watch({"table", "watch", uri_, "--count", "2"});
  EXPECT_EQ(watch.ReadLine(), "epoch=5 shards=2 source=file " + path_);
  Publish(Document(6));
  EXPECT_EQ(watch.ReadLine(), "epoch=6 shards=2 source=file " + path_);
  EXPECT_EQ(watch.Finish().exit, 0);
  Outcome nothing = RunLocus({"table", "watch", "file:" + (directory_ / "missing")});
  EXPECT_EQ(nothing.exit, 1);
  EXPECT_THAT(nothing.err, HasSubstr("missing"));
  EXPECT_EQ(RunLocus({"table", "watch", uri_, "--count", "x"}).exit, 2);
}

TEST_F(TablePlaceTest, WatchThatCannotKeepItsTable_Fails) {
  Publish(Document(5));
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& last : {fifo, directory_ / "."}) {
    Outcome outcome = RunLocus({"table", "watch", uri_, "--count", "1", "--last-good", last});
    EXPECT_EQ(outcome.exit, 2) << last;
    EXPECT_THAT(outcome.err, HasSubstr("is not a regular file; name another file"));
  }
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  const std::string nowhere = directory_ / "none/last";
  Outcome outcome = RunLocus({"table", "watch", uri_, "--count", "1", "--last-good", nowhere});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("not kept: "));
  EXPECT_THAT(outcome.err, HasSubstr("does not have the table of epoch 5"));
}

TEST_F(TablePlaceTest, Watch_StartsFromTheLastGoodTable) {
  std::string last = directory_ / "last.json";
  Publish(Document(4));
  EXPECT_EQ(RunLocus({"table", "watch", uri_, "--last-good", last, "--count", "1"}).exit, 0);
  ASSERT_TRUE(std::filesystem::exists(last));
  std::filesystem::remove(path_);
  Outcome outcome = RunLocus({"table", "watch", uri_, "--last-good", last, "--count", "1"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "epoch=4 source=last good file\n");
  WriteFile(path_, "[]");
  outcome = RunLocus({"table", "watch", uri_, "--last-good", last, "--count", "1"});
  EXPECT_EQ(outcome.out, "epoch=4 source=last good file\n");
  EXPECT_THAT(outcome.err, StartsWith("locus table watch: refused: file " + path_ + ": "));
}

}  // namespace
}  // namespace locus
