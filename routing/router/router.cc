// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/router.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "routing/router/router_rep.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"

namespace locus {

using internal::EpochNotGreater;
using internal::JudgeTable;
using internal::MutexLock;
using internal::TableJudgement;

namespace {

// Compares only the parts of a description: weight and labels may change without moving orders.
size_t HashOf(const Shard& shard) {
  std::hash<std::string> hash;
  size_t out = shard.id;
  auto mix = [&](size_t part) { out = (out ^ part) * 0x9E3779B97F4A7C15; };
  mix(hash(shard.name));
  mix(hash(shard.endpoint));
  return out;
}

bool Describes(const RoutedShard& description, const Shard& shard) {
  return description.id == shard.id && description.name == shard.name &&
         description.endpoint == shard.endpoint;
}

bool NearlyFull(size_t descriptions) { return descriptions > Router::kMaxDescriptions / 10 * 9; }

}  // namespace

std::string_view ToString(RouterStats::Source source) {
  switch (source) {
    case RouterStats::Source::kNone:
      return "none";
    case RouterStats::Source::kFollowing:
      return "following";
    case RouterStats::Source::kRefused:
      return "refused";
    case RouterStats::Source::kFailing:
      return "failing";
  }
  return "unknown";
}

std::string_view ToString(RouterEvent::Kind kind) {
  switch (kind) {
    case RouterEvent::Kind::kInstalled:
      return "installed";
    case RouterEvent::Kind::kRefused:
      return "refused";
    case RouterEvent::Kind::kStartedFromFile:
      return "started_from_file";
    case RouterEvent::Kind::kLastGoodFileIgnored:
      return "last_good_file_ignored";
    case RouterEvent::Kind::kSourceFailed:
      return "source_failed";
    case RouterEvent::Kind::kSourceRecovered:
      return "source_recovered";
    case RouterEvent::Kind::kLastGoodFileFailed:
      return "last_good_file_failed";
    case RouterEvent::Kind::kDescriptionsNearlyFull:
      return "descriptions_nearly_full";
  }
  return "unknown";
}

size_t Router::Rep::Find(const Shard& shard) const {
  auto [begin, end] = indexes_by_hash_.equal_range(HashOf(shard));
  for (auto it = begin; it != end; ++it) {
    size_t index = it->second;
    if (Describes(blocks_[index / kBlockSize][index % kBlockSize], shard)) return index;
  }
  return description_count_;
}

absl::Status Router::Rep::CheckRoomFor(const RoutingTable& table) const {
  size_t added = 0;
  for (const Shard& shard : table.shards()) added += Find(shard) == description_count_;
  if (description_count_ + added <= kMaxDescriptions) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("epoch ", table.epoch(), " has ", added,
                   " new shards or endpoints; this router has kept all ", description_count_,
                   " that it has seen, and at most ", kMaxDescriptions,
                   ": restart the process to follow this table and later ones"));
}

Router::Rep::IndexById Router::Rep::Describe(const std::vector<Shard>& shards) {
  IndexById index_of;
  for (const Shard& shard : shards) {
    // Descriptions are never changed or freed, because a caller may be reading one. An equal one is
    // used again.
    size_t index = Find(shard);
    if (index == description_count_) {
      std::unique_ptr<RoutedShard[]>& block = blocks_[index / kBlockSize];
      if (block == nullptr) block = std::make_unique<RoutedShard[]>(kBlockSize);
      block[index % kBlockSize] = RoutedShard(shard);
      indexes_by_hash_.emplace(HashOf(shard), index);
      ++description_count_;
    }
    index_of[shard.id] = index;
  }
  return index_of;
}

std::vector<Router::Rep::Run> Router::Rep::RunsOf(const RoutingTable& table,
                                                  const IndexById& index_of) {
  std::vector<Run> runs;
  runs.reserve(table.ranges().size() + 2 * table.moves().size() + 1);
  auto move = table.moves().begin();
  auto add_owned = [&](uint32_t shard, size_t end) {
    uint64_t owner = index_of.at(shard);
    for (size_t vnode = runs.empty() ? 0 : runs.back().end; vnode < end; vnode = runs.back().end) {
      while (move != table.moves().end() && move->last < vnode) ++move;
      if (move == table.moves().end() || move->first >= end) {
        runs.push_back({end, owner << kTargetShift | owner});
      } else if (move->first > vnode) {
        runs.push_back({move->first, owner << kTargetShift | owner});
      } else {
        uint64_t moving = move->permyriad * kPermyriadUnit | index_of.at(move->to) << kTargetShift;
        runs.push_back({std::min<size_t>(end, move->last + 1), moving | owner});
      }
    }
  };
  for (const VnodeRange& range : table.ranges()) add_owned(range.shard, range.last + size_t{1});
  // Vnodes above the last range wrap to the first one.
  add_owned(table.ranges().front().shard, ShardGene::kCount);
  return runs;
}

