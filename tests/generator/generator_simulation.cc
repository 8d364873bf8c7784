// SPDX-License-Identifier: Apache-2.0
#include "tests/generator/generator_simulation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/generator/counters.h"
#include "src/generator/segment_loader.h"
#include "src/lease/lease_plan.h"
#include "src/lease/lease_rules.h"

namespace locus {

using internal::CountersOf;
using internal::SegmentLoaderOf;
using internal::SegmentWord;

namespace {

SimulationCoverage coverage;

constexpr uint32_t kVnodes = 16;
constexpr uint32_t kSections = 2;
constexpr absl::Duration kHorizon = absl::Seconds(10);

template <Fault kFault>
struct SmallCounters {
  static constexpr uint32_t kVnodes = locus::kVnodes;
  static constexpr bool kTakeNextByPlainStore = kFault == Fault::kTakeNextByPlainStore;
  static constexpr bool kRateAcrossSwap = kFault == Fault::kRateAcrossSwap;
};

SpaceOptions SmallSpace() {
  SpaceOptions options;
  options.section_size = kVnodes / kSections;
  options.floor_rate = 64;
  options.max_lead = 16384;
  return options;
}
// What a store keeps, and so what a backup holds.
struct StoredState {
  uint64_t base = 0;
  uint64_t identity = 0;
  std::map<uint16_t, uint64_t> heads;
};

struct Granted {
  uint16_t section;
  Segment segment;
  bool covered;  // false: between a silent rewind and its notice
};

class World {
 public:
  World(uint64_t seed, Fault fault) : random_(seed), fault_(fault) {
    now_ = absl::FromUnixSeconds(1767225600) + absl::Seconds(Below(1000000));
    CreateAnew();
  }

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  void Violated(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }
  const std::string& violation() const { return violation_; }

  absl::Duration boot() const { return boot_; }
  absl::Time StoreNow() const { return now_ + store_offset_; }
  absl::Time now() const { return now_; }
  void Advance(absl::Duration by) {
    now_ += by;
    boot_ += by;
  }

  // One lease, as the store executes it.
  absl::StatusOr<LeaseReply> Lease(std::span<const LeaseRequest> requests, absl::Time caller_now) {
    absl::Status clock = lease_rules::CheckClock(options_, caller_now, StoreNow());
    coverage.refused_clocks += !clock.ok();
    if (!clock.ok()) return clock;
    lease::State state{{options_, stored_.base, 0}, {}, stored_.identity != identity_};
    for (const LeaseRequest& request : requests) {
      state.heads.push_back(stored_.heads[request.section]);
    }
    lease::Outcome outcome = lease::Plan(state, requests, StoreNow());
    uint64_t base_before = stored_.base;
    stored_.base = outcome.space.base;
    if (outcome.reply.loss_noticed) LossNoticed();
    for (const lease::Outcome::Head& head : outcome.heads) {
      uint16_t section = requests[head.request].section;
      stored_.heads[section] = head.after;
      Record(section, outcome.reply.grants[head.request].segment);
    }
    LeaseReply& reply = outcome.reply;
    if (fault_ == Fault::kForgetBase && reply.loss_noticed) stored_.base = base_before;
    return std::move(outcome.reply);
  }

  // The broken variant: the tail of a segment comes back.
  void TakeBack(uint16_t section, uint64_t segment_end, uint64_t from) {
    if (stored_.heads[section] != segment_end) return;
    stored_.heads[section] = (from + 63) / 64 * 64;
    for (Granted& granted : granted_) {
      if (granted.section == section && granted.segment.end() == segment_end) {
        granted.segment.length = stored_.heads[section] - granted.segment.first;
      }
    }
  }

  void TakeBackup() { backup_ = stored_; }
  // Losing base before the floor has reached it is not covered, so it is not simulated.
  bool MayLose(const StoredState& to) const {
    absl::Time surely = StoreNow() - lease_rules::kLossMargin;
    return to.base == stored_.base || lease_rules::Floor(options_, surely) >= stored_.base;
  }
  void Rewind(bool silent) {
    if (!MayLose(backup_)) return;
    uint64_t identity = stored_.identity;
    stored_ = backup_;
    store_offset_ = RandomOffset();
    if (silent) {
      stored_.identity = identity;
      in_silence_ = true;
      ++coverage.silent_rewinds;
    } else {
      ++identity_;
    }
  }
  void CreateAnew() {
    if (!MayLose(StoredState())) return;
    store_offset_ = RandomOffset();
    ++identity_;
    stored_ = StoredState();
    RaiseBase();
  }
  void DeclareRestored() { RaiseBase(); }

