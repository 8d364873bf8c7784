// SPDX-License-Identifier: Apache-2.0
#include "locus/order_id_generator.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/news.h"
#include "src/generator/counters.h"
#include "src/generator/store_chain.h"
#include "src/id/gene_hash.h"
#include "src/id/order_id_assembler.h"
#include "src/lease/lease_rules.h"

namespace locus {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

absl::Status CheckOptions(const OrderIdGenerator::Options& options) {
  if (options.clock == nullptr) return absl::InvalidArgumentError("a generator needs a clock");
  if (options.horizon < absl::Seconds(1) || options.horizon > absl::Hours(24)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "horizon ", absl::FormatDuration(options.horizon), " is not between 1s and 24h"));
  }
  return absl::OkStatus();
}

// A set whose stores were found to be part of it, those that did not answer apart.
struct OpenedSet {
  SpaceOptions space;
  std::vector<StoreChain::Place> places;

  static absl::StatusOr<OpenedSet> Open(const SegmentStoreSet& set, const SpaceName& space,
                                        const std::optional<SpaceOptions>& asked) {
    OpenedSet opened;
    LOCUS_ASSIGN_OR_RETURN(SpaceName stored, set.StoredSpace(space));
    std::optional<SpaceOptions> agreed = asked;
    std::vector<size_t> silent;
    absl::Status why_silent;
    for (size_t i = 0; i < set.members().size(); ++i) {
      const SegmentStoreSet::Member& member = set.members()[i];
      uint32_t first = i == 0 ? 0 : set.members()[i - 1].last_section + 1u;
      opened.places.push_back({member.store, stored, member.name, first, member.last_section, {}});
      absl::StatusOr<SpaceOptions> found = set.OpenMember(i, space);
      if (absl::IsUnavailable(found.status())) {
        silent.push_back(i);
        why_silent = found.status();
        continue;
      }
      if (!found.ok()) return found.status();
      if (!agreed) agreed = *found;
      LOCUS_RETURN_IF_ERROR(lease_rules::CheckSameOptions(stored, *found, *agreed));
    }
    if (silent.size() == set.members().size()) return why_silent;
    opened.space = *agreed;
    if (set.members().back().last_section != lease_rules::SectionsOf(*agreed) - 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the last section of the set is ", set.members().back().last_section,
                       ", that of the space is ", lease_rules::SectionsOf(*agreed) - 1));
    }
    for (size_t i : silent) opened.places[i].admitted = false;
    for (size_t i = 0; i < opened.places.size(); ++i) {
      opened.places[i].admit = [set, i, space, stored, expected = *agreed]() -> absl::Status {
        LOCUS_ASSIGN_OR_RETURN(SpaceOptions found, set.OpenMember(i, space));
        return lease_rules::CheckSameOptions(stored, found, expected);
      };
    }
    return opened;
  }
};

}  // namespace

class OrderIdGenerator::Rep {
 public:
  Rep(std::vector<StoreChain::Place> places, Options options, const SpaceOptions& space)
      : options_(std::move(options)),
        counters_(space.section_size,
                  (options_.wide ? OrderId::kMaxSequence : OrderId::kMaxNarrowSequence) + 1) {
    for (StoreChain::Place& place : places) {
      chains_.push_back(
          std::make_unique<StoreChain>(std::move(place), space, options_, counters_, news_));
    }
  }

  bool forked() const { return counters_.forked(); }

  absl::StatusOr<OrderId> TryNext(uint16_t gene) {
    uint64_t sequence = counters_.Take(gene);
    if (sequence == Counters::kNone) [[unlikely]] {
      LOCUS_RETURN_IF_ERROR(TakeSlowly(gene, sequence));
    }
    return OrderIdAssembler::Of(ShardGene::FromUint16(gene), sequence);
  }

  absl::StatusOr<size_t> TryBatch(std::span<const BuyerKey> buyers, std::span<OrderId> ids) {
    constexpr size_t kBlock = 256;
    std::array<ShardGene, kBlock> genes;
    size_t done = 0;
    while (done < buyers.size()) {
      size_t size = std::min(kBlock, buyers.size() - done);
      auto block = std::span(genes).first(size);
      ShardGene::OfEach(buyers.subspan(done, size), block);
      absl::Status status;
      size_t taken = TakeBlock(block, ids.data() + done, status);
      done += taken;
      if (taken == size) continue;
      if (absl::IsUnavailable(status)) AskForAll(buyers.subspan(done));
      if (done > 0) return done;
      return status;
    }
    return buyers.size();
  }

