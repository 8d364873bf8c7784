// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "locus/routing/engine/mysql.h"
#include "src/base/text/text.h"
#include "tests/engine/mysql/mariadb_replica.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/source/table_place.h"
#include "tests/support/child_process.h"
#include "tests/support/fork_with_threads.h"

namespace locus {

using internal::HexOf;

namespace {

using ::testing::HasSubstr;
using TimePoint = TableSource::TimePoint;

// Told apart by weight where the epoch is the same.
RoutingTable Table(uint64_t epoch, uint32_t weight = 100) {
  return RoutingTable::Make(epoch, {{1, "a", "mysql://127.0.0.1:3306/orders", weight, {}}},
                            {{65535, 1}})
      .value();
}

RoutingTable LargestRing(uint64_t epoch) {
  std::vector<VnodeRange> ranges;
  for (uint32_t v = 0; v < 65536; ++v) ranges.push_back({static_cast<uint16_t>(v), 1 + v % 2});
  return RoutingTable::Make(
             epoch, {{1, "a", "mysql://a:3306/orders", 100, {}}, {2, "b", "mysql://b/o", 100, {}}},
             ranges)
      .value();
}

TimePoint In(absl::Duration duration) {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(duration);
}

std::unique_ptr<MysqlTableSource> Source(const MysqlTableOptions& options) {
  auto source = MysqlTableSource::Open(options);
  EXPECT_TRUE(source.ok()) << source.status();
  return *std::move(source);
}

std::unique_ptr<MysqlTablePublisher> Publisher(const MysqlTableOptions& options) {
  auto publisher = MysqlTablePublisher::Open(options);
  EXPECT_TRUE(publisher.ok()) << publisher.status();
  return *std::move(publisher);
}

// A StatusOr with just this table.
MATCHER_P(Holds, table, "") {
  if (!arg.ok()) *result_listener << arg.status();
  return arg.ok() && *arg == table;
}

// The source's document now; fails the test if there is none.
SourcedTable Newest(TableSource& source) {
  auto next = source.Next("", In(absl::ZeroDuration()));
  EXPECT_TRUE(next.ok() && *next) << next.status();
  return next.ok() && *next ? **next : SourcedTable();
}

absl::Status Refusal(TableSource& source) {
  return source.Next("", In(absl::ZeroDuration())).status();
}

void ExpectCode(const absl::Status& status, absl::StatusCode code, const std::string& says) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
}

MysqlTableOptions OptionsOn(MariadbServer& server, const std::string& database) {
  MysqlTableOptions options;
  options.mariadb = server.OptionsFor(database);
  options.mariadb.timeout = options.mariadb.connect_timeout = absl::Seconds(1);
  options.poll_every = absl::Milliseconds(20);
  return options;
}

// A database without tables on the shared server.
MysqlTableOptions FreshDatabase() {
  static int made = 0;
  MysqlTableOptions options =
      OptionsOn(SharedMariadb(), absl::StrCat("locus_table_", getpid(), "_", ++made));
  options.mariadb.timeout = options.mariadb.connect_timeout = absl::Seconds(10);
  return options;
}

MysqlTableOptions FreshTables() {
  MysqlTableOptions options = FreshDatabase();
  absl::Status created = MysqlTablePublisher::CreateSchema(options);
  EXPECT_TRUE(created.ok()) << created;
  return options;
}

// Statements on the database of `options`.
void Sql(const MysqlTableOptions& options, const std::string& statements) {
  SharedMariadb().Sql(absl::StrCat("USE ", options.mariadb.database, ";", statements));
}

TEST(MysqlTableTest, OptionsThatCannotBe_AreRefused) {
  MysqlTableOptions options;
  EXPECT_TRUE(absl::IsInvalidArgument(MysqlTableSource::Open(options).status())) << "no hosts";
  options.mariadb.hosts = {{"127.0.0.1", 1}};
  options.mariadb.database = "d";
  EXPECT_TRUE(MysqlTableSource::Open(options).ok()) << "no server is asked";
  EXPECT_EQ(Source(options)->place(), "mariadb at 127.0.0.1:1 database d");
  for (absl::Duration bad : {absl::Milliseconds(9), absl::Hours(1) + absl::Nanoseconds(1)}) {
    options.poll_every = bad;
    ExpectCode(MysqlTablePublisher::Open(options).status(), absl::StatusCode::kInvalidArgument,
               "poll_every");
  }
  options.poll_every = absl::Seconds(1);
  options.ask_all_every = absl::ZeroDuration();
  ExpectCode(MysqlTableSource::Open(options).status(), absl::StatusCode::kInvalidArgument,
             "ask_all_every");
}

TEST(MysqlTableTest, CreateSchemaByMany_IsDoneOnce) {
  MysqlTableOptions options = FreshDatabase();
  std::vector<std::thread> threads;
  std::atomic<int> refused{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (!MysqlTablePublisher::CreateSchema(options).ok()) ++refused;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  ASSERT_TRUE(Publisher(options)->Publish(Table(3), 0).ok());
  ASSERT_TRUE(MysqlTablePublisher::CreateSchema(options).ok());
  EXPECT_THAT(Publisher(options)->Current(), Holds(Table(3))) << "what is there stays";
}

TEST(MysqlTableTest, TablesOfOthers_AreLeftAlone) {
  for (const char* columns : {"id INT PRIMARY KEY", "epoch VARCHAR(9), bytes INT, checksum INT"}) {
    MysqlTableOptions options = FreshDatabase();
    Sql(options, absl::StrCat("CREATE TABLE routing_table (", columns, ")"));
    ExpectCode(MysqlTablePublisher::CreateSchema(options), absl::StatusCode::kFailedPrecondition,
               "routing_table");
  }
  MysqlTableOptions options = FreshDatabase();
  Sql(options, "CREATE TABLE routing_table (id INT PRIMARY KEY)");
  ExpectCode(Refusal(*Source(options)), absl::StatusCode::kFailedPrecondition,
             "it was not created by locus");
  Sql(options,
      "DROP TABLE routing_table; CREATE TABLE routing_table (epoch VARCHAR(9), bytes INT, checksum"
      " INT); INSERT INTO routing_table VALUES ('1 OR 1', 0, 0)");
  ExpectCode(Refusal(*Source(options)), absl::StatusCode::kFailedPrecondition,
             "it was not created by locus");
}

TEST(MysqlTableTest, TablesNotThere_EachErrorHasARemedy) {
  MysqlTableOptions options = FreshDatabase();
  ExpectCode(Refusal(*Source(options)), absl::StatusCode::kNotFound, options.mariadb.database);
  auto publisher = Publisher(options);
  ExpectCode(publisher->Publish(Table(1), 0), absl::StatusCode::kFailedPrecondition,
             "locus table init");
  ExpectCode(publisher->Current().status(), absl::StatusCode::kFailedPrecondition,
             "not been prepared");
  ExpectCode(publisher->History(1).status(), absl::StatusCode::kFailedPrecondition,
             "not been prepared");
  Sql(options, absl::StrCat("DROP DATABASE ", options.mariadb.database));
  ExpectCode(Refusal(*Source(options)), absl::StatusCode::kFailedPrecondition, "1049");
}

TEST(MysqlTableTest, PublishedWhileWaiting_IsSeen) {
  MysqlTableOptions options = FreshTables();
  auto publisher = Publisher(options);
  ASSERT_TRUE(publisher->Publish(Table(1), 0).ok());
  auto source = Source(options);
  SourcedTable first = Newest(*source);
  EXPECT_THAT(RoutingTable::Parse(first.document), Holds(Table(1)));
  EXPECT_EQ(source->Next(first.version, In(absl::ZeroDuration())).value(), std::nullopt);

  std::thread other([&] { EXPECT_TRUE(publisher->Publish(Table(2), 1).ok()); });
  auto next = source->Next(first.version, In(absl::Seconds(60)));
  other.join();
  ASSERT_TRUE(next.ok() && *next) << next.status();
  EXPECT_THAT(RoutingTable::Parse((*next)->document), Holds(Table(2)));
}

TEST(MysqlTableTest, LookNow_EndsTheWait) {
  MysqlTableOptions options = FreshTables();
  options.poll_every = absl::Hours(1);
  auto publisher = Publisher(options);
  ASSERT_TRUE(publisher->Publish(Table(1), 0).ok());
  auto source = Source(options);
  std::string known = Newest(*source).version;
  source->LookNow();
  EXPECT_EQ(source->Next(known, In(absl::Hours(1))).value(), std::nullopt) << "called before";

  std::atomic<bool> ended{false};
  absl::StatusOr<std::optional<SourcedTable>> next;
  std::thread waiting([&] {
    next = source->Next(known, In(absl::Hours(1)));
    ended = true;
  });
  ASSERT_TRUE(publisher->Publish(Table(2), 1).ok());
  // Whether it was waiting already or not.
  EXPECT_TRUE(WaitUntil([&] {
    source->LookNow();
    return ended.load();
  }));
  waiting.join();
  ASSERT_TRUE(next.ok() && *next) << next.status();
  EXPECT_THAT(RoutingTable::Parse((*next)->document), Holds(Table(2)));
}

TEST(MysqlTableTest, RowsChangedByHand_AreHandedOutAsTheyAre) {
  MysqlTableOptions options = FreshTables();
  auto publisher = Publisher(options);
  ASSERT_TRUE(publisher->Publish(Table(4), 0).ok());
  ASSERT_TRUE(publisher->Publish(Table(5), 4).ok());
  auto source = Source(options);
  std::string known = Newest(*source).version;

  Sql(options, "UPDATE routing_table SET document = 'not a table' WHERE epoch = 5");
  auto next = source->Next(known, In(absl::ZeroDuration()));
  ASSERT_TRUE(next.ok() && *next) << "replaced under the same epoch: " << next.status();
  EXPECT_EQ((*next)->document, "not a table");
  EXPECT_NE((*next)->version, known);
  EXPECT_TRUE(absl::IsDataLoss(publisher->Current().status())) << publisher->Current().status();
  EXPECT_TRUE(absl::IsDataLoss(publisher->Fetch(5).status()));
  ExpectCode(publisher->Publish(Table(6), 5), absl::StatusCode::kDataLoss,
             "the document of epoch 5");

  Sql(options,
      "UPDATE routing_table SET document = (SELECT document FROM routing_table WHERE"
      " epoch = 4) WHERE epoch = 5");
  ExpectCode(publisher->Current().status(), absl::StatusCode::kDataLoss, "/epoch");
  EXPECT_THAT(RoutingTable::Parse(Newest(*source).document), Holds(Table(4)));
  Sql(options, "DELETE FROM routing_table WHERE epoch = 5");
  ASSERT_TRUE(publisher->Publish(Table(6), 4).ok()) << "that is how it is repaired";

  Sql(options, "DELETE FROM routing_table WHERE epoch > 4");
  next = source->Next((*next)->version, In(absl::ZeroDuration()));
  ASSERT_TRUE(next.ok() && *next) << "rolled back: " << next.status();
  EXPECT_THAT(RoutingTable::Parse((*next)->document), Holds(Table(4)));
  EXPECT_TRUE(absl::IsAborted(publisher->Publish(Table(7), 6)));
  EXPECT_TRUE(publisher->Publish(Table(7), 4).ok());

  Sql(options, "DELETE FROM routing_table");
  ExpectCode(Refusal(*source), absl::StatusCode::kNotFound, "empty");
  ExpectCode(publisher->Current().status(), absl::StatusCode::kNotFound, "nothing was published");
  Sql(options, "DROP TABLE routing_table");
  ExpectCode(Refusal(*source), absl::StatusCode::kNotFound, "not been prepared");
  ASSERT_TRUE(MysqlTablePublisher::CreateSchema(options).ok());
  ASSERT_TRUE(publisher->Publish(Table(1), 0).ok());
  EXPECT_THAT(RoutingTable::Parse(Newest(*source).document), Holds(Table(1)));
  Sql(options, "DELETE FROM routing_table_head");
  ExpectCode(publisher->Publish(Table(2), 1), absl::StatusCode::kFailedPrecondition,
             "create the tables again");
}

TEST(MysqlTableTest, DocumentTooLong_IsRefusedUnread) {
  MysqlTableOptions options = FreshTables();
  options.mariadb.timeout = absl::Seconds(60);
  auto publisher = Publisher(options);
  ASSERT_TRUE(publisher->Publish(Table(1), 0).ok());
  auto source = Source(options);
  Sql(options, "SET GLOBAL max_allowed_packet = 128 << 20");
  Sql(options, absl::StrCat("SET max_statement_time = 60; UPDATE routing_table SET document = "
                            "REPEAT('x', ",
                            TableSource::kMaxDocumentBytes + 1, ")"));
  Sql(options, "SET GLOBAL max_allowed_packet = DEFAULT");
  ExpectCode(Refusal(*source), absl::StatusCode::kFailedPrecondition,
             absl::StrCat(TableSource::kMaxDocumentBytes + 1, " bytes long; at most ",
                          TableSource::kMaxDocumentBytes));
  ExpectCode(publisher->Current().status(), absl::StatusCode::kDataLoss, "bytes long");
}

TEST(MysqlTableTest, LargestRing_NeedsPacketsThatFitIt) {
  MysqlTableOptions options = FreshTables();
  RoutingTable large = LargestRing(2);
  Sql(options, "SET GLOBAL max_allowed_packet = 1 << 20");
  auto publisher = Publisher(options);
  EXPECT_TRUE(publisher->Publish(Table(1), 0).ok());
  ExpectCode(PublishAnyway(*publisher, large, 1), absl::StatusCode::kFailedPrecondition,
             "max_allowed_packet is 1048576");
  EXPECT_THAT(publisher->Current(), Holds(Table(1)));
  Sql(options, "SET GLOBAL max_allowed_packet = DEFAULT");
  absl::Status published = PublishAnyway(*Publisher(options), large, 1);
  EXPECT_TRUE(published.ok()) << published;
  // Readers with small packets get it all the same.
  Sql(options, "SET GLOBAL max_allowed_packet = 1 << 20");
  EXPECT_THAT(RoutingTable::Parse(Newest(*Source(options)).document), Holds(large));
  EXPECT_THAT(Publisher(options)->Current(), Holds(large));
  Sql(options, "SET GLOBAL max_allowed_packet = DEFAULT");
}

TEST(MysqlTableTest, MoreThanAThousand_TheOldestGo) {
  MysqlTableOptions options = FreshTables();
  Sql(options,
      "INSERT INTO routing_table (epoch, document) SELECT 3 * seq, CONCAT('no table ',"
      " seq) FROM seq_1_to_1200");
  Sql(options, absl::StrCat("UPDATE routing_table SET document = X'", HexOf(Table(3600).ToJson()),
                            "' WHERE epoch = 3600"));
  auto publisher = Publisher(options);
  ASSERT_TRUE(publisher->Publish(Table(3601), 3600).ok());
  auto history = publisher->History(2000);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->size(), 1000u);
  EXPECT_EQ(history->front().epoch, 3601u);
  EXPECT_EQ(history->back().epoch, 3u * 202);
  EXPECT_LT(absl::AbsDuration(history->front().published_at - absl::Now()), absl::Minutes(5));
  EXPECT_EQ(publisher->History(2)->size(), 2u);
  ASSERT_TRUE(publisher->Publish(Table(3602), 3601).ok());
  EXPECT_EQ(publisher->History(2000)->back().epoch, 3u * 203);
  ExpectCode(publisher->Fetch(606).status(), absl::StatusCode::kNotFound, "609 to 3602");
  EXPECT_THAT(publisher->Fetch(3601), Holds(Table(3601)));
}

// Publishes table `epoch` in steps of any length, as one of many, until it is above `until`; counts
// the tables it published into `won` by their epochs.
void PublishAsOneOfMany(TablePublisher& publisher, uint32_t weight, uint64_t until,
                        std::vector<uint64_t>& won) {
  uint64_t expected = 0;
  while (expected < until) {
    uint64_t epoch = expected + 1 + weight % 3;
    absl::Status status = publisher.Publish(Table(epoch, weight), expected);
    ASSERT_TRUE(status.ok() || absl::IsAborted(status)) << status;
    if (status.ok()) {
      won.push_back(epoch);
      expected = epoch;
    } else {
      auto current = publisher.Current();
      ASSERT_TRUE(current.ok()) << current.status();
      expected = current->epoch();
    }
  }
}

TEST(MysqlTableTest, PublishersAtOnce_EachEpochHasOneWinner) {
  MysqlTableOptions options = FreshTables();
  constexpr uint32_t kThreads = 6;
  std::vector<std::vector<uint64_t>> won(kThreads);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { PublishAsOneOfMany(*Publisher(options), t + 1, 200, won[t]); });
  }
  for (std::thread& thread : threads) thread.join();
  // The winner's table is kept: an epoch that two publishers had got would be there once.
  std::vector<uint64_t> winners, kept;
  for (const auto& epochs : won) winners.insert(winners.end(), epochs.begin(), epochs.end());
  std::sort(winners.rbegin(), winners.rend());
  auto publisher = Publisher(options);
  std::vector<PublishedEpoch> history = publisher->History(1000).value();
  for (const PublishedEpoch& one : history) kept.push_back(one.epoch);
  EXPECT_EQ(winners, kept);
  for (uint32_t t = 0; t < kThreads; ++t) {
    for (uint64_t epoch : won[t]) EXPECT_THAT(publisher->Fetch(epoch), Holds(Table(epoch, t + 1)));
  }
}

