// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/event.h"

#include <zlib.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "migration/stream/inflate.h"
#include "tests/stream/event_bytes.h"

namespace locus {
namespace {

using stream::EventType;
using stream::GtidPosition;
using stream::ParseEvent;

TEST(GtidPositionTest, TextOfTheServer_RoundTrips) {
  for (const char* text :
       {"", "0-1-2", "0-31-18446744073709551615,7-4294967295-1,4294967295-0-9"}) {
    auto position = GtidPosition::Parse(text);
    ASSERT_TRUE(position.ok()) << position.status();
    EXPECT_EQ(position->ToString(), text);
  }
  auto position = GtidPosition::Parse(" 7-2-3 ,\n0-1-2\n");
  ASSERT_TRUE(position.ok()) << position.status();
  EXPECT_EQ(position->ToString(), "0-1-2,7-2-3");
  EXPECT_EQ(position->Of(7), (stream::Gtid{7, 2, 3}));
  EXPECT_EQ(position->Of(1), std::nullopt);
  position->Set({7, 9, 4});
  EXPECT_EQ(position->ToString(), "0-1-2,7-9-4");
}

TEST(GtidPositionTest, Covers_AsksEachDomainOfTheOther) {
  const GtidPosition position = GtidPosition::Parse("0-1-10,3-1-5").value();
  for (const char* there : {"", "0-1-10", "0-2-9,3-1-5"}) {
    EXPECT_TRUE(position.Covers(GtidPosition::Parse(there).value())) << there;
  }
  for (const char* beyond : {"0-1-11", "0-1-1,3-1-6", "7-1-1"}) {
    EXPECT_FALSE(position.Covers(GtidPosition::Parse(beyond).value())) << beyond;
  }
}

TEST(GtidPositionTest, OtherText_IsRefused) {
  for (const char* text : {"0-1", "0-1-2-3", "0-1-x", "a-1-2", "0--2", "-0-1-2", "0-1-2,", ",0-1-2",
                           "0-1-2;1-1-1", "4294967296-1-1", "0-4294967296-1",
                           "0-1-18446744073709551616", "0-1-2,0-1-3", "00-1-2", "0-1-2'"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(GtidPosition::Parse(text).status())) << text;
  }
  std::vector<std::string> many;
  for (size_t i = 0; i <= GtidPosition::kMostDomains; ++i) many.push_back(absl::StrCat(i, "-1-1"));
  EXPECT_FALSE(GtidPosition::Parse(absl::StrJoin(many, ",")).ok());
  many.pop_back();
  EXPECT_TRUE(GtidPosition::Parse(absl::StrJoin(many, ",")).ok());
}

TEST(EventTest, EventOfTheServer_IsRead) {
  // The GTID 0-7-5 as MariaDB 10.11.19 wrote it.
  const std::string bytes = absl::HexStringToBytes(
      "eb59036ba2070000002a000000200900000800"
      "0500000000000000000000000c000000000000"
      "871d9502");
  auto event = ParseEvent(bytes);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->header.type, EventType::kGtid);
  EXPECT_EQ(event->header.next_position, 2336u);
  auto gtid = stream::ParseGtidEvent(*event);
  ASSERT_TRUE(gtid.ok()) << gtid.status();
  EXPECT_EQ(gtid->gtid.ToString(), "0-7-5");
  EXPECT_TRUE(gtid->transactional);
  EXPECT_FALSE(gtid->standalone);
  EXPECT_FALSE(gtid->ddl);
}

TEST(EventTest, AnyByteChanged_IsRefused) {
  const std::string whole = MakeEvent(EventType::kXid, Little(uint64_t{42}));
  ASSERT_TRUE(ParseEvent(whole).ok());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      absl::Status status = ParseEvent(damaged).status();
      EXPECT_TRUE(absl::IsDataLoss(status)) << i << ": " << status;
    }
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(ParseEvent(whole.substr(0, size)).status())) << size;
  }
  EXPECT_TRUE(absl::IsDataLoss(ParseEvent(whole + "x").status()));
}

TEST(EventTest, LengthThatIsAnother_IsRefusedWithARightChecksum) {
  std::string event = MakeEvent(EventType::kXid, Little(uint64_t{42}));
  event.resize(event.size() - stream::kChecksumSize);
  event.replace(9, 4, Little(static_cast<uint32_t>(event.size() + 3)));
  event += Little(stream::EventChecksum(event));
  EXPECT_TRUE(absl::IsDataLoss(ParseEvent(event).status()));
}

TEST(EventTest, FormatOfAFileInUse_HasItsChecksum) {
  std::string format = FormatEvent();
  ASSERT_TRUE(ParseEvent(format).ok());
  format[17] = static_cast<char>(format[17] | 1);  // the server sets it without a new checksum
  EXPECT_TRUE(ParseEvent(format).ok());
  format[17] = static_cast<char>(format[17] | 2);
  EXPECT_TRUE(absl::IsDataLoss(ParseEvent(format).status()));
}

TEST(EventTest, LogWithoutChecksums_IsRefused) {
  absl::Status status = ParseEvent(FormatEvent(0)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "binlog_checksum=CRC32")) << status;
}

TEST(EventTest, OtherFixedParts_AreRefused) {
  const std::string body = FormatBody();
  for (int type : {2, 4, 18, 19, 23, 24, 25, 30, 31, 32, 162, 163}) {
    std::string other = body;
    ++other[57 + type - 1];
    EXPECT_TRUE(absl::IsFailedPrecondition(stream::ParseFormatDescription(other).status())) << type;
  }
  // A server without GTIDs of MariaDB.
  EXPECT_TRUE(absl::IsFailedPrecondition(
      stream::ParseFormatDescription(body.substr(0, 57 + 40) + "\x01").status()));
  for (size_t size = 0; size < 58; ++size) {
    EXPECT_FALSE(stream::ParseFormatDescription(body.substr(0, size)).ok()) << size;
  }
}

