// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_ASSIGN_ORDER_ASSIGNER_H_
#define LOCUS_APPS_LOCUS_ASSIGN_ORDER_ASSIGNER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "apps/locus/assign/order_rows.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/io/csv.h"
#include "apps/locus/io/progress.h"
#include "locus/order_id_generator.h"
#include "locus/order_no_codec.h"
#include "locus/routing/router.h"
#include "locus/space.h"

namespace locus::cli {

// Passes a stream of orders through generator, codec and router. Each record is written as it was
// read, with ",order_id,order_no,shard" before its line ending, or is rejected.
class OrderAssigner {
 public:
  static constexpr uint64_t kMaxShown = 10;  // rejections on stderr, where no file takes them

  // All outlive the assigner.
  struct Parts {
    OrderIdGenerator& generator;
    const SpaceName& space;  // the generator's, for messages
    const OrderNoCodec& codec;
    bool ff1;  // order_nos of scheme ff1; otherwise siv
    const Router& router;
    ByteSink& out;
    ByteSink* rejects;  // nullptr: the first few rejections go to stderr
    Progress& progress;
  };
  struct Tally {
    uint64_t assigned = 0;
    uint64_t rejected = 0;
    std::vector<std::pair<std::string, uint64_t>> per_shard;  // by name; those with orders
  };

  // `header` is the input's first record.
  OrderAssigner(const Parts& parts, const csv::Record& header, OrderColumns columns,
                BuyerType buyer_type);

  // Assigns all records after the header, a batch at a time. On return no record is left in the
  // batch; the sinks may still hold some. DEADLINE_EXCEEDED: the store gave no ID for a minute.
  // ABORTED: Interrupted(). Errors of the splitter, the generator and the sinks. A pipe of rejects
  // whose reader closed it is not an error here; its sink keeps the status.
  absl::Status Run(ByteSource& in, csv::RecordSplitter& splitter);

  Tally tally() const;

 private:
  struct ShardColumn {
    std::string text;  // ",NAME", quoted if need be
    uint64_t orders = 0;
  };

  absl::Status Take(const csv::Record& record);
  void Reject(const csv::Record& record, Rejection rejection);
  absl::Status FinishBatch();
  absl::Status FillIds();
  // The error to report when the generator refused the buyer at `index` of the batch. Never without
  // a message.
  absl::Status NoOrderId(const absl::Status& status, size_t index) const;
  absl::Status FillNumbers();
  void WriteRow(size_t row);
  char* FormatNumber(size_t row, char* out) const;
  ShardColumn& ColumnOf(const OrderId& id);

  Parts parts_;
  OrderBatch batch_;
  std::vector<OrderId> ids_;
  std::vector<OrderNo> numbers_;      // of ids_, scheme siv
  std::vector<OrderNo64> numbers64_;  // of ids_, scheme ff1
  absl::flat_hash_map<const RoutedShard*, ShardColumn> shards_;
  uint64_t bytes_read_ = 0;
  uint64_t assigned_ = 0;
  uint64_t rejected_ = 0;
};

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_ASSIGN_ORDER_ASSIGNER_H_
