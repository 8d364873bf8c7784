// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/audit/cluster_audit.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "src/number/type_text.h"

namespace locus::cluster_audit {
namespace {

using cluster_machine::Fact;
using nlohmann::json;
using ::testing::HasSubstr;

// Of one sink, which is closed before it is read.
class RowWriter : public AuditWriter {
 public:
  explicit RowWriter(std::vector<json>& rows) : rows_(rows) {}
  absl::Status Write(std::string_view rows) override {
    for (size_t begin = 0; begin < rows.size();) {
      const size_t end = rows.find('\n', begin);
      rows_.push_back(json::parse(rows.substr(begin, end - begin)));
      begin = end + 1;
    }
    return absl::OkStatus();
  }

 private:
  std::vector<json>& rows_;
};

class ClusterAuditTest : public ::testing::Test {
 protected:
  // The records that a node makes of the facts from `tell`.
  template <typename Tell>
  std::vector<json> RowsOf(const char* node, Tell tell) {
    std::vector<json> rows;
    AuditSinkOptions options;
    options.process = node;
    auto sink = AuditSink::Open(std::make_unique<RowWriter>(rows), options);
    EXPECT_TRUE(sink.ok()) << sink.status();
    ClusterAudit audit(**sink, options_);
    tell(audit);
    EXPECT_TRUE((*sink)->Flush(absl::Seconds(60)).ok());
    left_out_ = audit.left_out();
    sink->reset();
    return rows;
  }
  static Fact FactOf(Fact::Kind kind) {
    Fact fact;
    fact.kind = kind;
    fact.time = absl::FromUnixMillis(1'795'424'400'123);
    fact.worker = 17;
    fact.token = 18;
    fact.floor = absl::FromUnixMillis(19);
    fact.ceiling = absl::FromUnixMillis(20);
    fact.nonce = "n0nce";
    return fact;
  }

  ClusterAuditOptions options_{.cluster = "orders"};
  uint64_t left_out_ = 0;
};

TEST_F(ClusterAuditTest, Grant_BecomesARowWithAllThatIsKnown) {
  Fact fact = FactOf(Fact::Kind::kGranted);
  fact.holder = R"({"host":"a"})";
  fact.trace = {0x4bf92f3577b34da6, 0xa3ce929d0e0e4736};
  const auto rows = RowsOf("node", [&](ClusterAudit& audit) { audit.OnFact(1234, 5, fact); });
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0], json::parse(R"({"id":"orders/1234/5","day":"2026-11-23",
      "time_us":1795424400123000,"kind":"granted","space":"orders","place":"orders",
      "process":"node","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","worker":17,"token":18,
      "floor_ms":19,"ceiling_ms":20,"section":0,"first":0,"end":0,"nonce":"0a92133b451378ca",
      "holder":"{\"host\":\"a\"}","detail":""})"));
}

TEST_F(ClusterAuditTest, EachKindOfFact_HasAKindOfRecord) {
  options_.renewals = 1;
  const auto rows = RowsOf("node", [&](ClusterAudit& audit) {
    for (int kind = 0; kind <= static_cast<int>(Fact::Kind::kLossNoticed); ++kind) {
      Fact fact = FactOf(static_cast<Fact::Kind>(kind));
      if (fact.kind == Fact::Kind::kRefused) fact.status = absl::AbortedError("the token is old");
      audit.OnFact(1, static_cast<size_t>(kind), fact);
    }
  });
  std::vector<std::string> kinds;
  for (const json& row : rows) kinds.push_back(row["kind"]);
  EXPECT_THAT(kinds, ::testing::ElementsAre("created", "granted", "renewed", "released", "expired",
                                            "refused", "unhealthy", "healthy", "loss_noticed"));
  EXPECT_EQ(rows.at(5)["detail"], "ABORTED: the token is old");
  EXPECT_EQ(rows.at(1)["trace_id"], "");
}

