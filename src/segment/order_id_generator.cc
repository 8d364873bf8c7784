// SPDX-License-Identifier: Apache-2.0
#include "locus/order_id_generator.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/segment/generator_rep.h"
#include "src/segment/rules.h"

namespace locus {

using internal::StoreChain;

namespace {

absl::Status CheckOptions(const OrderIdGenerator::Options& options) {
  if (options.clock == nullptr) return absl::InvalidArgumentError("a generator needs a clock");
  if (options.horizon < absl::Seconds(1) || options.horizon > absl::Hours(24)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "horizon ", absl::FormatDuration(options.horizon), " is not between 1s and 24h"));
  }
  return absl::OkStatus();
}

absl::Status CheckRoom(size_t wanted, size_t room) {
  if (room >= wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the span for order IDs has ", room,
                                                 " elements; the batch has ", wanted, " buyers"));
}

// Checks that the stores are part of the set, as far as they answered.
struct OpenedSet {
  SpaceOptions space;
  std::vector<StoreChain::Assignment> assignments;

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
      opened.assignments.push_back(
          {member.store, stored, member.name, first, member.last_section, {}});
      absl::StatusOr<SpaceOptions> found = set.OpenMember(i, space);
      if (absl::IsUnavailable(found.status())) {
        // Checked before its first allocation instead, so that one dead store does not stop the
        // others.
        silent.push_back(i);
        why_silent = found.status();
        continue;
      }
      if (!found.ok()) return found.status();
      if (!agreed) agreed = *found;
      LOCUS_RETURN_IF_ERROR(segment_rules::CheckSameOptions(stored, *found, *agreed));
    }
    if (silent.size() == set.members().size()) return why_silent;
    opened.space = *agreed;
    if (set.members().back().last_section != segment_rules::SectionsOf(*agreed) - 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the last section of the set is ", set.members().back().last_section,
                       ", that of the space is ", segment_rules::SectionsOf(*agreed) - 1));
    }
    for (size_t i : silent) opened.assignments[i].admitted = false;
    for (size_t i = 0; i < opened.assignments.size(); ++i) {
      opened.assignments[i].admit = [set, i, space, stored, expected = *agreed]() -> absl::Status {
        LOCUS_ASSIGN_OR_RETURN(SpaceOptions found, set.OpenMember(i, space));
        return segment_rules::CheckSameOptions(stored, found, expected);
      };
    }
    return opened;
  }
};

}  // namespace

OrderIdGenerator::OrderIdGenerator(Rep* rep) : hot_(rep->hot()), rep_(rep) {}

OrderIdGenerator::~OrderIdGenerator() {
  // A forked child must not touch its parent's threads, locks and stores; it leaks its copy.
  if (!rep_->forked()) delete rep_;
}

std::string_view ToString(GeneratorEvent::Kind kind) {
  switch (kind) {
    case GeneratorEvent::Kind::kAllocated:
      return "allocated";
    case GeneratorEvent::Kind::kStoreFailed:
      return "store_failed";
    case GeneratorEvent::Kind::kFirstUse:
      return "first_use";
    case GeneratorEvent::Kind::kStarved:
      return "starved";
    case GeneratorEvent::Kind::kLossNoticed:
      return "loss_noticed";
    case GeneratorEvent::Kind::kLeadUsedUp:
      return "lead_used_up";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<OrderIdGenerator>> OrderIdGenerator::Create(
    std::shared_ptr<SegmentStore> store) {
  return Create(std::move(store), Options());
}

absl::StatusOr<std::unique_ptr<OrderIdGenerator>> OrderIdGenerator::Create(SegmentStoreSet stores) {
  return Create(std::move(stores), Options());
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
        segment_rules::CheckSameOptions(options.space, *space, *options.space_options));
  }
  std::vector<StoreChain::Assignment> assignments(1);
  assignments[0].store = std::move(store);
  assignments[0].space = options.space;
  assignments[0].last_section = segment_rules::SectionsOf(*space) - 1;
  return std::unique_ptr<OrderIdGenerator>(
      new OrderIdGenerator(new Rep(std::move(assignments), std::move(options), *space)));
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
  return std::unique_ptr<OrderIdGenerator>(new OrderIdGenerator(
      new Rep(std::move(opened->assignments), std::move(options), opened->space)));
}

absl::StatusOr<OrderId> OrderIdGenerator::TryNextSlowly(ShardGene gene) {
  return rep_->TryNext(gene);
}

absl::StatusOr<OrderId> OrderIdGenerator::Next(ShardGene gene, Deadline deadline) {
  return rep_->Next(gene, deadline);
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const BuyerKey> buyers,
                                                   std::span<OrderId> ids) {
  LOCUS_RETURN_IF_ERROR(CheckRoom(buyers.size(), ids.size()));
  return rep_->TryBatch(buyers, ids);
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const ShardGene> genes,
                                                   std::span<OrderId> ids) {
  LOCUS_RETURN_IF_ERROR(CheckRoom(genes.size(), ids.size()));
  return rep_->TryBatch(genes, ids);
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const BuyerKey> buyers,
                                                   std::span<OrderId> ids, Deadline deadline) {
  LOCUS_RETURN_IF_ERROR(CheckRoom(buyers.size(), ids.size()));
  return rep_->Batch(buyers, ids, deadline);
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const ShardGene> genes,
                                                   std::span<OrderId> ids, Deadline deadline) {
  LOCUS_RETURN_IF_ERROR(CheckRoom(genes.size(), ids.size()));
  return rep_->Batch(genes, ids, deadline);
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const BuyerKey> buyers,
                                                   std::span<OrderId> ids, Timeout timeout) {
  return NextBatch(buyers, ids, internal::DeadlineAfter(timeout));
}
absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const ShardGene> genes,
                                                   std::span<OrderId> ids, Timeout timeout) {
  return NextBatch(genes, ids, internal::DeadlineAfter(timeout));
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::initializer_list<BuyerKey> buyers,
                                                   std::span<OrderId> ids) {
  return NextBatch(std::span(buyers.begin(), buyers.size()), ids);
}
absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::initializer_list<BuyerKey> buyers,
                                                   std::span<OrderId> ids, Deadline deadline) {
  return NextBatch(std::span(buyers.begin(), buyers.size()), ids, deadline);
}
absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::initializer_list<BuyerKey> buyers,
                                                   std::span<OrderId> ids, Timeout timeout) {
  return NextBatch(std::span(buyers.begin(), buyers.size()), ids, timeout);
}

absl::Status OrderIdGenerator::Warm(Deadline deadline) { return rep_->Warm({}, deadline); }

absl::Status OrderIdGenerator::Warm(Deadline deadline, std::span<const BuyerKey> buyers) {
  if (buyers.empty()) return absl::OkStatus();
  std::vector<ShardGene> genes(buyers.size());
  ShardGene::OfEach(buyers, genes);
  return rep_->Warm(genes, deadline);
}
absl::Status OrderIdGenerator::Warm(Timeout timeout) {
  return Warm(internal::DeadlineAfter(timeout));
}
absl::Status OrderIdGenerator::Warm(Timeout timeout, std::span<const BuyerKey> buyers) {
  return Warm(internal::DeadlineAfter(timeout), buyers);
}

GeneratorStats OrderIdGenerator::Stats() const { return rep_->Stats(); }
std::vector<uint64_t> OrderIdGenerator::IdsBySection() const { return rep_->IdsBySection(); }

}  // namespace locus
