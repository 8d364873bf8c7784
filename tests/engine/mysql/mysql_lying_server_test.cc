// SPDX-License-Identifier: Apache-2.0
// Servers that are no MariaDB, or a broken one, or a proxy that mixes answers up: no answer makes a
// call throw, abort, take long or take much memory.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/mysql.h"
#include "tests/engine/mysql/lying_mysql.h"
#include "tests/support/lying_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LyingServer::Serve Saying(const MysqlLie& lie) {
  return [lie](LyingPeer& peer) { ServeMysql(peer, lie); };
}

std::string Honest(const std::string& statements) { return MysqlAnswer(HonestResults(statements)); }

// Honest but for texts that hold `words`.
MysqlLie Except(const std::string& words, const std::string& lie) {
  return [=](const std::string& statements) {
    return absl::StrContains(statements, words) ? lie : Honest(statements);
  };
}

absl::Status UseSequencer(const LyingServer& server) {
  auto sequencer = MysqlSequencer::Open(OptionsOf(server), {});
  if (!sequencer.ok()) return sequencer.status();
  absl::Status status = (*sequencer)->Next("k").status();
  status.Update((*sequencer)->NextBatch("k", 10).status());
  status.Update((*sequencer)->Get("k").status());
  status.Update((*sequencer)->Set("k", 7));
  status.Update((*sequencer)->SetIfNotExists("k", 7).status());
  (*sequencer)->RemoveExpired(10).status().IgnoreError();
  return status;
}

absl::Status UseStore(const LyingServer& server) {
  MysqlSegmentStore::CreateSchema(OptionsOf(server)).IgnoreError();
  auto opened = MysqlSegmentStore::Open(OptionsOf(server));
  if (!opened.ok()) return opened.status();
  MysqlSegmentStore& store = **opened;
  SpaceName space;
  absl::Status status = store.Create(space, SpaceOptions(), absl::Now());
  status.Update(store.ReadOptions(space).status());
  std::vector<SegmentRequest> requests(2);
  requests[0].section = 7;
  requests[0].length = requests[1].length = 64;
  status.Update(store.Allocate(space, SpaceOptions(), requests, absl::Now()).status());
  status.Update(store.Allocate(space, SpaceOptions(), {requests.data(), 1}, absl::Now()).status());
  status.Update(store.Show(space, absl::Now()).status());
  status.Update(store.DeclareRestored(space, absl::Now()));
  status.Update(store.Raise(space, 1000, RaiseReach::kAnywhere, absl::Now()).status());
  return status;
}

TEST(MysqlLyingServerTest, HonestAnswers_AreAccepted) {
  LyingServer server(Saying(Honest));
  EXPECT_TRUE(UseSequencer(server).ok()) << UseSequencer(server);
  EXPECT_TRUE(UseStore(server).ok()) << UseStore(server);
}

FakeResult Table(unsigned columns, size_t rows) {
  FakeResult table;
  table.columns = columns;
  table.rows.assign(rows, std::vector<std::optional<std::string>>(columns, "1"));
  return table;
}

// Each of these aborted the process or read past a vector.
TEST(MysqlLyingServerTest, ResultsOfAnotherShape_AreRefused) {
  struct Case {
    std::string words;
    std::vector<FakeResult> results;
  };
  const FakeResult none;
  for (const Case& lie :
       std::vector<Case>{{"GLOBAL_VARIABLES", {Table(1, 1), Table(1, 0)}},  // a column is missing
                         {"GLOBAL_VARIABLES", {Table(2, 1)}},               // a result is missing
                         {"GLOBAL_VARIABLES", {none, none}},                // no rows at all
                         {"GLOBAL_VARIABLES", {Table(2, 1), Table(1, 2)}},  // a row too many
                         {"locus_schema", {Table(0, 0)}},
                         {"locus_schema", {Table(1, 1), Table(1, 1)}},  // a result too many
                         {"RETURNING", {Table(2, 0)}},                  // the row is missing
                         {"RETURNING", {Table(1, 1)}},
                         {"RETURNING", {none}}}) {
    LyingServer server(Saying(Except(lie.words, MysqlAnswer(lie.results))));
    absl::Status status = UseSequencer(server);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("another shape"));
  }
  for (const Case& lie :
       std::vector<Case>{{"FROM locus_space", {Table(3, 1), Table(4, 1), Table(2, 1)}},
                         {"FROM locus_space", {none, Table(7, 1), Table(4, 1)}},
                         {"FROM locus_space", {none, Table(7, 1), Table(4, 1), Table(3, 0)}},
                         {"FROM locus_space", {none, Table(7, 1), Table(4, 1), Table(2, 1)}},
                         {"FROM locus_space", {none, Table(7, 1), Table(2, 1), Table(3, 1)}}}) {
    LyingServer server(Saying(Except(lie.words, MysqlAnswer(lie.results))));
    EXPECT_TRUE(absl::IsFailedPrecondition(UseStore(server))) << lie.words;
  }
  LyingServer server(Saying([](const std::string& statements) {
    std::vector<FakeResult> results = HonestResults(statements);
    if (absl::StrContains(statements, "FOR UPDATE")) results[1].rows.clear();  // no such space
    if (absl::StrContains(statements, "COALESCE")) results[0].rows.clear();
    return MysqlAnswer(results);
  }));
  EXPECT_TRUE(absl::IsFailedPrecondition(UseStore(server)));
}

