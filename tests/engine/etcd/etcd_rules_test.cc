// SPDX-License-Identifier: Apache-2.0
// The pure parts of the engine etcd: what is read, what is written, and what is concluded.
#include <functional>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/engine/etcd/allocation_plan.h"
#include "src/engine/etcd/reply.h"
#include "src/engine/etcd/request.h"
#include "src/engine/etcd/server_clock.h"
#include "src/engine/etcd/space_record.h"

namespace locus::etcd {
namespace {

constexpr char kHeader[] = R"("header":{"cluster_id":"18446744073709551615","member_id":"2",)"
                           R"("revision":"7","raft_term":"2"})";

std::string With(const std::string& rest) { return std::string("{") + kHeader + rest + "}"; }

TEST(EtcdReplyTest, Txn_IsReadWithWhatIsOmitted) {
  TxnReply put =
      ReadTxn(
          With(R"(,"succeeded":true,"responses":[{"response_put":{"header":{"revision":"7"}}}])"))
          .value();
  EXPECT_TRUE(put.succeeded);
  EXPECT_TRUE(put.ranges.empty());
  EXPECT_EQ(put.header.cluster_id, UINT64_MAX);
  EXPECT_EQ(put.header.revision, 7);

  TxnReply read = ReadTxn(With(R"(,"responses":[{"response_range":{"header":{"revision":"7"}}},)"
                               R"({"response_range":{"kvs":[{"key":"YQ==","mod_revision":"5",)"
                               R"("value":"AP8="}],"count":"1"}}])"))
                      .value();
  EXPECT_FALSE(read.succeeded);
  ASSERT_EQ(read.ranges.size(), 2u);
  EXPECT_TRUE(read.ranges[0].empty());
  EXPECT_EQ(read.ranges[1][0].key, "a");
  EXPECT_EQ(read.ranges[1][0].value, std::string("\0\xFF", 2));
  EXPECT_EQ(read.ranges[1][0].mod_revision, 5);
}

std::string Watched(const std::string& rest) { return R"({"result":)" + With(rest) + "}"; }

TEST(EtcdReplyTest, Watch_IsReadLineByLine) {
  WatchReply created = ReadWatch(Watched(R"(,"created":true)")).value();
  EXPECT_TRUE(created.created);
  EXPECT_FALSE(created.canceled);
  EXPECT_EQ(created.header.revision, 7);
  EXPECT_TRUE(created.events.empty());

  WatchReply events =
      ReadWatch(Watched(R"(,"events":[{"kv":{"key":"YQ==","create_revision":"5",)"
                        R"("mod_revision":"6","version":"2","value":"AP8="}},)"
                        R"({"type":"DELETE","kv":{"key":"YQ==","mod_revision":"7"}}])"))
          .value();
  ASSERT_EQ(events.events.size(), 2u);
  EXPECT_FALSE(events.events[0].deleted);
  EXPECT_EQ(events.events[0].pair.value, std::string("\0\xFF", 2));
  EXPECT_EQ(events.events[0].pair.mod_revision, 6);
  EXPECT_TRUE(events.events[1].deleted);

  // As etcd 3.4 has it: without a revision.
  WatchReply canceled =
      ReadWatch(R"({"result":{"header":{"cluster_id":"1","member_id":"2","raft_term":"2"},)"
                R"("canceled":true,"compact_revision":"5"}})")
          .value();
  EXPECT_TRUE(canceled.canceled);
  EXPECT_EQ(canceled.compact_revision, 5);

  absl::Status lost =
      ReadWatch(R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}})")
          .status();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
}

