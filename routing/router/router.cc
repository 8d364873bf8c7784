// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/router.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "routing/router/router_rep.h"
#include "src/base/check.h"

namespace locus {

namespace {

size_t HashOf(const Shard& shard) {
  std::hash<std::string> hash;
  size_t out = shard.id;
  auto mix = [&](size_t part) { out = (out ^ part) * 0x9E3779B97F4A7C15; };
  mix(hash(shard.name));
  mix(hash(shard.endpoint));
  mix(shard.weight);
  for (const auto& [name, value] : shard.labels) {
    mix(hash(name));
    mix(hash(value));
  }
  return out;
}

}  // namespace

size_t Router::Rep::Find(const Shard& shard) const {
  auto [begin, end] = indexes_by_hash_.equal_range(HashOf(shard));
  for (auto it = begin; it != end; ++it) {
    size_t index = it->second;
    if (blocks_[index / kBlockSize][index % kBlockSize] == shard) return index;
  }
  return description_count_;
}

absl::Status Router::Rep::CheckRoomFor(const std::vector<Shard>& shards) const {
  size_t needed = description_count_;
  for (const Shard& shard : shards) needed += Find(shard) == description_count_;
  if (needed <= kMaxDescriptions) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("the router would hold ", needed, " descriptions of shards, at most ",
                   kMaxDescriptions, "; it keeps all that it ever saw, so make a new router"));
}

Router::Rep::IndexById Router::Rep::Describe(const std::vector<Shard>& shards) {
  IndexById index_of;
  for (const Shard& shard : shards) {
    size_t index = Find(shard);
    if (index == description_count_) {
      std::unique_ptr<Shard[]>& block = blocks_[index / kBlockSize];
      if (block == nullptr) block = std::make_unique<Shard[]>(kBlockSize);
      block[index % kBlockSize] = shard;
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

absl::Status Router::Rep::InstallNewer(const RoutingTable& table) {
  LOCUS_RETURN_IF_ERROR(CheckRoomFor(table.shards()));
  IndexById index_of = Describe(table.shards());
  SetWords(RunsOf(table, index_of));
  epoch_.store(table.epoch(), std::memory_order_release);
  if (keeps_table_) in_force_ = table;
  installed_at_ = clock_.Now();
  ++installs_;
  installed_.Announce();
  return absl::OkStatus();
}

absl::Status Router::Rep::Install(const RoutingTable& table) {
  if (forked()) {
    return absl::FailedPreconditionError(
        "this is a forked child: tables are installed by the process that made the router");
  }
  MutexLock lock(mutex_);
  if (table.epoch() <= epoch_.load(std::memory_order_relaxed)) {
    return absl::AbortedError(absl::StrCat("epoch ", table.epoch(), " is not greater than ",
                                           epoch(), ", the one in force"));
  }
  return InstallNewer(table);
}

TableVerdict Router::Rep::Offer(const RoutingTable& table) {
  MutexLock lock(mutex_);
  TableVerdict verdict = JudgeTable(in_force_ ? &*in_force_ : nullptr, table);
  if (verdict.kind != TableVerdict::Kind::kInstall) return verdict;
  absl::Status installed = InstallNewer(table);
  if (installed.ok()) return verdict;
  return {TableVerdict::Kind::kRefuse, table.epoch(), std::move(installed)};
}

Router::Router(const RoutingTable& table)
    : Router(std::make_unique<Rep>(Clock::System(), /*keeps_table=*/false)) {
  // A table's epoch is at least 1 and its shards are at most as many as descriptions fit.
  LOCUS_CHECK(rep_->Install(table).ok());
}

Router::Router(std::unique_ptr<Rep> rep)
    : rep_(std::move(rep)), words_(rep_->words()), blocks_(rep_->blocks()) {}

Router::~Router() {
  // A forked child touches no thread, lock or source of its parent; the memory is its copy's.
  if (rep_->forked()) static_cast<void>(rep_.release());
}

GeneRoute Router::Route(ShardGene gene) const {
  uint64_t word = words_[gene.value()].load(std::memory_order_acquire);
  const Shard& owner = Description(word);
  const Shard& target = Description(word >> kTargetShift);
  if (&owner == &target) return {.owner = &owner};
  return {&owner, &target, static_cast<uint32_t>(word / kPermyriadUnit)};
}

absl::Status Router::Install(const RoutingTable& table) { return rep_->Install(table); }

uint64_t Router::epoch() const { return rep_->epoch(); }

}  // namespace locus
