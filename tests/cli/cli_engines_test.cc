// SPDX-License-Identifier: Apache-2.0
// The command line on every engine that has servers.
#include <sys/stat.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/command.h"
#include "tests/engine/etcd/etcd_server.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/engine/redis/redis_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::WriteFile;

std::string At(uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

RedisServer& Redis() {
  static RedisServer& server = *new RedisServer();
  return server;
}
RedisSentinel& Sentinel() {
  static RedisSentinel& sentinel = *new RedisSentinel(Redis());
  return sentinel;
}

// A URI of each engine; nothing is there yet.
struct CliEngine {
  std::string name;
  std::string (*fresh)();
  const char* password;
};
void PrintTo(const CliEngine& engine, std::ostream* out) { *out << engine.name; }

const std::vector<CliEngine>& CliEngines() {
  static const std::vector<CliEngine> engines = {
      {"mysql",
       [] {
         MysqlOptions options = FreshMariadbDatabase();
         // The tables are the verb's to make.
         SharedMariadb().Sql("DROP DATABASE " + options.database);
         SharedMariadb().Sql("CREATE DATABASE " + options.database);
         return "mysql://locus@" + At(options.hosts[0].port) + "/" + options.database;
       },
       "s3cret"},
      {"redis",
       [] {
         Redis().Ask("FLUSHALL");
         return "redis://" + At(Redis().port()) + "/2";
       },
       nullptr},
      {"sentinel",
       [] {
         Redis().Ask("FLUSHALL");
         return "redis+sentinel://" + At(Sentinel().port()) + "/orders";
       },
       nullptr},
      {"etcd",
       [] {
         EtcdOptions options = FreshEtcdPrefix();
         return "etcd://" + options.endpoints[0] + "/" + options.prefix;
       },
       nullptr}};
  return engines;
}

class CliEngineTest : public testing::CommandTest, public ::testing::WithParamInterface<CliEngine> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (GetParam().password != nullptr) setenv("LOCUS_PASSWORD", GetParam().password, 1);
    uri_ = GetParam().fresh();
  }
  void TearDown() override {
    for (const char* name : {"LOCUS_PASSWORD", "LOCUS_PASSWORD_FILE"}) unsetenv(name);
  }
  std::string Seq(const std::string& verb, const std::vector<std::string>& more, int exit = 0) {
    std::vector<std::string> words = {"seq", verb, "--store", uri_};
    words.insert(words.end(), more.begin(), more.end());
    Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, exit) << outcome.err;
    return outcome.out;
  }

  std::string uri_;
};

TEST_P(CliEngineTest, Store_IsMadeShownRaisedAndDeclaredRestored) {
  EXPECT_EQ(RunLocus({"store", "show", uri_}).exit, 1) << "there is none yet";
  Outcome made = RunLocus({"store", "init", uri_});
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_EQ(RunLocus({"store", "init", uri_}).exit, 0) << "again";
  EXPECT_THAT(RunLocus({"store", "show", uri_}).out, HasSubstr("\nlosses 1\n"));
  EXPECT_EQ(RunLocus({"store", "restored", uri_}).exit, 0);
  EXPECT_THAT(RunLocus({"store", "show", uri_}).out, HasSubstr("\nlosses 2\n"));
  EXPECT_EQ(RunLocus({"store", "raise", uri_, "--to", "72057594037927935", "--anywhere"}).exit, 0);
  EXPECT_THAT(RunLocus({"store", "show", uri_}).out, HasSubstr("\nbase 72057594037927935\n"));
}

TEST_P(CliEngineTest, Assign_GivesEveryOrderItsId) {
  std::string csv = "order,buyer\n";
  for (int i = 0; i < 500; ++i) {
    csv += std::to_string(i) + "," + std::to_string(i % 50) + "\n";
  }
  WriteFile(directory_ / "in.csv", csv);
  std::vector<std::string> words = {"assign",
                                    "--buyer-column",
                                    "buyer",
                                    "--store",
                                    uri_,
                                    "--table",
                                    table_,
                                    "--keys",
                                    keys_,
                                    "--in",
                                    directory_ / "in.csv",
                                    "--out",
                                    directory_ / "out.csv"};
  EXPECT_EQ(RunLocus(words).exit, 1) << "there is no store yet";
  words.push_back("--create-store");
  std::set<std::string> ids;
  for (int run = 0; run < 2; ++run) {
    Outcome outcome = RunLocus(words);
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    std::istringstream lines(ReadFile(directory_ / "out.csv"));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "order,buyer,order_id,order_no,shard");
    while (std::getline(lines, line)) {
      size_t begin = line.find(',', line.find(',') + 1) + 1;
      ids.insert(line.substr(begin, line.find(',', begin) - begin));
    }
  }
  EXPECT_EQ(ids.size(), 1000u) << "none twice";
}

