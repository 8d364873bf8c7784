// SPDX-License-Identifier: Apache-2.0
// Processes that number by one sequence type on a real server, while the type is altered.
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/typed_sequences.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

constexpr absl::Duration kLifetime = absl::Seconds(2);
// A test machine with other work may let a thread wait.
constexpr absl::Duration kSlack = absl::Seconds(10);

std::unique_ptr<TypedSequences> Connect(const RedisServer& server) {
  auto open = [options = server.options()](
                  const SequencerOptions& of) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
    return RedisSequencer::Open(options, of);
  };
  return std::make_unique<TypedSequences>(RedisSequenceTypeStore::Open(server.options()).value(),
                                          open);
}

// Draws until the file `stop` is there; writes "MICROSECONDS NUMBER" to `file`. The exit code.
int Draw(const RedisServer& server, const std::string& file, const std::string& stop) {
  auto generator = Connect(server)->MakeGenerator("invoices", "", {});
  if (!generator.ok()) return 1;
  std::ofstream out(file);
  while (!std::ifstream(stop)) {
    for (int i = 0; i < 100; ++i) {
      const absl::Time before = absl::Now();
      const absl::StatusOr<std::string> number = (*generator)->Next(absl::Seconds(60));
      if (!number.ok()) return 2;
      out << absl::ToUnixMicros(before) << ' ' << *number << '\n';
    }
    out.flush();
    absl::SleepFor(absl::Milliseconds(1));  // so that the files stay small
  }
  return out ? 0 : 3;
}

struct Drawn {
  absl::Time begun;
  std::string number;
};

std::vector<Drawn> Read(const std::string& file) {
  std::vector<Drawn> all;
  std::ifstream in(file);
  int64_t micros = 0;
  for (std::string number; in >> micros >> number;) {
    all.push_back({absl::FromUnixMicros(micros), number});
  }
  return all;
}

bool HasBegun(const std::string& file, const std::string& with) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str().find(with) != std::string::npos;
}

TEST(RedisNumbersTest, TypeAlteredWhileTwoProcessesDraw_NoNumberTwiceAndBothFollow) {
  const TemporaryDirectory directory;
  const std::string stop = directory / "stop";
  const std::vector<std::string> files = {directory / "first", directory / "second"};
  RedisServer server;
  SequenceType type;
  type.name = "invoices";
  type.pattern = "OLD{seq:12}";
  type.lifetime = kLifetime;
  std::vector<ChildProcess> children;
  {
    auto types = RedisSequenceTypeStore::Open(server.options()).value();
    type = types->Create(type).value();
  }
  for (const std::string& file : files) {
    children.emplace_back([&] { return Draw(server, file, stop); });
  }
  for (const std::string& file : files) {
    ASSERT_TRUE(WaitUntil([&] { return HasBegun(file, " OLD"); })) << file;
  }
  type.pattern = "NEW{seq:12}";
  type.step = 7;
  ASSERT_TRUE(RedisSequenceTypeStore::Open(server.options()).value()->Alter(type).ok());
  const absl::Time altered = absl::Now();
  for (const std::string& file : files) {
    ASSERT_TRUE(WaitUntil([&] { return HasBegun(file, " NEW"); })) << file;
  }
  std::ofstream(stop) << "stop";
  for (ChildProcess& child : children) EXPECT_EQ(child.Wait(), 0);

  std::set<std::string> counted;
  for (const std::string& file : files) {
    bool is_new = false;
    for (const Drawn& each : Read(file)) {
      ASSERT_TRUE(counted.insert(each.number.substr(3)).second) << each.number << " twice";
      if (each.number.starts_with("NEW")) {
        is_new = true;
        continue;
      }
      ASSERT_FALSE(is_new) << each.number << " after the new version was in use";
      ASSERT_LE(each.begun - altered, kLifetime + kSlack) << each.number;
    }
    EXPECT_TRUE(is_new) << file;
  }
  EXPECT_GT(counted.size(), 400u);
}

}  // namespace
}  // namespace locus