TEST(EventTest, TypesThatAreNotKnown_AreRefusedWithTheirNumber) {
  const std::vector<int> followed = {2,  3,  4,  5,  9,  11, 13, 14, 15,  16,  17,  18,  19,
                                     23, 24, 25, 27, 30, 31, 32, 38, 160, 161, 162, 163, 164};
  for (int type = 0; type < 256; ++type) {
    absl::Status status = stream::CheckType(static_cast<EventType>(type));
    const bool known = std::find(followed.begin(), followed.end(), type) != followed.end();
    EXPECT_EQ(status.ok(), known) << type;
    if (known) continue;
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << type;
    const bool named = type == 26;
    EXPECT_TRUE(named || absl::StrContains(status.message(), absl::StrCat(type))) << status;
  }
}

TEST(EventTest, VariablesOfAQuery_SayHowItsTextIsRead) {
  const uint64_t mode = 4 | uint64_t{1} << 20;  // ANSI_QUOTES, NO_BACKSLASH_ESCAPES
  const std::string variables = std::string(1, '\0') + Little(uint32_t{0}) + "\x01" + Little(mode) +
                                "\x06\x03std\x04" + Little(uint16_t{28}) + std::string(4, '\0');
  const std::string body = std::string(8, '\0') + Little(uint8_t{4}) + Little(uint16_t{0}) +
                           Little(static_cast<uint16_t>(variables.size())) + variables + "shop" +
                           std::string(1, '\0') + "TRUNCATE \"t\"";
  auto query = stream::ParseQuery(body);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_TRUE(query->rules.ansi_quotes);
  EXPECT_TRUE(query->rules.no_backslash_escapes);
  EXPECT_EQ(query->rules.double_bytes, stream::DoubleBytes::kGbk);
}

TEST(EventTest, BodiesCutShort_AreMalformed) {
  const std::string query = QueryEvent("CREATE TABLE t (id INT)");
  const std::string body = query.substr(19, query.size() - 23);
  auto parsed = stream::ParseQuery(body);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->database, "shop");
  EXPECT_EQ(parsed->text, "CREATE TABLE t (id INT)");
  for (size_t size = 0; size < 13 + 5; ++size) {
    EXPECT_TRUE(absl::IsDataLoss(stream::ParseQuery(body.substr(0, size)).status())) << size;
  }
  EXPECT_FALSE(stream::ParseRotate(Little(uint64_t{4})).ok()) << "without a name";
  EXPECT_FALSE(stream::ParseRotate(Little(uint64_t{4}) + std::string(513, 'f')).ok());
  EXPECT_FALSE(stream::CheckXid("1234567").ok());
  EXPECT_FALSE(stream::ParseGtidList(Little(uint32_t{0x0FFFFFFF})).ok());
  auto list = stream::ParseGtidList(Little(uint32_t{0x10000001}) + Little(uint32_t{3}) +
                                    Little(uint32_t{7}) + Little(uint64_t{8}));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->ToString(), "3-7-8");
}

// As the server packs them.
std::string Packed(std::string_view value, bool wrapped, uint64_t claimed, size_t length_bytes) {
  z_stream deflater{};
  EXPECT_EQ(deflateInit2(&deflater, 6, Z_DEFLATED, wrapped ? MAX_WBITS : -MAX_WBITS, 8,
                         Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(deflateBound(&deflater, value.size()) + 16, '\0');
  deflater.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(value.data()));
  deflater.avail_in = static_cast<uInt>(value.size());
  deflater.next_out = reinterpret_cast<Bytef*>(out.data());
  deflater.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&deflater, Z_FINISH), Z_STREAM_END);
  out.resize(deflater.total_out);
  deflateEnd(&deflater);
  std::string length;
  for (size_t i = length_bytes; i > 0; --i) {
    length += static_cast<char>(claimed >> (i - 1) * 8 & 255);
  }
  const auto how = static_cast<char>(0x80 | length_bytes | (wrapped ? 0 : 8));
  return std::string(1, how) + length + out;
}

TEST(UnpackColumnTest, ValuesAsStored_ComeBack) {
  const std::string value(700000, 'v');
  constexpr size_t kMost = 1 << 20;
  EXPECT_EQ(*stream::UnpackColumn(std::string("\0plain", 6), kMost), "plain");
  for (bool wrapped : {false, true}) {
    EXPECT_EQ(*stream::UnpackColumn(Packed(value, wrapped, value.size(), 3), kMost), value);
  }
}

TEST(UnpackColumnTest, LiesAboutTheLength_AreMalformed) {
  const std::string value(700000, 'v');
  constexpr size_t kMost = 1 << 20;
  for (uint64_t claimed : {uint64_t{0}, value.size() - 1, value.size() + 1, uint64_t{1} << 31}) {
    EXPECT_TRUE(
        absl::IsDataLoss(stream::UnpackColumn(Packed(value, false, claimed, 4), kMost).status()))
        << claimed;
  }
  EXPECT_FALSE(stream::UnpackColumn(Packed(value, false, value.size(), 3), 699999).ok());
  const std::string whole = Packed(value, false, value.size(), 3);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(stream::UnpackColumn(whole.substr(0, size), kMost).ok()) << size;
  }
  EXPECT_FALSE(stream::UnpackColumn(whole + "x", kMost).ok());
  EXPECT_FALSE(stream::UnpackColumn("\x90\x01\x02\x03", kMost).ok()) << "another method";
}

}  // namespace
}  // namespace locus
