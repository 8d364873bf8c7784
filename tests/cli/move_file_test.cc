// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/moves/move_file.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus::cli {

using apps::CandidatesOf;
using apps::MoveFile;
using apps::MovesOf;
using apps::NewMoveFile;
using apps::ParseMoveFile;

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kLeast[] = R"(name = "peak"
table = "table.json"
movers = ["mover@10.0.0.5"]
[[tables]]
name = "orders"
[accounts.mover]
user = "mover"
password_file = "/etc/locus/mover.password"
)";

RoutingTable Table(const std::vector<VnodeMove>& moves = {
                       {.first = 0, .last = 99, .to = 2, .permyriad = 500, .step = 7}}) {
  return RoutingTable::Make(
             12,
             {{.id = 1, .name = "orders-a", .endpoint = "mysql://10.0.0.1/shop", .labels = {}},
              {.id = 2,
               .name = "orders \"b\"",
               .endpoint = "mysql://10.0.0.2:3307/shop?tls=on",
               .labels = {}}},
             {{32767, 1}, {65535, 2}}, moves)
      .value();
}

std::string RefusalOf(const std::string& text) {
  const absl::StatusOr<MoveFile> file = ParseMoveFile(text, "peak.toml");
  EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << text;
  return std::string(file.status().message());
}

TEST(MoveFileTest, LeastFile_HasTheDefaults) {
  const absl::StatusOr<MoveFile> file = ParseMoveFile(kLeast, "peak.toml");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->name, "peak");
  EXPECT_EQ(file->table, "table.json");
  ASSERT_THAT(file->tables, SizeIs(1));
  MovedTable orders;
  orders.guard.name = "orders";
  EXPECT_EQ(file->tables[0], orders);
  EXPECT_EQ(file->mover.user, "mover");
  EXPECT_EQ(file->mover.tls, MysqlOptions::Tls::kBeyondLoopback);
  EXPECT_EQ(file->pace.dwell, MovePace().dwell);
  EXPECT_EQ(file->gates.history_list, MoveGates().history_list);
}

TEST(MoveFileTest, MovesThatAreNoPairOfShards_AreRefused) {
  for (const char* wrong : {"1>1", "0>1", "1", "1>", ">2", "1>2>3", "-1>2", "1>4294967296", ""}) {
    EXPECT_THAT(RefusalOf(absl::StrCat("moves = [\"", wrong, "\"]\n", kLeast)),
                HasSubstr("two ids of shards such as \"1>2\""))
        << wrong;
  }
}

TEST(MoveFileTest, EveryKey_IsRead) {
  const absl::StatusOr<MoveFile> file = ParseMoveFile(R"(
name = "peak.2"
table = "etcd://10.0.0.9/orders"
movers = ["mover@10.0.0.5", "mover@10.0.0.6"]
moves = ["1>2", "2>4294967295"]
[[tables]]
name = "orders"
key = "order_id_bytes"
order_id = "id"
version = "revision"
[[tables]]
name = "notes"
key = "gene_and_cohort"
gene = "gene"
cohort = "co"
primary_key = ["no", "line"]
replaces = true
[accounts]
administrators = ["dba@%"]
[accounts.mover]
user = "mover"
password_file = "/p"
tls = "always"
tls_ca = "/ca.pem"
connect_timeout = "2s"
timeout = "1m30s"
[shards.orders-a]
hosts = ["10.0.1.1", "[::1]:3307"]
candidates = ["db.example:3308"]
[pace]
by = 100
dwell = "0s"
accept_within = "3s"
fence_wait = "20ms"
chunk_time = "50ms"
[gates]
lag = "1s"
oldest_transaction = "1s"
history_list = 5
patience = "10s"
command = "exit 0"
command_rolls_back = true
)",
                                                      "peak.toml");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->movers, ElementsAre("mover@10.0.0.5", "mover@10.0.0.6"));
  EXPECT_THAT(file->moves, ElementsAre(std::pair(1u, 2u), std::pair(2u, 4294967295u)));
  EXPECT_TRUE(file->Names({1, 2, {}}));
  EXPECT_FALSE(file->Names({2, 1, {}}));
  ASSERT_THAT(file->tables, SizeIs(2));
  EXPECT_EQ(file->tables[0].guard.key, GuardedTable::Key::kOrderIdBytes);
  EXPECT_THAT(file->tables[0].primary_key, ElementsAre("id"));
  EXPECT_EQ(file->tables[0].version, "revision");
  EXPECT_EQ(file->tables[1].guard.cohort, "co");
  EXPECT_THAT(file->tables[1].primary_key, ElementsAre("no", "line"));
  EXPECT_FALSE(file->tables[0].replaces);
  EXPECT_TRUE(file->tables[1].replaces);
  EXPECT_THAT(file->administrators, ElementsAre("dba@%"));
  EXPECT_EQ(file->mover.tls, MysqlOptions::Tls::kAlways);
  EXPECT_EQ(file->mover.tls_ca_file, "/ca.pem");
  EXPECT_EQ(file->mover.connect_timeout, absl::Seconds(2));
  EXPECT_EQ(file->mover.timeout, absl::Seconds(90));
  const MoveFile::ShardPlaces& places = file->shards.at("orders-a");
  ASSERT_THAT(places.hosts, SizeIs(2));
  EXPECT_EQ(places.hosts[0].port, 3306);
  EXPECT_EQ(places.hosts[1].name, "::1");
  EXPECT_EQ(places.hosts[1].port, 3307);
  ASSERT_THAT(places.candidates, SizeIs(1));
  EXPECT_EQ(places.candidates[0].name, "db.example");
  EXPECT_EQ(file->pace.by, 100u);
  EXPECT_EQ(file->pace.dwell, absl::ZeroDuration());
  EXPECT_EQ(file->pace.accept_within, absl::Seconds(3));
  EXPECT_EQ(file->pace.fence_wait, absl::Milliseconds(20));
  EXPECT_EQ(file->pace.chunk_time, absl::Milliseconds(50));
  EXPECT_EQ(file->gates.lag, absl::Seconds(1));
  EXPECT_EQ(file->gates.oldest_transaction, absl::Seconds(1));
  EXPECT_EQ(file->gates.history_list, 5u);
  EXPECT_EQ(file->gates.patience, absl::Seconds(10));
  EXPECT_EQ(file->gates.command, "exit 0");
  EXPECT_TRUE(file->gates.command_rolls_back);
}

