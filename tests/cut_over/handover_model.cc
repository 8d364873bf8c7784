// SPDX-License-Identifier: Apache-2.0
#include "tests/cut_over/handover_model.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/cut_over/handover.h"
#include "migration/cut_over/version_rule.h"
#include "routing/fence/fence_row.h"

namespace locus {
namespace {

using internal::ApplyVerdict;
using internal::BandFence;
using internal::FenceRow;
using internal::FenceVerdict;
using internal::RowState;
using internal::Side;
using internal::Situation;
using SituationKind = Situation::Kind;

constexpr uint32_t kCohorts = 2;  // with one order each
constexpr size_t kWriters = 2;
constexpr size_t kMostEvents = 10;

struct Row {
  uint8_t version = 0;
  bool deleted = false;
  uint8_t value = 0;

  RowState state() const { return {version, deleted}; }
};
struct Fence {
  uint8_t own_lo = 0, own_hi = 0, step = 0, token_share = 0, token_nonce = 0;

  static Fence Of(const BandFence& row) {
    auto small = [](uint64_t n) { return static_cast<uint8_t>(n); };
    return {small(row.own_lo), small(row.own_hi), small(row.step), small(row.token_share),
            small(row.token_nonce)};
  }
  BandFence row() const { return {own_lo, own_hi, step, token_share, token_nonce}; }
};
// What a shard's binary log has: a row, or the fence.
struct Event {
  uint8_t order = 0;
  bool of_fence = false;
  bool of_peer = false;  // written by the applier or the copier
  Row row;
  Fence fence;
};
struct ShardModel {
  Fence fence;
  Row rows[kCohorts];
  Event log[kMostEvents];  // what the peer has not applied yet
  uint8_t logged = 0;
};
struct Writer {
  bool open = false;  // a transaction that has read the fence
  uint8_t shard = 0;
  uint8_t order = 0;
};
struct Copied {
  uint8_t phase = 0;  // 0: not read, 1: read, 2: written
  Row row;
};
// Plain bytes, so that states compare as such: no padding holds anything.
struct State {
  ShardModel shards[2];
  Writer writers[kWriters];
  Copied copied[kCohorts];
  Fence seen[2];        // by a coordinator
  Row acked[kCohorts];  // version unused
  uint8_t writes = 0;
  uint8_t handovers = 0;
  bool stream_placed = true;
};
static_assert(std::is_trivially_copyable_v<State>);

std::string_view BytesOf(const State& state) {
  return {reinterpret_cast<const char*>(&state), sizeof state};
}

class Explorer {
 public:
  Explorer(Mutant mutant, const ModelLimits& limits) : mutant_(mutant), limits_(limits) {}

  ModelResult Run() {
    State first;
    std::memset(static_cast<void*>(&first), 0, sizeof first);
    first.shards[0].fence = Fence::Of(internal::Owned(Side::kSource, 0, kCohorts));
    first.shards[1].fence = Fence::Of(internal::Owned(Side::kTarget, 0, kCohorts));
    for (uint8_t k = 0; k < kCohorts; ++k) {
      first.shards[0].rows[k].version = 1;
      first.shards[0].rows[k].value = first.acked[k].value = static_cast<uint8_t>(100 + k);
    }
    first.seen[0] = first.shards[0].fence;
    first.seen[1] = first.shards[1].fence;
    first.stream_placed = mutant_ != Mutant::kCopyBeforePosition;
    Reach(first, nullptr, "start");
    while (!waiting_.empty() && result_.violation.empty()) {
      const State* state = waiting_.front();
      waiting_.pop_front();
      Expand(*state);
    }
    result_.states = kept_.size();
    return result_;
  }

 private:
  struct Known {
    State state;
    const State* before;  // nullptr: it is the first
    std::string action;   // that led from there to here
  };

  static std::string Name(size_t shard) { return shard == 0 ? "source" : "target"; }

