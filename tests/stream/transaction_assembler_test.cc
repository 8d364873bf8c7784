// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/transaction_assembler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "migration/stream/row_decoder.h"
#include "tests/stream/event_bytes.h"
#include "tests/support/child_process.h"
#include "tests/support/lying_server.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using stream::Change;
using stream::ChangeKind;
using stream::ChangeTransaction;
using stream::EventType;
using stream::GtidPosition;
using stream::TransactionAssembler;
using stream::Value;

constexpr uint8_t kStandalone = kStandaloneFlag;

class TransactionAssemblerTest : public ::testing::Test {
 protected:
  TransactionAssemblerTest() { options_.spool.directory = directory_.str(); }

  // After the events with which a dump begins.
  TransactionAssembler Begun() {
    TransactionAssembler assembler(options_);
    EXPECT_TRUE(assembler.OnEvent(RotateEvent("bin.000001")).ok());
    EXPECT_TRUE(assembler.OnEvent(FormatEvent()).ok());
    return assembler;
  }

  // The transactions that these events make.
  absl::StatusOr<std::vector<ChangeTransaction>> Feed(TransactionAssembler& assembler,
                                                      const std::vector<std::string>& events) {
    std::vector<ChangeTransaction> made;
    for (const std::string& event : events) {
      auto step = assembler.OnEvent(event);
      if (!step.ok()) return step.status();
      if (auto* transaction = std::get_if<ChangeTransaction>(&*step)) {
        made.push_back(std::move(*transaction));
      }
    }
    return made;
  }
  absl::Status FeedFresh(const std::vector<std::string>& events) {
    TransactionAssembler assembler = Begun();
    absl::Status status = Feed(assembler, events).status();
    if (!status.ok()) {
      EXPECT_EQ(assembler.OnEvent(XidEvent()).status(), status) << "it stays so";
    }
    return status;
  }
  void ExpectRefused(const std::vector<std::string>& events, absl::string_view sign) {
    absl::Status status = FeedFresh(events);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), sign)) << status;
  }
  void ExpectLoss(const std::vector<std::string>& events, absl::string_view sign) {
    absl::Status status = FeedFresh(events);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), sign)) << status;
  }

  TemporaryDirectory directory_;
  TransactionAssembler::Options options_;
};

TEST_F(TransactionAssemblerTest, RowsAndCommit_AreOneTransaction) {
  TransactionAssembler assembler = Begun();
  auto made = Feed(assembler,
                   {GtidEvent(5), OrdersEvent(), InsertEvent(OrderRow(1, "a"), false),
                    InsertEvent(OrderRow(2, "b") + OrderRow(3, "c")), XidEvent(), GtidEvent(6, 2),
                    OrdersEvent(), InsertEvent(OrderRow(4, "d")), QueryEvent("COMMIT")});
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->size(), 2u);
  EXPECT_EQ((*made)[0].gtid().ToString(), "0-7-5");
  EXPECT_EQ((*made)[0].end().file.name, "bin.000001");
  EXPECT_EQ((*made)[0].end().offset, 1000u);
  EXPECT_EQ((*made)[0].timestamp(), 1700000000u);
  Change change;
  for (int32_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(*(*made)[0].Next(change));
    EXPECT_EQ(change.kind, ChangeKind::kInsert);
    EXPECT_EQ(change.table->table, "orders");
    EXPECT_EQ(change.after[0], Value(int64_t{id}));
  }
  EXPECT_FALSE(*(*made)[0].Next(change));
  EXPECT_FALSE(*(*made)[0].Next(change));
  EXPECT_EQ(assembler.position().ToString(), "0-7-5,2-7-6");
  // Both have one layout.
  Change other;
  ASSERT_TRUE(*(*made)[1].Next(other));
  EXPECT_EQ(change.table, other.table);
}