  // Calls `attempt` until it returns anything but UNAVAILABLE, or `deadline` has passed. What then
  // failed without a message is explained as of the vnode that `gene` answers.
  template <typename Attempt, typename Gene>
  auto Waiting(Deadline deadline, Attempt attempt, Gene gene) -> decltype(attempt()) {
    auto result = news_.Await(deadline, attempt);
    absl::StatusCode code = result.status().code();
    bool refused = code == absl::StatusCode::kFailedPrecondition;
    if (code != absl::StatusCode::kUnavailable && !refused) return result;
    if (forked()) {
      return absl::FailedPreconditionError(
          "this is a forked child: a generator belongs to the process that made it");
    }
    return ChainOf(counters_.SectionOf(gene())).Explain(code);
  }

  GeneratorStats Stats() const {
    GeneratorStats stats;
    if (forked()) return stats;
    stats.waits = news_.waits();
    stats.dropped = counters_.overtaken();
    std::optional<absl::Duration> lead;
    for (const auto& chain : chains_) {
      StoreStats of_store = chain->Stats();
      stats.leases += of_store.leases;
      stats.store_calls += of_store.store_calls;
      stats.store_failures += of_store.store_failures;
      stats.losses += of_store.losses;
      stats.starved += of_store.starved;
      stats.dropped += chain->dropped();
      stats.autonomy = std::min(stats.autonomy, of_store.autonomy);
      if (of_store.leases > 0) lead = std::max(lead.value_or(of_store.lead), of_store.lead);
      if (stats.last_store_error.ok()) stats.last_store_error = of_store.last_error;
      stats.stores.push_back(std::move(of_store));
    }
    stats.lead = lead.value_or(absl::ZeroDuration());
    return stats;
  }

 private:
  // ids[i] = the next of genes[i] from the front; returns how many before `status` was not OK.
  size_t TakeBlock(std::span<const ShardGene> genes, OrderId* ids, absl::Status& status) {
    size_t taken = 0;
    while (true) {
      auto rest = genes.subspan(taken);
      taken += counters_.TakeEach(rest, [&](size_t i, uint64_t sequence) {
        ids[taken + i] = OrderIdAssembler::Of(rest[i], sequence);
      });
      if (taken == genes.size()) return taken;
      uint64_t sequence;
      status = TakeSlowly(genes[taken].value(), sequence);
      if (!status.ok()) return taken;
      ids[taken] = OrderIdAssembler::Of(genes[taken], sequence);
      ++taken;
    }
  }

  // The vnode found nothing in its section's segment: moves on to the next one and takes from it,
  // or tells the loader. Statuses without a message, so that nothing is allocated.
  absl::Status TakeSlowly(uint16_t gene, uint64_t& sequence) {
    if (forked()) return absl::Status(absl::StatusCode::kFailedPrecondition, "");
    uint32_t section = counters_.SectionOf(gene);
    while (true) {
      SegmentWord segment = counters_.Current(section);
      if (counters_.UsedUp(gene, segment)) {
        if (counters_.PastLimit(gene)) return absl::Status(absl::StatusCode::kOutOfRange, "");
        bool moved = counters_.MoveOn(section, segment, options_.clock->SinceBoot());
        StoreChain& chain = ChainOf(section);
        chain.Wake(counters_.AskFor(section, moved ? Counters::kMore : Counters::kStarved));
        if (!moved) return absl::Status(chain.answer(), "");
        // Whoever found nothing while this one was moving on may wait for no other news.
        news_.AnnounceToWaiters();
      }
      sequence = counters_.Take(gene);
      if (sequence != Counters::kNone) return absl::OkStatus();
    }
  }

  // The chain that loads for the section. Few: looked through faster than searched.
  StoreChain& ChainOf(uint32_t section) {
    size_t i = 0;
    while (chains_[i]->last_section() < section) ++i;
    return *chains_[i];
  }

  // So that one transaction leases for all sections that a batch needs.
  void AskForAll(std::span<const BuyerKey> buyers) {
    std::set<StoreChain*> to_wake;
    for (BuyerKey buyer : buyers) {
      uint16_t gene = ShardGene::Of(buyer).value();
      uint32_t section = counters_.SectionOf(gene);
      SegmentWord segment = counters_.Current(section);
      if (!counters_.UsedUp(gene, segment) || counters_.PeekNext(section)) continue;
      if (counters_.AskFor(section, Counters::kStarved)) to_wake.insert(&ChainOf(section));
    }
    for (StoreChain* chain : to_wake) chain->Wake(/*news=*/true);
  }

