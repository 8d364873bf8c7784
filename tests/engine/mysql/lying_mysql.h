// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_MYSQL_LYING_MYSQL_H_
#define LOCUS_TESTS_ENGINE_MYSQL_LYING_MYSQL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "locus/engine/mysql.h"
#include "tests/support/lying_server.h"

// Enough of the client/server protocol of MariaDB to let a client log in, and then to answer its
// statements with whatever a test wants.

namespace locus {

struct FakeResult {
  unsigned columns = 0;  // 0: a statement without rows
  std::vector<std::vector<std::optional<std::string>>> rows;
  uint64_t affected = 0;
  uint64_t insert_id = 0;
};

// One message: its payload with length and number.
std::string MysqlPacket(uint8_t number, std::string_view payload);
// All messages that answer a text of several statements, beginning with message 1.
std::string MysqlAnswer(const std::vector<FakeResult>& results);
std::string MysqlError(unsigned number, std::string_view sqlstate, std::string_view text);

// The statements of a text, and what a server that holds a space, a counter and a routing table
// answers to each.
std::vector<FakeResult> HonestResults(const std::string& statements);

// The bytes to send for a text of statements; empty: hang up.
using MysqlLie = std::function<std::string(const std::string& statements)>;
// Greets, accepts any password, then answers each statement text by `lie`.
void ServeMysql(LyingPeer& peer, const MysqlLie& lie,
                std::string_view version = "5.5.5-10.11.6-MariaDB");
bool GreetMysql(LyingPeer& peer, std::string_view version = "5.5.5-10.11.6-MariaDB");
// Answers every fourth text of statements at random.
void ServeRandomly(LyingPeer& peer, uint32_t seed);

MysqlOptions OptionsOf(const LyingServer& server);

// Changes results at random: columns, rows, NULLs, values, their number; or the bytes they are sent
// as: cut off, garbled.
class RandomLies {
 public:
  explicit RandomLies(uint32_t seed) : random_(seed) {}
  std::string Answer(const std::string& statements);
  // Whether the last answer was cut off, after which an honest server would continue and this one
  // has to hang up.
  bool cut_off() const { return cut_off_; }

 private:
  uint32_t Pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  void Distort(std::vector<FakeResult>& results);
  std::string Value();
  std::string Bytes(size_t size);

  std::mt19937 random_;
  bool cut_off_ = false;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_MYSQL_LYING_MYSQL_H_
