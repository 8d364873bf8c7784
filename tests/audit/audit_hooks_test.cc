// SPDX-License-Identifier: Apache-2.0
#include "locus/audit_hooks.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/number_generator.h"
#include "nlohmann/json.hpp"
#include "src/base/run/mutex.h"
#include "src/base/text/nonce_mark.h"
#include "tests/support/stringified.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Rows {
  internal::Mutex mutex;
  std::vector<json> rows ABSL_GUARDED_BY(mutex);
};

class RowWriter : public AuditWriter {
 public:
  explicit RowWriter(Rows& rows) : rows_(rows) {}
  absl::Status Write(std::string_view text) override {
    internal::MutexLock lock(rows_.mutex);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      rows_.rows.push_back(json::parse(text.substr(begin, end - begin)));
      begin = end + 1;
    }
    return absl::OkStatus();
  }

 private:
  Rows& rows_;
};

class AuditHooksTest : public ::testing::Test {
 protected:
  AuditHooksTest() {
    AuditSinkOptions options;
    options.process = "host/1";
    auto sink = AuditSink::Open(std::make_unique<RowWriter>(rows_), options);
    EXPECT_TRUE(sink.ok()) << sink.status();
    sink_ = *std::move(sink);
    context_.space = *SpaceName::Parse("invoices");
    context_.place = "memory";
    context_.trace_id = [] { return std::string("4bf92f3577b34da6a3ce929d0e0e4736"); };
  }
  std::vector<json> Written() {
    EXPECT_TRUE(sink_->Flush(absl::Seconds(60)).ok());
    internal::MutexLock lock(rows_.mutex);
    return rows_.rows;
  }
  std::vector<std::string> Kinds() {
    std::vector<std::string> kinds;
    for (const json& row : Written()) kinds.push_back(row["kind"]);
    return kinds;
  }

  Rows rows_;
  std::unique_ptr<AuditSink> sink_;
  AuditContext context_;
};

TEST_F(AuditHooksTest, EachSegmentOfAGenerator_IsARow) {
  std::vector<GeneratorEvent::Range> allocated;
  internal::Mutex mutex;
  OrderIdGenerator::Options options;
  options.create_space = true;
  options.space = context_.space;
  options.on_event = AuditSegments(*sink_, context_, [&](const GeneratorEvent& event) {
    internal::MutexLock lock(mutex);
    allocated.insert(allocated.end(), event.ranges.begin(), event.ranges.end());
  });
  auto generator = OrderIdGenerator::Create(std::make_shared<MemorySegmentStore>(), options);
  ASSERT_TRUE(generator.ok()) << generator.status();
  OrderId id = *(*generator)->Next(BuyerKey::Uint64(5), absl::Seconds(20));
  for (int i = 0; i < 5000; ++i) {
    id = *(*generator)->Next(BuyerKey::Uint64(static_cast<uint64_t>(i)), absl::Seconds(20));
  }
  const GeneratorStats stats = (*generator)->Stats();
  generator->reset();
  const std::vector<json> rows = Written();
  EXPECT_GE(rows.size(), stats.allocations);
  ASSERT_EQ(rows.size(), allocated.size());
  bool covers_the_last = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["kind"], "segment");
    EXPECT_EQ(rows[i]["space"], "invoices");
    EXPECT_EQ(rows[i]["place"], "memory");
    EXPECT_EQ(rows[i]["process"], "host/1");
    EXPECT_EQ(rows[i]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(rows[i]["section"], allocated[i].section);
    EXPECT_EQ(rows[i]["first"], allocated[i].segment.first);
    EXPECT_EQ(rows[i]["end"], allocated[i].segment.end());
    covers_the_last |= rows[i]["section"] == id.gene().value() / 256 &&
                       rows[i]["first"] <= id.sequence() && rows[i]["end"] > id.sequence();
  }
  EXPECT_TRUE(covers_the_last);
}

TEST_F(AuditHooksTest, LossOfAStoreInASet_IsARowThatNamesTheStore) {
  auto hook = AuditSegments(*sink_, context_);
  hook({.kind = GeneratorEvent::Kind::kLossNoticed, .store = "east"});
  hook({.kind = GeneratorEvent::Kind::kStarved, .sections = 3});
  const std::vector<json> rows = Written();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["kind"], "loss_noticed");
  EXPECT_EQ(rows[0]["place"], "memory east");
}

