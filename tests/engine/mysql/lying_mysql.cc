// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/mysql/lying_mysql.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace locus {
namespace {

constexpr uint16_t kAutocommit = 2, kMoreResults = 8;

std::string Little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string Length(uint64_t value) {
  if (value < 251) return Little(value, 1);
  if (value < 1 << 16) return "\xFC" + Little(value, 2);
  if (value < 1 << 24) return "\xFD" + Little(value, 3);
  return "\xFE" + Little(value, 8);
}

std::string Text(std::string_view text) { return Length(text.size()) + std::string(text); }

std::string Column(unsigned index) {
  std::string name = absl::StrCat("c", index);
  return Text("def") + Text("") + Text("") + Text("") + Text(name) + Text(name) + "\x0C" +
         Little(63, 2) + Little(1024, 4) + "\xFD" + Little(0, 5);
}

std::string Ok(const FakeResult& result, uint16_t status) {
  return std::string(1, '\0') + Length(result.affected) + Length(result.insert_id) +
         Little(status, 2) + Little(0, 2);
}

std::string Eof(uint16_t status) { return "\xFE" + Little(0, 2) + Little(status, 2); }

FakeResult Row(std::vector<std::optional<std::string>> cells) {
  FakeResult result;
  result.columns = static_cast<unsigned>(cells.size());
  result.rows.push_back(std::move(cells));
  return result;
}

FakeResult Empty(unsigned columns) {
  FakeResult result;
  result.columns = columns;
  return result;
}

constexpr char kDocument[] =
    R"({"epoch":1,"shards":[{"id":1,"name":"a","endpoint":"mysql://127.0.0.1:1/a"}],)"
    R"("ranges":[{"last":65535,"shard":1}]})";

FakeResult HonestResult(const std::string& statement) {
  auto says = [&](const char* words) { return absl::StrContains(statement, words); };
  std::string now = absl::StrCat(absl::ToUnixMicros(absl::Now()));
  if (says("RETURNING")) return Row({"70", "8"});
  FakeResult changed;
  changed.affected = 1;
  changed.insert_id = 128;
  if (!absl::StartsWith(statement, "SELECT")) return changed;
  if (says("GLOBAL_VARIABLES")) {
    FakeResult facts = Row({"READ_ONLY", "OFF"});
    facts.rows.push_back({"INNODB_FLUSH_LOG_AT_TRX_COMMIT", "1"});
    facts.rows.push_back({"LOG_BIN", "OFF"});
    facts.rows.push_back({"SERVER_UID", "abc"});
    return facts;
  }
  if (says("FROM locus_space")) {
    return Row({"256", "1672531200000000000", "16384", "16777216", "0", "0", "id"});
  }
  if (says("FROM `sequence`") && says("group_key, ")) return Row({"00007", "64", "1", now});
  if (says("FROM locus_schema")) return Row({"2"});
  if (says("WSREP_READY'")) return Empty(1);
  if (says("COALESCE(MAX")) return Row({"0"});
  if (says("@locus_us")) return Row({now});
  if (says("HEX(DATABASE())")) return Row({"6462", "0"});
  if (says("TABLE_NAME, TABLE_COMMENT")) return Empty(2);
  if (says("SELECT TABLE_NAME")) return Empty(1);
  if (says("routing_table_head")) return Row({"1"});
  if (says("LIMIT 1 OFFSET")) return Empty(1);
  if (says("max_allowed_packet")) return Row({"16777216"});
  if (says("information_schema.COLUMNS")) return Row({"2"});
  if (says("SELECT ROW_START FROM locus_birth")) return Row({now, "id", "0"});
  if (says("COUNT(*)")) return Row({"1", "1", "1"});
  if (says("checksum, IF(")) {
    return Row({"1", absl::StrCat(sizeof kDocument - 1), "abcd", kDocument});
  }
  if (says("SELECT epoch, bytes")) return Row({"1", absl::StrCat(sizeof kDocument - 1), "abcd"});
  if (says("SELECT document")) return Row({kDocument});
  if (says("SELECT epoch, ")) return Row({"1", now, "olga\x1B[2J", std::nullopt});
  if (says("SELECT sequence_no")) return Row({"7"});
  return Empty(1);
}

}  // namespace

std::string MysqlPacket(uint8_t number, std::string_view payload) {
  return Little(payload.size(), 3) + static_cast<char>(number) + std::string(payload);
}

std::string MysqlError(unsigned number, std::string_view sqlstate, std::string_view text) {
  return MysqlPacket(1,
                     "\xFF" + Little(number, 2) + "#" + std::string(sqlstate) + std::string(text));
}

std::string MysqlAnswer(const std::vector<FakeResult>& results) {
  std::string out;
  uint8_t number = 1;
  auto send = [&](const std::string& payload) { out += MysqlPacket(number++, payload); };
  for (size_t i = 0; i < results.size(); ++i) {
    const FakeResult& result = results[i];
    auto status = static_cast<uint16_t>(kAutocommit | (i + 1 < results.size() ? kMoreResults : 0));
    if (result.columns == 0) {
      send(Ok(result, status));
      continue;
    }
    send(Length(result.columns));
    for (unsigned column = 0; column < result.columns; ++column) send(Column(column));
    send(Eof(status));
    for (const auto& row : result.rows) {
      std::string cells;
      for (const auto& cell : row) cells += cell ? Text(*cell) : "\xFB";
      send(cells);
    }
    send(Eof(status));
  }
  return out;
}