TEST(MoveFileTest, EverythingThatIsWrong_IsNamedAtOnceWithItsPlace) {
  const std::string message = RefusalOf(absl::StrCat(kLeast, R"([pace]
by = 10001
dwel = "60s"
fence_wait = "1 day"
accept_within = "2m"
chunk_time = 100
[gates]
history_list = -1
command_rolls_back = "yes"
)"));
  EXPECT_THAT(message,
              AllOf(HasSubstr("peak.toml:10:6: pace.by: move: its step is 10001; it must be 1 to "
                              "10000 permyriad"),
                    HasSubstr("peak.toml:11:1: unknown key \"dwel\"; known here are accept_within"),
                    HasSubstr("peak.toml:12:14: pace.fence_wait is the text \"1 day\"; it must be "
                              "a duration such as"),
                    HasSubstr("peak.toml:13:17: pace.accept_within: move: accept_within is 2m"),
                    HasSubstr("peak.toml:14:14: pace.chunk_time is the number 100"),
                    HasSubstr("peak.toml:16:16: gates.history_list is the number -1"),
                    HasSubstr("peak.toml:17:22: gates.command_rolls_back is the text \"yes\"; it "
                              "must be true or false")));
}

TEST(MoveFileTest, ManyMistakes_AreCounted) {
  std::string text = kLeast;
  for (int i = 0; i < 25; ++i) absl::StrAppend(&text, "x", i, " = 1\n");
  EXPECT_THAT(RefusalOf(text), HasSubstr("\nand 15 more"));
}

TEST(MoveFileTest, WrongValues_AreRefusedWithWhatTheyMustBe) {
  auto with = [](const std::string& from, const std::string& to) {
    EXPECT_NE(std::string(kLeast).find(from), std::string::npos) << from;
    return RefusalOf(absl::StrReplaceAll(kLeast, {{from, to}}));
  };
  EXPECT_THAT(with("\"peak\"", "\"Peak\""),
              HasSubstr("peak.toml:1:8: name is \"Peak\"; it must be"));
  EXPECT_THAT(with("\"peak\"", "\"" + std::string(41, 'x') + "\""), HasSubstr("1 to 40 bytes"));
  EXPECT_THAT(with("name = \"peak\"\n", ""), HasSubstr("peak.toml:1:1: name is missing"));
  EXPECT_THAT(with("\"mover@10.0.0.5\"", "\"mover@%\""), HasSubstr("NAME@HOST with an exact host"));
  EXPECT_THAT(with("[\"mover@10.0.0.5\"]", "[]"), HasSubstr("movers is empty"));
  EXPECT_THAT(with("[\"mover@10.0.0.5\"]", "\"mover@10.0.0.5\""), HasSubstr("list of texts"));
  EXPECT_THAT(with("[[tables]]", "[tables]"), HasSubstr("it must be tables, [[tables]]"));
  EXPECT_THAT(with("name = \"orders\"", "name = \"orders\"\nkey = \"id\""),
              HasSubstr("tables.key is \"id\"; it must be \"order_id\", \"order_id_bytes\" or"));
  EXPECT_THAT(with("name = \"orders\"", "name = \"orders\"\ngene = \"g\""),
              HasSubstr("unknown key \"gene\""));
  EXPECT_THAT(with("name = \"orders\"", "name = \"n\"\nkey = \"gene_and_cohort\""),
              HasSubstr("tables.primary_key is missing"));
  EXPECT_THAT(with("name = \"orders\"", "name = \"" + std::string(36, 'x') + "\""),
              HasSubstr("1 to 35 bytes"));
  EXPECT_THAT(with("[accounts.mover]", "[[tables]]\nname = \"orders\"\n[accounts.mover]"),
              HasSubstr("table \"orders\" is there twice"));
  EXPECT_THAT(with("user = \"mover\"", "user = \"\""), HasSubstr("accounts.mover.user is \"\""));
  EXPECT_THAT(with("user = \"mover\"", "user = \"mover\"\npassword = \"s3cret\""),
              AllOf(HasSubstr("unknown key \"password\""), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(with("user = \"mover\"", "user = \"mover\"\ntls = \"on\""),
              HasSubstr("\"beyond_loopback\", \"always\" or \"never\""));
  EXPECT_THAT(with("user = \"mover\"", "user = \"mover\"\ntimeout = \"10ms\""),
              HasSubstr("accounts.mover.timeout: "));
  EXPECT_THAT(with("[accounts.mover]", "[shards.a]\nhosts = [\"a:0\"]\n[accounts.mover]"),
              HasSubstr("shards.a.hosts is \"a:0\"; it must be HOST or HOST:PORT"));
  EXPECT_THAT(with("[accounts.mover]", "[shards]\na = 5\n[accounts.mover]"),
              HasSubstr("shards.a is the number 5; it must be a table"));
  EXPECT_THAT(with("name = \"peak\"", "name = "), HasSubstr("peak.toml:1:8: is no TOML: "));
  EXPECT_THAT(RefusalOf(""), HasSubstr("peak.toml:1:1: name is missing"));
  // An assertion of toml++ 3.3 fails here, where it is not taken out.
  EXPECT_THAT(RefusalOf("[$]\n"), HasSubstr("is no TOML"));
  EXPECT_THAT(RefusalOf("name\xc9\x85 = 1\n"), HasSubstr("is no TOML"));
  EXPECT_THAT(RefusalOf("name = \"\xff\"\n"), HasSubstr("is no TOML"));
}

// toml++ counts brackets and braces, not dots: its stack overflowed.
TEST(MoveFileTest, KeysOfManyParts_AreRefused) {
  std::string keys = "a";
  for (int i = 0; i < 300'000; ++i) keys += ".a";
  EXPECT_THAT(RefusalOf("\n[" + keys + "]\n"),
              HasSubstr("peak.toml:2:131: this line has more than"));
  EXPECT_THAT(RefusalOf(keys + " = 1\n"), HasSubstr("more than 64 dots"));
  EXPECT_THAT(RefusalOf("a = {" + keys + " = 1}\n"), HasSubstr("more than 64 dots"));
  EXPECT_THAT(RefusalOf("a = '''\n'\n" + keys + "''' # " + keys + "\n"), HasSubstr("unknown key"));
  EXPECT_THAT(RefusalOf("a = \"\\\"" + keys + "\"\n"), HasSubstr("unknown key"));
  EXPECT_THAT(RefusalOf("a = \"\"\"\\\"\"\"" + keys + "\"\"\"\n"), HasSubstr("unknown key"));
}

TEST(MovesOfTest, EachLeg_IsAMoveWithItsShardsAndPassword) {
  TemporaryDirectory directory;
  const std::string path = directory / "password";
  std::ofstream(path) << "s3cret\nnot this\n";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  MoveFile file = ParseMoveFile(kLeast, "peak.toml").value();
  file.password_file = path;
  file.shards["orders-a"].hosts = {{"10.9.9.9", 3310}};
  file.shards["orders-a"].candidates = {{"10.9.9.8", 3311}};
  const auto moves = MovesOf(file, Table());
  ASSERT_TRUE(moves.ok()) << moves.status();
  ASSERT_THAT(*moves, SizeIs(1));
  const Move& move = (*moves)[0];
  EXPECT_EQ(move.name, "peak.1>2");
  EXPECT_THAT(move.ranges, ElementsAre(FencedRange{0, 99}));
  EXPECT_EQ(move.source.server.hosts[0].name, "10.9.9.9");
  EXPECT_EQ(move.source.server.database, "shop");
  EXPECT_EQ(move.source.server.password, "s3cret");
  EXPECT_EQ(move.target.server.hosts[0].port, 3307);
  EXPECT_EQ(move.target.server.tls, MysqlOptions::Tls::kAlways);
  const std::vector<MysqlOptions> candidates = CandidatesOf(file, move.source);
  ASSERT_THAT(candidates, SizeIs(1));
  EXPECT_EQ(candidates[0].hosts[0].name, "10.9.9.8");
  EXPECT_EQ(candidates[0].user, "mover");
  EXPECT_THAT(CandidatesOf(file, move.target), SizeIs(0));

  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(MovesOf(file, Table()).status()));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  std::ofstream(path) << "\n";
  EXPECT_THAT(std::string(MovesOf(file, Table()).status().message()), HasSubstr("1 to 1024 bytes"));
  file.password_file = directory / "none";
  EXPECT_TRUE(absl::IsNotFound(MovesOf(file, Table()).status()));
}

TEST(MovesOfTest, WhatDoesNotFitTheTable_IsRefused) {
  MoveFile file = ParseMoveFile(kLeast, "peak.toml").value();
  EXPECT_THAT(std::string(MovesOf(file, Table({})).status().message()),
              HasSubstr("epoch 12 of the routing table has no moves: `locus plan apply`"));
  file.shards["orders-z"] = {};
  EXPECT_THAT(std::string(MovesOf(file, Table()).status().message()),
              HasSubstr("shard \"orders-z\", which epoch 12"));
}

TEST(NewMoveFileTest, WhatItWrites_ParsesBackToTheDefaults) {
  const std::string text = NewMoveFile("move-12", "a\tb \"x\".json", Table());
  const absl::StatusOr<MoveFile> file = ParseMoveFile(text, "new.toml");
  ASSERT_TRUE(file.ok()) << file.status() << text;
  EXPECT_EQ(file->name, "move-12");
  EXPECT_EQ(file->table, "a\tb \"x\".json");
  EXPECT_EQ(file->pace.by, MovePace().by);
  EXPECT_EQ(file->pace.dwell, MovePace().dwell);
  EXPECT_EQ(file->pace.accept_within, MovePace().accept_within);
  EXPECT_EQ(file->pace.fence_wait, MovePace().fence_wait);
  EXPECT_EQ(file->pace.chunk_time, MovePace().chunk_time);
  EXPECT_EQ(file->gates.lag, MoveGates().lag);
  EXPECT_EQ(file->gates.oldest_transaction, MoveGates().oldest_transaction);
  EXPECT_EQ(file->gates.history_list, MoveGates().history_list);
  EXPECT_EQ(file->gates.patience, MoveGates().patience);
  EXPECT_EQ(file->mover.timeout, MysqlOptions().timeout);
  EXPECT_THAT(text, AllOf(HasSubstr("#   move-12.1>2   orders-a -> orders \"b\", vnodes 0-99"),
                          HasSubstr("# [shards.\"orders \\\"b\\\"\"]")));
  // What stands in comments is right, too.
  const std::string all = absl::StrReplaceAll(text, {{"# [shards", "[shards"},
                                                     {"# hosts", "hosts"},
                                                     {"# candidates", "candidates"},
                                                     {"# [[tables]]", "[[tables]]"},
                                                     {"# name = ", "name = "},
                                                     {"# primary_key", "primary_key"},
                                                     {"# tls_ca", "tls_ca"}});
  const absl::StatusOr<MoveFile> whole = ParseMoveFile(all, "all.toml");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(whole->tables, SizeIs(2));
  EXPECT_THAT(whole->shards, SizeIs(2));
  EXPECT_TRUE(whole->shards.contains("orders \"b\""));
}

TEST(NewMoveFileTest, TableWithoutMoves_SaysSo) {
  const std::string text = NewMoveFile("m", "t.json", Table({}));
  EXPECT_THAT(text, HasSubstr("has no moves yet"));
  EXPECT_TRUE(ParseMoveFile(text, "new.toml").ok());
}

}  // namespace
}  // namespace locus::cli