  bool Accepts(const ShardModel& shard, uint8_t order) const {
    const FenceRow row{0, 0, shard.fence.own_lo, shard.fence.own_hi, shard.fence.step, 1, ""};
    return internal::JudgeFence(row, 1, ShardGene::FromUint16(uint16_t{0}), order).kind ==
           FenceVerdict::Kind::kAccepted;
  }
  static bool Same(const Row& a, const Row& b) {
    return a.deleted == b.deleted && (a.deleted || a.value == b.value);
  }

  void Reach(const State& state, const State* before, std::string action) {
    if (known_.contains(BytesOf(state))) return;
    Known& known = kept_.emplace_back(Known{state, before, std::move(action)});
    known_.emplace(BytesOf(known.state), &known);
    waiting_.push_back(&known.state);
    Check(known.state);
  }
  void Violate(const State& state, const std::string& rule) {
    if (!result_.violation.empty()) return;
    std::vector<std::string> actions;
    for (const State* at = &state; at != nullptr;) {
      const Known& known = *known_.at(BytesOf(*at));
      actions.push_back(known.action);
      at = known.before;
    }
    result_.violation = rule;
    for (auto action = actions.rbegin(); action != actions.rend(); ++action) {
      absl::StrAppend(&result_.violation, "\n  ", *action);
    }
  }

  void Check(const State& state) {
    const Situation now =
        internal::SituationOf(state.shards[0].fence.row(), state.shards[1].fence.row(), kCohorts);
    if (now.kind == SituationKind::kImpossible) Violate(state, "the fence rows contradict");
    for (uint8_t k = 0; k < kCohorts; ++k) {
      int owners = 0;
      for (size_t x : {0, 1}) {
        if (!Accepts(state.shards[x], k)) continue;
        ++owners;
        if (!Same(state.shards[x].rows[k], state.acked[k])) {
          Violate(state, absl::StrCat(Name(x), " accepts order ", k,
                                      " and does not have what was acknowledged last"));
        }
      }
      if (owners > 1) Violate(state, absl::StrCat("two shards accept order ", k));
      const bool between =
          now.kind == SituationKind::kOnItsWay || now.kind == SituationKind::kRefused;
      if (owners == 0 && !between) Violate(state, absl::StrCat("no shard accepts order ", k));
    }
  }

  void Expand(const State& state) {
    for (size_t w = 0; w < kWriters; ++w) Write(state, w);
    for (size_t x : {0, 1}) Apply(state, x);
    for (uint8_t k = 0; k < kCohorts; ++k) Copy(state, k);
    Coordinate(state);
  }

  // Adds an event; false: the log is full, which the limits are to prevent.
  bool Log(State& state, size_t shard, const Event& event) {
    ShardModel& at = state.shards[shard];
    if (at.logged == kMostEvents) {
      Violate(state, "a log is longer than the model has room for");
      return false;
    }
    at.log[at.logged++] = event;
    return true;
  }
  // The first events, which have been applied. What is behind the last is nothing, so that states
  // compare by their bytes.
  static void Forget(ShardModel& shard, size_t count) {
    std::copy(shard.log + count, shard.log + shard.logged, shard.log);
    std::memset(static_cast<void*>(shard.log + (shard.logged - count)), 0, count * sizeof(Event));
    shard.logged = static_cast<uint8_t>(shard.logged - count);
  }
  static Event RowEvent(uint8_t order, const Row& row, bool of_peer) {
    Event event;
    std::memset(static_cast<void*>(&event), 0, sizeof event);
    event.order = order;
    event.of_peer = of_peer;
    event.row = row;
    return event;
  }