  // A generator handed out this sequence.
  void Issued(uint32_t vnode, uint64_t sequence) {
    ++coverage.ids;
    bool covered = true;
    uint16_t section = static_cast<uint16_t>(vnode / options_.section_size);
    for (const Granted& granted : granted_) {
      bool within = granted.section == section && sequence >= granted.segment.first &&
                    sequence < granted.segment.end();
      covered &= !(within && !granted.covered);
    }
    auto [it, is_new] = issued_.try_emplace({vnode, sequence}, covered);
    if (!is_new && covered && it->second) {
      Violated(absl::StrCat("sequence ", sequence, " of vnode ", vnode, " handed out twice"));
    }
  }

  // Within what a process's clock may differ from the store's, mostly.
  absl::Duration RandomOffset() {
    return absl::Milliseconds(static_cast<int64_t>(Below(60000)) - 30000);
  }
  absl::Duration RandomOffsetOfAProcess() {
    return OneIn(8) ? 10 * RandomOffset() : RandomOffset() / 3;
  }
  const SpaceOptions& options() const { return options_; }

 private:
  void RaiseBase() {
    lease::Space space{options_, stored_.base, 0};
    lease::NoteLoss(space, StoreNow());
    stored_.base = space.base;
    LossNoticed();
  }
  void LossNoticed() {
    ++coverage.losses_noticed;
    stored_.identity = identity_;
    in_silence_ = false;
  }

  void Record(uint16_t section, Segment segment) {
    ++coverage.leases;
    coverage.uncovered_leases += in_silence_;
    for (const Granted& granted : granted_) {
      bool overlap = granted.section == section && segment.first < granted.segment.end() &&
                     granted.segment.first < segment.end();
      if (overlap && !in_silence_) {
        Violated(absl::StrCat("section ", section, " was granted ", segment.first, "+",
                              segment.length, " over ", granted.segment.first, "+",
                              granted.segment.length));
      }
    }
    if (segment.end() >
        std::max(lease_rules::Floor(options_, StoreNow()), stored_.base) + options_.max_lead) {
      Violated(absl::StrCat("a lease up to ", segment.end(), " lies above the lead"));
    }
    granted_.push_back({section, segment, !in_silence_});
  }

  std::mt19937_64 random_;
  const Fault fault_;
  const SpaceOptions options_ = SmallSpace();
  std::string violation_;

  absl::Time now_;
  absl::Duration boot_ = absl::Hours(1);
  absl::Duration store_offset_;

  StoredState stored_;
  StoredState backup_;
  uint64_t identity_ = 0;
  bool in_silence_ = false;  // rewound, and nobody has noticed

  std::vector<Granted> granted_;
  std::map<std::pair<uint32_t, uint64_t>, bool> issued_;
};

// A request on its way to the store, or an answer on its way back.
struct Message {
  std::vector<LeaseRequest> requests;
  absl::Time caller_now;
  bool given_up = false;  // the asker heard of a timeout
  bool executed = false;
  absl::StatusOr<LeaseReply> reply = LeaseReply();
};

// One process with a generator: the real counters and the real loader.
template <Fault kFault>
class Process {
 public:
  Process(World& world, bool one_vnode_a_section)
      : world_(world),
        one_vnode_(one_vnode_a_section),
        clock_offset_(world.RandomOffsetOfAProcess()),
        counters_(world.options().section_size, uint64_t{1} << 56),
        loader_(world.options(), kHorizon, counters_, world.Below(1000)) {}

  void Step() {
    switch (world_.Below(8)) {
      case 0:
        return Load();
      case 1:
        return MoveAMessage();
      case 2:
        if (world_.OneIn(50)) clock_offset_ = world_.RandomOffsetOfAProcess();
        if (kFault == Fault::kGiveBack && world_.OneIn(20)) GiveBack();
        return;
      default:
        for (uint64_t n = world_.Below(4) == 0 ? world_.Below(200) : 1; n > 0; --n) {
          Call(callers_[world_.Below(2)]);
        }
    }
    NoteCurrent();
  }

