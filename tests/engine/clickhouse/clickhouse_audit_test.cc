// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/clickhouse/clickhouse_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

ClickHouseServer& SharedServer() {
  static ClickHouseServer* server = [] {
    auto* made = new ClickHouseServer();
    EXPECT_TRUE(made->Start());
    return made;
  }();
  return *server;
}

// A table of its own on the shared server.
class ClickHouseTest : public ::testing::Test {
 protected:
  ClickHouseTest() {
    static int tables = 0;
    options_ = SharedServer().options();
    options_.table = absl::StrCat("audit_", ++tables);
    audit_ = Open(options_);
  }
  static std::unique_ptr<ClickHouseAudit> Open(const ClickHouseOptions& options) {
    auto audit = ClickHouseAudit::Open(options);
    EXPECT_TRUE(audit.ok()) << audit.status();
    return *std::move(audit);
  }
  static std::unique_ptr<AuditSink> Sink(const ClickHouseOptions& options,
                                         const AuditSinkOptions& sink_options = {}) {
    auto sink = AuditSink::Open(Open(options), sink_options);
    EXPECT_TRUE(sink.ok()) << sink.status();
    return *std::move(sink);
  }
  static std::set<uint64_t> Workers(const std::vector<AuditRow>& rows) {
    std::set<uint64_t> workers;
    for (const AuditRow& row : rows) workers.insert(row.record.worker);
    return workers;
  }

  ClickHouseOptions options_;
  std::unique_ptr<ClickHouseAudit> audit_;
};

TEST_F(ClickHouseTest, NoTable_SaysHowToMakeIt) {
  for (const absl::Status& status : {audit_->Query({}).status(), audit_->Write("{}\n")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("locus audit create"));
  }
}

TEST_F(ClickHouseTest, Record_ComesBackAsItWas) {
  ASSERT_TRUE(audit_->CreateTable().ok());
  ASSERT_TRUE(audit_->CreateTable().ok()) << "again";
  AuditRecord record;
  record.kind = AuditRecord::Kind::kSegment;
  record.time = absl::FromUnixMicros(1'795'424'400'000'123);
  record.space = "orders";
  record.place = "it's \"a\\place\"\t";
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  record.detail = "line\none";
  record.worker = UINT64_MAX;
  record.token = (uint64_t{1} << 53) + 1;
  record.floor = absl::FromUnixMillis(1);
  record.ceiling = absl::FromUnixMillis(2);
  record.section = UINT32_MAX;
  record.first = 22;
  record.end = uint64_t{1} << 56;
  record.nonce = "n0nce";
  record.holder = "{\"host\":\"a\"}";
  {
    auto sink = Sink(options_, {.process = "host/1"});
    sink->Record(record);
    ASSERT_TRUE(sink->Flush(absl::Seconds(60)).ok()) << sink->Stats().last_failure;
  }
  auto rows = audit_->Query({});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1u);
  const AuditRow& row = (*rows)[0];
  EXPECT_EQ(row.process, "host/1");
  EXPECT_EQ(row.record.kind, record.kind);
  EXPECT_EQ(row.record.time, record.time);
  EXPECT_EQ(row.record.space, record.space);
  EXPECT_EQ(row.record.place, record.place);
  EXPECT_EQ(row.record.trace_id, record.trace_id);
  EXPECT_EQ(row.record.detail, record.detail);
  EXPECT_EQ(row.record.worker, record.worker);
  EXPECT_EQ(row.record.token, record.token);
  EXPECT_EQ(row.record.floor, record.floor);
  EXPECT_EQ(row.record.ceiling, record.ceiling);
  EXPECT_EQ(row.record.section, record.section);
  EXPECT_EQ(row.record.first, record.first);
  EXPECT_EQ(row.record.end, record.end);
  EXPECT_EQ(row.record.nonce, record.nonce);
  EXPECT_EQ(row.record.holder, record.holder);
}

TEST_F(ClickHouseTest, RowsWrittenTwice_CountOnce) {
  ASSERT_TRUE(audit_->CreateTable().ok());
  const std::string row =
      R"({"id":"a","day":"2026-11-23","time_us":5,"kind":"gap","space":"orders","place":"",)"
      R"("process":"","trace_id":"","worker":1,"token":0,"floor_ms":0,"ceiling_ms":0,)"
      R"("section":0,"first":0,"end":0,"detail":""})"
      "\n";
  ASSERT_TRUE(audit_->Write(row + row).ok());
  ASSERT_TRUE(audit_->Write(row).ok());
  EXPECT_EQ(audit_->Query({})->size(), 1u);
}

