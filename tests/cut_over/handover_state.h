// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CUT_OVER_HANDOVER_STATE_H_
#define LOCUS_TESTS_CUT_OVER_HANDOVER_STATE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "migration/cut_over/handover.h"
#include "migration/cut_over/version_rule.h"

// What there is in the model of a move, at one moment. Plain bytes: two states are one where their
// bytes are.

namespace locus {

constexpr uint32_t kModelCohorts = 2;  // with one order each
constexpr size_t kModelWriters = 2;
constexpr size_t kMostModelEvents = 20;

struct ModelRow {
  uint8_t version = 0;
  bool deleted = false;
  uint8_t value = 0;

  internal::RowState state() const { return {version, deleted}; }
  bool Same(const ModelRow& other) const {
    return deleted == other.deleted && (deleted || value == other.value);
  }
};

struct ModelFence {
  uint8_t own_lo = 0, own_hi = 0, step = 0, token_share = 0, token_nonce = 0;

  static ModelFence Of(const internal::BandFence& row) {
    auto small = [](uint64_t n) { return static_cast<uint8_t>(n); };
    return {small(row.own_lo), small(row.own_hi), small(row.step), small(row.token_share),
            small(row.token_nonce)};
  }
  internal::BandFence row() const { return {own_lo, own_hi, step, token_share, token_nonce}; }
};

// What a shard's binary log has: a row, or the fence.
struct ModelEvent {
  uint8_t order = 0;
  bool of_fence = false;
  bool of_peer = false;  // written by the applier or the copier
  ModelRow row;
  ModelFence fence;
};

// What the server of a shard stores.
struct ModelStore {
  ModelFence fence;
  ModelRow rows[kModelCohorts];
  // What its applier knows that the other shard accepted, as far as it has read the log there.
  uint8_t peer_lo = 0, peer_hi = 0;
};

struct ModelShard {
  ModelStore store;
  bool unbound = false;   // promoted, and its guards refuse every write
  bool draining = false;  // a mutant's: the token is written, and `drained` comes later
  ModelFence drained;
  // What the other shard has not applied. While that has a replica that fell behind, also what it
  // has applied since: the first `applied`.
  uint8_t logged = 0;
  uint8_t applied = 0;
};

struct ModelWriter {
  bool open = false;  // a transaction that has read the fence
  uint8_t shard = 0;
  uint8_t order = 0;
};

struct ModelCopy {
  uint8_t phase = 0;  // 0: not read, 1: read, 2: written
  ModelRow row;
};

// A replica of one shard that receives no more. Until then it had everything, so it stands for
// every way in which a replica can be late: what it has is what it has when it is promoted.
struct ModelReplica {
  uint8_t of = 0;  // 1: of the source, 2: of the target; 0: none has fallen behind
  ModelStore store;
  uint8_t logged = 0;  // of the shard's log
  ModelCopy copied[kModelCohorts];
  ModelRow acked[kModelCohorts];  // without what its shard has acknowledged since
};

struct ModelState {
  ModelShard shards[2];
  ModelWriter writers[kModelWriters];
  ModelCopy copied[kModelCohorts];
  ModelFence seen[2];             // by a coordinator
  ModelRow acked[kModelCohorts];  // version unused
  ModelReplica replica;
  uint8_t position = 0;  // a mutant's: how much of the source's log was there when it was read
  uint8_t writes = 0;
  uint8_t handovers = 0;
  uint8_t promotions = 0;
  bool stream_placed = true;
  ModelEvent logs[2][kMostModelEvents];  // the last member: most of it is empty

  // Adds an event; false: there is no room.
  bool Log(size_t shard, const ModelEvent& event) {
    if (shards[shard].logged == kMostModelEvents) return false;
    logs[shard][shards[shard].logged++] = event;
    return true;
  }
  void ForgetFirst(size_t shard, size_t count) {
    ModelEvent* log = logs[shard];
    uint8_t& logged = shards[shard].logged;
    std::copy(log + count, log + logged, log);
    logged = static_cast<uint8_t>(logged - count);
  }

  std::string Packed() const {
    const size_t events[2] = {shards[0].logged * sizeof(ModelEvent),
                              shards[1].logged * sizeof(ModelEvent)};
    std::string bytes(FixedBytes() + events[0] + events[1], '\0');
    std::memcpy(bytes.data(), this, FixedBytes());
    for (size_t x : {0, 1}) {
      std::memcpy(bytes.data() + FixedBytes() + (x == 0 ? 0 : events[0]), logs[x], events[x]);
    }
    return bytes;
  }
  static ModelState Unpacked(std::string_view bytes) {
    ModelState state;
    std::memset(static_cast<void*>(&state), 0, sizeof state);
    std::memcpy(static_cast<void*>(&state), bytes.data(), FixedBytes());
    bytes.remove_prefix(FixedBytes());
    for (size_t x : {0, 1}) {
      const size_t size = state.shards[x].logged * sizeof(ModelEvent);
      std::memcpy(static_cast<void*>(state.logs[x]), bytes.data(), size);
      bytes.remove_prefix(size);
    }
    return state;
  }

 private:
  static constexpr size_t FixedBytes() {
    return sizeof(ModelState) - 2 * kMostModelEvents * sizeof(ModelEvent);
  }
};
static_assert(std::is_trivially_copyable_v<ModelState> && alignof(ModelState) == 1,
              "no padding holds anything");

// A state that was reached, and the one before it; nullptr: it is the first.
struct VisitedState {
  std::string_view bytes;
  const VisitedState* before = nullptr;
};

// All states that were reached, in that order.
class VisitedStates {
 public:
  // nullptr: it has been there already.
  const VisitedState* Add(std::string_view bytes, const VisitedState* before) {
    if (found_.contains(bytes)) return nullptr;
    if (blocks_.empty() || blocks_.back().size() + bytes.size() > blocks_.back().capacity()) {
      blocks_.emplace_back().reserve(1 << 20);
    }
    std::string& block = blocks_.back();
    block.append(bytes);
    bytes = std::string_view(block).substr(block.size() - bytes.size());
    const VisitedState* added = &states_.emplace_back(VisitedState{bytes, before});
    found_.insert(added);
    return added;
  }
  size_t size() const { return states_.size(); }
  const VisitedState& operator[](size_t i) const { return states_[i]; }

 private:
  struct ByBytes {
    using is_transparent = void;
    static std::string_view Of(std::string_view bytes) { return bytes; }
    static std::string_view Of(const VisitedState* state) { return state->bytes; }
    template <typename T>
    size_t operator()(const T& key) const {
      return absl::HashOf(Of(key));
    }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Of(a) == Of(b);
    }
  };

  std::deque<std::string> blocks_;   // where the bytes of states stand
  std::deque<VisitedState> states_;  // references stay valid
  absl::flat_hash_set<const VisitedState*, ByBytes, ByBytes> found_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_CUT_OVER_HANDOVER_STATE_H_
