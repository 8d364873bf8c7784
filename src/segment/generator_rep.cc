// SPDX-License-Identifier: Apache-2.0
#include "src/segment/generator_rep.h"

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/internal/order_id_assembler.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/order/gene_lanes.h"

namespace locus {

using internal::Counters;
using internal::ForkGuard;
using internal::HotCounters;
using internal::OrderIdAssembler;
using internal::SegmentWord;
using internal::StoreChain;

OrderIdGenerator::Rep::Rep(std::vector<StoreChain::Assignment> assignments, Options options,
                           const SpaceOptions& space)
    : options_(std::move(options)),
      most_lead_(absl::Seconds(static_cast<double>(space.max_lead) /
                               static_cast<double>(space.floor_rate))),
      counters_(space.section_size,
                (options_.wide ? OrderId::kMaxSequence : OrderId::kMaxNarrowSequence) + 1) {
  for (StoreChain::Assignment& assignment : assignments) {
    chains_.push_back(
        std::make_unique<StoreChain>(std::move(assignment), space, options_, counters_, loaded_));
  }
}

absl::StatusOr<OrderId> OrderIdGenerator::Rep::TryNext(ShardGene gene) {
  uint64_t sequence = counters_.Take(gene.value());
  if (sequence == Counters::kNone) [[unlikely]] {
    LOCUS_RETURN_IF_ERROR(TakeSlowly(gene, sequence));
  }
  return OrderIdAssembler::Of(gene, sequence);
}

absl::StatusOr<size_t> OrderIdGenerator::Rep::TryBatch(std::span<const ShardGene> genes,
                                                       std::span<OrderId> ids) {
  absl::Status status;
  size_t taken = TakeBlock(genes, ids.data(), status);
  if (taken == genes.size()) return taken;
  if (absl::IsUnavailable(status)) AskForAll(genes.subspan(taken));
  if (taken > 0) return taken;
  return status;
}

// As single calls: where keys are not hashed several at once, blocks and prefetches only cost.
absl::StatusOr<size_t> OrderIdGenerator::Rep::TryOneByOne(std::span<const BuyerKey> buyers,
                                                          std::span<OrderId> ids) {
  const HotCounters usual = counters_.hot();
  for (size_t i = 0; i < buyers.size(); ++i) {
    const ShardGene gene = ShardGene::Of(buyers[i]);
    uint64_t sequence;
    if (usual.TryTake(gene.value(), sequence)) [[likely]] {
      ids[i] = OrderIdAssembler::Narrow(gene, sequence);
      continue;
    }
    const absl::StatusOr<OrderId> id = TryNext(gene);
    if (id.ok()) {
      ids[i] = *id;
      continue;
    }
    if (absl::IsUnavailable(id.status())) AskForAll(buyers.subspan(i));
    if (i > 0) return i;
    return id.status();
  }
  return buyers.size();
}

absl::StatusOr<size_t> OrderIdGenerator::Rep::TryBatch(std::span<const BuyerKey> buyers,
                                                       std::span<OrderId> ids) {
  if (internal::GeneLanesInUse() == internal::GeneLanes::kOne) return TryOneByOne(buyers, ids);
  // Genes are hashed one block ahead of the block that is taken, so that the processor hashes, and
  // fetches cursors, while it waits for compare-and-swaps.
  constexpr size_t kBlock = 64;
  std::array<std::array<ShardGene, kBlock>, 2> genes;
  size_t hashed = 0;
  auto hash_next = [&] {
    auto next = buyers.subspan(hashed, std::min(kBlock, buyers.size() - hashed));
    auto& block = genes[hashed / kBlock % 2];
    ShardGene::OfEach(next, std::span(block).first(next.size()));
    for (size_t i = 0; i < next.size(); ++i) counters_.Prefetch(block[i].value());
    hashed += next.size();
  };
  hash_next();
  size_t done = 0;
  while (done < buyers.size()) {
    size_t end = hashed;
    auto block = std::span(genes[done / kBlock % 2]).first(end - done);
    hash_next();
    absl::Status status;
    size_t taken = TakeBlock(block, ids.data() + done, status);
    done += taken;
    if (done == end) continue;
    if (absl::IsUnavailable(status)) AskForAll(buyers.subspan(done));
    if (done > 0) return done;
    return status;
  }
  return buyers.size();
}

absl::StatusOr<OrderId> OrderIdGenerator::Rep::Next(ShardGene gene, Deadline deadline) {
  absl::StatusOr<OrderId> id = loaded_.RetryUntil(deadline, [&] { return TryNext(gene); });
  if (!id.ok()) return Explain(id.status(), gene);
  return id;
}

template <typename Key>
absl::StatusOr<size_t> OrderIdGenerator::Rep::Batch(std::span<const Key> keys,
                                                    std::span<OrderId> ids, Deadline deadline) {
  size_t done = 0;
  do {
    absl::StatusOr<size_t> filled = loaded_.RetryUntil(
        deadline, [&] { return TryBatch(keys.subspan(done), ids.subspan(done)); });
    if (!filled.ok()) {
      if (done > 0) return done;
      return Explain(filled.status(), GeneOf(keys[done]));
    }
    done += *filled;
  } while (done < keys.size());
  return done;
}
template absl::StatusOr<size_t> OrderIdGenerator::Rep::Batch(std::span<const ShardGene>,
                                                             std::span<OrderId>, Deadline);
template absl::StatusOr<size_t> OrderIdGenerator::Rep::Batch(std::span<const BuyerKey>,
                                                             std::span<OrderId>, Deadline);

absl::Status OrderIdGenerator::Rep::Warm(std::span<const ShardGene> genes, Deadline deadline) {
  std::vector<uint32_t> sections;
  if (genes.empty()) {
    for (uint32_t section = 0; section < counters_.sections(); ++section) {
      sections.push_back(section);
    }
  } else {
    std::set<uint32_t> named;
    for (ShardGene gene : genes) named.insert(counters_.SectionOf(gene.value()));
    sections.assign(named.begin(), named.end());
  }
  uint32_t missing = 0;
  absl::Status status = loaded_.RetryUntil(deadline, [&] { return TryWarm(sections, missing); });
  if (status.ok()) return status;
  uint32_t vnodes = ShardGene::kCount / counters_.sections();
  return Explain(std::move(status), ShardGene::FromUint16(static_cast<uint16_t>(missing * vnodes)));
}

// Asks for all sections first, then wakes each chain once, so that one call to a store allocates
// for all of its sections.
absl::Status OrderIdGenerator::Rep::TryWarm(const std::vector<uint32_t>& sections,
                                            uint32_t& missing) {
  if (forked()) return absl::Status(absl::StatusCode::kFailedPrecondition, "");
  std::set<StoreChain*> to_wake;
  absl::StatusCode code = absl::StatusCode::kOk;
  for (uint32_t section : sections) {
    if (!counters_.Current(section).empty()) continue;
    // A segment that is waiting needs no allocation, whatever the store says now.
    if (counters_.PeekNext(section)) {
      // Callers that found nothing while this one moved on get no other signal.
      if (counters_.MoveOn(section, SegmentWord(), options_.clock->SinceBoot())) {
        loaded_.NotifyIfAwaited();
      }
      continue;
    }
    StoreChain& chain = ChainOf(section);
    // A refusal ends the wait: waiting does not help.
    if (code != absl::StatusCode::kFailedPrecondition) {
      code = chain.answer();
      missing = section;
    }
    if (counters_.AskFor(section, Counters::kWarm) || !chain.started()) to_wake.insert(&chain);
  }
  for (StoreChain* chain : to_wake) chain->Wake(/*news=*/true);
  return code == absl::StatusCode::kOk ? absl::OkStatus() : absl::Status(code, "");
}

std::vector<uint64_t> OrderIdGenerator::Rep::IdsBySection() const {
  std::vector<uint64_t> ids;
  if (forked()) return ids;
  ids.reserve(counters_.sections());
  for (uint32_t section = 0; section < counters_.sections(); ++section) {
    ids.push_back(counters_.GivenIn(section));
  }
  return ids;
}

GeneratorStats OrderIdGenerator::Rep::Stats() const {
  GeneratorStats stats;
  if (forked()) return stats;
  stats.waits = loaded_.waits();
  stats.most_lead = most_lead_;
  stats.dropped = counters_.overtaken();
  // While a segment goes out of use its numbers are counted twice or not at all for a moment.
  uint64_t before = ids_reported_.load(std::memory_order_relaxed);
  uint64_t ids = counters_.Given();
  while (ids > before &&
         !ids_reported_.compare_exchange_weak(before, ids, std::memory_order_relaxed)) {
  }
  stats.ids = std::max(ids, before);
  std::optional<absl::Duration> lead;
  for (const auto& chain : chains_) {
    StoreStats of_store = chain->Stats();
    stats.allocations += of_store.allocations;
    stats.store_calls += of_store.store_calls;
    stats.store_failures += of_store.store_failures;
    stats.losses += of_store.losses;
    stats.starved += of_store.starved;
    stats.first_uses += of_store.first_uses;
    stats.store_latency.Merge(of_store.store_latency);
    stats.dropped += chain->dropped();
    stats.autonomy = std::min(stats.autonomy, of_store.autonomy);
    if (of_store.allocations > 0) lead = std::max(lead.value_or(of_store.lead), of_store.lead);
    if (absl::AbsDuration(of_store.clock_offset) > absl::AbsDuration(stats.clock_offset)) {
      stats.clock_offset = of_store.clock_offset;
    }
    if (stats.last_store_error.ok()) stats.last_store_error = of_store.last_error;
    stats.stores.push_back(std::move(of_store));
  }
  stats.lead = lead.value_or(absl::ZeroDuration());
  return stats;
}

// ids[i] = the next of genes[i] from the front; returns how many before `status` was not OK.
size_t OrderIdGenerator::Rep::TakeBlock(std::span<const ShardGene> genes, OrderId* ids,
                                        absl::Status& status) {
  size_t taken = 0;
  while (true) {
    auto rest = genes.subspan(taken);
    taken += counters_.TakeEach(rest, [&](size_t i, uint64_t sequence) {
      ids[taken + i] = OrderIdAssembler::Of(rest[i], sequence);
    });
    if (taken == genes.size()) return taken;
    uint64_t sequence;
    status = TakeSlowly(genes[taken], sequence);
    if (!status.ok()) return taken;
    ids[taken] = OrderIdAssembler::Of(genes[taken], sequence);
    ++taken;
  }
}

// The vnode found nothing in its section's segment: moves on to the next one and takes from it, or
// asks the loader.
absl::Status OrderIdGenerator::Rep::TakeSlowly(ShardGene gene, uint64_t& sequence) {
  if (forked()) return absl::Status(absl::StatusCode::kFailedPrecondition, "");
  uint32_t section = counters_.SectionOf(gene.value());
  while (true) {
    SegmentWord segment = counters_.Current(section);
    if (counters_.UsedUp(gene.value(), segment)) {
      if (counters_.PastLimit(gene.value())) return absl::Status(absl::StatusCode::kOutOfRange, "");
      bool moved = counters_.MoveOn(section, segment, options_.clock->SinceBoot());
      StoreChain& chain = ChainOf(section);
      // Asks even if there was a next segment: it is in use now, and its successor must be loaded.
      chain.Wake(counters_.AskFor(section, moved ? Counters::kMore : Counters::kStarved));
      if (!moved) return absl::Status(chain.answer(), "");
      // Callers that found nothing while this one moved on get no other signal.
      loaded_.NotifyIfAwaited();
    }
    sequence = counters_.Take(gene.value());
    if (sequence != Counters::kNone) return absl::OkStatus();
  }
}

// The chain that loads for the section. There are few: a scan is faster than a search.
StoreChain& OrderIdGenerator::Rep::ChainOf(uint32_t section) const {
  size_t i = 0;
  while (chains_[i]->last_section() < section) ++i;
  return *chains_[i];
}

// So that one transaction allocates for all sections that a batch needs.
template <typename Key>
void OrderIdGenerator::Rep::AskForAll(std::span<const Key> keys) {
  std::set<StoreChain*> to_wake;
  for (Key key : keys) {
    uint16_t gene = GeneOf(key).value();
    uint32_t section = counters_.SectionOf(gene);
    SegmentWord segment = counters_.Current(section);
    if (!counters_.UsedUp(gene, segment) || counters_.PeekNext(section)) continue;
    if (counters_.AskFor(section, Counters::kStarved)) to_wake.insert(&ChainOf(section));
  }
  for (StoreChain* chain : to_wake) chain->Wake(/*news=*/true);
}

// The same failure with a message, for a caller whose deadline has passed or that is refused.
absl::Status OrderIdGenerator::Rep::Explain(absl::Status status, ShardGene gene) const {
  switch (status.code()) {
    case absl::StatusCode::kOutOfRange:
      return UsedUp(gene);
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kFailedPrecondition:
      if (forked()) return ForkGuard::Refusal("an order ID generator");
      return ChainOf(counters_.SectionOf(gene.value())).Explain(status.code());
    default:
      return status;
  }
}

absl::Status OrderIdGenerator::Rep::UsedUp(ShardGene gene) const {
  return absl::OutOfRangeError(absl::StrCat(
      "space ", options_.space.str(), ", vnode ", gene.value(), " of section ",
      counters_.SectionOf(gene.value()), ": the sequences up to ",
      options_.wide ? OrderId::kMaxSequence : OrderId::kMaxNarrowSequence, " (2^",
      options_.wide ? OrderId::kWideSequenceBits : OrderId::kNarrowSequenceBits,
      " - 1) are used up",
      options_.wide
          ? "; begin another space"
          : "; Options::wide continues with 128-bit order IDs, which need a VARBINARY(16) "
            "column"));
}

}  // namespace locus