TEST(MysqlTableTest, PublishersFromOneTable_OneSucceeds) {
  MysqlTableOptions options = FreshTables();
  auto one = Publisher(options), other = Publisher(options);
  ASSERT_TRUE(one->Publish(Table(1), 0).ok() && other->Current().ok());
  uint64_t newest = 1;
  for (int round = 0; round < 50; ++round) {
    absl::Status first, second;
    std::thread thread([&] { second = other->Publish(Table(newest + 2), newest); });
    first = one->Publish(Table(newest + 1), newest);
    thread.join();
    ASSERT_NE(first.ok(), second.ok()) << first << " " << second;
    ASSERT_TRUE(absl::IsAborted(first.ok() ? second : first)) << first << " " << second;
    ASSERT_THAT(one->Current(), Holds(Table(newest + (first.ok() ? 1 : 2))));
    newest += first.ok() ? 1 : 2;
  }
}

TEST(MysqlTableTest, TwoProcesses_NeitherOverwritesTheOther) {
  MysqlTableOptions options = FreshTables();
  auto before = Publisher(options);
  ASSERT_TRUE(before->Publish(Table(1), 0).ok());
  auto run = [&](uint32_t weight) {
    return [&options, weight, parent = before.get()] {
      if (!absl::IsFailedPrecondition(parent->Current().status())) return 101;
      std::vector<uint64_t> won;
      PublishAsOneOfMany(*Publisher(options), weight, 100, won);
      return ::testing::Test::HasFailure() ? 102 : static_cast<int>(won.size());
    };
  };
  ChildProcess one(run(1)), other(run(2));
  int first = one.Wait(), second = other.Wait();
  EXPECT_LE(first, 100);
  EXPECT_LE(second, 100);
  EXPECT_EQ(before->History(1000)->size(), static_cast<size_t>(1 + first + second));
}

