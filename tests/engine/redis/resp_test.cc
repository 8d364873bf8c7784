// SPDX-License-Identifier: Apache-2.0
// The reader of replies: what it reads, and what it refuses before memory is taken for it.
#include "src/engine/redis/resp.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::redis {
namespace {

using ::testing::HasSubstr;

std::string Shown(const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::kNil:
      return "nil";
    case Reply::Kind::kInteger:
      return absl::StrCat(reply.integer);
    case Reply::Kind::kText:
      return absl::StrCat("'", reply.text, "'");
    case Reply::Kind::kError:
      return absl::StrCat("!", reply.text);
    case Reply::Kind::kArray:
      break;
  }
  std::string text = "[";
  for (const Reply& element : reply.elements) absl::StrAppend(&text, Shown(element), " ");
  return text + "]";
}

// All replies in `bytes`, which are fed in pieces; then "..." where some are missing, or the error.
std::string Read(std::string_view bytes, size_t piece, ReplyReader::Limits limits = {}) {
  ReplyReader reader(limits);
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.Feed(bytes.substr(at, piece));
    while (true) {
      Reply reply;
      absl::StatusOr<bool> whole = reader.Next(reply);
      if (!whole.ok()) return text + std::string(whole.status().message());
      if (!*whole) break;
      absl::StrAppend(&text, Shown(reply), ";");
    }
  }
  return text;
}

TEST(RespTest, RepliesOfEachKind_AreReadHoweverTheyAreCut) {
  constexpr char kBytes[] =
      "+OK\r\n-ERR no\r\n:-42\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
      "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*0\r\n+y\r\n:7\r\n";
  for (size_t piece = 1; piece < sizeof kBytes; ++piece) {
    EXPECT_EQ(Read(kBytes, piece), "'OK';!ERR no;-42;'a\r\nbc';'';nil;nil;[];[1 ['x' [] ] 'y' ];7;")
        << piece;
  }
}

TEST(RespTest, BytesThatAreNoResp_BreakTheConnection) {
  for (const char* bytes :
       {"hello\r\n", "\r\n", "+a\n", ":1x\r\n", ":\r\n", "$1\r\nabc\r\n", "*-2\r\n", "$-2\r\n",
        ":99999999999999999999\r\n", "%1\r\n+a\r\n+b\r\n"}) {
    ReplyReader reader;
    reader.Feed(bytes);
    Reply reply;
    absl::Status refused = reader.Next(reply).status();
    EXPECT_TRUE(absl::IsUnavailable(refused)) << bytes;
    reader.Feed("+OK\r\n");
    EXPECT_EQ(reader.Next(reply).status(), refused) << bytes;
  }
}

TEST(RespTest, AnnouncementsAboveTheLimits_AreRefusedAtOnce) {
  EXPECT_THAT(Read("*2147483647\r\n", 100), HasSubstr("an array of 2147483647 elements"));
  EXPECT_THAT(Read("*60000000\r\n", 100), HasSubstr("an array of 60000000 elements"));
  EXPECT_THAT(Read("*9223372036854775807\r\n", 100), HasSubstr("9223372036854775807"));
  EXPECT_THAT(Read("$2147483647\r\n", 100), HasSubstr("a text of 2147483647 bytes"));
  EXPECT_THAT(Read("*1\r\n$9223372036854775807\r\n", 100), HasSubstr("9223372036854775807"));
}

TEST(RespTest, RepliesAboveALimit_AreRefused) {
  std::string deep;
  for (int i = 0; i < 7; ++i) deep += "*1\r\n";
  EXPECT_EQ(Read(deep + ":1\r\n", 3), "[[[[[[[1 ] ] ] ] ] ] ];");
  EXPECT_THAT(Read(deep + "*1\r\n", 3), HasSubstr("nested deeper than 7"));
  EXPECT_THAT(Read(std::string(100'000, '+'), 1000), HasSubstr("a line is longer than 65536"));
  // Many small arrays count as one large one.
  ReplyReader::Limits limits{1000, 5, 3, 100};
  EXPECT_EQ(Read("*2\r\n*1\r\n:1\r\n*2\r\n:2\r\n:3\r\n", 1, limits), "[[1 ] [2 3 ] ];");
  EXPECT_THAT(Read("*2\r\n*2\r\n:1\r\n:1\r\n*2\r\n", 1, limits),
              HasSubstr("an array of 2 elements"));
  std::string texts = "*5\r\n";
  for (int i = 0; i < 4; ++i) texts += "$300\r\n" + std::string(300, 'x') + "\r\n";
  EXPECT_THAT(Read(texts, 7, limits), HasSubstr("a text of 300 bytes"));
  // The limits are of one reply, not of the stream.
  std::string stream;
  for (int i = 0; i < 1000; ++i) stream += "*1\r\n+abc\r\n";
  EXPECT_THAT(Read(stream, 64, limits), ::testing::EndsWith("['abc' ];"));
}

TEST(RespTest, Cost_IsAboutTheMemoryOfTheReply) {
  ReplyReader reader;
  Reply reply;
  reader.Feed("*3\r\n+\r\n+\r\n+\r\n:1\r\n");
  ASSERT_TRUE(reader.Next(reply).value());
  EXPECT_GE(reader.last_cost(), 4 * sizeof(Reply));
  ASSERT_TRUE(reader.Next(reply).value());
  EXPECT_LT(reader.last_cost(), 2 * sizeof(Reply));
}

}  // namespace
}  // namespace locus::redis