TEST_F(TransactionAssemblerTest, StandaloneStatement_IsATransactionByItself) {
  TransactionAssembler assembler = Begun();
  auto made = Feed(assembler, {GtidEvent(1, 0, kStandalone), QueryEvent("DROP TABLE t", "d")});
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->size(), 1u);
  Change change;
  ASSERT_TRUE(*(*made)[0].Next(change));
  EXPECT_EQ(change.kind, ChangeKind::kStatement);
  EXPECT_EQ(change.statement, stream::ParseStatement("DROP TABLE t", "d"));
  EXPECT_FALSE(*(*made)[0].Next(change));
}

// Their text is nowhere behind the parser, nor in a file.
TEST_F(TransactionAssemblerTest, Statements_AreKeptWhereHeededAndWithoutTheirText) {
  options_.heeded = [](const stream::Statement& statement) {
    return statement.touched.empty() || statement.touched[0].name == "t";
  };
  TransactionAssembler assembler = Begun();
  auto made =
      Feed(assembler,
           {GtidEvent(1, 0, kStandalone), QueryEvent("CREATE USER u IDENTIFIED BY 'hunter2'"),
            GtidEvent(2), MakeEvent(EventType::kIntvar, std::string(9, '\0')),
            QueryEvent("INSERT INTO heartbeat VALUES (1)"), QueryEvent("COMMIT"), GtidEvent(3),
            QueryEvent("INSERT INTO heartbeat VALUES (2)"), QueryEvent("ROLLBACK TO `s`"),
            QueryEvent("ROLLBACK"), GtidEvent(4), QueryEvent("INSERT INTO t VALUES ('hunter2')"),
            QueryEvent("hunter2"), XidEvent()});
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->size(), 4u);
  for (size_t i : {0, 1, 2}) EXPECT_TRUE((*made)[i].empty()) << i;
  EXPECT_TRUE((*made)[3].has_statement());
  Change change;
  ASSERT_TRUE(*(*made)[3].Next(change));
  EXPECT_EQ(change.statement.kind, stream::StatementKind::kRows);
  EXPECT_EQ(change.statement.verb, "INSERT");
  ASSERT_TRUE(*(*made)[3].Next(change));
  EXPECT_EQ(change.statement, stream::Statement());
}

TEST_F(TransactionAssemblerTest, EventsThatCannotBeFollowed_AreRefused) {
  const std::string begin = GtidEvent(1);
  const std::string row = InsertEvent(OrderRow(1, "a"));
  ExpectRefused({begin, OrdersEvent(), row, QueryEvent("ROLLBACK TO `s`")}, "takes back");
  ExpectRefused({begin, OrdersEvent(), row, QueryEvent("ROLLBACK")}, "takes back");
  ExpectRefused({MakeEvent(EventType::kIncident, Little(uint16_t{1}))}, "INCIDENT");
  ExpectRefused({begin, MakeEvent(EventType::kQueryCompressed, "x")}, "log_bin_compress=OFF");
  ExpectRefused({begin, MakeEvent(static_cast<EventType>(99), "x")}, "type 99");
  // The transaction and the place are named.
  ExpectRefused({begin, MakeEvent(static_cast<EventType>(99), "x")}, "transaction 0-7-1");
  ExpectRefused({begin, MakeEvent(static_cast<EventType>(99), "x")}, "bin.000001");
}

TEST_F(TransactionAssemblerTest, ImageThatLacksColumns_IsRefused) {
  const std::string body = RowsBody(5, OrderRow(1, "a"), true, 2, "\xFD");
  ExpectRefused({GtidEvent(1), OrdersEvent(), MakeEvent(EventType::kWriteRowsV1, body)},
                "binlog_row_image=FULL");
  const std::string update = Little(uint64_t{5}, 6) + Little(uint16_t{1}) + "\x02\xFF\xFE" +
                             OrderRow(1, "a") + OrderRow(1, "b");
  ExpectRefused({GtidEvent(1), OrdersEvent(), MakeEvent(EventType::kUpdateRowsV1, update)},
                "binlog_row_image=FULL");
}