TEST(MysqlTableTest, ReadersAccount_FollowsAndDoesNotPublish) {
  MysqlTableOptions options = FreshTables();
  ASSERT_TRUE(Publisher(options)->Publish(Table(1), 0).ok());
  Sql(options,
      "CREATE OR REPLACE USER reader@'%' IDENTIFIED BY 's3cret'; GRANT SELECT ON "
      "routing_table TO reader@'%'");
  options.mariadb.user = "reader";
  EXPECT_THAT(RoutingTable::Parse(Newest(*Source(options)).document), Holds(Table(1)));
  ExpectCode(Publisher(options)->Publish(Table(2), 1), absl::StatusCode::kFailedPrecondition,
             "reader");
  ExpectCode(MysqlTablePublisher::CreateSchema(options), absl::StatusCode::kFailedPrecondition,
             "reader");
  // The rights that the header names are enough.
  Sql(options,
      "GRANT SELECT, INSERT, DELETE ON routing_table TO reader@'%'; GRANT SELECT, UPDATE"
      " ON routing_table_head TO reader@'%'");
  absl::Status published = Publisher(options)->Publish(Table(2), 1);
  EXPECT_TRUE(published.ok()) << published;
  options.mariadb.password = "s3cret-not";
  ExpectCode(Refusal(*Source(options)), absl::StatusCode::kFailedPrecondition, "1045");
}

