// SPDX-License-Identifier: Apache-2.0
// Generators of order IDs.
#include <vector>

#include "apps/c_api/call.h"
#include "locus/open.h"
#include "locus/order_id_generator.h"

using locus::OrderId;
using locus::OrderIdGenerator;
using locus::SegmentStore;
using locus::ShardGene;
using namespace locus::c_api;

struct locus_generator {
  std::unique_ptr<OrderIdGenerator> ids;
};

locus_code locus_generator_open(const char* store_uri, const locus_generator_options* options,
                                locus_generator** generator, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("store_uri", store_uri));
    LOCUS_RETURN_IF_ERROR(NotNull("generator", generator));
    LOCUS_ASSIGN_OR_RETURN(const locus_generator_options set, OptionsOr(options));
    OrderIdGenerator::Options of;
    LOCUS_ASSIGN_OR_RETURN(of.space, SpaceOf(set.space));
    of.create_space = set.create != 0;
    of.wide = set.wide != 0;
    of.horizon = MsOr(set.horizon_ms, of.horizon);
    locus::StoreUriOptions place;
    LOCUS_ASSIGN_OR_RETURN(place.password, PasswordOf(set.password, set.password_file));
    place.create = set.create != 0;
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<SegmentStore> store,
                           locus::OpenSegmentStore(store_uri, place));
    auto made = std::make_unique<locus_generator>();
    LOCUS_ASSIGN_OR_RETURN(made->ids, OrderIdGenerator::Create(std::move(store), of));
    *generator = made.release();
    return absl::OkStatus();
  });
}

locus_code locus_generator_next(locus_generator* generator, uint16_t gene, uint32_t timeout_ms,
                                locus_order_id* id, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("generator", generator));
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_ASSIGN_OR_RETURN(OrderId made,
                           generator->ids->Next(ShardGene::FromUint16(gene), Ms(timeout_ms)));
    *id = WordsOf(made);
    return absl::OkStatus();
  });
}

locus_code locus_generator_next_batch(locus_generator* generator, const uint16_t* genes,
                                      size_t count, uint32_t timeout_ms, locus_order_id* ids,
                                      size_t* made, locus_error* error) {
  if (made != nullptr) *made = 0;
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("generator", generator));
    LOCUS_RETURN_IF_ERROR(NotNull("genes", genes));
    LOCUS_RETURN_IF_ERROR(NotNull("ids", ids));
    LOCUS_RETURN_IF_ERROR(NotNull("made", made));
    std::vector<ShardGene> of(count);
    for (size_t i = 0; i < count; ++i) of[i] = ShardGene::FromUint16(genes[i]);
    std::vector<OrderId> taken(count);
    LOCUS_ASSIGN_OR_RETURN(const size_t set,
                           generator->ids->NextBatch(std::span<const ShardGene>(of),
                                                     std::span(taken), Ms(timeout_ms)));
    for (size_t i = 0; i < set; ++i) ids[i] = WordsOf(taken[i]);
    *made = set;
    return absl::OkStatus();
  });
}

locus_code locus_generator_warm(locus_generator* generator, uint32_t timeout_ms,
                                locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("generator", generator));
    return generator->ids->Warm(Ms(timeout_ms));
  });
}

void locus_generator_close(locus_generator* generator) { delete generator; }