TEST_F(TransactionAssemblerTest, EventsInTheWrongOrder_AreDataLoss) {
  ExpectLoss({OrdersEvent()}, "outside of a transaction");
  ExpectLoss({XidEvent()}, "outside of a transaction");
  ExpectLoss({QueryEvent("COMMIT")}, "outside of a transaction");
  ExpectLoss({GtidEvent(1), GtidEvent(2)}, "before the end of another");
  ExpectLoss({GtidEvent(1), InsertEvent(OrderRow(1, "a"))}, "which no event before them describes");
  ExpectLoss({GtidEvent(1), OrdersEvent(), InsertEvent(OrderRow(1, "a"), true, 6)}, "number 6");
  // The tables of a statement end with it.
  ExpectLoss(
      {GtidEvent(1), OrdersEvent(), InsertEvent(OrderRow(1, "a")), InsertEvent(OrderRow(2, "a"))},
      "which no event before them describes");
  ExpectLoss(
      {GtidEvent(1), OrdersEvent(), MakeEvent(EventType::kWriteRowsV1, RowsBody(5, "", true, 3))},
      "3 columns");
  TransactionAssembler assembler(options_);
  EXPECT_TRUE(absl::IsDataLoss(assembler.OnEvent(GtidEvent(1)).status())) << "before a format";
}

TEST_F(TransactionAssemblerTest, EventThatOnlyEndsTheStatement_IsTaken) {
  TransactionAssembler assembler = Begun();
  auto made = Feed(assembler, {GtidEvent(1), OrdersEvent(), InsertEvent(OrderRow(1, "a"), false),
                               InsertEvent("", true, stream::kNoTable), OrdersEvent(6),
                               InsertEvent(OrderRow(2, "b"), true, 6), XidEvent()});
  ASSERT_TRUE(made.ok()) << made.status();
  Change change;
  ASSERT_TRUE(*(*made)[0].Next(change));
  ASSERT_TRUE(*(*made)[0].Next(change));
  EXPECT_EQ(change.after[0], Value(int64_t{2}));
  EXPECT_FALSE(*(*made)[0].Next(change));
}

TEST_F(TransactionAssemblerTest, NumbersThatDoNotRise_AreRefused) {
  const std::vector<std::string> five = {GtidEvent(5), XidEvent()};
  for (uint64_t next : {uint64_t{5}, uint64_t{4}}) {
    std::vector<std::string> events = five;
    events.push_back(GtidEvent(next));
    ExpectRefused(events, "gtid_strict_mode=ON");
  }
  options_.position = *GtidPosition::Parse("0-9-5,3-1-7");
  ExpectRefused(five, "comes after 0-9-5");
  TransactionAssembler assembler = Begun();
  ASSERT_TRUE(Feed(assembler, {GtidEvent(6), XidEvent(), GtidEvent(1, 1), XidEvent()}).ok());
  EXPECT_EQ(assembler.position().ToString(), "0-7-6,1-7-1,3-1-7");
}

// The log of a server that died while it wrote ends within a transaction; it was rolled back.
TEST_F(TransactionAssemblerTest, TransactionTornByACrash_IsDropped) {
  for (const bool announced : {true, false}) {
    TransactionAssembler assembler = Begun();
    std::vector<std::string> events = {GtidEvent(5), OrdersEvent(), InsertEvent(OrderRow(1, "a"))};
    if (announced) events.push_back(RotateEvent("bin.000002"));
    for (const std::string& event :
         {FormatEvent(), GtidEvent(5), OrdersEvent(), InsertEvent(OrderRow(2, "b")), XidEvent()}) {
      events.push_back(event);
    }
    auto made = Feed(assembler, events);
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_EQ(made->size(), 1u);
    EXPECT_EQ(assembler.torn(), 1u);
    Change change;
    ASSERT_TRUE(*(*made)[0].Next(change));
    EXPECT_EQ(change.after[0], Value(int64_t{2}));
    EXPECT_FALSE(*(*made)[0].Next(change));
  }
}