TEST_P(CliEngineTest, Seq_SaysWhatScriptsRead) {
  if (GetParam().name == "mysql") {
    std::string err = RunLocus({"seq", "next", "--store", uri_, "--key", "a"}).err;
    EXPECT_THAT(err, HasSubstr("locus store init"));
    EXPECT_THAT(err, Not(HasSubstr("..."))) << "it need not be told twice";
  }
  ASSERT_EQ(RunLocus({"store", "init", uri_}).exit, 0);
  EXPECT_EQ(Seq("get", {"--key", "a"}, 1), "");
  EXPECT_EQ(Seq("next", {"--key", "a"}), "1\n");
  EXPECT_EQ(Seq("batch", {"--key", "a", "--count", "5"}), "2 1 5\n");
  EXPECT_EQ(Seq("get", {"--key", "a"}), "6\n");
  EXPECT_EQ(Seq("set", {"--key", "a", "--value", "9"}), "before 6\nvalue 9\n");
  EXPECT_EQ(Seq("next", {"--key", "a", "--max-value", "9"}, 1), "");
  EXPECT_EQ(Seq("next", {"--key", "a", "--max-value", "9", "--at-max", "wrap"}), "1\n");
  EXPECT_EQ(Seq("set-if-not-exists", {"--key", "a", "--value", "7"}), "kept\n");
  EXPECT_EQ(Seq("set-if-not-exists", {"--key", "b", "--value", "7"}), "set\n");
  EXPECT_EQ(Seq("next", {"--key", "b", "--ttl", "100", "--step", "3"}), "10\n");
}

TEST_P(CliEngineTest, Rule_IsKeptBesideItsCounters) {
  ASSERT_EQ(RunLocus({"store", "init", uri_}).exit, 0);
  if (GetParam().name == "mysql") {
    EXPECT_THAT(RunLocus({"seq", "type", "list", "--store", uri_}).err,
                HasSubstr("`locus seq type create` makes it"));
  }
  auto rule = [&](const std::string& verb, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"seq", "type", verb, "bills", "--store", uri_};
    words.insert(words.end(), more.begin(), more.end());
    Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return outcome.out;
  };
  rule("create", {"--start", "10", "--pattern", "B{seq:4}"});
  EXPECT_EQ(RunLocus({"number", "next", "--store", uri_, "--type", "bills", "--count", "2"}).out,
            "B0010\nB0011\n");
  EXPECT_EQ(Seq("next", {"--type", "bills", "--step", "2"}, 1), "");
  rule("alter", {"--step", "5"});
  EXPECT_EQ(Seq("next", {"--type", "bills"}), "16\n");
  EXPECT_THAT(RunLocus({"seq", "type", "list", "--store", uri_}).out, HasSubstr("bills"));
  EXPECT_EQ(rule("drop", {}), "");
  EXPECT_EQ(Seq("next", {"--type", "bills"}, 1), "");
  EXPECT_EQ(Seq("get", {"--key", "bills:"}), "16\n");
}

INSTANTIATE_TEST_SUITE_P(Engines, CliEngineTest, ::testing::ValuesIn(CliEngines()),
                         [](const auto& engine) { return engine.param.name; });

class CliPasswordTest : public testing::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    uri_ = CliEngines()[0].fresh();
  }
  void TearDown() override {
    for (const char* name : {"LOCUS_PASSWORD", "LOCUS_PASSWORD_FILE", "LOCUS_CEILING_PASSWORD"}) {
      unsetenv(name);
    }
  }
  std::string uri_;
};

