// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <sys/wait.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/etcd.h"
#include "locus/engine/locusd.h"
#include "locus/engine/memory.h"
#include "locus/engine/mysql.h"
#include "locus/engine/strict_client.h"
#include "locus/engine/zookeeper.h"
#include "locus/locus.h"
#include "locus/routing/engine/http.h"
#include "locus/routing/metrics.h"
#include "tests/metrics/prometheus_parser.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What Prometheus' own tool finds wrong with `text`, and its exit status if that is not 0.
std::string PromtoolFinds(const std::string& text) {
  TemporaryDirectory directory;
  std::string file = directory / "metrics";
  std::ofstream(file) << text;
  FILE* promtool = popen(("promtool check metrics < '" + file + "' 2>&1").c_str(), "r");
  std::string found;
  char buffer[4096];
  while (size_t size = fread(buffer, 1, sizeof buffer, promtool)) found.append(buffer, size);
  int status = pclose(promtool);
  if (status != 0) absl::StrAppend(&found, "exit ", WEXITSTATUS(status));
  return found;
}

TEST(PrometheusTextTest, StatsOfRealObjects_AreAValidDocumentWithTheirFigures) {
  OrderIdGenerator::Options options;
  options.create_space = true;
  auto generator =
      OrderIdGenerator::Create(std::make_shared<MemorySegmentStore>(), options).value();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(generator->Next(BuyerKey::Uint64(5), absl::Seconds(20)).ok());
  }
  std::shared_ptr<Sequencer> sequencer = MemorySequencer::Create(SequencerOptions()).value();
  ASSERT_TRUE(sequencer->NextBatch("invoices", 10).ok());
  ASSERT_TRUE(absl::IsNotFound(sequencer->Get("unknown").status()));
  auto sequence = SegmentSequence::Create(sequencer, "parking").value();
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(sequence->Next(absl::Seconds(20)).ok());
  auto snowflake = Snowflake<>::Create({.worker = 3}).value();
  for (int i = 0; i < 9000; ++i) ASSERT_TRUE(snowflake->Next().ok());
  Router router(RoutingTable::MakeEven({{"a", "db-a:3306"}, {"b", "db-b:3306"}}).value());

  PrometheusText text;
  text.Add(generator->Stats());
  text.Add(sequencer->Stats());
  text.Add(sequence->Stats(), {{"key", "parking"}});
  text.Add(snowflake->Stats(), {{"worker", "3"}});
  text.Add(router.Stats());
  PrometheusDocument document(text.ToString());

  EXPECT_THAT(document.faults(), IsEmpty()) << text.ToString();
  EXPECT_EQ(PromtoolFinds(text.ToString()), "");
  EXPECT_EQ(document.Value("locus_order_ids_total"), 50);
  EXPECT_EQ(document.Value("locus_store_first_uses_total"), 1);
  EXPECT_EQ(document.Value("locus_store_up"), 1);
  EXPECT_GT(document.Value("locus_store_headroom_ratio"), 0.99);
  EXPECT_EQ(document.Value("locus_store_allocation_duration_seconds_count"),
            document.Value("locus_store_calls_total"));
  EXPECT_GE(document.Value("locus_sequencer_numbers_total"), 10);
  EXPECT_EQ(document.Value("locus_sequencer_call_failures_total"), 0);
  EXPECT_EQ(document.Value("locus_sequence_numbers_total", {{"key", "parking"}}), 7);
  EXPECT_EQ(document.Value("locus_snowflake_ids_total", {{"worker", "3"}}), 9000);
  EXPECT_EQ(document.Value("locus_router_epoch"), static_cast<double>(router.Stats().epoch));
  EXPECT_EQ(document.Value("locus_router_table_age_seconds"), HUGE_VAL);
}

TEST(PrometheusTextTest, NumberGenerator_ComesWithItsSequence) {
  NumberGeneratorStats stats;
  stats.numbers = 9;
  stats.rolled = 2;
  stats.leftovers_returned = 3;
  stats.leftovers_dropped = 4;
  stats.type_version = (uint64_t{1} << 52) + 1;
  stats.sequence.numbers = 5;
  PrometheusText text;
  text.Add(stats, {{"type", "invoices"}, {"key", "a"}});
  const PrometheusDocument document(text.ToString());
  EXPECT_THAT(document.faults(), IsEmpty()) << text.ToString();
  EXPECT_EQ(PromtoolFinds(text.ToString()), "");
  const PrometheusDocument::Labels labels = {{"type", "invoices"}, {"key", "a"}};
  EXPECT_EQ(document.Value("locus_number_drawn_total", labels), 9);
  EXPECT_EQ(document.Value("locus_number_groups_total", labels), 2);
  EXPECT_EQ(document.Value("locus_number_leftovers_returned_total", labels), 3);
  EXPECT_EQ(document.Value("locus_number_leftovers_dropped_total", labels), 4);
  EXPECT_EQ(document.Value("locus_sequence_type_version", labels), 4503599627370497);
  EXPECT_EQ(document.Value("locus_sequence_numbers_total", labels), 5);
}