TEST_F(ClusterAuditTest, SequenceTypes_AreRecordedAsCreatedAlteredOrDropped) {
  SequenceType type;
  type.step = 5;
  const std::string one = internal::TypeTextOf(type);
  type.step = 7;
  const std::string other = internal::TypeTextOf(type);
  const std::string dropped = internal::DroppedTextOf(other);
  using Stored = std::optional<type_machine::Type>;
  auto fact = [&](Stored before, Stored after) {
    Fact of = FactOf(Fact::Kind::kTypeChanged);
    of.type = {"tickets", std::move(before), std::move(after)};
    return of;
  };
  const auto rows = RowsOf("node", [&](ClusterAudit& audit) {
    audit.OnFact(1, 0, fact({}, {{100, one}}));
    audit.OnFact(2, 0, fact({{100, one}}, {{101, other}}));
    audit.OnFact(3, 0, fact({{101, other}}, {{102, dropped}}));
    audit.OnFact(4, 0, fact({{102, dropped}}, {{103, one}}));
    audit.OnFact(5, 0, fact({{103, one}}, {{104, "what?"}}));
    audit.OnFact(6, 0, fact({{104, "what?"}}, {{105, one}}));
    audit.OnFact(7, 0, fact({{105, one}}, {}));
  });
  ASSERT_EQ(rows.size(), 7u);
  std::vector<std::string> kinds;
  for (const json& row : rows) kinds.push_back(row["kind"]);
  EXPECT_THAT(kinds,
              ::testing::ElementsAre("type_created", "type_altered", "type_dropped", "type_created",
                                     "type_altered", "type_altered", "type_dropped"));
  EXPECT_EQ(rows[0]["token"], 100);
  EXPECT_EQ(rows[0]["place"], "orders");
  EXPECT_THAT(rows[0]["detail"].get<std::string>(),
              ::testing::StartsWith("type tickets: start 0, step 5, max_value 0"));
  EXPECT_EQ(rows[1]["detail"], "type tickets: step 5 -> 7");
  EXPECT_EQ(rows[2]["token"], 102);
  EXPECT_THAT(rows[2]["detail"].get<std::string>(), ::testing::HasSubstr("step 7"));
  EXPECT_EQ(rows[4]["detail"], "type tickets: what was written cannot be read");
}

TEST_F(ClusterAuditTest, Members_AreNamed) {
  const auto rows = RowsOf("node", [&](ClusterAudit& audit) {
    audit.OnMembers(7, absl::FromUnixMillis(1'795'424'400'123),
                    {{1, true, "a:1 a:2"}, {UINT64_MAX, false, "b:1 b:2"}});
  });
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["kind"], "members");
  EXPECT_EQ(rows[0]["id"], "orders/7/0");
  EXPECT_EQ(rows[0]["time_us"], 1'795'424'400'123'000);
  EXPECT_EQ(rows[0]["detail"], "1 voter a:1 a:2; 18446744073709551615 learner b:1 b:2");
}

// Two nodes: the same rows, except for their writer.
TEST_F(ClusterAuditTest, Renewals_AreSampledAlikeOnAllNodes) {
  options_.renewals = 10;
  constexpr int kRenewals = 10'000;
  auto tell = [&](ClusterAudit& audit) {
    // One holder's renewals, each tenth request of all: chosen by place alone, it would have all.
    for (int i = 0; i < kRenewals; ++i) audit.OnFact(i, 3, FactOf(Fact::Kind::kRenewed));
  };
  auto ids = [](const std::vector<json>& rows) {
    std::set<std::string> found;
    for (const json& row : rows) found.insert(row["id"].get<std::string>());
    return found;
  };
  const auto one = ids(RowsOf("one", tell));
  EXPECT_GT(one.size(), 850u);
  EXPECT_LT(one.size(), 1150u);
  EXPECT_EQ(left_out_, kRenewals - one.size());
  EXPECT_EQ(ids(RowsOf("two", tell)), one);
  options_.renewals = 0;
  EXPECT_TRUE(RowsOf("one", tell).empty());
  EXPECT_EQ(left_out_, static_cast<uint64_t>(kRenewals));
  options_.renewals = 1;
  EXPECT_EQ(RowsOf("one", tell).size(), static_cast<size_t>(kRenewals));
}

TEST_F(ClusterAuditTest, Options_OutsideTheirLimits_AreNamed) {
  EXPECT_TRUE(options_.Check().ok());
  for (const std::string& name : {std::string(), std::string(65, 'x')}) {
    options_.cluster = name;
    EXPECT_EQ(options_.Check().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(options_.Check().message()), HasSubstr("1 to 64"));
  }
}

}  // namespace
}  // namespace locus::cluster_audit