TEST_F(TransactionAssemblerTest, UnwantedTables_CostNothing) {
  options_.wanted = [](std::string_view database, std::string_view table) {
    return database == "shop" && table == "orders";
  };
  TransactionAssembler assembler = Begun();
  const std::string without_metadata = MakeEvent(
      EventType::kTableMap, TableMapBody(8, "shop", "log", {{7, "", "at"}, {3, "", "i"}}));
  auto made = Feed(assembler, {GtidEvent(1), without_metadata, InsertEvent("anything", true, 8),
                               XidEvent(), GtidEvent(2), without_metadata, OrdersEvent(),
                               InsertEvent(OrderRow(1, "a"), false),
                               InsertEvent("anything", true, 8), XidEvent()});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE((*made)[0].empty());
  Change change;
  ASSERT_TRUE(*(*made)[1].Next(change));
  EXPECT_FALSE(*(*made)[1].Next(change));
}

TEST_F(TransactionAssemblerTest, RowsCutShort_AreDataLossWhenTheyAreRead) {
  TransactionAssembler assembler = Begun();
  const std::string rows = OrderRow(1, "abc");
  auto made = Feed(assembler, {GtidEvent(1), OrdersEvent(),
                               InsertEvent(rows + rows.substr(0, rows.size() - 1)), XidEvent()});
  ASSERT_TRUE(made.ok()) << made.status();
  Change change;
  EXPECT_TRUE((*made)[0].Next(change).ok());
  EXPECT_TRUE(absl::IsDataLoss((*made)[0].Next(change).status()));
  EXPECT_TRUE(absl::IsDataLoss((*made)[0].Next(change).status())) << "it stays so";
}

TEST_F(TransactionAssemblerTest, RewoundWithinAnEvent_BeginsAgain) {
  TransactionAssembler assembler = Begun();
  auto made = Feed(assembler, {GtidEvent(1), OrdersEvent(),
                               InsertEvent(OrderRow(1, "a") + OrderRow(2, "b")), XidEvent()});
  ASSERT_TRUE(made.ok()) << made.status();
  Change change;
  ASSERT_TRUE(*(*made)[0].Next(change));
  ASSERT_TRUE((*made)[0].Rewind().ok());
  for (int64_t id : {1, 2}) {
    ASSERT_TRUE(*(*made)[0].Next(change));
    EXPECT_EQ(change.after[0], Value(id));
  }
  EXPECT_FALSE(*(*made)[0].Next(change));
}

// 220 MiB of rows by the default limit of 64 MiB.
TEST_F(TransactionAssemblerTest, HugeTransaction_TakesLittleMemory) {
  constexpr int kEvents = 220;
  const std::string value(1 << 20, 'v');
  TransactionAssembler assembler = Begun();
  const size_t before = PeakMemoryMiB();
  ASSERT_TRUE(Feed(assembler, {GtidEvent(1), OrdersEvent()}).ok());
  for (int i = 0; i < kEvents; ++i) {
    ASSERT_TRUE(Feed(assembler, {InsertEvent(OrderRow(i, value), i + 1 == kEvents)}).ok());
  }
  auto made = Feed(assembler, {XidEvent()});
  ASSERT_TRUE(made.ok()) << made.status();
  ChangeTransaction& transaction = (*made)[0];
  EXPECT_TRUE(transaction.spilt());
  EXPECT_GT(transaction.bytes(), uint64_t{kEvents} << 20);
  Change change;
  for (int i = 0; i < kEvents; ++i) {
    auto more = transaction.Next(change);
    ASSERT_TRUE(more.ok() && *more) << more.status();
    EXPECT_EQ(change.after[0], Value(int64_t{i}));
    EXPECT_EQ(std::get<stream::Bytes>(change.after[1]).bytes.size(), value.size());
  }
  EXPECT_FALSE(*transaction.Next(change));
  // A sanitizer counts all that was ever allocated.
  EXPECT_TRUE(kUnderAsan || PeakMemoryMiB() - before < 64 + 16) << PeakMemoryMiB() - before;
  EXPECT_TRUE(std::filesystem::is_empty(directory_.str())) << "the file has no name";
}