TEST(PrometheusTextTest, SeveralObjects_AreToldApartByTheirLabels) {
  GeneratorStats stats;
  stats.ids = std::numeric_limits<uint64_t>::max();
  stats.stores.resize(2);
  stats.stores[0].name = "east";
  stats.stores[1].name = "west";
  stats.stores[1].allocations = 4;
  stats.stores[1].last_error = absl::UnavailableError("secret detail");
  stats.stores[1].clock_offset = absl::Milliseconds(-1500);
  stats.stores[1].store_latency.Add(absl::Milliseconds(3));
  stats.stores[1].store_latency.Add(absl::Hours(1));
  std::vector<ShardPoolStats> pools(2);
  pools[0].shard = 1;
  pools[0].name = "orders \"a\"\\\n";
  pools[1].shard = 2;
  pools[1].waiting = 7;
  PrometheusText text;
  text.Add(stats, {{"space", "orders"}});
  text.Add(GeneratorStats(), {{"space", "returns"}});
  text.Add(pools);
  PrometheusDocument document(text.ToString());

  EXPECT_THAT(document.faults(), IsEmpty()) << text.ToString();
  EXPECT_EQ(PromtoolFinds(text.ToString()), "");
  PrometheusDocument::Labels west = {{"space", "orders"}, {"store", "west"}};
  EXPECT_EQ(document.Value("locus_segments_allocated_total", west), 4);
  EXPECT_EQ(document.Value("locus_store_up", west), 0);
  EXPECT_EQ(document.Value("locus_store_clock_offset_seconds", west), -1.5);
  EXPECT_EQ(document.Value("locus_store_allocation_duration_seconds_sum", west), 3600.003);
  west["le"] = "0.005";
  EXPECT_EQ(document.Value("locus_store_allocation_duration_seconds_bucket", west), 1);
  EXPECT_EQ(document.Value("locus_order_ids_total", {{"space", "returns"}}), 0);
  EXPECT_NE(text.ToString().find("locus_order_ids_total{space=\"orders\"} 18446744073709551615\n"),
            std::string::npos)
      << "counters are not rounded";
  EXPECT_EQ(document.Value("locus_pool_waiting_callers", {{"shard", "2"}, {"shard_name", ""}}), 7);
  EXPECT_EQ(document.Value("locus_pool_waiting_callers",
                           {{"shard", "1"}, {"shard_name", "orders \"a\"\\\n"}}),
            0);
  EXPECT_EQ(text.ToString().find("secret"), std::string::npos);
}

TEST(PrometheusTextTest, LeasesAndAudit_AreTold) {
  WorkerLeaseStats lease;
  lease.held = true;
  lease.left = absl::Milliseconds(1500);
  lease.ttl = absl::Seconds(10);
  lease.renewals = 7;
  lease.failures = 2;
  lease.unhealthy = 1;
  AuditSinkStats audit;
  audit.recorded = 10;
  audit.written = 6;
  audit.dropped = 1;
  audit.failures = 3;
  audit.waiting = 2;
  audit.spilled = 4096;
  audit.last_failure = absl::UnavailableError("secret detail");
  PrometheusText text;
  text.Add(lease, {{"worker", "17"}});
  text.Add(audit);
  PrometheusDocument document(text.ToString());
  EXPECT_THAT(document.faults(), IsEmpty()) << text.ToString();
  EXPECT_EQ(PromtoolFinds(text.ToString()), "");
  const PrometheusDocument::Labels worker = {{"worker", "17"}};
  EXPECT_EQ(document.Value("locus_worker_lease_held", worker), 1);
  EXPECT_EQ(document.Value("locus_worker_lease_left_seconds", worker), 1.5);
  EXPECT_EQ(document.Value("locus_worker_lease_ttl_seconds", worker), 10);
  EXPECT_EQ(document.Value("locus_worker_lease_renewals_total", worker), 7);
  EXPECT_EQ(document.Value("locus_worker_lease_renewal_failures_total", worker), 2);
  EXPECT_EQ(document.Value("locus_worker_lease_unhealthy_total", worker), 1);
  EXPECT_EQ(document.Value("locus_audit_recorded_total"), 10);
  EXPECT_EQ(document.Value("locus_audit_written_total"), 6);
  EXPECT_EQ(document.Value("locus_audit_dropped_total"), 1);
  EXPECT_EQ(document.Value("locus_audit_write_failures_total"), 3);
  EXPECT_EQ(document.Value("locus_audit_waiting_records"), 2);
  EXPECT_EQ(document.Value("locus_audit_spilled_bytes"), 4096);
  EXPECT_EQ(text.ToString().find("secret"), std::string::npos);
}