  void Write(const State& state, size_t w) {
    if (!state.writers[w].open) {
      if (state.writes >= limits_.writes) return;
      for (uint8_t x : {uint8_t{0}, uint8_t{1}}) {
        for (uint8_t k = 0; k < kCohorts; ++k) {
          if (!Accepts(state.shards[x], k)) continue;
          // Writers of one order wait for one another's row lock.
          bool locked = false;
          for (const Writer& other : state.writers) {
            locked = locked || (other.open && other.shard == x && other.order == k);
          }
          if (locked) continue;
          State next = state;
          next.writers[w].open = true;
          next.writers[w].shard = x;
          next.writers[w].order = k;
          ++next.writes;
          Reach(next, &state, absl::StrCat("writer ", w, " begins order ", k, " on ", Name(x)));
        }
      }
      return;
    }
    const Writer& writer = state.writers[w];
    const Row row = state.shards[writer.shard].rows[writer.order];
    if (row.version == 0 || row.deleted) {
      Commit(state, w, {}, VersionOfInsert(row), "inserts");
      return;
    }
    Commit(state, w, {}, static_cast<uint8_t>(internal::VersionOfUpdate(row.state(), 0)),
           "updates");
    Commit(state, w, DeletedOf(row), 0, "deletes");
    Commit(state, w, DeletedOf(row), VersionOfInsert(row), "replaces");
  }
  uint8_t VersionOfInsert(const Row& row) const {
    if (mutant_ == Mutant::kReplaceByOne && row.version > 0 && !row.deleted) {
      return static_cast<uint8_t>(row.version + 1);
    }
    return static_cast<uint8_t>(internal::VersionOfInsert(row.state(), 0));
  }
  static Row DeletedOf(const Row& row) {
    return {static_cast<uint8_t>(internal::VersionOfDelete(row.state())), true, 0};
  }
  // A transaction that deletes the row, if `deleted` says so, and then stores it with `version`, if
  // that is not 0.
  void Commit(const State& state, size_t w, std::optional<Row> deleted, uint8_t version,
              const char* does) {
    const Writer writer = state.writers[w];
    State next = state;
    next.writers[w] = Writer();
    ShardModel& shard = next.shards[writer.shard];
    if (deleted) {
      shard.rows[writer.order] = *deleted;
      if (!Log(next, writer.shard, RowEvent(writer.order, *deleted, false))) return;
    }
    if (version != 0) {
      const Row row{version, false, static_cast<uint8_t>(state.writes * 10 + w)};
      shard.rows[writer.order] = row;
      if (!Log(next, writer.shard, RowEvent(writer.order, row, false))) return;
    }
    next.acked[writer.order] = shard.rows[writer.order];
    next.acked[writer.order].version = 0;
    Reach(
        next, &state,
        absl::StrCat("writer ", w, " ", does, " order ", writer.order, " on ", Name(writer.shard)));
  }

  // The rule for what the copy or the stream brings to shard `x`.
  bool Bring(const State& state, State& next, size_t x, uint8_t order, const Row& row) {
    Row& local = next.shards[x].rows[order];
    ApplyVerdict verdict = internal::JudgeIncoming(row.state(), local.state(), Same(row, local));
    Row incoming = row;
    if (mutant_ == Mutant::kNewestWins) verdict = ApplyVerdict::kWrite;
    if (mutant_ == Mutant::kAppliedTwiceBlindly && verdict == ApplyVerdict::kSkip) {
      verdict = ApplyVerdict::kWrite;
      incoming.version = static_cast<uint8_t>(local.version + 1);
    }
    if (verdict == ApplyVerdict::kConflict) {
      Violate(state,
              absl::StrCat("two different rows of order ", order, " have version ", row.version));
      return false;
    }
    if (verdict == ApplyVerdict::kSkip) return true;
    local = incoming;
    return Log(next, x, RowEvent(order, incoming, true));
  }

  // The next event of the peer's log, with its checkpoint.
  void Apply(const State& state, size_t x) {
    const ShardModel& peer = state.shards[1 - x];
    if (peer.logged == 0 || (x == 1 && !state.stream_placed)) return;
    const Event event = peer.log[0];
    State next = state;
    Forget(next.shards[1 - x], 1);
    if (event.of_fence) {
      // It needs the exclusive lock of the row.
      if (Locked(state, x)) return;
      BandFence row = state.shards[x].fence.row();
      if (mutant_ == Mutant::kTokenWithoutStep) row.step = 0;
      const Side side = x == 0 ? Side::kSource : Side::kTarget;
      if (auto taken = internal::TakeOver(side, row, event.fence.row(), kCohorts)) {
        if (!SetFence(next, x, *taken)) return;
      }
    } else if (!event.of_peer && !Bring(state, next, x, event.order, event.row)) {
      return;
    }
    Reach(next, &state, absl::StrCat(Name(x), " applies an event of the other"));
  }