// At every byte: a cut connection is tried again, and says nothing of the server's kind.
TEST(MysqlLyingServerTest, AnswersCutOff_AreUnavailable) {
  for (const char* words : {"GLOBAL_VARIABLES", "locus_schema", "FROM locus_space"}) {
    size_t size = 1;
    for (size_t sent = 1; sent < size; ++sent) {
      LyingServer server([&](LyingPeer& peer) {
        ServeMysql(peer, [&](const std::string& statements) {
          const std::string whole = Honest(statements);
          if (!absl::StrContains(statements, words)) return whole;
          size = whole.size();
          peer.Send(whole.substr(0, std::min(sent, whole.size())));
          return std::string();
        });
      });
      const bool of_sequencer = absl::string_view(words) == "GLOBAL_VARIABLES";
      const absl::Status status = of_sequencer ? UseSequencer(server) : UseStore(server);
      EXPECT_TRUE(absl::IsUnavailable(status)) << words << " " << sent << ": " << status;
    }
  }
}

// Clients may store any number of rows, so a long answer does not mean another kind of server.
TEST(MysqlLyingServerTest, MoreRowsThanAreRead_SaysNothingOfTheServer) {
  LyingServer server(Saying(Except("GLOBAL_VARIABLES", MysqlAnswer({Table(2, 9), Table(1, 0)}))));
  const absl::Status status = UseSequencer(server);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("is it a MariaDB")));
}

// It would be an index below the first step of an upgrade.
TEST(MysqlLyingServerTest, NegativeSchemaVersion_IsDataLoss) {
  FakeResult version = Table(1, 1);
  version.rows[0][0] = "-3";
  LyingServer server(Saying(Except("locus_schema", MysqlAnswer({version}))));
  EXPECT_TRUE(absl::IsDataLoss(MysqlSegmentStore::CreateSchema(OptionsOf(server))));
}