TEST_F(TransactionAssemblerTest, EveryMemoryLimit_GivesTheSameRows) {
  for (size_t limit : {0, 1, 100, 1000, 300000, 1 << 30}) {
    options_.spool.memory_limit = limit;
    TransactionAssembler assembler = Begun();
    std::vector<std::string> events = {GtidEvent(1)};
    constexpr int kRows = 200;
    for (int i = 0; i < kRows; ++i) {
      events.push_back(OrdersEvent());
      events.push_back(
          InsertEvent(OrderRow(i, std::string(i * 37, static_cast<char>('a' + i % 26)))));
    }
    events.push_back(OrdersEvent());
    events.push_back(InsertEvent(OrderRow(kRows, std::string(700000, 'z'))));
    events.push_back(XidEvent());
    auto made = Feed(assembler, events);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ((*made)[0].spilt(), limit < 1 << 20) << limit;
    for (int pass = 0; pass < 2; ++pass) {
      Change change;
      for (int i = 0; i <= kRows; ++i) {
        ASSERT_TRUE(*(*made)[0].Next(change)) << i;
        ASSERT_EQ(change.after[0], Value(int64_t{i}));
        const size_t size = i == kRows ? 700000 : i * 37;
        ASSERT_EQ(std::get<stream::Bytes>(change.after[1]).bytes.size(), size);
      }
      EXPECT_FALSE(*(*made)[0].Next(change));
      ASSERT_TRUE((*made)[0].Rewind().ok());
    }
  }
}

// The only file of this process in the directory; it has no name there.
int OpenSpillFile(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (absl::StartsWith(target, directory + "/")) return open(entry.path().c_str(), O_RDWR);
  }
  return -1;
}

TEST_F(TransactionAssemblerTest, FileDamagedMeanwhile_IsNoticedAtEveryByte) {
  options_.spool.memory_limit = 0;
  TransactionAssembler assembler = Begun();
  auto made = Feed(assembler,
                   {GtidEvent(1), OrdersEvent(5), OrdersEvent(6, "items"),
                    InsertEvent(OrderRow(1, "a"), false), InsertEvent(OrderRow(2, "b"), false, 6),
                    InsertEvent("", true, stream::kNoTable), XidEvent()});
  ASSERT_TRUE(made.ok()) << made.status();
  ChangeTransaction& transaction = (*made)[0];
  auto read = [&] {
    absl::Status status = transaction.Rewind();
    Change change;
    for (int rows = 0; status.ok(); ++rows) {
      auto more = transaction.Next(change);
      status = more.status();
      if (status.ok() && !*more) return rows == 2 ? absl::OkStatus() : absl::UnknownError("rows");
    }
    return status;
  };
  ASSERT_TRUE(read().ok());
  const int file = OpenSpillFile(directory_.str());
  ASSERT_GE(file, 0);
  const off_t size = lseek(file, 0, SEEK_END);
  ASSERT_GT(size, 100);
  for (off_t at = 0; at < size; ++at) {
    char byte = 0;
    ASSERT_EQ(pread(file, &byte, 1, at), 1);
    for (int bit = 0; bit < 8; ++bit) {
      const char damaged = static_cast<char>(byte ^ 1 << bit);
      ASSERT_EQ(pwrite(file, &damaged, 1, at), 1);
      EXPECT_TRUE(absl::IsDataLoss(read())) << at << ", bit " << bit << ": " << read();
    }
    ASSERT_EQ(pwrite(file, &byte, 1, at), 1);
  }
  EXPECT_TRUE(read().ok());
  close(file);
}

TEST_F(TransactionAssemblerTest, DirectoryThatIsNotThere_IsNamed) {
  options_.spool.memory_limit = 0;
  options_.spool.directory = directory_ / "gone";
  absl::Status status = FeedFresh({GtidEvent(1), OrdersEvent()});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), directory_ / "gone")) << status;
}

TEST_F(TransactionAssemblerTest, FileThatCannotGrow_IsAnError) {
  options_.spool.memory_limit = 0;
  ChildProcess child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    TransactionAssembler assembler = Begun();
    const std::string value(700000, 'v');
    absl::Status status =
        Feed(assembler, {GtidEvent(1), OrdersEvent(), InsertEvent(OrderRow(1, value), false),
                         InsertEvent(OrderRow(2, value), false), InsertEvent(OrderRow(3, value))})
            .status();
    return absl::IsUnavailable(status) ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
}

