// SPDX-License-Identifier: Apache-2.0
// The two parts of an XA transaction in the log.
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "migration/stream/transaction_assembler.h"
#include "tests/stream/event_bytes.h"

namespace locus {
namespace {

using stream::ChangeTransaction;
using stream::EventType;
using stream::TransactionAssembler;
using stream::XaPart;
using stream::Xid;

constexpr uint8_t kPrepared = 0x40, kCompleted = 0x80, kGroupCommit = 0x02;

// As a GTID event has it.
std::string XidBytes(const Xid& xid) {
  return Little(xid.format) + Little(static_cast<uint8_t>(xid.gtrid.size())) +
         Little(static_cast<uint8_t>(xid.bqual.size())) + xid.gtrid + xid.bqual;
}
std::string XaGtid(uint64_t sequence, uint8_t flags, std::string_view behind) {
  return MakeEvent(EventType::kGtid, Little(sequence) + Little(uint32_t{0}) + Little(flags) +
                                         std::string(behind) + std::string(6, '\0'));
}
std::string XaPrepare(const Xid& xid, uint8_t one_phase = 0) {
  return MakeEvent(EventType::kXaPrepare, Little(one_phase) + Little(xid.format) +
                                              Little(static_cast<uint32_t>(xid.gtrid.size())) +
                                              Little(static_cast<uint32_t>(xid.bqual.size())) +
                                              xid.gtrid + xid.bqual);
}
// Its GTID event, with any rest.
absl::StatusOr<stream::GtidEvent> Parsed(const std::string& event) {
  return stream::ParseGtidEvent(stream::ParseEvent(event).value());
}

const Xid kXid{7, "plain", "bq"};

absl::StatusOr<std::vector<ChangeTransaction>> Feed(const std::vector<std::string>& events) {
  TransactionAssembler assembler({});
  EXPECT_TRUE(assembler.OnEvent(RotateEvent("bin.000001")).ok());
  EXPECT_TRUE(assembler.OnEvent(FormatEvent()).ok());
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
void ExpectLoss(const std::vector<std::string>& events) {
  const absl::Status status = Feed(events).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST(XaTest, EventsOfARealServer_AreParsed) {
  // XA PREPARE and XA COMMIT of 'plain','bq',7 as MariaDB 10.11.19 wrote them.
  auto prepared =
      Parsed(absl::HexStringToBytes("37ab0a6ba2030000003300000034030000080004000000000000000000"
                                    "00004c070000000502706c61696e627101ff398192e4"));
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->xa, XaPart::kPrepare);
  EXPECT_EQ(prepared->xid, kXid);
  EXPECT_EQ(prepared->xid.ToString(), "X'706c61696e',X'6271',7");
  auto ended =
      Parsed(absl::HexStringToBytes("37ab0a6ba2030000003100000048040000080005000000000000000000"
                                    "00008d070000000502706c61696e6271e5f43883"));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->xa, XaPart::kEnd);
  EXPECT_TRUE(ended->standalone);
  EXPECT_EQ(ended->xid, kXid);
}

TEST(XaTest, XidOfAnyLength_IsParsedWithinItsBounds) {
  const Xid longest{0xFFFFFFFF, std::string(64, '\xFF'), std::string(64, '\0')};
  for (const Xid& xid : {longest, Xid{1, "", ""}, kXid}) {
    EXPECT_EQ(Parsed(XaGtid(1, kPrepared, XidBytes(xid)))->xid, xid);
    const std::string commit_id(8, 'c');
    EXPECT_EQ(Parsed(XaGtid(1, kCompleted | kGroupCommit, commit_id + XidBytes(xid)))->xid, xid);
  }
  const std::string bytes = XidBytes(kXid);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut =
        Little(uint64_t{1}) + Little(uint32_t{0}) + Little(kPrepared) + bytes.substr(0, size);
    EXPECT_TRUE(absl::IsDataLoss(Parsed(MakeEvent(EventType::kGtid, cut)).status())) << size;
  }
  EXPECT_FALSE(Parsed(XaGtid(1, kPrepared, XidBytes({1, std::string(65, 'x'), ""}))).ok());
  EXPECT_FALSE(Parsed(XaGtid(1, kPrepared, XidBytes({1, "", std::string(65, 'x')}))).ok());
  EXPECT_FALSE(Parsed(XaGtid(1, kPrepared | kCompleted, bytes)).ok());
}

TEST(XaTest, BothParts_AreTransactionsWithTheXid) {
  auto made =
      Feed({XaGtid(1, kPrepared, XidBytes(kXid)), OrdersEvent(), InsertEvent(OrderRow(1, "a")),
            QueryEvent("SAVEPOINT `s`"), QueryEvent("XA END X'706c61696e',X'6271',7"),
            XaPrepare(kXid), GtidEvent(2), OrdersEvent(), InsertEvent(OrderRow(2, "b")), XidEvent(),
            XaGtid(3, kCompleted | kStandaloneFlag, XidBytes(kXid)),
            QueryEvent("XA ROLLBACK X'706c61696e',X'6271',7")});
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->size(), 3u);
  EXPECT_EQ((*made)[0].xa(), XaPart::kPrepare);
  EXPECT_EQ((*made)[0].xid(), kXid);
  EXPECT_FALSE((*made)[0].empty());
  EXPECT_EQ((*made)[1].xa(), XaPart::kNone);
  EXPECT_EQ((*made)[2].xa(), XaPart::kEnd);
  EXPECT_EQ((*made)[2].xid(), kXid);
  EXPECT_TRUE((*made)[2].empty());
}

TEST(XaTest, PartsThatNoServerSends_AreDataLoss) {
  const std::string begin = XaGtid(1, kPrepared, XidBytes(kXid));
  const std::string end = XaGtid(1, kCompleted, XidBytes(kXid));
  ExpectLoss({begin, XidEvent()});
  ExpectLoss({begin, QueryEvent("COMMIT")});
  ExpectLoss({begin, XaPrepare({7, "plain", "other"})});
  ExpectLoss({begin, XaPrepare(kXid, 1)});
  ExpectLoss({begin, MakeEvent(EventType::kXaPrepare, "x")});
  ExpectLoss({end, XaPrepare(kXid)});
  ExpectLoss({end, XidEvent()});
  ExpectLoss({end, OrdersEvent(), InsertEvent(OrderRow(1, "a")), QueryEvent("XA COMMIT 'x'")});
  ExpectLoss({GtidEvent(1), XaPrepare(kXid)});
  ExpectLoss({GtidEvent(1), QueryEvent("XA COMMIT 'x'")});
  ExpectLoss({XaPrepare(kXid)});
}

}  // namespace
}  // namespace locus
