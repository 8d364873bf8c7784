// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_METRICS_H_
#define LOCUS_ROUTING_METRICS_H_

#include <span>
#include <string>
#include <string_view>

#include "locus/audit.h"
#include "locus/engine/redis.h"
#include "locus/internal/metrics_text.h"
#include "locus/leased_snowflake.h"
#include "locus/number_generator.h"
#include "locus/order_id_generator.h"
#include "locus/routing/engine/fenced_transaction.h"
#include "locus/routing/engine/shard_pools.h"
#include "locus/routing/router.h"
#include "locus/segment_sequence.h"
#include "locus/sequencer.h"
#include "locus/snowflake.h"
#include "locus/strict_sequencer.h"
#include "locus/worker_lease.h"

namespace locus {

// Of the headers of their engines: locus/engine/<name>.h, locus/routing/engine/http.h.
struct EtcdStats;
struct HttpTableStats;
struct LocusdStats;
struct MysqlStats;
struct StrictClientStats;
struct ZookeeperStats;

// Stats as the text that Prometheus scrapes (exposition format 0.0.4), for a handler of /metrics:
//
//   PrometheusText text;
//   text.Add(generator->Stats());
//   text.Add(router.Stats(), {{"table", "orders"}});
//   response.body = text.ToString();
//   response.content_type = PrometheusText::kContentType;
//
// Names begin with locus_, units are seconds, and counters end in _total. Give several objects of
// one kind different labels: two samples with the same name and labels are an error of the caller,
// which Prometheus reports. Stats contain neither keys nor passwords. Thread safety: none. Stats()
// of each object may be called at any time.
class PrometheusText {
 public:
  // Names and values. A name is [a-zA-Z_][a-zA-Z0-9_]*; other characters become '_'. A value is any
  // text.
  using Labels = metrics::MetricsText::Labels;
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Adds a label `store` if the generator has several stores.
  void Add(const GeneratorStats& stats, const Labels& labels = {});
  void Add(const SnowflakeStats& stats, const Labels& labels = {});
  void Add(const SegmentSequenceStats& stats, const Labels& labels = {});
  // Adds those of its sequence, too.
  void Add(const NumberGeneratorStats& stats, const Labels& labels = {});
  void Add(const SequencerStats& stats, const Labels& labels = {});
  void Add(const WorkerLeaseStats& stats, const Labels& labels = {});
  // Adds the figures of its IDs and of its lease as well.
  void Add(const LeasedSnowflakeStats& stats, const Labels& labels = {});
  void Add(const StrictSequencerStats& stats, const Labels& labels = {});
  void Add(const StrictClientStats& stats, const Labels& labels = {});
  void Add(const AuditSinkStats& stats, const Labels& labels = {});
  void Add(const RouterStats& stats, const Labels& labels = {});
  // Adds the labels `shard`, the ID, and `shard_name`.
  void Add(std::span<const ShardPoolStats> stats, const Labels& labels = {});
  void Add(const FencedStats& stats, const Labels& labels = {});
  void Add(const HttpTableStats& stats, const Labels& labels = {});
  // Of engines: stores, sequencers and lease stores on one server.
  void Add(const MysqlStats& stats, const Labels& labels = {});
  void Add(const RedisStats& stats, const Labels& labels = {});
  // Adds the figures of RedisStats as well.
  void Add(const CeilingSequencer::CeilingStats& stats, const Labels& labels = {});
  void Add(const EtcdStats& stats, const Labels& labels = {});
  void Add(const ZookeeperStats& stats, const Labels& labels = {});
  void Add(const LocusdStats& stats, const Labels& labels = {});

  // Everything that was added. The samples of one name stand together, with HELP and TYPE.
  std::string ToString() const { return text_.ToString(); }

 private:
  void AddStore(const StoreStats& stats, const Labels& labels);

  metrics::MetricsText text_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_METRICS_H_