  // With one vnode a section nothing is skipped, so every segment that arrived must be found again:
  // handed out whole, or counted as dropped.
  void CheckThatNoSegmentIsLost() {
    if (!one_vnode_) return;
    for (Caller& caller : callers_) Finish(caller);
    for (uint32_t section = 0; section < kSections; ++section) {
      auto vnode = static_cast<uint16_t>(section * world_.options().section_size);
      while (true) {
        while (counters_.Take(vnode) != counters_.kNone) ++taken_[section];
        if (!counters_.MoveOn(section, counters_.Current(section), world_.boot())) break;
      }
    }
    uint64_t arrived = 0, taken = 0, longest = 0;
    for (const Segment& segment : arrived_) {
      arrived += segment.length;
      longest = std::max(longest, segment.length);
    }
    for (uint64_t count : taken_) taken += count;
    uint64_t dropped = loader_.totals().dropped + counters_.overtaken();
    coverage.segments_dropped += dropped;
    if (taken > arrived || arrived - taken > dropped * longest) {
      world_.Violated(absl::StrCat("of ", arrived, " sequences leased ", taken,
                                   " were handed out, but only ", dropped, " segments dropped"));
    }
  }

 private:
  struct Caller {
    enum { kIdle, kPeeked, kTook } state = kIdle;
    uint32_t section = 0;
    SegmentWord used_up;
    typename CountersOf<SmallCounters<kFault>>::Next next{};
  };

  absl::Time Now() const { return world_.now() + clock_offset_; }

  uint16_t RandomVnode() {
    auto vnode = static_cast<uint16_t>(world_.Below(kVnodes));
    auto size = static_cast<uint16_t>(world_.options().section_size);
    return one_vnode_ ? static_cast<uint16_t>(vnode / size * size) : vnode;
  }

  void Call(Caller& caller) {
    if (caller.state == Caller::kPeeked) {
      bool took = counters_.TakeNext(caller.section, caller.next);
      caller.state = took ? Caller::kTook : Caller::kIdle;
      return;
    }
    if (caller.state == Caller::kTook) return PublishTaken(caller);
    uint16_t vnode = RandomVnode();
    uint64_t sequence = counters_.Take(vnode);
    if (sequence != counters_.kNone) return Check(vnode, sequence);
    SegmentWord segment = counters_.Current(counters_.SectionOf(vnode));
    if (!counters_.UsedUp(vnode, segment)) return;
    caller.section = counters_.SectionOf(vnode);
    caller.used_up = segment;
    auto next = counters_.PeekNext(caller.section);
    if (!next) return static_cast<void>(counters_.AskFor(caller.section, counters_.kStarved));
    caller.next = *next;
    caller.state = Caller::kPeeked;
  }

  void PublishTaken(Caller& caller) {
    caller.state = Caller::kIdle;
    if (!counters_.Publish(caller.section, caller.used_up, caller.next.segment, world_.boot())) {
      counters_.PutBack(caller.section, caller.next.segment);
    }
    counters_.AskFor(caller.section, counters_.kMore);
    NoteCurrent();
  }
  void Finish(Caller& caller) {
    while (caller.state != Caller::kIdle) Call(caller);
  }

  void Check(uint16_t vnode, uint64_t sequence) {
    world_.Issued(vnode, sequence);
    if (last_.contains(vnode) && sequence <= last_[vnode]) {
      world_.Violated(absl::StrCat("vnode ", vnode, " went from ", last_[vnode], " to ", sequence));
    }
    last_[vnode] = sequence;
    uint32_t section = counters_.SectionOf(vnode);
    ++taken_[section];
    bool leased = std::any_of(arrived_.begin(), arrived_.end(), [&](const Segment& segment) {
      return sequence >= segment.first && sequence < segment.end();
    });
    if (!leased) world_.Violated(absl::StrCat("sequence ", sequence, " was never leased"));
    NoteCurrent();
    Used& used = used_[section];
    double seconds = std::max(1.0, absl::ToDoubleSeconds(world_.boot() - used.since));
    auto count = static_cast<double>(counters_.Fastest(section) - used.segment.first());
    used.peak = std::max(used.peak, count / seconds);
  }

  // Keeps the simulation's own record of what is in use since when.
  void NoteCurrent() {
    for (uint32_t section = 0; section < kSections; ++section) {
      Used& used = used_[section];
      if (used.segment == counters_.Current(section)) continue;
      used.segment = counters_.Current(section);
      used.since = world_.boot();
    }
  }

  void Load() {
    Message message;
    message.requests = loader_.Collect(world_.boot());
    NoteCurrent();
    if (message.requests.empty()) return;
    message.caller_now = Now();
    for (const LeaseRequest& request : message.requests) {
      double wanted = used_[request.section].peak * absl::ToDoubleSeconds(kHorizon);
      uint64_t most = 64 * std::bit_ceil(static_cast<uint64_t>(wanted / 64) + 1);
      if (request.length > std::max<uint64_t>(64, most)) {
        world_.Violated(absl::StrCat("section ", request.section, " asked for ", request.length,
                                     ", but never used more than ", used_[request.section].peak,
                                     " a second"));
      }
    }
    messages_.push_back(std::move(message));
  }