TEST(MysqlTableFaultTest, ServerKilledAndBack_IsFollowedAgain) {
  MariadbServer server;
  ASSERT_TRUE(server.Start());
  const MysqlTableOptions brief = OptionsOn(server, "locus_table");
  MysqlTableOptions options = brief;
  options.mariadb.timeout = options.mariadb.connect_timeout = absl::Seconds(10);
  ASSERT_TRUE(MysqlTablePublisher::CreateSchema(options).ok());
  auto source = Source(options);
  auto publisher = Publisher(options);
  ASSERT_TRUE(publisher->Publish(Table(1), 0).ok());
  std::string known = Newest(*source).version;

  server.KillHard();
  ExpectCode(source->Next(known, In(absl::Hours(1))).status(), absl::StatusCode::kUnavailable,
             "127.0.0.1");
  EXPECT_TRUE(absl::IsUnavailable(publisher->Publish(Table(2), 1)));
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(source->Next(known, In(absl::ZeroDuration())).value(), std::nullopt);
  ASSERT_TRUE(publisher->Publish(Table(2), 1).ok());

  // These have connected before the server stalls.
  auto brief_source = Source(brief);
  auto brief_publisher = Publisher(brief);
  ASSERT_TRUE(WaitUntil([&] {
    return brief_source->Next("", In(absl::ZeroDuration())).ok() && brief_publisher->Current().ok();
  }));
  server.Stall();
  ExpectCode(brief_source->Next(known, In(absl::Hours(1))).status(), absl::StatusCode::kUnavailable,
             "127.0.0.1");
  EXPECT_TRUE(absl::IsUnavailable(brief_publisher->Publish(Table(3), 2)));
  server.Resume();
  // Whether the server has carried it out or not; a transaction that it holds open ends.
  EXPECT_TRUE(WaitUntil([&] { return brief_publisher->Publish(Table(3), 2).ok(); }));
  EXPECT_TRUE(WaitUntil([&] { return brief_source->Next(known, In(absl::ZeroDuration())).ok(); }));
  EXPECT_TRUE(publisher->Publish(Table(3), 2).ok());
  auto next = source->Next(known, In(absl::ZeroDuration()));
  ASSERT_TRUE(next.ok() && *next) << next.status();
  EXPECT_THAT(RoutingTable::Parse((*next)->document), Holds(Table(3)));

  server.Empty();
  ASSERT_TRUE(server.Start());
  server.OptionsFor("locus_table");
  ExpectCode(Refusal(*source), absl::StatusCode::kNotFound, "not been prepared");
}