TEST_F(AuditHooksTest, NumbersOfASequence_AreRows_AlsoThoseThatCloseReturned) {
  SequencerOptions counter;
  counter.step = 10;
  std::shared_ptr<Sequencer> sequencer = MemorySequencer::Create(counter).value();
  SegmentSequence::Options options;
  options.min_length = options.max_length = 64;
  std::vector<std::string> kinds;
  options.on_event = AuditSequence(*sink_, context_, [&kinds](const SegmentSequenceEvent& event) {
    kinds.push_back(Stringified(event.kind));
  });
  auto sequence = SegmentSequence::Create(sequencer, "parking\n", options).value();
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(sequence->Next(absl::Seconds(20)).ok());
  const int64_t returned = *sequence->Close();
  EXPECT_GT(returned, 0);
  sequence.reset();
  const std::vector<json> rows = Written();
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(rows[0]["kind"], "segment");
  EXPECT_EQ(rows[0]["first"], 10);
  EXPECT_EQ(rows[0]["end"], 641);
  EXPECT_EQ(rows[0]["detail"], "counter parking\\x0a, step 10");
  EXPECT_EQ(rows.back()["kind"], "released");
  EXPECT_EQ(rows.back()["first"], 80);
  EXPECT_EQ((rows.back()["end"].get<int64_t>() - 1 - 80) / 10 + 1, returned);
  EXPECT_EQ(kinds.front(), "taken");
  EXPECT_EQ(kinds.back(), "returned");
}

TEST_F(AuditHooksTest, AWorkerLease_IsARowForEachTurn) {
  WorkerLeaseOptions options;
  options.space = context_.space;
  options.holder = R"({"host":"shop-7"})";
  options.on_event = AuditWorkerLease(*sink_, context_);
  auto store = std::make_shared<MemoryWorkerLeaseStore>();
  ASSERT_TRUE(store->Create(options.space, {.first_ever = true}, Clock::System().Now()).ok());
  auto lease = WorkerLease::Acquire(store, options);
  ASSERT_TRUE(lease.ok()) << lease.status();
  const std::string nonce = store->Show(options.space)->workers[0].nonce;
  ASSERT_TRUE((*lease)->Release().ok());
  const std::vector<json> rows = Written();
  ASSERT_THAT(Kinds(), ElementsAre("granted", "released"));
  for (const json& row : rows) {
    EXPECT_EQ(row["holder"], options.holder) << row;
    EXPECT_EQ(row["nonce"], internal::NonceMark(nonce)) << "not the secret itself";
  }
  EXPECT_EQ(rows[0]["space"], "invoices");
  EXPECT_EQ(rows[0]["worker"], (*lease)->worker());
  EXPECT_EQ(rows[0]["token"], (*lease)->token());
  EXPECT_GT(rows[0]["ceiling_ms"], 0);
}

TEST(AuditKindTest, NamesOfEarlierBuilds_AreRead) {
  using Kind = AuditRecord::Kind;
  EXPECT_EQ(ParseAuditKind("rule_created"), Kind::kTypeCreated);
  EXPECT_EQ(ParseAuditKind("rule_altered"), Kind::kTypeAltered);
  EXPECT_EQ(ParseAuditKind("rule_dropped"), Kind::kTypeDropped);
  EXPECT_EQ(ToString(Kind::kTypeDropped), "type_dropped");
  EXPECT_EQ(ParseAuditKind("rule"), std::nullopt);
}

TEST_F(AuditHooksTest, EventsOfALease_BecomeTheirKinds) {
  int passed_on = 0;
  auto hook =
      AuditWorkerLease(*sink_, context_, 2, [&passed_on](const WorkerLeaseEvent&) { ++passed_on; });
  auto tell = [&](WorkerLeaseEvent::Kind kind, absl::Status status = {}) {
    WorkerLeaseEvent event;
    event.kind = kind;
    event.status = std::move(status);
    hook(event);
  };
  using Kind = WorkerLeaseEvent::Kind;
  tell(Kind::kAcquired);
  tell(Kind::kRenewed);
  tell(Kind::kRenewed);  // left out
  tell(Kind::kRenewed);
  tell(Kind::kRenewalFailed, absl::UnavailableError("no answer"));  // repeated
  tell(Kind::kRenewalFailed, absl::AbortedError("the token is old"));
  tell(Kind::kUnhealthy);
  tell(Kind::kUnhealthy);  // still
  tell(Kind::kRenewed);    // again
  tell(Kind::kUnhealthy);
  tell(Kind::kLost, absl::DeadlineExceededError("the deadline passed"));
  EXPECT_THAT(Kinds(), ElementsAre("granted", "renewed", "renewed", "refused", "unhealthy",
                                   "healthy", "unhealthy", "lost"));
  EXPECT_EQ(Written()[3]["detail"], "ABORTED: the token is old");
  EXPECT_EQ(passed_on, 11);
}

