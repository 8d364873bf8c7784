// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/router.h"

#include <array>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "routing/table_check.h"
#include "src/check.h"
#include "src/mutex.h"

namespace locus {

class Router::Rep {
 public:
  absl::Status Install(const RoutingTable& table) ABSL_LOCKS_EXCLUDED(mutex_);

  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  const std::atomic<uint64_t>* words() const { return words_.data(); }
  const std::unique_ptr<Shard[]>* blocks() const { return blocks_.data(); }

 private:
  using IndexById = std::unordered_map<uint32_t, uint64_t>;

  static constexpr size_t kMaxDescriptions = 65536;

  // The index of the description that equals `shard`, or description_count_.
  size_t Find(const Shard& shard) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoomFor(const std::vector<Shard>& shards) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static std::vector<uint64_t> WordsOf(const RoutingTable& table, const IndexById& index_of);
  IndexById Describe(const std::vector<Shard>& shards) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetWord(size_t vnode, uint64_t word) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::array<std::atomic<uint64_t>, ShardGene::kCount> words_{};
  // Written before a word that names the place is stored, never after.
  std::array<std::unique_ptr<Shard[]>, kMaxDescriptions / kBlockSize> blocks_;
  // Released after the words of its table; pairs with the acquire in epoch().
  std::atomic<uint64_t> epoch_{0};

  Mutex mutex_;
  size_t description_count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_multimap<uint32_t, size_t> indexes_by_id_ ABSL_GUARDED_BY(mutex_);
};

size_t Router::Rep::Find(const Shard& shard) const {
  auto [begin, end] = indexes_by_id_.equal_range(shard.id);
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
      indexes_by_id_.emplace(shard.id, index);
      ++description_count_;
    }
    index_of[shard.id] = index;
  }
  return index_of;
}

std::vector<uint64_t> Router::Rep::WordsOf(const RoutingTable& table, const IndexById& index_of) {
  std::vector<uint64_t> words;
  words.reserve(ShardGene::kCount);
  uint32_t id = 0;
  uint64_t word = 0;
  for (uint32_t owner : OwnerOfEachVnode(table.ranges())) {
    if (owner != id) {
      id = owner;
      word = index_of.at(owner) << kTargetShift | index_of.at(owner);
    }
    words.push_back(word);
  }
  for (const VnodeMove& move : table.moves()) {
    uint64_t moving = move.permyriad * kPermyriadUnit | index_of.at(move.to) << kTargetShift;
    for (size_t vnode = move.first; vnode <= move.last; ++vnode) {
      words[vnode] = moving | (words[vnode] & 0xFFFF);
    }
  }
  return words;
}

void Router::Rep::SetWord(size_t vnode, uint64_t word) {
  if (words_[vnode].load(std::memory_order_relaxed) == word) return;
  // Releases the descriptions that the word names; pairs with the acquire in Route().
  words_[vnode].store(word, std::memory_order_release);
}

absl::Status Router::Rep::Install(const RoutingTable& table) {
  MutexLock lock(mutex_);
  if (table.epoch() <= epoch_.load(std::memory_order_relaxed)) {
    return absl::AbortedError(absl::StrCat("epoch ", table.epoch(), " is not greater than ",
                                           epoch(), ", the one in force"));
  }
  LOCUS_RETURN_IF_ERROR(CheckRoomFor(table.shards()));
  IndexById index_of = Describe(table.shards());
  std::vector<uint64_t> words = WordsOf(table, index_of);
  for (size_t vnode = 0; vnode < words.size(); ++vnode) SetWord(vnode, words[vnode]);
  epoch_.store(table.epoch(), std::memory_order_release);
  return absl::OkStatus();
}

Router::Router(const RoutingTable& table)
    : rep_(std::make_unique<Rep>()), words_(rep_->words()), blocks_(rep_->blocks()) {
  // A table's epoch is at least 1 and its shards are at most as many as descriptions fit.
  LOCUS_CHECK(rep_->Install(table).ok());
}

Router::~Router() = default;

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
