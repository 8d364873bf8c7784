// SPDX-License-Identifier: Apache-2.0
// locus audit, on a ClickHouse server of its own.
#include <csignal>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/order_id.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/engine/clickhouse/clickhouse_server.h"

namespace locus {
namespace {

using nlohmann::json;
using testing::CommandTest;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::RunningCommand;

class AuditTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    server_ = new ClickHouseServer();
    ASSERT_TRUE(server_->Start());
  }
  static void TearDownTestSuite() { delete server_; }

  Outcome Audit(std::vector<std::string> words) {
    words.insert(words.begin(), "audit");
    for (const std::string& word :
         {std::string("--server"), server_->options().endpoint, std::string("--table"), table_}) {
      words.push_back(word);
    }
    return RunLocus(words);
  }
  void Record(const std::vector<AuditRecord>& records) {
    ClickHouseOptions options = server_->options();
    options.table = table_;
    AuditSinkOptions of_sink;
    of_sink.process = "pod-7/42";
    auto sink = AuditSink::Open(*ClickHouseAudit::Open(options), of_sink);
    ASSERT_TRUE(sink.ok());
    for (const AuditRecord& record : records) (*sink)->Record(record);
    ASSERT_TRUE((*sink)->Flush(absl::Seconds(60)).ok()) << (*sink)->Stats().last_failure;
  }
  static AuditRecord Lease(AuditRecord::Kind kind, absl::Time time, uint64_t token) {
    AuditRecord record;
    record.kind = kind;
    record.time = time;
    record.space = "snowflake";
    record.worker = 17;
    record.token = token;
    return record;
  }

