// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_LOCUS_H_
#define LOCUS_LOCUS_H_

// All of the core (locus::core). Engines, routing and metrics are headers of their own:
// locus/engine/<name>.h, locus/routing/*.h (metrics: locus/routing/metrics.h).
//
//   auto store = locus::SqliteSegmentStore::Open("orders.db");  // locus/engine/sqlite.h
//   if (!store.ok()) return store.status();
//   auto ids = locus::OrderIdGenerator::Create(*std::move(store));  // keep it: one a process
//   if (!ids.ok()) return ids.status();
//   absl::StatusOr<locus::OrderId> id =
//       (*ids)->Next(locus::BuyerKey::Uint64(17850), absl::Seconds(5));

#include "locus/buyer_key.h"
#include "locus/clock.h"
#include "locus/executor.h"
#include "locus/hybrid_clock.h"
#include "locus/key_ring.h"
#include "locus/latency_histogram.h"
#include "locus/leased_snowflake.h"
#include "locus/number_format.h"
#include "locus/number_generator.h"
#include "locus/order_id.h"
#include "locus/order_id_generator.h"
#include "locus/order_no.h"
#include "locus/order_no_codec.h"
#include "locus/segment_sequence.h"
#include "locus/segment_store.h"
#include "locus/segment_store_set.h"
#include "locus/sequence_type.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/shard_gene.h"
#include "locus/snowflake.h"
#include "locus/snowflake_layout.h"
#include "locus/space.h"
#include "locus/typed_sequences.h"
#include "locus/uuid.h"
#include "locus/version.h"
#include "locus/worker_lease.h"
#include "locus/worker_lease_store.h"

#endif  // LOCUS_LOCUS_H_