TEST(EtcdReplyTest, WatchThatNoMemberSends_IsRefused) {
  for (const std::string& bad : {
           std::string(),
           std::string("{}"),
           std::string(R"({"result":7})"),
           std::string(R"({"result":{"created":true}})"),
           std::string(R"({"error":7})"),
           std::string(R"({"error":{"message":"no code"}})"),
           std::string(R"({"error":{"grpc_code":14}})"),
           Watched(R"(,"created":"true")"),
           Watched(R"(,"canceled":1)"),
           Watched(R"(,"canceled":true,"compact_revision":"-5")"),
           Watched(R"(,"fragment":true)"),
           Watched(R"(,"events":{})"),
           Watched(R"(,"events":[7])"),
           Watched(R"(,"events":[{}])"),
           Watched(R"(,"events":[{"type":"MOVE","kv":{"key":"YQ==","mod_revision":"7"}}])"),
           Watched(R"(,"events":[{"kv":{"key":"YQ=="}}])"),
       }) {
    absl::Status status = ReadWatch(bad).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << bad << ": " << status;
  }
}

TEST(EtcdReplyTest, ImpossibleAnswers_AreRefused) {
  for (const std::string& bad : {
           std::string(),
           std::string("{"),
           std::string("null"),
           std::string("{}"),
           std::string(R"({"header":7})"),
           std::string(R"({"header":{"cluster_id":7}})"),
           std::string(R"({"header":{"cluster_id":"1","member_id":"2"}})"),
           std::string(R"({"header":{"cluster_id":"-1","member_id":"2","revision":"3"}})"),
           std::string(R"({"header":{"cluster_id":"1","member_id":"2","revision":"03"}})"),
           std::string(
               R"({"header":{"cluster_id":"1","member_id":"2","revision":"9223372036854775808"}})"),
           With(R"(,"succeeded":"true")"),
           With(R"(,"succeeded":1)"),
           With(R"(,"responses":{})"),
           With(R"(,"responses":[7])"),
           With(R"(,"responses":[{}])"),
           With(R"(,"responses":[{"response_range":7}])"),
           With(R"(,"responses":[{"response_range":{"more":true}}])"),
           With(R"(,"responses":[{"response_range":{"kvs":7}}])"),
           With(R"(,"responses":[{"response_range":{"kvs":[7]}}])"),
           With(R"(,"responses":[{"response_range":{"kvs":[{"key":"YQ=="}]}}])"),
           With(R"(,"responses":[{"response_range":{"kvs":[{"key":"YQ","mod_revision":"1"}]}}])"),
           With(
               R"(,"responses":[{"response_range":{"kvs":[{"key":"Y R==","mod_revision":"1"}]}}])"),
           With(R"(,"responses":[{"response_range":{"kvs":[{"key":"YR==","mod_revision":"1"}]}}])"),
           With("") + "x",
       }) {
    EXPECT_TRUE(absl::IsFailedPrecondition(ReadTxn(bad).status())) << bad;
  }
  EXPECT_FALSE(ReadStatus(With("")).ok()) << "no raftIndex: etcd before 3.4";
  EXPECT_FALSE(ReadLeaseGrant(With("")).ok());
  for (const char* token : {R"({"token":""})", R"({"token":"a b"})", R"({"token":"a\r\nX: y"})"}) {
    EXPECT_FALSE(ReadToken(token).ok()) << token;
  }
}