std::vector<FakeResult> HonestResults(const std::string& statements) {
  std::vector<FakeResult> results;
  for (absl::string_view statement : absl::StrSplit(statements, ';')) {
    absl::string_view trimmed = absl::StripAsciiWhitespace(statement);
    if (!trimmed.empty()) results.push_back(HonestResult(std::string(trimmed)));
  }
  return results;
}

bool GreetMysql(LyingPeer& peer, std::string_view version) {
  constexpr uint32_t kCapabilities = 1 | 8 | 0x200 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | 0x80000;
  std::string greeting = "\x0A";
  greeting += std::string(version) + '\0' + Little(1, 4) + "abcdefgh" + '\0';
  greeting += Little(kCapabilities & 0xFFFF, 2) + Little(45, 1) + Little(kAutocommit, 2);
  greeting += Little(kCapabilities >> 16, 2) + Little(21, 1) + std::string(10, '\0');
  greeting += std::string("ijklmnopqrst") + '\0' + "mysql_native_password" + '\0';
  std::string head, login;
  if (!peer.Send(MysqlPacket(0, greeting)) || !peer.ReceiveExactly(4, head)) return false;
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(head[i])); };
  if (!peer.ReceiveExactly(byte(0) | byte(1) << 8 | byte(2) << 16, login)) return false;
  return peer.Send(MysqlPacket(static_cast<uint8_t>(byte(3) + 1), Ok({}, kAutocommit)));
}

void ServeMysql(LyingPeer& peer, const MysqlLie& lie, std::string_view version) {
  constexpr char kQuit = 1, kQuery = 3;
  if (!GreetMysql(peer, version)) return;
  while (true) {
    std::string head, command;
    if (!peer.ReceiveExactly(4, head)) return;
    auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(head[i])); };
    if (!peer.ReceiveExactly(byte(0) | byte(1) << 8 | byte(2) << 16, command)) return;
    if (command.empty() || command[0] == kQuit) return;
    std::string said =
        command[0] == kQuery ? lie(command.substr(1)) : MysqlPacket(1, Ok({}, kAutocommit));
    if (said.empty() || !peer.Send(said)) return;
  }
}

void ServeRandomly(LyingPeer& peer, uint32_t seed) {
  RandomLies lies(seed);
  uint32_t asked = seed;
  ServeMysql(peer, [&](const std::string& statements) {
    if (++asked % 4 != 0) return MysqlAnswer(HonestResults(statements));
    std::string said = lies.Answer(statements);
    if (!lies.cut_off()) return said;
    peer.Send(said);
    return std::string();
  });
}

MysqlOptions OptionsOf(const LyingServer& server) {
  MysqlOptions options;
  options.hosts = {{"127.0.0.1", server.port()}};
  options.user = "u";
  options.password = "p";
  options.database = "db";
  options.connect_timeout = absl::Seconds(10);
  options.timeout = absl::Seconds(10);
  return options;
}

std::string RandomLies::Bytes(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(random_());
  return bytes;
}

std::string RandomLies::Value() {
  static constexpr const char* kValues[] = {"",
                                            "0",
                                            "1",
                                            "-1",
                                            "64",
                                            "9223372036854775807",
                                            "9223372036854775808",
                                            "-9223372036854775808",
                                            "18446744073709551615",
                                            "99999999999999999999999",
                                            "1e3",
                                            " 1",
                                            "72057594037927936",
                                            "72057594037927937",
                                            "00007",
                                            "99999",
                                            "ON",
                                            "OFF",
                                            "abc",
                                            "1700000000000000"};
  return Pick(6) == 0 ? Bytes(Pick(300)) : kValues[Pick(std::size(kValues))];
}

void RandomLies::Distort(std::vector<FakeResult>& results) {
  FakeResult& result = results[Pick(static_cast<uint32_t>(results.size()))];
  switch (Pick(7)) {
    case 0:
      result.columns = Pick(12);
      for (auto& row : result.rows) row.resize(result.columns);
      break;
    case 1:
      result.rows.assign(Pick(5), std::vector<std::optional<std::string>>(result.columns, Value()));
      break;
    case 2:
      for (auto& row : result.rows) {
        if (!row.empty()) row[Pick(static_cast<uint32_t>(row.size()))].reset();
      }
      break;
    case 3:
      results.resize(1 + Pick(8));
      break;
    case 4:
      result.affected = random_();
      result.insert_id = uint64_t{random_()} << 32 | random_();
      break;
    default:
      for (auto& row : result.rows) {
        if (!row.empty()) row[Pick(static_cast<uint32_t>(row.size()))] = Value();
      }
  }
}

std::string RandomLies::Answer(const std::string& statements) {
  std::vector<FakeResult> results = HonestResults(statements);
  uint32_t kind = Pick(12);
  if (kind < 6 && !results.empty()) Distort(results);
  if (kind == 6) return MysqlError(1000 + Pick(1000), "42000", Bytes(Pick(200)));
  std::string bytes = MysqlAnswer(results);
  cut_off_ = kind == 7;
  if (cut_off_) bytes.resize(Pick(static_cast<uint32_t>(bytes.size())));
  return bytes;
}

}  // namespace locus