// The parser would notice each of these.
TEST(PrometheusTextTest, FaultyDocuments_AreNoticed) {
  const std::string head = "# HELP a_total A.\n# TYPE a_total counter\n";
  EXPECT_THAT(PrometheusDocument(head + "a_total 1\n").faults(), IsEmpty());
  EXPECT_EQ(PromtoolFinds(head + "a_total 1\n"), "");
  EXPECT_THAT(PromtoolFinds(head + "a_total x\n"), HasSubstr("exit 1"));
  for (std::string bad :
       {head + "a_total 1", head + "a_total x\n", head + "a_total{b=1} 1\n", head + "b_total 1\n",
        head + "a_total 1\na_total 1\n", head + "a_total -1\n", head + "a_total{b=\"\\x\"} 1\n",
        std::string("a 1\n"), std::string("# TYPE a gauge\na 1\n"),
        std::string("# HELP a A.\n# TYPE a counter\na 1\n"),
        std::string("# HELP a_ms A.\n# TYPE a_ms gauge\na_ms 1\n"),
        std::string("# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n"),
        std::string("# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 2\n"
                    "a_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n")}) {
    EXPECT_FALSE(PrometheusDocument(bad).faults().empty()) << bad;
  }
}

TEST(LatencyHistogramTest, ADuration_IsInTheFirstBucketThatHoldsIt) {
  LatencyHistogram histogram;
  histogram.Add(absl::ZeroDuration());
  histogram.Add(LatencyHistogram::kUpperBounds[0]);
  histogram.Add(LatencyHistogram::kUpperBounds[0] + absl::Nanoseconds(1));
  histogram.Add(absl::Hours(2));
  EXPECT_EQ(histogram.count(0), 2u);
  EXPECT_EQ(histogram.count(1), 1u);
  EXPECT_EQ(histogram.count(LatencyHistogram::kBuckets - 1), 1u);
  LatencyHistogram twice = histogram;
  twice.Merge(histogram);
  EXPECT_EQ(twice.total(), 8u);
  EXPECT_EQ(twice.sum(), 2 * histogram.sum());
}

// A new Stats type needs an Add: otherwise its users write their own text.
TEST(PrometheusTextTest, EachStatsTypeOfThePublicHeaders_IsTaken) {
  const std::filesystem::path include = LOCUS_INCLUDE_DIRECTORY;
  auto read = [](const std::filesystem::path& file) {
    std::ifstream stream(file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::string taken = read(include / "locus/routing/metrics.h");
  const std::regex type("struct ([A-Z][A-Za-z]*Stats) \\{");
  int types = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(include)) {
    if (!file.is_regular_file()) continue;
    const std::string text = read(file.path());
    for (std::sregex_iterator found(text.begin(), text.end(), type), end; found != end; ++found) {
      ++types;
      EXPECT_TRUE(std::regex_search(
          taken, std::regex("void Add\\w*\\([^)]*\\b" + (*found)[1].str() + "\\b")))
          << (*found)[1] << " of " << file.path();
    }
  }
  EXPECT_GE(types, 19);
}

TEST(PrometheusTextTest, StatsOfEngines_AreAValidDocument) {
  PrometheusText text;
  FencedStats fenced;
  fenced.unknown_commits = 7;
  text.Add(fenced);
  text.Add(HttpTableStats());
  text.Add(MysqlStats());
  text.Add(CeilingSequencer::CeilingStats());
  text.Add(EtcdStats());
  text.Add(ZookeeperStats());
  text.Add(LocusdStats());
  text.Add(StrictSequencerStats());
  text.Add(StrictClientStats());
  text.Add(LeasedSnowflakeStats());
  PrometheusDocument document(text.ToString());
  EXPECT_THAT(document.faults(), IsEmpty()) << text.ToString();
  EXPECT_EQ(PromtoolFinds(text.ToString()), "");
  EXPECT_EQ(document.Value("locus_fenced_unknown_commits_total"), 7);
  EXPECT_EQ(document.Value("locus_ceiling_up"), 1);
  EXPECT_EQ(document.Value("locus_redis_calls_total"), 0);
}

}  // namespace
}  // namespace locus