  void Copy(const State& state, uint8_t k) {
    State next = state;
    Copied& copied = next.copied[k];
    if (copied.phase == 0) {
      copied.phase = 1;
      copied.row = state.shards[0].rows[k];
      Reach(next, &state, absl::StrCat("the copier reads order ", k));
    } else if (copied.phase == 1) {
      copied.phase = 2;
      const Row row = copied.row;
      copied.row = Row();
      if (row.deleted || row.version == 0 || Bring(state, next, 1, k, row)) {
        Reach(next, &state, absl::StrCat("the copier writes order ", k));
      }
    }
    if (!state.stream_placed && state.copied[k].phase > 0) {
      State placed = state;
      placed.stream_placed = true;
      Forget(placed.shards[0], state.shards[0].logged);
      Reach(placed, &state, "the stream begins");
    }
  }

  static bool Locked(const State& state, size_t x) {
    for (const Writer& writer : state.writers) {
      if (writer.open && writer.shard == x) return true;
    }
    return false;
  }
  bool SetFence(State& state, size_t x, const BandFence& row) {
    if (row.step < state.shards[x].fence.step) Violate(state, "a step falls");
    state.shards[x].fence = Fence::Of(row);
    Event event;
    std::memset(static_cast<void*>(&event), 0, sizeof event);
    event.of_fence = true;
    event.fence = state.shards[x].fence;
    return Log(state, x, event);
  }

  void Coordinate(const State& state) {
    for (size_t x : {0, 1}) {
      State next = state;
      next.seen[x] = state.shards[x].fence;
      Reach(next, &state, absl::StrCat("a coordinator reads the fence of ", Name(x)));
    }
    const BandFence source = state.seen[0].row(), target = state.seen[1].row();
    bool copied = true;
    for (const Copied& one : state.copied) copied = copied && one.phase == 2;
    const Situation seen = internal::SituationOf(source, target, kCohorts);
    for (uint32_t share = 0; share <= kCohorts && copied && state.stream_placed; ++share) {
      if (state.handovers >= limits_.handovers) break;
      auto row = internal::LetGo(source, target, share, state.handovers + 1u, kCohorts);
      if (row) Change(state, share > seen.share ? 0 : 1, *row, true, "lets go", true);
    }
    // It is seen's donor whose token is refused by the other one.
    const size_t donor = seen.donor == Side::kSource ? 0 : 1;
    if (auto row = internal::Refuse(source, target, kCohorts)) {
      Change(state, 1 - donor, *row, mutant_ != Mutant::kRefusedWithoutCondition, "refuses", false);
    }
    if (auto row = internal::Restore(source, target, kCohorts)) {
      Change(state, donor, *row, true, "restores its band", false);
    }
    if (auto row = internal::Level(source, target, kCohorts)) {
      Change(state, 1 - donor, *row, true, "follows", false);
    }
  }
  // UPDATE locus_fence ... WHERE step = <as it was seen>, behind the writers' locks.
  void Change(const State& state, size_t x, const BandFence& row, bool conditional,
              const char* does, bool handover) {
    if (conditional && state.shards[x].fence.step != state.seen[x].step) return;
    if (mutant_ != Mutant::kFenceReadWithoutLock && Locked(state, x)) return;
    if (row.step < state.shards[x].fence.step) return;
    State next = state;
    next.handovers = static_cast<uint8_t>(next.handovers + handover);
    if (SetFence(next, x, row)) Reach(next, &state, absl::StrCat(Name(x), " ", does));
  }

  const Mutant mutant_;
  const ModelLimits limits_;
  ModelResult result_;
  std::deque<Known> kept_;  // references stay valid
  std::unordered_map<std::string_view, const Known*> known_;
  std::deque<const State*> waiting_;
};

}  // namespace

ModelResult Explore(Mutant mutant, const ModelLimits& limits) {
  return Explorer(mutant, limits).Run();
}

}  // namespace locus
