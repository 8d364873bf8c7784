// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_SHOWN_INSPECT_H_
#define LOCUS_APPS_SHARED_SHOWN_INSPECT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/shared/shown/codec_choice.h"
#include "locus/order_no_codec.h"
#include "locus/routing/routing_table.h"
#include "locus/shard_gene.h"
#include "locus/space.h"

namespace locus::apps {

// What is known beside a value. Pointers may be nullptr: what needs them is left out.
struct InspectWith {
  const OrderNoCodec* codec = nullptr;  // of `space`
  SpaceName space = {};
  const RoutingTable* table = nullptr;
  std::optional<Scheme> scheme64 = {};       // what a decimal is; nullopt: an order ID
  std::optional<KeyVersion> version64 = {};  // of such a decimal; nullopt: the active one
};

// The fields of an order ID or order_no, as a JSON object: kind, width, gene, cohort, key_version,
// sequence, order_id, order_no, shard, target. INVALID_ARGUMENT: it is neither, or was not made
// with these keys.
absl::StatusOr<std::string> InspectAsJson(std::string_view value, const InspectWith& with);

// The same of a gene: kind, gene, shard, and while its vnode moves, target and permyriad.
std::string InspectGeneAsJson(ShardGene gene, const RoutingTable* table);

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_SHOWN_INSPECT_H_