  // Delivers, loses, answers or gives up on any message: they overtake each other.
  void MoveAMessage() {
    if (messages_.empty()) return;
    size_t i = world_.Below(messages_.size());
    Message& message = messages_[i];
    if (!message.given_up && world_.OneIn(6)) {
      message.given_up = true;
      loader_.Failed(message.requests, world_.boot());
    }
    if (!message.executed) {
      if (world_.OneIn(8)) return Remove(i);
      message.executed = true;
      message.reply = world_.Lease(message.requests, message.caller_now);
      coverage.late_answers += message.given_up;
      return;
    }
    if (!message.given_up) Deliver(message);
    messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(i));
  }
  void Remove(size_t i) {
    if (!messages_[i].given_up) loader_.Failed(messages_[i].requests, world_.boot());
    messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(i));
  }
  void Deliver(const Message& message) {
    if (!message.reply.ok()) return loader_.Failed(message.requests, world_.boot());
    for (const LeaseGrant& grant : message.reply->grants) {
      if (grant.segment.length > 0) arrived_.push_back(grant.segment);
    }
    loader_.Granted(message.requests, *message.reply, world_.boot());
    NoteCurrent();
  }

  // The broken variant: returns what no caller seems to have taken, while callers still run.
  void GiveBack() {
    for (uint32_t section = 0; section < kSections; ++section) {
      SegmentWord segment = counters_.Current(section);
      if (segment.empty()) continue;
      world_.TakeBack(static_cast<uint16_t>(section), segment.end(), counters_.Fastest(section));
    }
  }

  struct Used {
    SegmentWord segment;
    absl::Duration since;
    double peak = 0;  // sequences a second of the fastest vnode
  };

  World& world_;
  const bool one_vnode_;
  absl::Duration clock_offset_;
  CountersOf<SmallCounters<kFault>> counters_;
  SegmentLoaderOf<SmallCounters<kFault>> loader_;
  Caller callers_[2];
  std::vector<Message> messages_;
  std::vector<Segment> arrived_;
  std::map<uint16_t, uint64_t> last_;
  uint64_t taken_[kSections] = {};
  Used used_[kSections];
};

void StoreEvent(World& world) {
  switch (world.Below(40)) {
    case 0:
      return world.Rewind(/*silent=*/false);
    case 1:
      return world.Rewind(/*silent=*/true);
    case 2:
      return world.CreateAnew();
    case 3:
      return world.DeclareRestored();
    default:
      if (world.OneIn(10)) world.TakeBackup();
  }
}

void TimePasses(World& world) {
  switch (world.Below(30)) {
    case 0:
      return world.Advance(absl::Minutes(world.Below(30)));
    case 1:
    case 2:
      return world.Advance(absl::Seconds(world.Below(20)));
    default:
      return world.Advance(absl::Milliseconds(world.Below(200)));
  }
}

template <Fault kFault>
std::string Run(uint64_t seed) {
  World world(seed, kFault);
  bool one_vnode = world.OneIn(2);
  std::vector<std::unique_ptr<Process<kFault>>> processes(1 + world.Below(3));
  auto start = [&] { return std::make_unique<Process<kFault>>(world, one_vnode); };
  for (auto& process : processes) process = start();
  for (uint64_t events = 200 + world.Below(600); events > 0; --events) {
    processes[world.Below(processes.size())]->Step();
    if (world.OneIn(3)) TimePasses(world);
    if (world.OneIn(12)) StoreEvent(world);
    if (world.OneIn(300)) {
      processes[world.Below(processes.size())] = start();  // kill -9 and restart
      ++coverage.crashes;
    }
    if (!world.violation().empty()) return world.violation();
  }
  for (auto& process : processes) process->CheckThatNoSegmentIsLost();
  return world.violation();
}

}  // namespace

std::string Simulate(uint64_t seed, Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return Run<Fault::kNone>(seed);
    case Fault::kTakeNextByPlainStore:
      return Run<Fault::kTakeNextByPlainStore>(seed);
    case Fault::kRateAcrossSwap:
      return Run<Fault::kRateAcrossSwap>(seed);
    case Fault::kForgetBase:
      return Run<Fault::kForgetBase>(seed);
    case Fault::kGiveBack:
      return Run<Fault::kGiveBack>(seed);
  }
  return "no such fault";
}

const SimulationCoverage& Coverage() { return coverage; }

}  // namespace locus