// The caller has the log up to 0-7-5, which stood in bin.000002 of server 7.
class LogFileTest : public TransactionAssemblerTest {
 protected:
  LogFileTest() {
    options_.position = GtidPosition::Parse("0-7-5").value();
    options_.file = {"bin.000002", 7, kBegun};
  }
  static std::string GtidList(uint64_t sequence) {
    return MakeEvent(EventType::kGtidList, Little(uint32_t{1}) + Little(uint32_t{0}) +
                                               Little(uint32_t{7}) + Little(sequence));
  }
  absl::Status Read(const std::string& file, const std::vector<std::string>& events) {
    TransactionAssembler assembler(options_);
    EXPECT_TRUE(assembler.OnEvent(RotateEvent(file)).ok());
    EXPECT_TRUE(assembler.OnEvent(FormatEvent()).ok());
    return Feed(assembler, events).status();
  }
  static constexpr uint32_t kBegun = 1700000000;  // as MakeEvent has it
  const std::vector<std::string> transaction_ = {GtidEvent(6), XidEvent()};
};

TEST_F(LogFileTest, SameFileOrOneThatFollowsAtOnce_Continues) {
  EXPECT_TRUE(Read("bin.000002", transaction_).ok());
  EXPECT_TRUE(Read("bin.000002", {GtidList(3), GtidEvent(6), XidEvent()}).ok());
  EXPECT_TRUE(Read("bin.000004", {GtidList(5), GtidEvent(6), XidEvent()}).ok());
  options_.file.server = 8;  // another one was promoted since
  EXPECT_TRUE(Read("bin.000001", transaction_).ok());
  options_.file = {};
  EXPECT_TRUE(Read("bin.000001", transaction_).ok());
}

TEST_F(LogFileTest, LogThatWasBegunAgain_IsRefused) {
  auto refused = [&](const std::string& file, const std::vector<std::string>& events) {
    const absl::Status status = Read(file, events);
    return absl::IsFailedPrecondition(status) &&
           absl::StrContains(status.message(), "the log was begun anew");
  };
  EXPECT_TRUE(refused("bin.000001", transaction_));
  EXPECT_TRUE(refused("bin.000001", {GtidList(0), GtidEvent(6), XidEvent()}));
  EXPECT_TRUE(refused("bin.000003", {GtidList(4), GtidEvent(6), XidEvent()}));
  EXPECT_TRUE(refused("bin.000003", transaction_)) << "it does not say what is before it";
  options_.file.begun = kBegun - 3600;
  EXPECT_TRUE(refused("bin.000002", transaction_));
  EXPECT_TRUE(refused("bin.000002", {GtidList(5), GtidEvent(6), XidEvent()}));
}

TEST_F(LogFileTest, Transaction_HasTheNameOfItsFile) {
  options_.file = {};
  TransactionAssembler assembler = Begun();
  auto made = Feed(assembler, transaction_);
  ASSERT_TRUE(made.ok() && made->size() == 1);
  EXPECT_EQ((*made)[0].end().file, (stream::LogFile{"bin.000001", 7, kBegun}));
}

TEST(StreamPositionTest, Text_IsReadAsItWasWritten) {
  for (const char* text : {"", "0-1-2", "0-1-2,3-4-5", "0-1-2 1/1700000000/bin.000001",
                           "0-1-2,3-4-5 4294967295/0/a b/c\\xc3\\xa9.000009"}) {
    auto read = stream::StreamPosition::Parse(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ToString(), text);
  }
  for (const char* text : {"0-1", "0-1-2 1", "0-1-2 1/2", "0-1-2 1/2/", "0-1-2 x/2/bin.000001",
                           "0-1-2 1/4294967296/bin", "1/2/bin.000001"}) {
    EXPECT_FALSE(stream::StreamPosition::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace locus