TEST(MysqlLyingServerTest, ValuesThatCannotBe_AreDataLoss) {
  for (const char* value :
       {"", "-", "1x", "99999999999999999999", "0x10", "0", "-1", "-9223372036854775808"}) {
    FakeResult result = Table(2, 1);
    result.rows[0][0] = value;
    LyingServer server(Saying(Except("RETURNING", MysqlAnswer({result}))));
    absl::Status status = UseSequencer(server);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
  FakeResult null = Table(2, 1);
  null.rows[0][1].reset();
  LyingServer server(Saying(Except("RETURNING", MysqlAnswer({null}))));
  EXPECT_TRUE(absl::IsDataLoss(UseSequencer(server)));
}

// Rows, columns, results, one huge value, error texts: without end.
TEST(MysqlLyingServerTest, FloodingServer_TakesNeitherMemoryNorTime) {
  const size_t before = PeakMemoryMiB();
  const std::string column = MysqlAnswer({Table(1, 0)}).substr(5, 40);
  std::vector<std::pair<std::string, std::string>> floods;  // its beginning, and its repeated part
  std::string one = MysqlAnswer({Table(2, 1)});
  std::string without_end = one.substr(0, one.size() - 9);
  std::string row = MysqlPacket(0,
                                "\x01"
                                "1\x01"
                                "1");
  floods.push_back({without_end, row});
  floods.push_back({MysqlPacket(1, "\x02"), MysqlPacket(2, std::string(200, 'x'))});
  floods.push_back({without_end, MysqlPacket(0, std::string(0xFFFFFF, 'x')).substr(0, 1 << 20)});
  std::string more = MysqlAnswer({FakeResult(), FakeResult()});
  floods.push_back({"", more.substr(0, more.size() / 2)});
  for (const auto& flood : floods) {
    const auto& begin = flood.first;  // clang 14 captures no structured bindings
    const auto& piece = flood.second;
    LyingServer server([&](LyingPeer& peer) {
      std::string many;
      while (many.size() < 1 << 16) many += piece;
      ServeMysql(peer, [&](const std::string& statements) {
        if (!absl::StrContains(statements, "RETURNING")) return Honest(statements);
        peer.Send(begin);
        // The numbers of the messages must rise by one, or the library stops reading at once.
        uint8_t number = static_cast<uint8_t>(begin.empty() ? 1 : begin.size() < 9 ? 2 : 6);
        while (true) {
          std::string numbered = many;
          for (size_t at = 0; at + 4 <= numbered.size(); at += piece.size()) {
            numbered[at + 3] = static_cast<char>(number++);
          }
          if (!peer.Send(numbered)) return std::string();
        }
      });
    });
    absl::Time start = absl::Now();
    absl::Status status = UseSequencer(server);
    EXPECT_FALSE(status.ok());
    EXPECT_LT(absl::Now() - start, absl::Seconds(60)) << status;
  }
  EXPECT_LT(PeakMemoryMiB() - before, 96u);
}

TEST(MysqlLyingServerTest, DrippingServer_HoldsNoCallPastItsBound) {
  for (const char* words : {"RETURNING", "SET SESSION", "locus_schema"}) {
    LyingServer server([&](LyingPeer& peer) {
      ServeMysql(peer, [&](const std::string& statements) {
        if (!absl::StrContains(statements, words)) return Honest(statements);
        FakeResult large = Table(2, 1);
        large.rows[0][0] = std::string(5000, '1');
        peer.Drip(MysqlAnswer({large}), 100);
        return std::string();
      });
    });
    MysqlOptions options = OptionsOf(server);
    options.timeout = options.connect_timeout = absl::Seconds(1);
    absl::Time start = absl::Now();
    auto sequencer = MysqlSequencer::Open(options, {});
    absl::Status status = sequencer.ok() ? (*sequencer)->Next("k").status() : sequencer.status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("did not end within"));
    EXPECT_LT(absl::Now() - start, absl::Seconds(60)) << "the answer takes eight minutes";
  }
  LyingServer greeter([](LyingPeer& peer) { peer.Drip(std::string(10'000, '\x0A'), 100); });
  MysqlOptions options = OptionsOf(greeter);
  options.timeout = options.connect_timeout = absl::Seconds(1);
  absl::Time start = absl::Now();
  absl::Status status = MysqlSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
}

TEST(MysqlLyingServerTest, TextOfTheServer_IsEscapedInMessages) {
  LyingServer server(
      Saying(Except("RETURNING", MysqlError(1064, "42000", "near '\x1B[2J\x1B]0;owned\x07'"))));
  absl::Status status = UseSequencer(server);
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\x1B")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("\\x1b[2J"));
  LyingServer greeter([](LyingPeer& peer) {
    peer.Send(MysqlPacket(0, "\xFF\x15\x04#28000no \x1B[31mentry"));
    peer.Hang();
  });
  status = MysqlSequencer::Open(OptionsOf(greeter), {}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\x1B")));
}

// Its SQL is another: without this each statement would fail in a way of its own.
TEST(MysqlLyingServerTest, Mysql_IsRefusedByNameAndVersion) {
  auto says = [](const char* version) {
    return [version](LyingPeer& peer) {
      ServeMysql(
          peer,
          [version](const std::string& statements) {
            FakeResult answer;
            answer.columns = 1;
            answer.rows = {{version}};
            return statements == "SELECT VERSION()" ? MysqlAnswer({answer}) : Honest(statements);
          },
          "9.7.4");
    };
  };
  LyingServer mysql(says("9.7.4"));
  for (const absl::Status& status :
       {MysqlSequencer::Open(OptionsOf(mysql), {}).status(), UseStore(mysql),
        MysqlSegmentStore::CreateSchema(OptionsOf(mysql))}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("this is MySQL 9.7.4; locus works with"));
  }
  LyingServer proxy(says("10.11.6-MariaDB-log"));
  EXPECT_TRUE(UseSequencer(proxy).ok()) << "a proxy that greets with another version";
}

TEST(MysqlLyingServerTest, ServerThatAsksForAFile_GetsNone) {
  LyingServer server(Saying(Except("RETURNING", MysqlPacket(1, "\xFB/etc/passwd"))));
  EXPECT_FALSE(UseSequencer(server).ok());
}

TEST(MysqlLyingServerTest, RandomAnswers_DoNoHarm) {
  const size_t before = PeakMemoryMiB();
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([seed](LyingPeer& peer) { ServeRandomly(peer, seed); });
    UseSequencer(server).IgnoreError();
    UseStore(server).IgnoreError();
  }
  EXPECT_LT(PeakMemoryMiB() - before, 96u);
}

}  // namespace
}  // namespace locus
