// SPDX-License-Identifier: Apache-2.0
// Runs the commands of docs/start/choosing.md, "Growing", on servers of its own, then counts on
// from where they led: no number that was given before is given again.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "locus/open.h"
#include "locus/order_id_generator.h"
#include "locus/segment_sequence.h"
#include "tests/docs/console_document.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

// Numbers that were given out, by whoever; a number that comes twice fails the test.
class Given {
 public:
  void Add(int64_t number) {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(numbers_.insert(number).second) << number << " was given twice";
  }
  int64_t Lowest() const { return *numbers_.begin(); }

 private:
  std::mutex mutex_;
  std::set<int64_t> numbers_;
};

// Servers on which the commands were run, once for all tests.
class Shop {
 public:
  void Build() {
    ASSERT_TRUE(mariadb.Start());
    ASSERT_TRUE(redis.Start());
    mariadb.Sql("CREATE DATABASE shop");
    std::ofstream(directory_ / ".my.cnf")
        << "[client]\nhost=127.0.0.1\nport=" << mariadb.port() << "\nuser=root\n";
    ASSERT_EQ(setenv("HOME", directory_.str().c_str(), 1), 0);
    std::filesystem::current_path(directory_.str());
    UseThisBuild();
    const std::vector<ConsoleStep> steps = ConsoleStepsOf(LOCUS_CHOOSING);
    ASSERT_GT(steps.size(), 30u) << "the document has lost its commands";
    RunConsoleSteps("docs/start/choosing.md", steps,
                    [this](const std::string& command) { return OnTheseServers(command); });
  }
  std::string OnTheseServers(const std::string& command) const {
    return absl::StrReplaceAll(command,
                               {{"127.0.0.1:3306", absl::StrCat("127.0.0.1:", mariadb.port())},
                                {"127.0.0.1:6379", absl::StrCat("127.0.0.1:", redis.port())},
                                {"redis-cli ", absl::StrCat("redis-cli -p ", redis.port(), " ")}});
  }

  MariadbServer mariadb;
  RedisServer redis;

 private:
  TemporaryDirectory directory_;
};

class GrowingTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shop_ = new Shop;
    shop_->Build();
  }
  static void TearDownTestSuite() { delete shop_; }

  static std::string Mariadb() { return shop_->OnTheseServers("mysql://root@127.0.0.1:3306/shop"); }
  static std::shared_ptr<Sequencer> Counters(const SequencerOptions& options = {}) {
    auto sequencer = OpenSequencer(Mariadb(), {.sequencer = options});
    EXPECT_TRUE(sequencer.ok()) << sequencer.status();
    return *std::move(sequencer);
  }

  // Two processes with segments and two without count at once.
  void CountAtOnce(const std::string& uri, const SequencerUriOptions& options,
                   const std::string& key, Given& given) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        auto opened = OpenSequencer(uri, options);
        ASSERT_TRUE(opened.ok()) << opened.status();
        std::shared_ptr<Sequencer> sequencer = *std::move(opened);
        if (i % 2 == 0) {
          auto segments = SegmentSequence::Create(sequencer, key);
          ASSERT_TRUE(segments.ok()) << segments.status();
          for (int n = 0; n < 2000; ++n) Take((*segments)->Next(absl::Minutes(1)), given);
        } else {
          for (int n = 0; n < 50; ++n) Take(sequencer->Next(key), given);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static void Take(const absl::StatusOr<int64_t>& number, Given& given) {
    ASSERT_TRUE(number.ok()) << number.status();
    given.Add(*number);
  }

  static inline Shop* shop_ = nullptr;
};

TEST_F(GrowingTest, CommandsOfTheDocument_CarryTheNumbersOver) {
  // The document's table of orders has a row for each number of AUTO_INCREMENT, of the counter, and
  // each order ID; its key refused to have one twice. 3 was given and deleted.
  Given orders;
  for (const int64_t number : {1, 2, 3, 4}) orders.Add(number);
  CountAtOnce(Mariadb(), {}, "orders", orders);

  Given refunds;
  for (const int64_t number : {700, 701}) refunds.Add(number);
  CountAtOnce(Mariadb(), {}, "refunds", refunds);
  EXPECT_EQ(refunds.Lowest(), 700);

  Given invoices;
  for (const int64_t number : {41873, 41874, 41875}) invoices.Add(number);
  SequencerUriOptions ceiled;
  ceiled.sequencer.key_prefix = "seq:";
  ceiled.ceiling = Mariadb();
  const std::string redis = shop_->OnTheseServers("redis://127.0.0.1:6379/0");
  CountAtOnce(redis, ceiled, "invoices", invoices);
  EXPECT_EQ(invoices.Lowest(), 41873);
  auto ended = OpenSequencer(redis, {.sequencer = {.key_prefix = "seq:"}});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(absl::IsOutOfRange((*ended)->Next("invoices").status()));
}

// Whoever comes first; an older value of the counter is not lowered.
TEST_F(GrowingTest, CounterWithAStart_BeginsThereOnceForAllProcesses) {
  constexpr int64_t kStart = 41874;
  Given given;
  SequencerUriOptions options;
  options.sequencer.start = kStart;
  CountAtOnce(Mariadb(), options, "started", given);
  EXPECT_EQ(given.Lowest(), kStart);

  ASSERT_TRUE(Counters()->Set("older", kStart + 100).ok());
  EXPECT_EQ(Counters(options.sequencer)->Next("older").value(), kStart + 101);
}

// The space that the document raised to 64 sequences before the end of 47 bits.
TEST_F(GrowingTest, VnodeWhose47BitsEnd_GoesOnAt128InOrder) {
  auto store = OpenSegmentStore(Mariadb());
  ASSERT_TRUE(store.ok()) << store.status();
  OrderIdGenerator::Options options;
  options.space = SpaceName::Parse("rehearsal").value();
  options.wide = true;
  auto ids = OrderIdGenerator::Create(*std::move(store), options);
  ASSERT_TRUE(ids.ok()) << ids.status();
  shop_->mariadb.Sql(
      "CREATE TABLE shop.both_widths (id VARBINARY(16) PRIMARY KEY, made INT NOT NULL)");
  std::string rows;
  OrderId last;
  int wide = 0;
  for (int made = 0; made < 200; ++made) {
    auto id = (*ids)->Next(BuyerKey::Uint64(17), absl::Minutes(1));
    ASSERT_TRUE(id.ok()) << id.status();
    EXPECT_GT(*id, last);
    last = *id;
    wide += id->is_wide() ? 1 : 0;
    absl::StrAppend(&rows, rows.empty() ? "" : ",", "(x'", absl::BytesToHexString(id->ToBytes()),
                    "',", made, ")");
  }
  EXPECT_EQ(wide, 200 - 64);
  shop_->mariadb.Sql("INSERT INTO shop.both_widths VALUES " +
                     rows);  // a key that is there is refused
  EXPECT_EQ(shop_->mariadb.Value(
                "SELECT COUNT(*) FROM (SELECT made, ROW_NUMBER() OVER (ORDER BY id) - 1 AS "
                "place FROM shop.both_widths) AS ordered WHERE made <> place"),
            "0");
}

}  // namespace
}  // namespace locus
