// SPDX-License-Identifier: Apache-2.0
// Values and enums as text, with an Abseil that has AbslStringify and with one that has not.
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/locus.h"
#include "tests/support/stringified.h"

namespace locus {
namespace {

TEST(StringifyTest, Values_AreTheirCanonicalText) {
  OrderId id = OrderId::FromParts(ShardGene::FromUint16(uint16_t{7}), 99).value();
  EXPECT_EQ(Stringified(id), id.ToString());
  EXPECT_EQ(Stringified(id.gene()), "7");
  EXPECT_EQ(Stringified(KeyVersion::FromLowBits(5)), "5");
  EXPECT_EQ(Stringified(OrderNo()), OrderNo().ToString());
  EXPECT_EQ(Stringified(OrderNo64::FromInt64(12).value()), "12");
  EXPECT_EQ(Stringified(Uuid()), "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(Stringified(SpaceName()), "orders");
  EXPECT_EQ(Stringified(HybridTime::FromUint64(uint64_t{5} << 16 | 3)), "5.3");
}

TEST(StringifyTest, Enums_AreWords) {
  using Kind = GeneratorEvent::Kind;
  EXPECT_EQ(Stringified(Kind::kAllocated), "allocated");
  EXPECT_EQ(Stringified(Kind::kStoreFailed), "store_failed");
  EXPECT_EQ(Stringified(Kind::kFirstUse), "first_use");
  EXPECT_EQ(Stringified(Kind::kStarved), "starved");
  EXPECT_EQ(Stringified(Kind::kLossNoticed), "loss_noticed");
  EXPECT_EQ(Stringified(Kind::kLeadUsedUp), "lead_used_up");
  EXPECT_EQ(Stringified(KeyRing::State::kActive), "active");
  EXPECT_EQ(Stringified(KeyRing::State::kReadable), "readable");
  EXPECT_EQ(Stringified(KeyRing::State::kRetired), "retired");
  EXPECT_EQ(Stringified(NumberField::Kind::kTime), "time");
  EXPECT_EQ(Stringified(NumberField::Kind::kDigits), "digits");
  EXPECT_EQ(Stringified(NumberField::Kind::kBuyer), "buyer");
  EXPECT_EQ(Stringified(NumberField::Kind::kText), "text");
  EXPECT_EQ(Stringified(NumberField::Kind::kCheck), "check");
  EXPECT_EQ(Stringified(SequencerOptions::AtMax::kError), "error");
  EXPECT_EQ(Stringified(SequencerOptions::AtMax::kWrap), "wrap");
  EXPECT_EQ(Stringified(RaiseReach::kNearFloor), "near_floor");
  EXPECT_EQ(Stringified(RaiseReach::kAnywhere), "anywhere");
  EXPECT_EQ(Stringified(SegmentStoreSet::Earlier::kNothingInUse), "nothing_in_use");
  EXPECT_EQ(Stringified(SegmentStoreSet::Earlier::kEndEarlier), "end_earlier");
  EXPECT_EQ(Stringified(MemorySegmentStore::Rewind::kNewIdentity), "new_identity");
  EXPECT_EQ(Stringified(MemorySegmentStore::Rewind::kSilent), "silent");
}

TEST(StringifyTest, DefaultOrderNo_HasTheFixedBitsAndIsRefusedByDecode) {
  OrderNo number;
  EXPECT_EQ(OrderNo::Parse(number.ToString()).value(), number);
  KeyRing ring = KeyRing::Generate().value();
  OrderNoCodec codec = OrderNoCodec::Create(ring).value();
  EXPECT_TRUE(absl::IsInvalidArgument(codec.Decode(number).status()));
  EXPECT_EQ(OrderNo64().ToInt64(), 0);
}

}  // namespace
}  // namespace locus