std::string Error(const char* message, int code) {
  return std::string(R"({"error":")") + message + R"(","message":")" + message + R"(","code":)" +
         std::to_string(code) + "}";
}

TEST(EtcdReplyTest, Refusals_SayWhatToDoNext) {
  using absl::StatusCode;
  struct {
    unsigned http;
    std::string body;
    StatusCode code;
    bool maybe_served, try_other_member, token_expired;
  } cases[] = {
      {503, Error("etcdserver: no leader", 14), StatusCode::kUnavailable, false, true, false},
      {503, Error("etcdserver: request timed out", 14), StatusCode::kUnavailable, true, true,
       false},
      {503, Error("etcdserver: leader changed", 14), StatusCode::kUnavailable, true, true, false},
      {429, Error("etcdserver: too many requests", 8), StatusCode::kUnavailable, false, true,
       false},
      {429, Error("etcdserver: mvcc: database space exceeded", 8), StatusCode::kFailedPrecondition,
       false, false, false},
      {401, Error("etcdserver: invalid auth token", 16), StatusCode::kUnavailable, false, false,
       true},
      {400, Error("etcdserver: revision of auth store is old", 3), StatusCode::kUnavailable, false,
       false, true},
      {403, Error("etcdserver: permission denied", 7), StatusCode::kFailedPrecondition, false,
       false, false},
      {400, Error("etcdserver: too many operations in txn request", 3),
       StatusCode::kFailedPrecondition, false, false, false},
      {404, Error("etcdserver: requested lease not found", 5), StatusCode::kNotFound, false, false,
       false},
      {500, Error("etcdserver: corrupt cluster", 15), StatusCode::kDataLoss, false, false, false},
      {502, "<html>", StatusCode::kUnavailable, true, true, false},
      {404, "Not Found", StatusCode::kFailedPrecondition, false, false, false},
      {301, "{}", StatusCode::kFailedPrecondition, false, false, false},
  };
  for (const auto& c : cases) {
    Refusal refusal = ReadRefusal(c.http, c.body);
    EXPECT_EQ(refusal.status.code(), c.code) << c.body;
    EXPECT_EQ(refusal.maybe_served, c.maybe_served) << c.body;
    EXPECT_EQ(refusal.try_other_member, c.try_other_member) << c.body;
    EXPECT_EQ(refusal.token_expired, c.token_expired) << c.body;
  }
  EXPECT_EQ(ReadRefusal(503, Error("a\\nb\\u0001", 14)).status.message(), "a\\x0ab\\x01");
}

TEST(EtcdRequestTest, Txn_IsAcceptedByTheGateway) {
  Txn txn;
  txn.IfAbsent("a").IfMarked("b", "\x01\xFF").Put("a", "v", 7).Get("a").GetAll("p/");
  EXPECT_EQ(txn.Json(),
            R"({"compare":[{"key":"YQ==","target":"MOD","result":"EQUAL","modRevision":"0"},)"
            R"({"key":"Yg==","target":"VALUE","result":"GREATER","value":"Af8="},)"
            R"({"key":"Yg==","target":"VALUE","result":"LESS","value":"Ag=="}],)"
            R"("success":[{"requestPut":{"key":"YQ==","value":"dg==","lease":"7"}}],)"
            R"("failure":[{"requestRange":{"key":"YQ=="}},)"
            R"({"requestRange":{"key":"cC8=","rangeEnd":"cDA="}}]})");
  Txn read;
  EXPECT_EQ(read.Get("a").Json(), R"({"success":[{"requestRange":{"key":"YQ=="}}]})");
}

// etcd counts the operations of a transaction together with those of the ones that it is within.
TEST(EtcdRequestTest, MoreOperationsThanEtcdAllows_AreNested) {
  for (size_t count : {120, 121, 1600, 1601, 4097, 50'000}) {
    Txn txn;
    for (size_t i = 0; i < count; ++i) txn.Get(absl::StrCat(i));
    const auto json = nlohmann::json::parse(txn.Json());
    std::vector<std::string> keys;
    std::function<void(const nlohmann::json&, size_t)> visit = [&](const auto& operations,
                                                                   size_t outer) {
      EXPECT_LE(outer + operations.size(), 128u) << count;
      for (const auto& operation : operations) {
        if (operation.contains("requestTxn")) {
          visit(operation["requestTxn"]["success"], outer + operations.size());
        } else {
          std::string key;
          absl::Base64Unescape(operation["requestRange"]["key"].template get<std::string>(), &key);
          keys.push_back(key);
        }
      }
    };
    visit(json["success"], 0);
    ASSERT_EQ(keys.size(), count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(keys[i], absl::StrCat(i));
  }
}

TEST(EtcdReplyTest, TransactionsWithinATransaction_AreReadInOrder) {
  const std::string range =
      R"({"response_range":{"kvs":[{"key":"YQ==","value":"Yg==","mod_revision":"3"}]}})";
  const std::string inner = absl::StrCat(R"({"response_txn":{"succeeded":true,"responses":[)",
                                         range, R"(,{"response_put":{}},{"response_range":{}}]}})");
  auto reply = ReadTxn(With(absl::StrCat(R"(,"succeeded":true,"responses":[)", inner,
                                         R"(,{"response_txn":{}},)", range, "]")));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->ranges.size(), 3u);
  EXPECT_EQ(reply->ranges[0].size(), 1u);
  EXPECT_TRUE(reply->ranges[1].empty());
  EXPECT_EQ(reply->ranges[2][0].value, "b");
  for (const char* bad : {R"({"response_txn":7})", R"({"response_txn":{"responses":7}})",
                          R"({"response_txn":{"responses":[7]}})"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(
        ReadTxn(With(absl::StrCat(R"(,"responses":[)", bad, "]"))).status()))
        << bad;
  }
}

TEST(EtcdServerClockTest, Date_IsReadOrRefused) {
  EXPECT_EQ(ServerClock::ParseDate("Fri, 20 Nov 2026 14:41:31 GMT"),
            absl::FromUnixSeconds(1795185691));
  for (const char* bad : {"", "yesterday", "2026-11-20T14:41:31Z", "Fri, 20 Nov 2026 14:41:31"}) {
    EXPECT_FALSE(ServerClock::ParseDate(bad)) << bad;
  }
}

TEST(EtcdServerClockTest, Answers_NarrowTheSpanAndAlwaysHoldTheTime) {
  ServerClock clock;
  EXPECT_FALSE(clock.At(absl::Seconds(1), absl::ZeroDuration()));
  absl::Time epoch = absl::FromUnixSeconds(1'795'000'000) + absl::Milliseconds(417);
  absl::Duration width = absl::Seconds(10);
  for (int i = 0; i < 200; ++i) {
    absl::Duration sent = absl::Milliseconds(137 * i);
    absl::Duration answered = sent + absl::Milliseconds(1 + i % 3),
                   received = answered + absl::Milliseconds(2);
    clock.Note(absl::FromUnixSeconds(absl::ToUnixSeconds(epoch + answered)), sent, received);
    TimeSpan span = *clock.At(received, received);
    EXPECT_LE(span.earliest, epoch + received);
    EXPECT_GE(span.latest, epoch + received);
    EXPECT_LE(span.latest - span.earliest, width) << "never wider again";
    width = span.latest - span.earliest;
  }
  EXPECT_LT(width, absl::Milliseconds(30));
  EXPECT_FALSE(clock.At(absl::Minutes(20), absl::Minutes(10))) << "too long ago";

  // The clock was set by an hour.
  absl::Duration later = absl::Minutes(1);
  clock.Note(absl::FromUnixSeconds(absl::ToUnixSeconds(epoch + later) + 3600), later, later);
  TimeSpan span = *clock.At(later, later);
  EXPECT_LE(span.earliest, epoch + later + absl::Hours(1));
  EXPECT_GE(span.latest, epoch + later + absl::Hours(1));
}

SpaceRecord SomeRecord() {
  SpaceRecord record;
  record.NoteLoss(absl::FromUnixSeconds(1'795'000'000), {77, -5});
  return record;
}

TEST(EtcdSpaceRecordTest, Text_IsReadBackExactly) {
  SpaceRecord record = SomeRecord();
  SpaceRecord read = SpaceRecord::Parse(record.Text()).value();
  EXPECT_EQ(read.Text(), record.Text());
  EXPECT_EQ(read.options, record.options);
  EXPECT_EQ(read.identity, record.identity);
  std::string life = record.life;
  record.NoteLoss(absl::FromUnixSeconds(1'795'000'100), {77, -5});
  EXPECT_NE(record.life, life);
  EXPECT_EQ(record.losses, 2u);
}

TEST(EtcdSpaceRecordTest, EachChangedByte_IsRefusedOrAnotherRecord) {
  std::string text = SomeRecord().Text();
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    auto read = SpaceRecord::Parse(changed);
    EXPECT_EQ(read.ok() ? read->Text() : changed, changed);
    EXPECT_FALSE(SpaceRecord::Parse(text.substr(0, i)).ok());
  }
}

TEST(EtcdSectionGroupTest, Text_IsReadBackOrRefused) {
  SectionGroup group = SectionGroup::Parse("", 8).value();
  EXPECT_EQ(group.mark, "");
  group.Renew();
  group.rows[3] = {640, absl::FromUnixNanos(123456789)};
  SectionGroup read = SectionGroup::Parse(group.Text(), 8).value();
  EXPECT_EQ(read.mark, group.mark);
  EXPECT_EQ(read.rows[3].head, 640u);
  EXPECT_EQ(read.rows[3].granted_at, absl::FromUnixNanos(123456789));
  std::string mark = group.mark;
  group.Renew();
  EXPECT_NE(group.mark, mark);
  EXPECT_FALSE(SectionGroup::Parse(group.Text(), 7).ok());
  group.rows[0].head = 65;
  EXPECT_TRUE(absl::IsDataLoss(SectionGroup::Parse(group.Text(), 8).status()));
}

TEST(EtcdJudgeTest, EachWayToGoBack_IsALossUntilItIsRecorded) {
  SpaceRecord record = SomeRecord();
  absl::Time now = record.raised_at + absl::Hours(1);
  Header header{77, 1, 100};
  MemberStatus greeting{{77, 1, 90}, "3.4.23", 1, 95, 95};  // surplus 5 at most
  Memory memory;
  EXPECT_EQ(Judge(record, header, 1, greeting, now, memory), Soundness::kSound);
  header.revision = 99;
  Memory copy = memory;
  EXPECT_EQ(Judge(record, header, 1, greeting, now, copy), Soundness::kLost) << "revisions fell";
  header.revision = 200;
  EXPECT_EQ(Judge(record, header, 1, greeting, now, copy), Soundness::kLost)
      << "noticed, not recorded";

  // Another process recorded it.
  SpaceRecord raised = record;
  raised.NoteLoss(now + absl::Seconds(1), {77, -150});
  EXPECT_EQ(Judge(raised, header, 2, greeting, now, copy), Soundness::kSound);
  EXPECT_EQ(Judge(raised, header, 2, greeting, now, copy), Soundness::kSound);

  copy = memory;
  header.cluster_id = 78;
  EXPECT_EQ(Judge(record, header, 1, greeting, now, copy), Soundness::kLost) << "another cluster";
}

TEST(EtcdJudgeTest, RestoredSnapshot_ShowsInTheSurplusOfANewLink) {
  SpaceRecord record = SomeRecord();  // surplus -5 at least
  absl::Time now = record.raised_at + absl::Hours(1);
  Header header{77, 1, 100};
  MemberStatus restored{{77, 1, 100}, "3.4.23", 1, 4, 4};  // -96
  Memory memory;
  EXPECT_EQ(Judge(record, header, 1, restored, now, memory), Soundness::kUnclear);
  EXPECT_EQ(JudgeAgain(record, header, 1, restored, now, memory), Soundness::kLost);
  EXPECT_TRUE(memory.lost);

  // A greeting from before the record's last change is no proof.
  Memory fresh;
  MemberStatus now_fine{{77, 1, 120}, "3.4.23", 1, 130, 130};
  EXPECT_EQ(JudgeAgain(record, header, 1, now_fine, now, fresh), Soundness::kSound);
  EXPECT_EQ(Judge(record, header, 1, restored, now, fresh), Soundness::kSound) << "a trusted link";
  now_fine.header.member_id = 2;
  EXPECT_EQ(JudgeAgain(record, header, 3, now_fine, now, fresh), Soundness::kUnclear);
}

}  // namespace
}  // namespace locus::etcd
