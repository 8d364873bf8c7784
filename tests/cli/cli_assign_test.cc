// SPDX-License-Identifier: Apache-2.0
// locus assign.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/order_id.h"
#include "tests/cli/command.h"
#include "tests/cli/csv_oracle.h"

namespace locus {
namespace {

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

class AssignTest : public CommandTest {
 protected:
  std::vector<std::string> Words(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"assign", "--buyer-column", "buyer", "--store",
                                      store_,   "--table",        table_,  "--keys",
                                      keys_,    "--create-store"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Outcome Assign(std::string_view input, const std::vector<std::string>& more = {}) const {
    return RunLocus(Words(more), input);
  }

  // The fields of an output; the last three are order_id, order_no and shard.
  static std::vector<std::vector<std::string>> FieldsOf(const std::string& output) {
    std::vector<std::vector<std::string>> table;
    for (auto& row : csv::Split(output, 1 << 20).rows) table.push_back(row.fields);
    return table;
  }

  // Cuts the three columns off each record again.
  static std::string WithoutOurs(const std::string& output) {
    std::string original;
    for (const auto& row : csv::Split(output, 1 << 20).rows) {
      size_t ours = 0;
      for (size_t i = row.fields.size() - 3; i < row.fields.size(); ++i) {
        ours += row.fields[i].size() + 1;
      }
      original += row.bytes.substr(0, row.bytes.size() - ours) + row.ending;
    }
    return original;
  }

  std::string in_ = directory_ / "in.csv";
  std::string out_ = directory_ / "out.csv";
  std::string rejects_ = directory_ / "rejects.csv";
};

TEST_F(AssignTest, EveryRow_GetsIdNumberAndShard) {
  Outcome outcome = Assign("order,buyer\n7,1\n8,2\n9,1\n");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  auto rows = FieldsOf(outcome.out);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(rows[0], ElementsAre("order", "buyer", "order_id", "order_no", "shard"));
  std::set<std::string> ids;
  for (size_t i = 1; i < rows.size(); ++i) {
    ids.insert(rows[i][2]);
    OrderId id = OrderId::Parse(rows[i][2]).value();
    EXPECT_EQ(id.gene(), ShardGene::Of(BuyerKey::Uint64(i == 2 ? 2u : 1u)));
    EXPECT_EQ(RunLocus({"decode", "--keys", keys_, rows[i][3]}).out, rows[i][2] + "\n");
    EXPECT_EQ(rows[i][4], id.gene().value() < 32768 ? "orders-a" : "\"b,c\"");
  }
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_THAT(outcome.err, HasSubstr("3 rows assigned, 0 rejected"));
  EXPECT_THAT(outcome.err, HasSubstr("shard orders-a: 2 rows"));
  EXPECT_THAT(outcome.err, HasSubstr("shard b,c: 1 rows"));
}

TEST_F(AssignTest, RecordsKeepTheirBytes) {
  const std::string records =
      "id,\"buyer\",note\r\n"
      "1,1,plain\r\n"
      "2,\"2\",\"a \"\"quoted\"\" word, and a comma\"\n"
      "3,3,\"line\r\nbreak\n\"\r\n"
      "4,4, spaces \n"
      "5,5,5\" pipe\n"
      "6,6,\xFF\xFE\n"
      "7,7,no newline at the end";
  Outcome outcome = Assign("\xEF\xBB\xBF" + records);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(WithoutOurs(outcome.out), records);
}

TEST_F(AssignTest, BlankLines_AreSkipped) {
  Outcome outcome = Assign("\n\r\nbuyer\n\n1\n\r\n\n2\n\n");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(WithoutOurs(outcome.out), "buyer\n1\n2\n");
}

TEST_F(AssignTest, HeaderOnly_IsDone) {
  EXPECT_EQ(Assign("a,buyer\n").out, "a,buyer,order_id,order_no,shard\n");
  EXPECT_EQ(Assign("a,buyer").out, "a,buyer,order_id,order_no,shard");
}

TEST_F(AssignTest, RejectedRows_GoToTheRejectsFile) {
  const std::string input =
      "a,buyer,b\r\n"
      "1,1,x\r\n"
      "\r\n"
      "2,,\"two\r\nlines\"\r\n"
      "3,01,x\n"
      "4,\"\",x\n"
      "5,1\n"
      "6,\"1\"2,x\n"
      "7,1,x,x\n"
      "8, 1,x\n"
      "9,-1,x";
  Outcome outcome = Assign(input, {"--rejects", rejects_});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(WithoutOurs(outcome.out), "a,buyer,b\r\n1,1,x\r\n");
  EXPECT_EQ(ReadFile(rejects_),
            "a,buyer,b,line,reason\r\n"
            "2,,\"two\r\nlines\",4,empty buyer\r\n"
            "3,01,x,6,non-canonical uint64\n"
            "4,\"\",x,7,empty buyer\n"
            "5,1,8,wrong number of fields\n"
            "6,\"1\"2,x,9,bytes after the buyer's closing quote\n"
            "7,1,x,x,10,wrong number of fields\n"
            "8, 1,x,11,non-canonical uint64\n"
            "9,-1,x,12,non-canonical uint64");
  EXPECT_THAT(outcome.err, HasSubstr("1 rows assigned, 8 rejected"));
}

TEST_F(AssignTest, WithoutARejectsFile_TheFirstTenAreTold) {
  std::string input = "buyer\n";
  for (int i = 0; i < 15; ++i) input += "x\n";
  Outcome outcome = Assign(input);
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("locus assign: line 11: non-canonical uint64: \"x\"\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("line 12:")));
  EXPECT_THAT(outcome.err, HasSubstr("and 5 rejected rows more; --rejects FILE keeps them all"));
  EXPECT_THAT(outcome.err, HasSubstr("0 rows assigned, 15 rejected"));
}

TEST_F(AssignTest, CarriageReturnsAlone_AreNoLines) {
  Outcome outcome = Assign("order,buyer\r1,17\r2,18\r");
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no line feed, only carriage returns"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(AssignTest, TextBuyers_AreTheirExactBytes) {
  Outcome outcome = Assign("buyer\n1\n\"say \"\"hi\"\"\"\n\xE5\xBC\xA0\xE4\xB8\x89\n x\n",
                           {"--buyer-type", "text"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  auto rows = FieldsOf(outcome.out);
  ASSERT_EQ(rows.size(), 5u);
  const char* buyers[] = {"1", "say \"hi\"", "\xE5\xBC\xA0\xE4\xB8\x89", " x"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(OrderId::Parse(rows[i + 1][1]).value().gene(),
              ShardGene::Of(BuyerKey::Text(buyers[i])));
  }
}

TEST_F(AssignTest, SchemeFf1_WritesDecimals) {
  Outcome outcome = Assign("buyer\n1\n", {"--scheme", "ff1"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  auto rows = FieldsOf(outcome.out);
  EXPECT_EQ(RunLocus({"decode", "--keys", keys_, "--scheme", "ff1", rows[1][2]}).out,
            rows[1][1] + "\n");
}

TEST_F(AssignTest, IdsOfSeveralRuns_DoNotRepeat) {
  std::set<std::string> ids;
  for (int run = 0; run < 3; ++run) {
    for (auto& row : FieldsOf(Assign("buyer\n1\n1\n1\n").out)) ids.insert(row[1]);
  }
  EXPECT_EQ(ids.size(), 1u + 9u) << "with the header";
}

TEST_F(AssignTest, ManyRows_AllComeOut) {
  std::string input = "buyer,note\n";
  for (int i = 0; i < 50000; ++i) {
    input += std::to_string(i) + "," + std::string(static_cast<size_t>(i % 40), 'n') + "\n";
  }
  WriteFile(in_, input);
  Outcome outcome = RunLocus(Words({"--in", in_, "--out", out_}));
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  std::string output = ReadFile(out_);
  EXPECT_TRUE(WithoutOurs(output) == input);
  std::set<std::string> ids;
  for (auto& row : FieldsOf(output)) ids.insert(row[2]);
  EXPECT_EQ(ids.size(), 50001u);
}

TEST_F(AssignTest, ARecordLargerThanTheBuffers_ComesOut) {
  std::string input = "buyer,note\n1,\"" + std::string(1 << 20, 'x') + "\n\"\n2,y\n";
  Outcome outcome = Assign(input);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(WithoutOurs(outcome.out) == input);
}

TEST_F(AssignTest, UnfitInput_FailsAndLeavesNothing) {
  struct Case {
    std::string input, message;
  };
  const std::vector<Case> cases = {
      {"", "the input is empty"},
      {"\n\n", "the input is empty"},
      {"a,b\n1,2\n", "there is no column \"buyer\"; the columns are: \"a\", \"b\""},
      {"buyer,buyer\n", "more than one column is named \"buyer\""},
      {"buyer,order_id\n", "already has a column \"order_id\""},
      {"buyer,\"order_no\"\n", "already has a column \"order_no\""},
      {"shard,buyer\n", "already has a column \"shard\""},
      {"buyer\n1\n\"2\n3\n", "line 3: the quote that opens here is never closed"},
  };
  for (const Case& each : cases) {
    Outcome outcome = Assign(each.input, {"--out", out_, "--rejects", rejects_});
    EXPECT_EQ(outcome.exit, 1) << each.message;
    EXPECT_THAT(outcome.err, StartsWith("locus assign: ")) << each.message;
    EXPECT_THAT(outcome.err, HasSubstr(each.message));
    for (const std::string& name : directory_.Names()) {
      EXPECT_THAT(name, Not(HasSubstr(".csv"))) << each.message;
    }
  }
}

TEST_F(AssignTest, MissingFiles_AreNamed) {
  WriteFile(in_, "buyer\n1\n");
  Outcome outcome = RunLocus({"assign", "--buyer-column", "buyer", "--store", store_, "--table",
                              table_, "--keys", keys_, "--in", in_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("--create-store")) << "the hint";
  EXPECT_FALSE(std::filesystem::exists(directory_ / "store.db"));

  for (const char* option : {"--in", "--table", "--keys"}) {
    std::vector<std::string> words = {"assign", "--buyer-column", "buyer", "--store", store_};
    for (auto [name, path] : std::map<std::string, std::string>{
             {"--in", in_}, {"--table", table_}, {"--keys", keys_}}) {
      words.push_back(name);
      words.push_back(name == option ? directory_ / "missing" : path);
    }
    outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 1) << option;
    EXPECT_THAT(outcome.err, HasSubstr(directory_ / "missing")) << option;
  }
  EXPECT_EQ(Assign("buyer\n1\n", {"--out", directory_ / "no/such/out.csv"}).exit, 1);
}

TEST_F(AssignTest, AnOutputThatIsAnInput_IsWrongUsage) {
  WriteFile(in_, "buyer\n1\n");
  std::filesystem::create_hard_link(in_, directory_ / "link.csv");
  for (const auto& more :
       std::vector<std::vector<std::string>>{{"--in", in_, "--out", in_},
                                             {"--in", in_, "--out", directory_ / "link.csv"},
                                             {"--in", in_, "--out", keys_},
                                             {"--in", in_, "--rejects", table_},
                                             {"--in", in_, "--out", out_, "--rejects", out_},
                                             {"--in", in_, "--rejects", "-"}}) {
    Outcome outcome = RunLocus(Words(more));
    EXPECT_EQ(outcome.exit, 2) << ::testing::PrintToString(more);
    EXPECT_THAT(outcome.err, HasSubstr("the same file"));
  }
  EXPECT_EQ(ReadFile(in_), "buyer\n1\n");
}

TEST_F(AssignTest, AnOutputThatWillBeAnotherFile_IsWrongUsage) {
  std::string other_out = directory_ / "./out.csv";
  for (const auto& more :
       std::vector<std::vector<std::string>>{{"--out", out_, "--rejects", other_out},
                                             {"--out", directory_ / "./store.db"},
                                             {"--out", directory_ / "store.db-wal"},
                                             {"--rejects", directory_ / "store.db-shm"},
                                             {"--out", directory_ / "./store.db-locus"},
                                             {"--out", directory_ / "store.db-locus-lock"}}) {
    Outcome outcome = RunLocus(Words(more), "buyer\n1\n");
    EXPECT_EQ(outcome.exit, 2) << ::testing::PrintToString(more);
    EXPECT_THAT(outcome.err, HasSubstr("the same file"));
  }
  EXPECT_THAT(directory_.Names(), ElementsAre("keys.ring", "table.json"));
  ASSERT_EQ(Assign("buyer\n1\n").exit, 0);
  std::filesystem::create_symlink("store.db", directory_ / "link.db");
  store_ = "sqlite:" + directory_ / "link.db";
  EXPECT_EQ(Assign("buyer\n1\n", {"--out", directory_ / "store.db-locus"}).exit, 2);
  EXPECT_EQ(Assign("buyer\n1\n", {"--out", "/dev/null", "--rejects", "/dev/null"}).exit, 0);
}

TEST_F(AssignTest, AReplacedOutput_KeepsItsMode) {
  WriteFile(out_, "old");
  ASSERT_EQ(chmod(out_.c_str(), 0600), 0);
  ASSERT_EQ(Assign("buyer\n1\n", {"--out", out_}).exit, 0);
  struct stat facts;
  ASSERT_EQ(stat(out_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  if (geteuid() == 0) {  // only root may give a file away
    ASSERT_EQ(chown(out_.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(out_.c_str(), 0640), 0);
    ASSERT_EQ(Assign("buyer\n1\n", {"--out", out_}).exit, 0);
    ASSERT_EQ(stat(out_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_uid, 65534u);
    EXPECT_EQ(facts.st_gid, 65534u);
    EXPECT_EQ(facts.st_mode & 07777, 0640u);
  }
}

TEST_F(AssignTest, Quiet_PrintsErrorsOnly) {
  EXPECT_EQ(Assign("buyer\n1\n", {"--quiet"}).err, "");
  EXPECT_THAT(Assign("buyer\nx\n", {"--quiet"}).err, HasSubstr("non-canonical"));
}

TEST_F(AssignTest, AnExistingOutput_IsReplacedWhole) {
  WriteFile(out_, "old");
  std::filesystem::create_symlink(out_, directory_ / "link.csv");
  Outcome outcome = Assign("buyer\n1\n", {"--out", directory_ / "link.csv"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link.csv"));
  EXPECT_THAT(ReadFile(out_), StartsWith("buyer,order_id"));
  EXPECT_EQ(Assign("buyer\n1\n", {"--out", "/dev/null"}).exit, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(AssignTest, Interrupted_LeavesNothingHalfWritten) {
  WriteFile(out_, "old");
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    RunningCommand assign(Words({"--out", out_, "--rejects", rejects_}));
    ASSERT_TRUE(assign.Write("buyer\n1\n"));
    auto parts = [this] {
      int count = 0;
      for (const std::string& name : directory_.Names()) count += name.ends_with(".part");
      return count;
    };
    ASSERT_TRUE(Eventually([&] { return parts() == 2; }));
    assign.Signal(signal);
    EXPECT_EQ(assign.Finish().exit, 130);
    EXPECT_EQ(parts(), 0);
    EXPECT_EQ(ReadFile(out_), "old");
    EXPECT_FALSE(std::filesystem::exists(rejects_));
  }
}

// Text after `word` at the start of a line of `store show`.
std::string Shown(const std::string& store, const std::string& word) {
  std::string text = RunLocus({"store", "show", store}).out;
  size_t begin = text.find("\n" + word + " ");
  return begin == std::string::npos ? text : text.substr(begin, text.find('\n', begin + 1) - begin);
}

TEST_F(AssignTest, Interrupted_LosesNothingOfTheStore) {
  ASSERT_EQ(Assign("buyer\n1\n").exit, 0);
  std::string losses = Shown(store_, "losses");
  std::string base = Shown(store_, "base");
  auto has_part = [this] {
    for (const std::string& name : directory_.Names()) {
      if (name.ends_with(".part")) return true;
    }
    return false;
  };
  std::string rows = "buyer\n";
  for (int run = 0; run < 30; ++run) {
    // Its input stays open, so that it cannot end before the signal, which finds it at work on more
    // rows each time.
    RunningCommand assign(Words({"--out", out_}));
    for (int i = 0; i < 2000; ++i) rows += std::to_string(2000 * run + i) + "\n";
    assign.Write(rows);
    ASSERT_TRUE(Eventually(has_part));  // the leases begin
    assign.Signal(SIGINT);
    Outcome outcome = assign.Finish();
    EXPECT_EQ(outcome.exit, 130) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_FALSE(has_part());
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
  ASSERT_EQ(Assign("buyer\n1\n").exit, 0) << "a lease would notice a loss";
  EXPECT_EQ(Shown(store_, "losses"), losses);
  EXPECT_EQ(Shown(store_, "base"), base);
}

TEST_F(AssignTest, ClosedPipe_EndsItQuietly) {
  RunningCommand assign(Words());
  assign.CloseStdout();
  std::string rows = "buyer\n";
  while (rows.size() < 1 << 20) rows += "1\n";
  assign.Write(rows);
  Outcome outcome = assign.Finish();
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(AssignTest, ClosedRejectsPipe_IsToldAndTheRestIsDone) {
  RunningCommand assign(Words({"--out", out_, "--rejects", "-"}));
  assign.CloseStdout();
  std::string rows = "buyer\n1\n";
  while (rows.size() < 1 << 20) rows += "x\n";
  assign.Write(rows + "2\n");
  Outcome outcome = assign.Finish();
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("the rejected rows were not written completely: stdout: "));
  EXPECT_THAT(outcome.err, HasSubstr("2 rows assigned, "));
  EXPECT_EQ(WithoutOurs(ReadFile(out_)), "buyer\n1\n2\n");
}

TEST_F(AssignTest, UsedUpSequences_AreExplained) {
  ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  ASSERT_EQ(RunLocus({"store", "raise", store_, "--to", "140737488355328", "--anywhere"}).exit, 0);
  Outcome outcome = Assign("buyer\n1\n");
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(
      outcome.err,
      HasSubstr("no order ID after 0 rows: the sequences of vnode 24031 are used up: 2^47 - 1 "
                "is the last of a 64-bit order ID (space orders)\n"));
}

TEST_F(AssignTest, FullDevice_IsAFailure) {
  ASSERT_TRUE(std::filesystem::exists("/dev/full"));
  Outcome outcome = Assign("buyer\n1\n", {"--out", "/dev/full"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace locus