  const Options options_;
  Counters counters_;
  News news_;
  std::vector<std::unique_ptr<StoreChain>> chains_;  // in the order of their sections
};

OrderIdGenerator::OrderIdGenerator(Rep* rep) : rep_(rep) {}

OrderIdGenerator::~OrderIdGenerator() {
  // A forked child touches no thread, lock or store of its parent; the memory is its copy's.
  if (!rep_->forked()) delete rep_;
}

absl::StatusOr<std::unique_ptr<OrderIdGenerator>> OrderIdGenerator::Create(
    std::shared_ptr<SegmentStore> store, Options options) {
  if (store == nullptr) return absl::InvalidArgumentError("a generator needs a store");
  LOCUS_RETURN_IF_ERROR(CheckOptions(options));
  absl::StatusOr<SpaceOptions> space = store->ReadOptions(options.space);
  if (absl::IsNotFound(space.status()) && options.create_space) {
    SpaceOptions wanted = options.space_options.value_or(SpaceOptions());
    LOCUS_RETURN_IF_ERROR(store->Create(options.space, wanted, options.clock->Now()));
    space = store->ReadOptions(options.space);
  }
  if (!space.ok()) return space.status();
  if (options.space_options) {
    LOCUS_RETURN_IF_ERROR(
        lease_rules::CheckSameOptions(options.space, *space, *options.space_options));
  }
  std::vector<StoreChain::Place> places(1);
  places[0].store = std::move(store);
  places[0].space = options.space;
  places[0].last_section = lease_rules::SectionsOf(*space) - 1;
  return std::unique_ptr<OrderIdGenerator>(
      new OrderIdGenerator(new Rep(std::move(places), std::move(options), *space)));
}

absl::StatusOr<std::unique_ptr<OrderIdGenerator>> OrderIdGenerator::Create(SegmentStoreSet stores,
                                                                           Options options) {
  LOCUS_RETURN_IF_ERROR(CheckOptions(options));
  absl::StatusOr<OpenedSet> opened = OpenedSet::Open(stores, options.space, options.space_options);
  if (absl::IsNotFound(opened.status()) && options.create_space) {
    LOCUS_RETURN_IF_ERROR(
        stores.Establish(options.space, options.space_options.value_or(SpaceOptions()),
                         options.clock->Now(), SegmentStoreSet::Earlier::kNothingInUse));
    opened = OpenedSet::Open(stores, options.space, options.space_options);
  }
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<OrderIdGenerator>(
      new OrderIdGenerator(new Rep(std::move(opened->places), std::move(options), opened->space)));
}

absl::StatusOr<OrderId> OrderIdGenerator::TryNext(BuyerKey buyer) {
  // A uint64 key is hashed in line: beside the CAS the call would cost a tenth.
  return rep_->TryNext(buyer.is_uint64() ? GeneOf8(buyer.uint64()) : ShardGene::Of(buyer).value());
}

absl::StatusOr<OrderId> OrderIdGenerator::Next(BuyerKey buyer, Deadline deadline) {
  uint16_t gene = ShardGene::Of(buyer).value();
  return rep_->Waiting(
      deadline, [&] { return rep_->TryNext(gene); }, [&] { return gene; });
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const BuyerKey> buyers,
                                                   std::span<OrderId> ids) {
  if (ids.size() < buyers.size()) {
    return absl::InvalidArgumentError(absl::StrCat("room for ", ids.size(), " order IDs is less ",
                                                   "than the batch's ", buyers.size()));
  }
  return rep_->TryBatch(buyers, ids);
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const BuyerKey> buyers,
                                                   std::span<OrderId> ids, Deadline deadline) {
  size_t done = 0;
  do {
    absl::StatusOr<size_t> filled = rep_->Waiting(
        deadline, [&] { return NextBatch(buyers.subspan(done), ids.subspan(done)); },
        [&] { return ShardGene::Of(buyers[done]).value(); });
    if (!filled.ok()) {
      if (done > 0) return done;
      return filled;
    }
    done += *filled;
  } while (done < buyers.size());
  return done;
}

GeneratorStats OrderIdGenerator::Stats() const { return rep_->Stats(); }

}  // namespace locus