TEST_F(ClickHouseTest, Query_FindsByEachRestriction) {
  ASSERT_TRUE(audit_->CreateTable().ok());
  const absl::Time start = absl::FromUnixSeconds(1'795'424'400);
  {
    auto sink = Sink(options_);
    for (uint64_t i = 0; i < 20; ++i) {
      AuditRecord record;
      record.kind = i % 2 == 0 ? AuditRecord::Kind::kGranted : AuditRecord::Kind::kSegment;
      record.time = start + absl::Seconds(i);
      record.space = i < 10 ? "orders" : "other";
      record.worker = i;
      record.token = 100 + i;
      record.section = static_cast<uint32_t>(i % 3);
      record.first = i * 64;
      record.end = i * 64 + 64;
      sink->Record(record);
    }
    ASSERT_TRUE(sink->Flush(absl::Seconds(60)).ok()) << sink->Stats().last_failure;
  }
  auto found = [this](const AuditQuery& query) {
    auto rows = audit_->Query(query);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? Workers(*rows) : std::set<uint64_t>();
  };
  using Set = std::set<uint64_t>;
  EXPECT_EQ(found({.worker = 7}), (Set{7}));
  EXPECT_EQ(found({.token = 107}), (Set{7}));
  EXPECT_EQ(found({.sequence = 7 * 64 + 63}), (Set{7}));
  EXPECT_EQ(found({.kinds = {AuditRecord::Kind::kSegment}, .section = 1}), (Set{1, 7, 13, 19}));
  EXPECT_EQ(found({.space = *SpaceName::Parse("other"), .kinds = {AuditRecord::Kind::kGranted}}),
            (Set{10, 12, 14, 16, 18}));
  EXPECT_EQ(found({.since = start + absl::Seconds(3), .until = start + absl::Seconds(4)}),
            (Set{3, 4}));
  EXPECT_EQ(found({.newest_first = true, .limit = 2}), (Set{18, 19}));
  EXPECT_EQ(found({.limit = 2}), (Set{0, 1}));
  EXPECT_EQ(audit_->Query({.limit = 0}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClickHouseTest, InvalidRows_AreRefusedWithoutRetries) {
  ASSERT_TRUE(audit_->CreateTable().ok());
  const absl::Status status = audit_->Write("{\"time_us\":\"x\"}\n");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST_F(ClickHouseTest, Password_IsChecked_AndInNoMessage) {
  options_.user = "audit";
  options_.password = "s3cret";
  EXPECT_TRUE(Open(options_)->CreateTable().ok());
  options_.password = "wr0ng";
  const absl::Status status = Open(options_)->CreateTable();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(status.message().find("wr0ng"), absl::string_view::npos) << status;
  options_.endpoint = "10.1.2.3:8123";
  EXPECT_EQ(ClickHouseAudit::Open(options_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ClickHouseTest, BadOptions_AreNamed) {
  options_.table = "audit; DROP TABLE x";
  const absl::Status status = ClickHouseAudit::Open(options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("table audit; DROP"));
}

// The server is killed and stalled while records come; what it acknowledged and what waited in the
// directory is all there in the end, each record once.
TEST(ClickHouseFaultTest, KilledAndStalledServer_LosesAndDoublesNothing) {
  ClickHouseServer server;
  ASSERT_TRUE(server.Start());
  ClickHouseOptions options = server.options();
  options.timeout = absl::Seconds(2);
  auto table = ClickHouseAudit::Open(server.options());
  ASSERT_TRUE(table.ok() && (*table)->CreateTable().ok());
  TemporaryDirectory directory;
  AuditSinkOptions sink_options;
  sink_options.batch = 50;
  sink_options.longest_wait = absl::Milliseconds(20);
  sink_options.spill_directory = directory / "spill";
  auto sink = AuditSink::Open(*ClickHouseAudit::Open(options), sink_options);
  ASSERT_TRUE(sink.ok()) << sink.status();
  uint64_t next = 0;
  auto record_more = [&](uint64_t count) {
    for (uint64_t end = next + count; next < end; ++next) {
      AuditRecord record;
      record.worker = next;
      (*sink)->Record(record);
    }
  };
  auto failures = [&] { return (*sink)->Stats().failures; };
  for (int round = 0; round < 2; ++round) {
    record_more(500);
    ASSERT_TRUE(WaitUntil([&] { return (*sink)->Stats().written >= next - 100; }));
    server.KillHard();
    uint64_t before = failures();
    record_more(500);
    ASSERT_TRUE(WaitUntil([&] { return failures() > before; }));
    ASSERT_TRUE(server.Start());
    record_more(100);
    server.Stall();
    before = failures();
    record_more(100);
    ASSERT_TRUE(WaitUntil([&] { return failures() > before; }));
    server.Resume();
  }
  ASSERT_TRUE((*sink)->Flush(absl::Minutes(2)).ok()) << (*sink)->Stats().last_failure;
  EXPECT_EQ((*sink)->Stats().dropped, 0u);
  auto rows = (*table)->Query({.limit = 100'000});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->size(), next);
  std::set<uint64_t> workers;
  for (const AuditRow& row : *rows) workers.insert(row.record.worker);
  EXPECT_EQ(workers.size(), next);
}

}  // namespace
}  // namespace locus