TEST(MysqlTableFaultTest, ReadOnlyReplica_IsFollowedAsItIs) {
  MariadbServer primary(ReplicaSettings(1)), replica(ReplicaSettings(2));
  ASSERT_TRUE(primary.Start() && replica.Start());
  Replicate(primary, replica);
  MysqlTableOptions at_primary = OptionsOn(primary, "locus_table");
  MysqlTableOptions at_replica = at_primary;
  at_replica.mariadb.hosts[0].port = replica.port();
  ASSERT_TRUE(MysqlTablePublisher::CreateSchema(at_primary).ok());
  ASSERT_TRUE(Publisher(at_primary)->Publish(Table(1), 0).ok());
  WaitForReplica(primary, replica);
  CutOff(replica);
  ASSERT_TRUE(Publisher(at_primary)->Publish(Table(2), 1).ok());

  EXPECT_THAT(RoutingTable::Parse(Newest(*Source(at_replica)).document), Holds(Table(1)))
      << "it lags";
  ExpectCode(Publisher(at_replica)->Publish(Table(2), 1), absl::StatusCode::kFailedPrecondition,
             "read-only");
  MysqlTableOptions both = at_primary;
  both.mariadb.hosts.push_back(at_replica.mariadb.hosts[0]);
  auto source = Source(both);
  EXPECT_THAT(RoutingTable::Parse(Newest(*source).document), Holds(Table(2)));
  primary.KillHard();
  EXPECT_TRUE(WaitUntil([&] {
    auto next = source->Next("", In(absl::ZeroDuration()));
    return next.ok() && *next && RoutingTable::Parse((*next)->document).value() == Table(1);
  })) << "the older table is handed out: the follower refuses it";
}

}  // namespace
}  // namespace locus
