// SPDX-License-Identifier: Apache-2.0
// Runs each example as a user does.
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/locus.h"
#include "locus/routing/routing_table.h"
#include "tests/metrics/prometheus_parser.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

struct Ended {
  int code = -1;
  std::string out;
};

// `command` with this standard input.
Ended RunExample(const std::string& command, const std::string& input = "") {
  TemporaryDirectory directory;
  std::string in = directory / "in";
  std::ofstream(in) << input;
  FILE* pipe = popen(absl::StrCat(LOCUS_EXAMPLES, "/", command, " < ", in).c_str(), "r");
  Ended ended;
  char buffer[4096];
  for (size_t size; (size = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    ended.out.append(buffer, size);
  }
  int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

TEST(ExamplesTest, SqliteOnly_GivesEachBuyerAnIdAndNoneTwice) {
  TemporaryDirectory directory;
  std::string command = absl::StrCat("sqlite_only ", directory / "orders.db", " 7 8 7");
  std::set<OrderId> ids;
  for (int run = 0; run < 3; ++run) {
    Ended ended = RunExample(command);
    ASSERT_EQ(ended.code, 0) << ended.out;
    std::istringstream lines(ended.out);
    uint64_t buyer;
    std::string text;
    for (uint64_t expected : {7, 8, 7}) {
      ASSERT_TRUE(lines >> buyer >> text);
      EXPECT_EQ(buyer, expected);
      OrderId id = OrderId::Parse(text).value();
      EXPECT_EQ(id.gene(), ShardGene::Of(BuyerKey::Uint64(buyer)));
      EXPECT_TRUE(ids.insert(id).second) << id;
    }
  }
  EXPECT_EQ(RunExample(absl::StrCat("sqlite_only ", directory / "orders.db", " seven 2>&1")).code,
            2);
  EXPECT_EQ(RunExample("sqlite_only /nonexistent/orders.db 7 2>&1").code, 1);
}

TEST(ExamplesTest, ThreadPool_HandsOutWhatItIsAskedForAndWritesMetrics) {
  TemporaryDirectory directory;
  Ended ended = RunExample(absl::StrCat("thread_pool ", directory / "orders.db", " 4 20000"));
  ASSERT_EQ(ended.code, 0) << ended.out;
  PrometheusDocument metrics(ended.out);
  EXPECT_TRUE(metrics.faults().empty()) << metrics.faults()[0];
  // A call may be missed each time that a segment is replaced under it (GeneratorStats::ids).
  double ids = metrics.Value("locus_order_ids_total", {{"space", "orders"}});
  EXPECT_LE(ids, 20000);
  EXPECT_GE(ids,
            20000 - 4 * metrics.Value("locus_segments_allocated_total", {{"space", "orders"}}));
  EXPECT_EQ(metrics.Value("locus_store_first_uses_total", {{"space", "orders"}}), 0);
  EXPECT_EQ(metrics.Value("locus_store_up", {{"space", "orders"}}), 1);
  EXPECT_EQ(RunExample("thread_pool x 0 1 2>&1").code, 2);
}

TEST(ExamplesTest, PublicEdge_RoutesWhatItsKeysMadeAndNothingElse) {
  TemporaryDirectory directory;
  KeyRing ring = KeyRing::Generate().value();
  ASSERT_TRUE(ring.Save(directory / "keys").ok());
  RoutingTable table = RoutingTable::MakeEven({{"a", "db-a:3306"}, {"b", "db-b:3306"}}).value();
  std::ofstream(directory / "table.json") << table.ToJson();
  OrderId id = OrderId::FromParts(ShardGene::FromUint16(uint16_t{40000}), 12345).value();
  std::string number = OrderNoCodec::Create(ring).value().Encode(id).value().ToString();
  std::string forged =
      OrderNoCodec::Create(KeyRing::Generate().value()).value().Encode(id).value().ToString();
  std::string spaced = absl::StrCat(number.substr(0, 13), " - ", number.substr(13));
  Ended ended = RunExample(
      absl::StrCat("public_edge ", directory / "keys", " ", directory / "table.json"),
      absl::StrCat(number, "\n", forged, "\n", spaced, "\n\nrubbish\n", id.ToString(), "\n"));
  EXPECT_EQ(ended.code, 0);
  std::string found = absl::StrCat(id.ToString(), " b\n");
  EXPECT_EQ(ended.out, absl::StrCat(found, "404\n", found, "404\n404\n404\n"));
  EXPECT_EQ(RunExample("public_edge /nonexistent /nonexistent 2>&1").code, 1);
}

}  // namespace
}  // namespace locus
