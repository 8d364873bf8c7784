// SPDX-License-Identifier: Apache-2.0
// Servers that send anything instead of a binary log: the reader ends with an error, in time.
#include <random>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "migration/mysql/binlog_reader.h"
#include "tests/engine/mysql/lying_mysql.h"
#include "tests/stream/event_bytes.h"

namespace locus {
namespace {

using mysql::BinlogReader;
using mysql::BinlogReaderOptions;
using stream::EventType;

// Lets the reader in with the settings that it wants, and then serves its dump by `dump`.
LyingServer::Serve AfterDump(std::function<void(LyingPeer&)> dump) {
  return [dump = std::move(dump)](LyingPeer& peer) {
    constexpr char kQuery = 3, kBinlogDump = 0x12;
    if (!GreetMysql(peer)) return;
    for (std::string head, command; peer.ReceiveExactly(4, head); command.clear()) {
      if (!peer.ReceiveExactly(static_cast<unsigned char>(head[0]) +
                                   static_cast<size_t>(static_cast<unsigned char>(head[1])) * 256,
                               command)) {
        return;
      }
      if (command[0] == kBinlogDump) return dump(peer);
      if (command[0] != kQuery) return;
      FakeResult result;
      if (absl::StartsWith(command.substr(1), "SELECT @@GLOBAL.read_only")) {
        result.columns = 1;
        result.rows = {{"0"}};
      } else if (absl::StartsWith(command.substr(1), "SELECT")) {
        result.columns = 6;
        result.rows = {{"1", "ROW", "FULL", "FULL", "CRC32", "0"}};
      }
      if (!peer.Send(MysqlAnswer({result}))) return;
    }
  };
}

std::string EventPacket(uint8_t number, const std::string& event) {
  return MysqlPacket(number, std::string(1, '\0') + event);
}
// As a dump begins.
std::string Beginning() {
  return EventPacket(1, RotateEvent("bin.000001")) + EventPacket(2, FormatEvent());
}

// The reader's last status; the transactions before it are read.
absl::Status Outcome(const LyingServer& server, absl::Duration link_timeout = absl::Seconds(10)) {
  BinlogReaderOptions options;
  options.server = OptionsOf(server);
  options.max_event_bytes = 64 << 10;
  options.heartbeat = absl::Milliseconds(100);
  options.link_timeout = link_timeout;
  auto reader = BinlogReader::Open(options);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return reader.status();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (;;) {
    auto item = (*reader)->Next(deadline);
    if (!item.ok()) return item.status();
    if (auto* transaction = std::get_if<stream::ChangeTransaction>(&*item)) {
      stream::Change change;
      for (;;) {
        auto more = transaction->Next(change);
        if (!more.ok() || !*more) break;
      }
    }
  }
}

absl::Status OutcomeOf(const std::string& bytes) {
  LyingServer server(AfterDump([&](LyingPeer& peer) { peer.Send(bytes); }));
  return Outcome(server);
}

TEST(BinlogLyingServerTest, PacketsThatAreNoEvents_AreDataLoss) {
  const std::string xid = XidEvent();
  for (const std::string& packet :
       {MysqlPacket(3, std::string(1, '\0')), MysqlPacket(3, "\x01"), MysqlPacket(3, "OK"),
        MysqlPacket(3, "\xFE more than an end of data has"), EventPacket(3, "short"),
        EventPacket(3, xid.substr(0, xid.size() - 1)), EventPacket(3, xid + "x")}) {
    absl::Status status = OutcomeOf(Beginning() + packet);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
}

TEST(BinlogLyingServerTest, LinkThatEnds_IsUnavailable) {
  for (const std::string& bytes :
       {std::string(), Beginning(), Beginning().substr(0, 30), Beginning() + "\x09",
        Beginning() + MysqlPacket(3, std::string("\xFE\0\0\0\0", 5))}) {
    absl::Status status = OutcomeOf(bytes);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
}

TEST(BinlogLyingServerTest, ErrorsOfTheServer_KeepTheirMeaning) {
  absl::Status purged = OutcomeOf(MysqlError(1236, "HY000", "the file was \x1b[31mpurged"));
  EXPECT_TRUE(absl::IsFailedPrecondition(purged)) << purged;
  EXPECT_TRUE(absl::StrContains(purged.message(), "purged (1236)")) << purged;
  EXPECT_FALSE(absl::StrContains(purged.message(), "\x1b")) << purged;
  absl::Status denied = OutcomeOf(MysqlError(1227, "42000", "access denied"));
  EXPECT_TRUE(absl::IsFailedPrecondition(denied)) << denied;
  absl::Status killed = OutcomeOf(MysqlError(1927, "70100", "connection was killed"));
  EXPECT_TRUE(absl::IsUnavailable(killed)) << killed;
}

TEST(BinlogLyingServerTest, EventsWithoutEnd_AreCutAtTheLimit) {
  // A packet of 16 MiB - 1 is continued by the next one.
  LyingServer server(AfterDump([](LyingPeer& peer) {
    peer.Send(Beginning());
    const std::string part(0xFFFFFF, '\0');
    for (uint8_t number = 3; peer.Send(MysqlPacket(number, part)); ++number) {
    }
  }));
  absl::Status status = Outcome(server);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "max_event_bytes")) << status;
}

TEST(BinlogLyingServerTest, ServerThatDrips_IsUnavailableAtTheLinkTimeout) {
  LyingServer server(AfterDump([](LyingPeer& peer) {
    peer.Send(Beginning());
    peer.Drip(EventPacket(3, XidEvent() + std::string(10000, 'x')), 20);
  }));
  const absl::Time before = absl::Now();
  absl::Status status = Outcome(server, absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(absl::Now() - before, absl::Seconds(60)) << "the event takes 200 s";
}

TEST(BinlogLyingServerTest, SilentServer_IsUnavailableAtTheLinkTimeout) {
  LyingServer server(AfterDump([](LyingPeer& peer) { peer.Hang(); }));
  absl::Status status = Outcome(server, absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "has said nothing for 1s")) << status;
}

// Events of a healthy log in random order, some of them damaged, in packets some of which are.
TEST(BinlogLyingServerTest, RandomDumps_EndInAnError) {
  const uint32_t first = std::random_device()();
  for (uint32_t seed = first; seed != first + 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    std::string bytes = Beginning();
    uint8_t number = 3;
    for (int i = 0; i < 30; ++i) {
      const std::string events[] = {
          GtidEvent(random() % 8 + 1, static_cast<uint32_t>(random() % 3)),
          OrdersEvent(),
          InsertEvent(OrderRow(1, "abc"), random() % 2 == 0),
          XidEvent(),
          QueryEvent("COMMIT"),
          QueryEvent("DROP TABLE t"),
          MakeEvent(EventType::kHeartbeat, "bin.000001"),
          RotateEvent("bin.000002"),
          FormatEvent()};
      std::string event = events[random() % std::size(events)];
      if (random() % 10 == 0) event[random() % event.size()] ^= static_cast<char>(random());
      std::string packet = EventPacket(number++, event);
      if (random() % 20 == 0) packet[random() % packet.size()] ^= static_cast<char>(random());
      bytes += packet;
    }
    absl::Status status = OutcomeOf(bytes);
    EXPECT_TRUE(absl::IsDataLoss(status) || absl::IsUnavailable(status) ||
                absl::IsFailedPrecondition(status))
        << status;
  }
}

}  // namespace
}  // namespace locus