TEST_F(CliPasswordTest, WrongOne_IsRefusedAndNotShown) {
  setenv("LOCUS_PASSWORD", "hunter2", 1);
  Outcome outcome = RunLocus({"store", "init", uri_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, Not(HasSubstr("hunter2")));
  EXPECT_THAT(outcome.err, HasSubstr("127.0.0.1"));
}

TEST_F(CliPasswordTest, File_MustBePrivate) {
  std::string file = directory_ / "password";
  WriteFile(file, "s3cret\nand what follows\n");
  setenv("LOCUS_PASSWORD_FILE", file.c_str(), 1);
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  Outcome outcome = RunLocus({"store", "init", uri_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr(file));
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  outcome = RunLocus({"store", "init", uri_});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  setenv("LOCUS_PASSWORD", "s3cret", 1);
  outcome = RunLocus({"store", "init", uri_});
  EXPECT_THAT(outcome.err, HasSubstr("both set"));
  EXPECT_EQ(outcome.exit, 2);
}

TEST_F(CliPasswordTest, FileThatIsEmpty_IsRefusedAndNamed) {
  std::string file = directory_ / "password";
  for (const char* text : {"", "\n", "\r\n", "\ns3cret\n"}) {
    WriteFile(file, text);
    ASSERT_EQ(chmod(file.c_str(), 0600), 0);
    setenv("LOCUS_PASSWORD_FILE", file.c_str(), 1);
    Outcome outcome = RunLocus({"store", "init", uri_});
    EXPECT_EQ(outcome.exit, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(file));
    EXPECT_THAT(outcome.err, HasSubstr("LOCUS_PASSWORD_FILE"));
  }
}

TEST_F(CliPasswordTest, InTheUri_IsRefusedAndNotShown) {
  std::string with = uri_;
  with.replace(with.find("locus@"), 6, "locus:hunter2@");
  Outcome outcome = RunLocus({"store", "init", with});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, Not(HasSubstr("hunter2")));
}

TEST_F(CliPasswordTest, WithoutAUser_IsWrongUsageForEtcd) {
  setenv("LOCUS_PASSWORD", "hunter2", 1);
  Outcome outcome = RunLocus({"store", "init", "etcd://127.0.0.1:1/shop"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("LOCUS_PASSWORD"));
  EXPECT_THAT(outcome.err, HasSubstr("127.0.0.1:1/shop names no user"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("hunter2")));
  outcome = RunLocus({"seq", "next", "--key", "k", "--store", "etcd://127.0.0.1:1/shop"});
  EXPECT_EQ(outcome.exit, 2);
  WriteFile(directory_ / "in.csv", "order,buyer\n1,2\n");
  outcome = RunLocus({"assign", "--buyer-column", "buyer", "--store", "etcd://127.0.0.1:1/shop",
                      "--table", table_, "--keys", keys_, "--in", directory_ / "in.csv"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.out, "");
}

class CliCeilingTest : public CliPasswordTest {
 protected:
  Outcome Next(const std::string& ceiling) {
    return RunLocus({"seq", "next", "--store", redis_, "--ceiling", ceiling, "--key", "k"});
  }
  const std::string redis_ = "redis://" + At(Redis().port()) + "/1";
};

TEST_F(CliCeilingTest, NumbersGoOnAboveAllAfterRedisIsEmptied) {
  Redis().Ask("FLUSHALL");
  ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  setenv("LOCUS_PASSWORD", "s3cret", 1);
  ASSERT_EQ(RunLocus({"store", "init", uri_}).exit, 0);
  unsetenv("LOCUS_PASSWORD");
  setenv("LOCUS_CEILING_PASSWORD", "s3cret", 1);
  for (const std::string& ceiling : {store_, uri_}) {
    Redis().Ask("FLUSHALL");
    int64_t last = 0;
    for (int i = 0; i < 6; ++i) {
      if (i % 2 == 1) Redis().Ask("FLUSHALL");
      Outcome outcome = Next(ceiling);
      ASSERT_EQ(outcome.exit, 0) << outcome.err;
      int64_t number = std::strtoll(outcome.out.c_str(), nullptr, 10);
      EXPECT_GT(number, last);
      last = number;
    }
    EXPECT_EQ(RunLocus({"seq", "next", "--store", redis_, "--key", "plain"}).out, "1\n");
    Redis().Ask("FLUSHALL");
    EXPECT_EQ(RunLocus({"seq", "next", "--store", redis_, "--key", "plain"}).out, "1\n")
        << "without a ceiling it repeats";
  }
}

TEST_F(CliCeilingTest, NumbersOfARule_GoOnAfterRedisIsEmptied) {
  Redis().Ask("FLUSHALL");
  ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  auto next = [&](const std::string& pattern) {
    RunLocus({"seq", "type", "create", "bills", "--store", redis_, "--pattern", pattern});
    Outcome outcome =
        RunLocus({"number", "next", "--store", redis_, "--ceiling", store_, "--type", "bills"});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return outcome.out;
  };
  std::string first = next("B{seq:9}");
  EXPECT_EQ(first, "B000000001\n");
  Redis().Ask("FLUSHALL");  // the rule, too
  EXPECT_GT(next("B{seq:9}"), first);
}

TEST_F(CliCeilingTest, Password_IsNeverTheStores) {
  setenv("LOCUS_PASSWORD", "s3cret", 1);
  ASSERT_EQ(RunLocus({"store", "init", uri_}).exit, 0);
  EXPECT_EQ(Next(uri_).exit, 1) << "the ceiling's server was given the store's password";
  setenv("LOCUS_CEILING_PASSWORD", "s3cret", 1);
  Outcome outcome = Next(uri_);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
}

TEST_F(CliCeilingTest, OtherCeilings_AreWrongUsage) {
  EXPECT_EQ(Next(redis_).exit, 2);
  Outcome forgets =
      RunLocus({"seq", "next", "--store", redis_, "--ceiling", store_, "--key", "k", "--ttl", "5"});
  EXPECT_EQ(forgets.exit, 2);
  EXPECT_THAT(forgets.err, HasSubstr("--ttl"));
  Outcome missing = Next("sqlite:" + directory_ / "none.db");
  EXPECT_EQ(missing.exit, 1);
  EXPECT_THAT(missing.err, HasSubstr("locus store init"));
}

}  // namespace
}  // namespace locus