  static ClickHouseServer* server_;
  const std::string table_ =
      absl::StrCat("audit_", ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const absl::Time nine_ = absl::FromUnixSeconds(1'795'165'200);  // 2026-11-20T09:00:00Z
};
ClickHouseServer* AuditTest::server_ = nullptr;

TEST_F(AuditTest, NoTable_SaysHowToMakeIt) {
  const Outcome outcome = Audit({"query"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("`locus audit create` makes the table"));
}

TEST_F(AuditTest, ChangedRules_AreRecordedWithWhatChanged) {
  const std::string store = "sqlite:" + (directory_ / "numbers.db");
  auto change = [&](const std::string& verb, std::vector<std::string> more) {
    std::vector<std::string> words = {
        "seq",           "type", verb,      "tickets",
        "--store",       store,  "--audit", server_->options().endpoint,
        "--audit-table", table_};
    words.insert(words.end(), more.begin(), more.end());
    return RunLocus(words);
  };
  Outcome outcome = change("create", {"--step", "5"});
  EXPECT_EQ(outcome.exit, 1) << "there is no table yet";
  EXPECT_THAT(outcome.err, HasSubstr("the sequence type was changed, and that is not recorded"));
  EXPECT_THAT(outcome.out, HasSubstr("version "));
  ASSERT_EQ(Audit({"create"}).exit, 0);
  EXPECT_EQ(change("drop", {}).exit, 0);
  EXPECT_EQ(change("create", {"--step", "5"}).exit, 0);
  EXPECT_EQ(change("create", {"--step", "6"}).exit, 1) << "refused";
  outcome = change("alter", {"--step", "7"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  outcome = Audit({"query", "--json"});
  std::vector<json> rows;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  ASSERT_EQ(rows.size(), 3u) << outcome.out << outcome.err;
  std::set<std::string> kinds;
  for (const json& row : rows) {
    kinds.insert(row["kind"]);
    EXPECT_EQ(row["place"], store);
    if (row["kind"] == "type_altered") {
      EXPECT_EQ(row["detail"], "type tickets: step 5 -> 7");
    }
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"type_dropped", "type_created", "type_altered"}));
  EXPECT_THAT(Audit({"query"}).out, HasSubstr("version "));
}

TEST_F(AuditTest, PublishedTables_AreRecordedWithAuthorReasonAndChange) {
  const std::string place = "file:" + (directory_ / "place.json");
  auto change = [&](std::vector<std::string> words, const std::string& document = "") {
    words.insert(words.begin(), "table");
    for (const std::string& word : {std::string("--audit"), server_->options().endpoint,
                                    std::string("--audit-table"), table_}) {
      words.push_back(word);
    }
    return RunLocus(words, document);
  };
  json document = json::parse(ReadFile(directory_ / "table.json"));
  document["epoch"] = 1;
  Outcome outcome = change({"publish", place}, document.dump());
  EXPECT_EQ(outcome.exit, 1) << "there is no table of audit yet";
  EXPECT_THAT(outcome.err, HasSubstr("the table was published, and that is not recorded"));
  EXPECT_THAT(outcome.out, HasSubstr("ok epoch=1"));
  EXPECT_THAT(outcome.err, HasSubstr("| locus table publish URI --audit"));
  ASSERT_EQ(Audit({"create"}).exit, 0);
  EXPECT_EQ(change({"publish", place, "--dry-run"}, document.dump()).exit, 0);
  EXPECT_EQ(change({"publish", place}, document.dump()).exit, 0) << "repeated, it is recorded";
  document["epoch"] = 2;
  document["shards"][0]["weight"] = 7;
  EXPECT_EQ(change({"publish", place, "--dry-run"}, document.dump()).exit, 0);
  EXPECT_EQ(change({"publish", place, "--reason", "ticket 4711"}, document.dump()).exit, 0);
  EXPECT_EQ(RunLocus({"table", "publish", place}, document.dump()).exit, 0);
  EXPECT_EQ(change({"restore", place, "1"}).exit, 0);
  outcome = Audit({"query", "--json"});
  std::vector<json> rows;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  ASSERT_EQ(rows.size(), 3u) << outcome.out << outcome.err;
  for (const json& row : rows) {
    EXPECT_EQ(row["kind"], "table_published");
    EXPECT_EQ(row["place"], place);
    EXPECT_THAT(row["holder"], HasSubstr("@"));
  }
  EXPECT_EQ(rows[0]["epoch"], "1");
  EXPECT_EQ(rows[0]["detail"], absl::StrCat("it was in force already, published by ",
                                            rows[0]["holder"].get<std::string>()));
  rows.erase(rows.begin());
  for (const json& row : rows) EXPECT_THAT(row["detail"], HasSubstr("weight"));
  EXPECT_EQ(rows[0]["epoch"], "2");
  EXPECT_THAT(rows[0]["detail"], ::testing::StartsWith("ticket 4711: "));
  EXPECT_EQ(rows[1]["epoch"], "3");
  EXPECT_THAT(rows[1]["detail"], ::testing::StartsWith("restore epoch 1: "));
}

TEST_F(AuditTest, WorkerAt_IsTheLeaseThatWasInForceThen) {
  ASSERT_EQ(Audit({"create"}).exit, 0);
  using Kind = AuditRecord::Kind;
  Record({Lease(Kind::kGranted, nine_, 5), Lease(Kind::kRenewed, nine_ + absl::Minutes(1), 5),
          Lease(Kind::kReleased, nine_ + absl::Minutes(2), 5),
          Lease(Kind::kGranted, nine_ + absl::Minutes(3), 6)});
  auto at = [this](const std::string& time) {
    return Audit({"query", "--worker", "17", "--json", "--at", time});
  };
  const Outcome held = at("2026-11-20 09:01");
  EXPECT_EQ(held.exit, 0) << held.err;
  EXPECT_THAT(held.out, HasSubstr(R"("kind":"granted","process":"pod-7/42")"));
  EXPECT_THAT(held.out, HasSubstr(R"("kind":"released")"));
  EXPECT_THAT(held.out, Not(HasSubstr(R"("token":"6")")));
  EXPECT_THAT(at("2026-11-20T10:03:00+01:00").out, HasSubstr(R"("token":"6")"));
  for (const char* nobody : {"2026-11-20 09:02:30", "2026-11-20 08:59"}) {
    const Outcome outcome = at(nobody);
    EXPECT_EQ(outcome.exit, 1) << nobody;
    EXPECT_THAT(outcome.err, HasSubstr("nobody held worker ID 17")) << nobody;
  }
}

TEST_F(AuditTest, OrderId_IsFoundInTheSegmentThatItCameFrom) {
  ASSERT_EQ(Audit({"create"}).exit, 0);
  const OrderId id = *OrderId::Parse("512345678901234567");
  AuditRecord segment;
  segment.kind = AuditRecord::Kind::kSegment;
  segment.space = "orders";
  segment.section = static_cast<uint32_t>(id.gene().value() / 256);
  segment.first = id.sequence() / 64 * 64;
  segment.end = segment.first + 64;
  AuditRecord neighbour = segment;
  neighbour.first = segment.end;
  neighbour.end += 64;
  Record({segment, neighbour});
  const Outcome outcome = Audit({"query", "--order-id", id.ToString()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(absl::StrCat("section ", segment.section, ", ", segment.first,
                                                  "..", segment.end - 1)));
  EXPECT_THAT(outcome.out, Not(HasSubstr(absl::StrCat(neighbour.first, ".."))));
  EXPECT_THAT(outcome.out, HasSubstr("pod-7/42"));
  EXPECT_EQ(Audit({"query", "--sequence", "1", "--section", "1"}).exit, 1);
}

TEST_F(AuditTest, Tail_PrintsEachNewRecordOnce_UntilItIsEnded) {
  ASSERT_EQ(Audit({"create"}).exit, 0);
  RunningCommand tail({"audit", "tail", "--server", server_->options().endpoint, "--table", table_,
                       "--space", "snowflake"});
  for (uint64_t token : {1, 2}) {
    AuditRecord other = Lease(AuditRecord::Kind::kGranted, absl::Now(), 9);
    other.space = "other";
    Record({other, Lease(AuditRecord::Kind::kGranted, absl::Now(), token)});
    const json line = json::parse(tail.ReadLine());
    EXPECT_EQ(line["token"], absl::StrCat(token));
    EXPECT_EQ(line["process"], "pod-7/42");
  }
  tail.Signal(SIGINT);
  const Outcome outcome = tail.Finish();
  EXPECT_EQ(outcome.exit, 130);
  EXPECT_EQ(outcome.out, "");
}

TEST_F(AuditTest, WrongUsage_NamesTheOption) {
  EXPECT_THAT(Audit({"query", "--at", "2026-11-20 09:00"}).err, HasSubstr("--worker"));
  EXPECT_THAT(Audit({"query", "--worker", "1", "--at", "nine"}).err, HasSubstr("--at"));
  EXPECT_THAT(Audit({"query", "--order-id", "1", "--worker", "1"}).err, HasSubstr("--order-id"));
  EXPECT_THAT(RunLocus({"audit", "query"}).err, HasSubstr("--server"));
  EXPECT_EQ(RunLocus({"audit", "query", "--server", "nowhere"}).exit, 2);
}

TEST_F(AuditTest, ServerAway_IsAFailureThatNamesIt) {
  const std::string nobody = absl::StrCat("127.0.0.1:", FreePort());
  const Outcome outcome = RunLocus({"audit", "query", "--server", nobody});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("clickhouse " + nobody));
}

}  // namespace
}  // namespace locus