void Router::Rep::SetWords(std::vector<Run> runs) {
  size_t vnode = 0;
  auto old = runs_.begin();
  for (const Run& run : runs) {
    while (vnode < run.end) {
      size_t end = std::min(run.end, old->end);
      // Releases the descriptions that the word names; pairs with the acquire in Route().
      for (; vnode < end && old->word != run.word; ++vnode) {
        words_[vnode].store(run.word, std::memory_order_release);
      }
      vnode = end;
      if (old->end == end) ++old;
    }
  }
  runs_ = std::move(runs);
}

absl::Status Router::Rep::InstallNewer(std::shared_ptr<const RoutingTable> table) {
  // Checked first, so that a refused table changes nothing.
  LOCUS_RETURN_IF_ERROR(CheckRoomFor(*table));
  // Callers read without a lock. So descriptions come before the words that name them, and the
  // epoch comes last: a caller that sees it also sees the words of its table, or of a later one.
  IndexById index_of = Describe(table->shards());
  SetWords(RunsOf(*table, index_of));
  epoch_.store(table->epoch(), std::memory_order_release);
  in_force_ = std::move(table);
  installed_at_ = clock_.Now();
  ++installs_;
  return absl::OkStatus();
}

absl::Status Router::Rep::Install(RoutingTable table) {
  LOCUS_RETURN_IF_ERROR(process_.Check("a router that takes tables"));
  {
    MutexLock lock(mutex_);
    // The first table is installed by the constructor.
    TableJudgement judgement = JudgeTable(in_force_.get(), table);
    if (judgement.kind == TableJudgement::Kind::kRefuse) return judgement.reason;
    if (judgement.kind == TableJudgement::Kind::kConfirm) return EpochNotGreater(epoch(), epoch());
    LOCUS_RETURN_IF_ERROR(InstallNewer(std::make_shared<const RoutingTable>(std::move(table))));
  }
  waiters_.Reached(epoch());
  return absl::OkStatus();
}

TableJudgement Router::Rep::Offer(std::shared_ptr<const RoutingTable> table) {
  TableJudgement judgement;
  {
    MutexLock lock(mutex_);
    judgement = JudgeTable(in_force_.get(), *table);
    if (judgement.kind != TableJudgement::Kind::kInstall) return judgement;
    bool was_nearly_full = NearlyFull(description_count_);
    absl::Status installed = InstallNewer(std::move(table));
    if (!installed.ok())
      return {TableJudgement::Kind::kRefuse, judgement.epoch, std::move(installed)};
    judgement.nearly_full = !was_nearly_full && NearlyFull(description_count_);
  }
  waiters_.Reached(epoch());
  return judgement;
}

Router::Router(RoutingTable table) : Router(std::make_unique<Rep>(Clock::System())) {
  // A table's shards are at most as many as descriptions fit.
  LOCUS_CHECK(rep_->Install(std::move(table)).ok());
}

Router::Router(std::unique_ptr<Rep> rep)
    : rep_(std::move(rep)), words_(rep_->words()), blocks_(rep_->blocks()) {}

Router::~Router() {
  // A forked child touches no thread, lock or source of its parent; the memory is its own copy.
  internal::AbandonIfForked(rep_);
}

GeneRoute Router::Route(ShardGene gene) const {
  uint64_t word = words_[gene.value()].load(std::memory_order_acquire);
  const RoutedShard& owner = Description(word);
  const RoutedShard& target = Description(word >> kTargetShift);
  if (&owner == &target) return {.owner = &owner};
  return {&owner, &target, static_cast<uint32_t>(word / kPermyriadUnit)};
}

absl::Status Router::Install(RoutingTable table) { return rep_->Install(std::move(table)); }

uint64_t Router::epoch() const { return rep_->epoch(); }

}  // namespace locus
