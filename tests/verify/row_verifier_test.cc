// SPDX-License-Identifier: Apache-2.0
// Two shards at rest: differences are found, for all keys, slices and vnodes.
#include "migration/verify/row_verifier.h"

#include <map>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/verify/marker_pass.h"
#include "src/base/text/text.h"
#include "tests/support/sanitizers.h"
#include "tests/verify/verify_fixture.h"

namespace locus {
namespace {

using internal::RowDifference;
using mysql::MarkerPass;
using mysql::RowVerifier;
using mysql::VerifierOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RowVerifierTest : public VerifyTest {
 protected:
  // The order of gene `gene` and sequence `sequence`, as SQL.
  static std::string Id(uint32_t gene, uint64_t sequence) { return Number(IdOf(gene, sequence)); }
  static std::string Insert(const std::string& id, const std::string& line, int version = 3) {
    return absl::StrCat("INSERT INTO items (order_id, line, note, version) VALUES (", id, ", '",
                        line, "', 'n', ", version, ");");
  }
  // A table by its definition, with one row a line of `rows`, on both shards.
  static void Make(const std::string& definition, const std::string& rows) {
    WriteBoth(absl::StrCat("DROP TABLE IF EXISTS goods; CREATE TABLE goods (", definition,
                           ", version BIGINT UNSIGNED NOT NULL DEFAULT 3); INSERT INTO goods ",
                           rows));
  }
  static MovedTable Goods(std::vector<std::string> primary_key) {
    MovedTable goods;
    goods.guard.name = "goods";
    goods.primary_key = std::move(primary_key);
    return goods;
  }
};

TEST_F(RowVerifierTest, RandomRows_AreEqualUntilOneIsNot) {
  std::mt19937_64 random(1);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  auto applier = OpenTo(1);
  ASSERT_TRUE(Follow(*applier, 0).ok());
  auto verifier = Verified(Comparing(table_, 7));
  EXPECT_TRUE(verifier->counts().equal()) << Lines(*verifier)[0];
  EXPECT_EQ(absl::StrCat(verifier->counts().rows),
            servers_[0]->Value("SELECT COUNT(*) FROM locus_shop.items"));
  EXPECT_GE(verifier->counts().slices, verifier->counts().rows / 7);
  EXPECT_EQ(verifier->position(), "end");
  EXPECT_FALSE(*verifier->VerifySlice()) << "none is left";
  Write(1, "UPDATE items SET extra = 'other' ORDER BY order_id LIMIT 1");
  verifier = Verified(Comparing(table_, 7));
  EXPECT_EQ(verifier->counts().differences, 1u);
}

TEST_F(RowVerifierTest, RowOnOneSide_IsFoundWhereverItIs) {
  for (uint64_t i : {10, 20, 30}) WriteBoth(Insert(Id(5, i), "a"));
  for (uint64_t i : {1, 10, 15, 40}) {  // before, beside, between and beyond the others
    for (size_t side : {0, 1}) {
      for (uint64_t rows : {1, 2, 100}) {
        Write(side, Insert(Id(5, i), "b"));
        auto verifier = Verified(Comparing(table_, rows));
        EXPECT_EQ(Lines(*verifier),
                  std::vector<std::string>{absl::StrCat(
                      "items ", Id(5, i), ",x62: missing on the ", side == 0 ? "target" : "source",
                      side == 0 ? " (version 3 on the source, never seen on the target)"
                                : " (never seen on the source, version 3 on the target)")});
        Write(side, absl::StrCat("DELETE FROM items WHERE line = 'b'"));
      }
    }
  }
  Write(0, "DELETE FROM items");
  EXPECT_EQ(Verified(Comparing(table_, 2))->counts().differences, 3u) << "none on the source";
  WriteBoth("DELETE FROM items");
  EXPECT_TRUE(Verified(Comparing(table_))->counts().equal()) << "none anywhere";
}

TEST_F(RowVerifierTest, Tombstone_IsReportedAndIsNoRow) {
  WriteBoth(Insert(Id(5, 1), "a"));
  auto shop = SqlSession::Open(As(0, "locus")).value();
  ASSERT_TRUE(shop->Run("DELETE FROM items").ok());
  EXPECT_THAT(Lines(*Verified(Comparing(table_))),
              ElementsAre(HasSubstr("missing on the source (deleted at version 4 on the source, "
                                    "version 3 on the target)")));
  Write(1, "DELETE FROM items");
  EXPECT_TRUE(Verified(Comparing(table_))->counts().equal()) << "also without its tombstone";
}

TEST_F(RowVerifierTest, VersionAlone_IsADifference) {
  Write(0, Insert(Id(5, 1), "a", 3));
  Write(1, Insert(Id(5, 1), "a", 4));
  EXPECT_THAT(Lines(*Verified(Comparing(table_))),
              ElementsAre(absl::StrCat("items ", Id(5, 1),
                                       ",x61: different versions (version 3 on the source, "
                                       "version 4 on the target)")));
}

TEST_F(RowVerifierTest, OtherVnodes_AreNotCompared) {
  WriteBoth(Insert(Id(5, 1), "a"));
  for (uint32_t gene : {9u, 10u, 12u, 19u, 20u, 65535u}) Write(1, Insert(Id(gene, 1), "a"));
  auto options = Comparing(table_, 2);
  options.ranges = {{0, 9}};
  EXPECT_THAT(Keys(*Verified(options)), ElementsAre(Id(9, 1) + ",x61"));
  options.ranges = {{0, 8}, {10, 10}, {19, 19}, {21, 65535}};
  EXPECT_THAT(Keys(*Verified(options)),
              UnorderedElementsAre(Id(10, 1) + ",x61", Id(19, 1) + ",x61", Id(65535, 1) + ",x61"));
}

// Compared with what two sorted lists of all rows say.
TEST_F(RowVerifierTest, RandomDifferences_AreThoseOfANaiveComparison) {
  std::mt19937_64 random(20261123);
  for (int round = 0; round < (kUnderAsan || kUnderTsan ? 4 : 12); ++round) {
    WriteBoth("DELETE FROM items");
    std::map<std::string, std::string> rows[2];  // key -> version
    for (size_t side : {0, 1}) {
      std::string inserts;
      for (uint64_t i = 0; i < 60; ++i) {
        const std::string id = Id(static_cast<uint32_t>(5 + i % 3), i / 3),
                          line(1, static_cast<char>('a' + i % 2));
        const uint64_t what = side == 0 ? 3 : random() % 10;
        // The source has none of some, the target none of others, some are different.
        if ((side == 0 && random() % 10 == 0) || what == 0) continue;
        const int version = what == 1 ? 4 : 3;
        inserts += Insert(id, line, version);
        rows[side][absl::StrCat(id, ",x", line == "a" ? "61" : "62")] = absl::StrCat(version);
      }
      Write(side, inserts);
    }
    std::set<std::string> expected;
    for (size_t side : {0, 1}) {
      for (const auto& [key, version] : rows[side]) {
        auto other = rows[1 - side].find(key);
        if (other == rows[1 - side].end() || other->second != version) expected.insert(key);
      }
    }
    auto options = Comparing(table_, 1 + random() % 20);
    options.most_waiting = 1 + random() % 30;
    auto verifier = Verified(options);
    EXPECT_EQ(Keys(*verifier), expected) << "round " << round;
    EXPECT_EQ(verifier->counts().differences, expected.size());
    EXPECT_EQ(verifier->counts().rows, rows[0].size());
    // And again, each slice by another verifier, which continues where the one before stopped.
    std::set<std::string> found;
    uint64_t counted = 0;
    options.most_waiting = 1;
    for (bool more = true; more;) {
      auto one = MustOpen(options);
      more = *one->VerifySlice();
      for (const std::string& key : Keys(*one)) EXPECT_TRUE(found.insert(key).second) << key;
      counted += one->counts().rows;
      options.position = one->position();
    }
    EXPECT_EQ(found, expected) << "round " << round;
    EXPECT_EQ(counted, rows[0].size());
  }
}

// The end of a slice comes from the source, which has nothing there.
TEST_F(RowVerifierTest, ManyRowsOnTheTargetAlone_AreAlsoReadInSlices) {
  WriteBoth(Insert(Id(5, 1), "a") + Insert(Id(5, 2'000'000), "a"));
  Write(1, absl::StrCat("INSERT INTO items (order_id, line, version) SELECT ", Id(5, 1),
                        " + seq, 'b', 3 FROM seq_1_to_1000"));
  auto options = Comparing(table_, 50);
  options.most_differences = 10;
  auto verifier = Verified(options);
  EXPECT_EQ(verifier->counts().differences, 1000u);
  EXPECT_EQ(verifier->differences().size(), 10u);
  EXPECT_GE(verifier->counts().slices, 10u);
}

TEST_F(RowVerifierTest, WaitingRows_KeepThePositionBack) {
  for (uint64_t i : {1, 2, 3, 4}) WriteBoth(Insert(Id(5, i), "a"));
  Write(1, "UPDATE items SET note = 'other' WHERE order_id = " + Id(5, 1));
  auto options = Comparing(table_, 1);
  options.longest_wait = absl::Hours(1);
  auto verifier = MustOpen(options);
  ASSERT_TRUE(*verifier->VerifySlice());
  EXPECT_EQ(verifier->position(), "- 0 items") << "the first row is not judged yet";
  EXPECT_EQ(verifier->counts().differences, 0u);
  while (*verifier->VerifySlice()) continue;
  EXPECT_EQ(verifier->position(), "end");
  EXPECT_EQ(verifier->counts().differences, 1u);
  options.longest_wait = absl::ZeroDuration();
  verifier = MustOpen(options);
  ASSERT_TRUE(*verifier->VerifySlice());
  EXPECT_EQ(verifier->position(), Id(5, 1) + ",x61 0 items");
}

TEST_F(RowVerifierTest, OrderIdsAsBytes_AreReadByVnode) {
  Make("order_id VARBINARY(16) PRIMARY KEY, note VARCHAR(20)",
       "(order_id, note) VALUES (X'" + internal::HexOf(IdOf(5, 1).ToBytes()) + "', 'narrow'), (X'" +
           internal::HexOf(IdOf(5, uint64_t{1} << 50).ToBytes()) + "', 'wide'), (X'" +
           internal::HexOf(IdOf(6, 1).ToBytes()) + "', 'other'), (X'" +
           internal::HexOf(IdOf(65535, 7).ToBytes()) + "', 'last')");
  MovedTable goods = Goods({"order_id"});
  goods.guard.key = GuardedTable::Key::kOrderIdBytes;
  Write(1, "UPDATE goods SET note = 'x'");
  auto options = Comparing(goods, 1);
  options.ranges = {{5, 5}};
  EXPECT_EQ(Verified(options)->counts().differences, 2u);
  options.ranges = {{6, 65535}};
  EXPECT_EQ(Verified(options)->counts().differences, 2u);
  options.ranges = {{0, 4}, {7, 65534}};
  EXPECT_EQ(Verified(options)->counts().rows, 0u);
}

// Tables whose primary key does not begin with the order: read along an index, or as a whole.
TEST_F(RowVerifierTest, KeysOfEveryKind_AreReadByTheBestIndex) {
  const std::string rows = absl::StrCat(
      "(id, order_id, gene, cohort) SELECT CONCAT('k', (seq * 37) % 100), (seq % 10 << 47) + seq,"
      " seq % 10, seq FROM seq_0_to_99");
  for (const char* index :
       {"", ", KEY (order_id), KEY (gene)", ", KEY (order_id, id), KEY (gene, id)",
        ", KEY (order_id, cohort), KEY (gene, cohort)", ", KEY (id, order_id)"}) {
    for (const char* id : {"VARBINARY(20)", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                           "CHAR(20) CHARACTER SET ucs2 COLLATE ucs2_nopad_bin"}) {
      Make(absl::StrCat("id ", id,
                        " PRIMARY KEY, order_id BIGINT UNSIGNED NOT NULL, gene SMALLINT"
                        " UNSIGNED NOT NULL, cohort SMALLINT UNSIGNED NOT NULL",
                        index),
           rows);
      Write(1, "UPDATE goods SET version = 4 WHERE id = 'k5'; DELETE FROM goods WHERE id = 'k6'");
      for (auto kind : {GuardedTable::Key::kOrderIdNumber, GuardedTable::Key::kGeneAndCohort}) {
        MovedTable goods = Goods({"id"});
        goods.guard.key = kind;
        goods.guard.gene = "gene";
        auto options = Comparing(goods, 7);
        auto verifier = Verified(options);
        EXPECT_EQ(verifier->counts().rows, 100u) << index << id;
        EXPECT_EQ(verifier->counts().differences, 2u) << index << id;
        // k5 is of sequence 65, gene 5; k6 of sequence 38, gene 8.
        options.ranges = {{0, 4}, {6, 8}};
        verifier = Verified(options);
        EXPECT_EQ(verifier->counts().rows, 80u) << index << id;
        EXPECT_EQ(verifier->counts().differences, 1u) << index << id;
        options.tables[0].primary_key.clear();
        EXPECT_EQ(Verified(options)->counts().differences, 1u) << "the key that the shards have";
      }
    }
  }
}

// 'a' and 'a ' are one key for a collation that pads.
TEST_F(RowVerifierTest, KeysThatDifferByBytes_AreTwoRows) {
  Make(
      "id VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, order_id BIGINT"
      " UNSIGNED NOT NULL",
      "(id, order_id) VALUES ('a', 5), ('A', 6)");
  EXPECT_TRUE(Verified(Comparing(Goods({"id"})))->counts().equal());
  Write(1, "UPDATE goods SET id = 'a ' WHERE id = 'a'");
  EXPECT_THAT(Lines(*Verified(Comparing(Goods({"id"})))),
              UnorderedElementsAre(HasSubstr("goods x61: missing on the target"),
                                   HasSubstr("goods x6120: missing on the source")));
}

TEST_F(RowVerifierTest, OtherOrderOfColumns_IsNoDifference) {
  WriteBoth(
      "CREATE TABLE goods (order_id BIGINT UNSIGNED PRIMARY KEY, a INT, b VARCHAR(10), twice"
      " INT AS (a * 2) STORED, version BIGINT UNSIGNED NOT NULL); INSERT INTO goods (order_id,"
      " a, b, version) VALUES (1, 2, 'x', 3)");
  Write(1,
        "ALTER TABLE goods MODIFY version BIGINT UNSIGNED NOT NULL FIRST, MODIFY b VARCHAR(10)"
        " AFTER version, DROP COLUMN twice");
  EXPECT_TRUE(Verified(Comparing(Goods({"order_id"})))->counts().equal());
}

TEST_F(RowVerifierTest, TablesThatCannotBeCompared_AreRefused) {
  auto refused = [&](const std::string& on_target) {
    Make(
        "order_id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1,"
        " kind ENUM('a','b')",
        "(order_id) VALUES (1)");
    Write(1, on_target);
    auto opened = RowVerifier::Open(Comparing(Goods({"order_id"})));
    EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << on_target << opened.status();
    return std::string(opened.status().message());
  };
  EXPECT_THAT(refused("DROP TABLE goods"), HasSubstr("has no table \"goods\""));
  EXPECT_THAT(refused("ALTER TABLE goods DROP name"),
              HasSubstr("the source has a column \"name\", the target has not"));
  EXPECT_THAT(refused("ALTER TABLE goods ADD more INT"),
              HasSubstr("the target has a column \"more\", the source has not"));
  EXPECT_THAT(refused("ALTER TABLE goods MODIFY name VARCHAR(20) CHARACTER SET utf8mb4"),
              HasSubstr("column \"name\" is varchar(20) of latin1 on the source and varchar(20) of "
                        "utf8mb4 on the target"));
  EXPECT_THAT(refused("ALTER TABLE goods MODIFY kind ENUM('b','a')"),
              HasSubstr("column \"kind\" is enum('a','b') of"));
  EXPECT_THAT(refused("ALTER TABLE goods DROP PRIMARY KEY, ADD PRIMARY KEY (order_id, version)"),
              HasSubstr("the primary key of the source is order_id, that of the target order_id, "
                        "version"));
  Make("order_id BIGINT UNSIGNED PRIMARY KEY, place POINT", "(order_id) VALUES (1)");
  auto opened = RowVerifier::Open(Comparing(Goods({"order_id"})));
  EXPECT_THAT(std::string(opened.status().message()),
              HasSubstr("column \"place\": columns of type"));
  Make(
      "id VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, order_id BIGINT",
      "(id) VALUES (1)");
  opened = RowVerifier::Open(Comparing(Goods({"id"})));
  EXPECT_THAT(std::string(opened.status().message()),
              HasSubstr("column \"id\" of its key is no number, date, time or bytes"));
  opened = RowVerifier::Open(Comparing(Goods({"order_id"})));
  EXPECT_THAT(std::string(opened.status().message()),
              HasSubstr("its primary key is id, not order_id"));
}

// A slice of one vnode reads its rows and not the table.
TEST_F(RowVerifierTest, Plan_ReadsTheRowsOfTheSliceOnly) {
  WriteBoth(
      "INSERT INTO items (order_id, line, version) SELECT (seq % 50 << 47) + seq DIV 2, IF("
      "seq % 2, 'a', 'b'), 3 FROM seq_0_to_4999; CREATE TABLE goods (id BIGINT PRIMARY KEY,"
      " order_id BIGINT UNSIGNED NOT NULL, version BIGINT UNSIGNED NOT NULL, KEY (order_id));"
      "INSERT INTO goods SELECT seq, (seq % 50 << 47) + seq, 3 FROM seq_0_to_4999;"
      "ANALYZE TABLE goods, items");
  auto rows_read = [&](const MovedTable& table) {
    auto shard = mysql::VerifiedShard::Open(As(0, "mover"), 0, {{7, 7}}).value();
    auto schema = shard->ReadSchema(table.guard.name).value();
    auto checked = internal::CheckTable(table, schema, schema).value();
    EXPECT_TRUE(checked.by_vnode);
    internal::Slice slice;
    slice.behind = *shard->Bound(checked, slice, 20);
    slice.up_to = *shard->Bound(checked, slice, 30);
    auto session = SqlSession::Open(As(0, "mover")).value();
    const std::vector<FencedRange> ranges = {{7, 7}};
    for (const std::string& statement :
         {SelectBound(checked, ranges, slice, 0, 25), SelectHashes(checked, ranges, slice, 0, 1000),
          SelectChecksum(checked, ranges, slice, 0, 1000)}) {
      auto read = session->Run(absl::StrCat(
          "SET NAMES binary; FLUSH STATUS; ", statement,
          "; SELECT SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME"
          " IN ('Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', 'Handler_read_key',"
          " 'Handler_read_first', 'Handler_read_last', 'Handler_read_rnd_next')"));
      ASSERT_TRUE(read.ok()) << statement << read.status();
      // Of the temporary table as many again.
      EXPECT_LT(std::stod(*read->back().rows[0][0]), 30 * 2 + 15) << statement;
    }
    EXPECT_EQ(shard->Checksum(checked, slice, 1000)->rows, 30u);
  };
  rows_read(table_);
  rows_read(Goods({"id"}));
}

TEST_F(RowVerifierTest, BeforeSlice_MayWaitOrStop) {
  for (uint64_t i : {1, 2, 3}) WriteBoth(Insert(Id(5, i), "a"));
  auto options = Comparing(table_, 1);
  int calls = 0;
  options.before_slice = [&] {
    return ++calls == 3 ? absl::AbortedError("lag") : absl::OkStatus();
  };
  auto verifier = MustOpen(options);
  EXPECT_TRUE(*verifier->VerifySlice());
  EXPECT_TRUE(*verifier->VerifySlice());
  EXPECT_TRUE(absl::IsAborted(verifier->VerifySlice().status()));
  EXPECT_EQ(verifier->position(), Id(5, 2) + ",x61 0 items");
  EXPECT_TRUE(*verifier->VerifySlice()) << "and goes on";
}

TEST_F(RowVerifierTest, StreamsThatDoNotPass_AreAnError) {
  Write(0, Insert(Id(5, 1), "a"));
  auto options = Comparing(table_);
  bool passes = false;
  options.pass = [&](mysql::TimePoint) {
    return passes ? absl::OkStatus() : absl::DeadlineExceededError("lags");
  };
  auto verifier = MustOpen(options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(verifier->VerifySlice().status()));
  EXPECT_EQ(verifier->position(), "- 0 items");
  passes = true;
  EXPECT_FALSE(*verifier->VerifySlice());
  EXPECT_EQ(verifier->counts().differences, 1u) << "once";
}

// It is changed each time that the streams have passed.
TEST_F(RowVerifierTest, RowThatNeverRests_IsNotCalledEqual) {
  WriteBoth(Insert(Id(5, 1), "a"));
  Write(0, "UPDATE items SET version = 4");
  auto options = Comparing(table_);
  options.most_looks = 4;
  int version = 4;
  options.pass = [&](mysql::TimePoint) {
    Write(1, absl::StrCat("UPDATE items SET version = ", version));
    Write(0, absl::StrCat("UPDATE items SET version = ", ++version));
    return absl::OkStatus();
  };
  auto verifier = Verified(options);
  EXPECT_EQ(version, 8);
  EXPECT_EQ(verifier->counts().differences, 0u);
  EXPECT_EQ(verifier->counts().still_changing, 1u);
  EXPECT_FALSE(verifier->counts().equal());
  EXPECT_THAT(Lines(*verifier), ElementsAre(HasSubstr("still changing, not compared")));
}

TEST_F(RowVerifierTest, ServerKilledInTheMiddle_IsUnavailableAndContinuesLater) {
  for (uint64_t i = 1; i <= 20; ++i) WriteBoth(Insert(Id(5, i), "a"));
  Write(1,
        "UPDATE items SET note = 'other' WHERE order_id IN (" + Id(5, 2) + ", " + Id(5, 19) + ")");
  auto options = Comparing(table_, 5);
  options.longest_wait = absl::ZeroDuration();
  auto verifier = MustOpen(options);
  ASSERT_TRUE(*verifier->VerifySlice());
  EXPECT_EQ(verifier->counts().differences, 1u);
  servers_[1]->KillHard();
  const absl::Status status = verifier->VerifySlice().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  options.position = verifier->position();
  EXPECT_TRUE(absl::IsUnavailable(RowVerifier::Open(options).status()));
  ASSERT_TRUE(servers_[1]->Start());
  EXPECT_THAT(Keys(*Verified(options)), ElementsAre(Id(5, 19) + ",x61"));
}

TEST_F(RowVerifierTest, Options_AreChecked) {
  auto refused = [&](void (*change)(VerifierOptions&)) {
    auto options = Comparing(table_);
    change(options);
    auto opened = RowVerifier::Open(options);
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << opened.status();
    return std::string(opened.status().message());
  };
  EXPECT_THAT(refused([](auto& o) { o.tables.clear(); }), HasSubstr("tables"));
  EXPECT_THAT(refused([](auto& o) { o.ranges.clear(); }), HasSubstr("ranges"));
  EXPECT_THAT(refused([](auto& o) { o.ranges = {{5, 4}}; }), HasSubstr("5-4"));
  EXPECT_THAT(refused([](auto& o) { o.ranges = {{5, 6}, {6, 7}}; }), HasSubstr("6-7"));
  EXPECT_THAT(refused([](auto& o) { o.ranges = {{5, 65536}}; }), HasSubstr("65536"));
  EXPECT_THAT(refused([](auto& o) { o.slice_time = absl::ZeroDuration(); }),
              HasSubstr("slice_time is 0"));
  EXPECT_THAT(refused([](auto& o) { o.least_rows = 0; }), HasSubstr("least_rows is 0"));
  EXPECT_THAT(refused([](auto& o) { o.most_rows = 200'000; }), HasSubstr("most_rows is 200000"));
  EXPECT_THAT(refused([](auto& o) { o.most_looks = 0; }), HasSubstr("most_looks is 0"));
  EXPECT_THAT(refused([](auto& o) { o.pass_time = -absl::Seconds(1); }), HasSubstr("pass_time"));
  EXPECT_THAT(refused([](auto& o) { o.source.database = ""; }), HasSubstr("database"));
  auto options = Comparing(table_);
  options.position = "7 0 items";  // one part of two
  EXPECT_TRUE(absl::IsDataLoss(RowVerifier::Open(options).status()));
}

class MarkerPassTest : public VerifyTest {
 protected:
  void SetUp() override {
    VerifyTest::SetUp();
    WriteBoth(
        "CREATE TABLE locus_run (move VARCHAR(64) PRIMARY KEY, run BIGINT UNSIGNED NOT NULL, ping"
        " BIGINT UNSIGNED NOT NULL, counter BIGINT UNSIGNED NOT NULL); INSERT INTO locus_run VALUES"
        " ('first', 1, 5, 1), ('second', 1, 5, 1); CREATE TABLE locus_checkpoint (move VARCHAR(64),"
        " direction TINYINT UNSIGNED, ping BIGINT UNSIGNED NOT NULL, PRIMARY KEY (move, "
        "direction))");
    Write(0, "INSERT INTO locus_checkpoint VALUES ('first', 0, 5), ('first', 1, 1000)");
    Write(1, "INSERT INTO locus_checkpoint VALUES ('first', 1, 5), ('first', 0, 1000)");
  }
};

TEST_F(MarkerPassTest, BothStreams_AreWaitedFor) {
  auto pass = MarkerPass::Open(As(0, "mover"), As(1, "mover"), "first");
  ASSERT_TRUE(pass.ok()) << pass.status();
  const std::string ping = "SELECT ping FROM locus_shop.locus_run WHERE move = 'first'";
  for (size_t silent : {0, 1}) {
    Write(1 - silent, "UPDATE locus_checkpoint SET ping = 100");
    const absl::Status status = (**pass)(In(absl::Milliseconds(50)));
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(servers_[silent]->port())));
    Write(1 - silent, "UPDATE locus_checkpoint SET ping = 5");
  }
  EXPECT_EQ(servers_[0]->Value(ping), "8");
  EXPECT_EQ(servers_[1]->Value(ping), "8");
  absl::Status status = absl::UnknownError("not called");
  std::thread waits([&] { status = (**pass)(In(absl::Seconds(60))); });
  for (size_t side : {0, 1}) {
    EXPECT_TRUE(WaitUntil([&] { return servers_[side]->Value(ping) == "9"; }));
    Write(side, "UPDATE locus_checkpoint SET ping = 9");
  }
  waits.join();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(MarkerPassTest, MoveWithoutStreams_IsRefused) {
  for (const char* move : {"second", "third"}) {
    auto pass = MarkerPass::Open(As(0, "mover"), As(1, "mover"), move);
    EXPECT_TRUE(absl::IsFailedPrecondition(pass.status())) << pass.status();
    EXPECT_THAT(std::string(pass.status().message()), HasSubstr("locus_checkpoint"));
  }
}

}  // namespace
}  // namespace locus
