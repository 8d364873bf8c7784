// SPDX-License-Identifier: Apache-2.0
#include "tests/generator/generator_simulation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/segment/counters.h"
#include "src/segment/segment_loader.h"
#include "tests/generator/simulated_world.h"

namespace locus {

using internal::CountersOf;
using internal::SegmentLoaderOf;
using internal::SegmentWord;

namespace {

template <Fault kFault>
struct SmallCounters {
  static constexpr uint32_t kVnodes = locus::kVnodes;
  static constexpr bool kTakeNextByPlainStore = kFault == Fault::kTakeNextByPlainStore;
  static constexpr bool kRateAcrossSwap = kFault == Fault::kRateAcrossSwap;
};

// A request on its way to the store, or an answer on its way back.
struct Message {
  std::vector<SegmentRequest> requests;
  absl::Time caller_now;
  bool given_up = false;  // the asker heard of a timeout
  bool executed = false;
  absl::StatusOr<SegmentReply> reply = SegmentReply();
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
      world_.Violated(absl::StrCat("of ", arrived, " sequences allocated ", taken,
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
    bool allocated = std::any_of(arrived_.begin(), arrived_.end(), [&](const Segment& segment) {
      return sequence >= segment.first && sequence < segment.end();
    });
    if (!allocated) world_.Violated(absl::StrCat("sequence ", sequence, " was never allocated"));
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
    for (const SegmentRequest& request : message.requests) {
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
      message.reply = world_.Allocate(message.requests, message.caller_now);
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
    for (const SegmentGrant& grant : message.reply->grants) {
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