TEST_F(AuditHooksTest, SequenceTypes_AreRowsWithTheirChanges) {
  int passed = 0;
  MemorySequenceTypeStore types;
  types.set_on_event(
      AuditSequenceTypes(*sink_, context_, [&](const SequenceTypeEvent&) { ++passed; }));
  SequenceType type;
  type.name = "tickets";
  type.step = 5;
  type = types.Create(type).value();
  EXPECT_FALSE(types.Create(type).ok());
  type.step = 7;
  type = types.Alter(type).value();
  const uint64_t altered = type.version;
  EXPECT_FALSE(types.Drop("tickets", altered + 9).ok());
  ASSERT_TRUE(types.Drop("tickets", altered).ok());
  ASSERT_TRUE(types.Create(type).ok());
  EXPECT_EQ(passed, 4) << "what was refused changed nothing";
  const std::vector<json> rows = Written();
  ASSERT_EQ(rows.size(), 4u);
  std::vector<std::string> kinds;
  for (const json& row : rows) {
    kinds.push_back(row["kind"]);
    EXPECT_EQ(row["place"], "memory");
  }
  EXPECT_THAT(kinds, ElementsAre("type_created", "type_altered", "type_dropped", "type_created"));
  EXPECT_THAT(rows[0]["detail"].get<std::string>(),
              HasSubstr("type tickets: start 0, step 5, max_value 0, at_max error"));
  EXPECT_EQ(rows[1]["detail"], "type tickets: step 5 -> 7");
  EXPECT_EQ(rows[1]["token"], altered);
  EXPECT_THAT(rows[2]["detail"].get<std::string>(), HasSubstr("step 7"));
  EXPECT_EQ(rows[2]["token"], altered + 1);
  EXPECT_EQ(rows[3]["token"], altered + 2);
}

// A generator's segments are audited as those of any sequence.
TEST_F(AuditHooksTest, NumbersOfAType_AreRowsOfTheirCounter) {
  auto types = std::make_shared<MemorySequenceTypeStore>();
  SequenceType type;
  type.name = "tickets";
  type.buffer = 10;
  ASSERT_TRUE(types->Create(type).ok());
  auto counters = MemorySequencer::Create({}).value();
  auto open = [&](const SequencerOptions& options) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
    return std::shared_ptr<Sequencer>(counters->Share(options).value());
  };
  NumberGenerator::Options options;
  options.on_event = AuditSequence(*sink_, context_);
  auto generator = NumberGenerator::Create(types, open, "tickets", "north", options).value();
  EXPECT_EQ(generator->Next(absl::Seconds(60)).value(), "1");
  generator.reset();
  const std::vector<json> rows = Written();
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(rows.front()["kind"], "segment");
  EXPECT_EQ(rows.front()["first"], 1);
  EXPECT_EQ(rows.front()["end"], 11);
  EXPECT_EQ(rows.front()["detail"], "counter tickets:north, step 1");
  EXPECT_EQ(rows.back()["kind"], "released");
}

TEST_F(AuditHooksTest, SectionsOfStrictSequences_AreRowsOfTheirOwner) {
  std::vector<StrictEvent> passed;
  const auto hook = AuditStrict(*sink_, context_, "node-1",
                                [&](const StrictEvent& event) { passed.push_back(event); });
  using Kind = StrictEvent::Kind;
  hook({Kind::kTaken, 7, 70, absl::OkStatus()});
  hook({Kind::kExtendFailed, 0, 0, absl::UnavailableError("away")});
  hook({Kind::kReleased, 7, 70, absl::OkStatus()});
  hook({Kind::kLost, 8, 80, absl::AbortedError("another's")});
  hook({Kind::kLossNoticed, 0, 0, absl::OkStatus()});
  EXPECT_EQ(passed.size(), 5u);
  const std::vector<json> rows = Written();
  ASSERT_EQ(rows.size(), 4u);
  std::vector<std::string> kinds;
  for (const json& row : rows) {
    kinds.push_back(row["kind"]);
    EXPECT_EQ(row["space"], "invoices");
    EXPECT_EQ(row["place"], "memory");
    EXPECT_EQ(row["holder"], "node-1");
  }
  EXPECT_THAT(kinds,
              ElementsAre("section_taken", "section_released", "section_lost", "loss_noticed"));
  EXPECT_EQ(rows[0]["section"], 7);
  EXPECT_EQ(rows[0]["token"], 70);
  EXPECT_THAT(rows[2]["detail"].get<std::string>(), HasSubstr("another's"));
}

}  // namespace
}  // namespace locus
