// SPDX-License-Identifier: Apache-2.0
#include "tests/strict/strict_simulation.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <utility>

#include "src/strict/section.h"
#include "tests/strict/simulated_store.h"

namespace locus::strict {
namespace {

StrictCoverage coverage;

constexpr Micros kTtl = 10 * kSecond;
constexpr size_t kOwners = 3;
constexpr uint32_t kSections = 2;
constexpr size_t kUids = 2;  // in use, of each section

struct Event {
  Micros at = 0;
  uint64_t order = 0;
  std::function<void()> run;
  friend bool operator<(const Event& one, const Event& other) {
    return one.at != other.at ? one.at > other.at : one.order > other.order;
  }
};

struct Owned {
  SimSection section;
  std::array<Cell, kUids> cells{};
  uint64_t token = 0;
  uint64_t seen = 0;
  uint64_t grants = 0;
  bool taking = false;
  uint64_t takes = 0;  // sent so far
  bool extending = false;
  Micros renew_at = 0;
};

struct Owner {
  StrictOwner who;
  double rate = 1;    // of its clock
  Micros offset = 0;  // of its clock
  uint64_t life = 0;  // rises when it is killed
  Micros paused_until = 0;
  Micros cut_until = 0;
  std::unique_ptr<std::array<Owned, kSections>> memory;
};

// A call of kUids numbers, between two of its steps.
struct Call {
  size_t owner = 0;
  uint32_t section = 0;
  Micros called = 0;
  bool held = true;  // by the flaw that looks too early
  SimSection::Reading reading;
  std::array<uint64_t, kUids> numbers{};
};

class World {
 public:
  World(uint64_t seed, const SimulationPlan& plan)
      : random_(seed), plan_(plan), store_(random_, now_) {
    simulated_flaw = plan.flaw;
    StrictSetOptions options;
    options.uids = kSections * 64;
    options.section_size = 64;
    options.step = OneIn(3) ? 8 + Below(40) : 5'000;
    options.ttl = absl::Microseconds(kTtl);
    worst_rates_ = OneIn(3);
    const double rate = Rate(plan.drift);
    rewinds_ = plan.silent_rewinds || OneIn(2);
    store_.Begin(options, rate, OneIn(3));
    for (size_t i = 0; i < kOwners; ++i) {
      owners_[i].who.name = std::string(1, static_cast<char>('a' + i));
      owners_[i].offset = static_cast<Micros>(Below(100)) * kSecond;
      owners_[i].rate = Rate(-plan.drift);
      Begin(i);
    }
    end_ = static_cast<Micros>(30 + Below(40)) * kSecond;
    After(kMs, [this] { Disturb(); });
    for (int i = 0; i < 3; ++i) After(Micros(Below(50)) * kMs, [this] { CallSomebody(); });
  }

  Flaws Run() {
    while (!events_.empty() && events_.top().at < end_) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.run();
    }
    return CheckHistory(history_);
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // Mostly at an edge of what is allowed, and in every third run at the one that hurts.
  double Rate(double worst) {
    const double edge = worst_rates_ || OneIn(2) ? worst : -worst;
    return 1 + (!worst_rates_ && OneIn(4) ? 0 : edge);
  }
  void After(Micros delay, std::function<void()> run) {
    events_.push({now_ + delay, ++order_, std::move(run)});
  }
  // Something that owner `i` does: later if it is paused then, never if it is dead.
  void OwnerAfter(size_t i, Micros delay, std::function<void()> run) {
    const uint64_t life = owners_[i].life;
    After(delay, [this, i, life, run = std::move(run)]() mutable {
      const Owner& owner = owners_[i];
      if (owner.life != life) return;
      if (owner.paused_until > now_) {
        return OwnerAfter(i, owner.paused_until - now_ + Micros(Below(3)), std::move(run));
      }
      run();
    });
  }

  // --- clocks
  int64_t LocalNs(size_t i) const {
    return static_cast<int64_t>((static_cast<double>(now_)) * owners_[i].rate * 1000) +
           owners_[i].offset * 1000;
  }

  // --- the network. Answers reach the owners that still wait for them.
  Micros Delay() {
    if (OneIn(40)) return Micros(Below(12'000)) * kMs;
    return Micros(Below(OneIn(4) ? 50 : 3) + 1) * kMs / 2;
  }
  template <typename Reply>
  void Ask(size_t i, Micros delay, std::function<Reply()> at_store,
           std::function<void(const Reply&)> at_owner) {
    const uint64_t life = owners_[i].life;
    if (owners_[i].cut_until > now_ || OneIn(40)) return;
    const bool fast = delay == 0;
    After(delay, [=, this] { Execute<Reply>(i, life, fast, at_store, at_owner); });
  }
  template <typename Reply>
  void Execute(size_t i, uint64_t life, bool fast, std::function<Reply()> at_store,
               std::function<void(const Reply&)> at_owner) {
    if (stalled_until_ > now_) {
      return After(stalled_until_ - now_,
                   [=, this] { Execute<Reply>(i, life, fast, at_store, at_owner); });
    }
    const Reply reply = at_store();
    if (owners_[i].life != life || owners_[i].cut_until > now_ || OneIn(40)) return;
    OwnerAfter(i, fast ? 0 : Delay(), [=] { at_owner(reply); });
  }

  // --- owners
  Owned& OwnedOf(size_t i, uint32_t section) { return (*owners_[i].memory)[section]; }

  void Begin(size_t i) {
    Owner& owner = owners_[i];
    ++owner.life;
    owner.who.instance = ++instances_;
    owner.memory = std::make_unique<std::array<Owned, kSections>>();
    for (uint32_t section = 0; section < kSections; ++section) Tend(i, section);
  }

  void Tend(size_t i, uint32_t section) {
    Owned& owned = OwnedOf(i, section);
    if (!owned.section.open()) {
      if (OneIn(3)) SendTake(i, section, Delay());
    } else if (OneIn(60)) {
      HandOver(i, section, (i + 1 + Below(kOwners - 1)) % kOwners);
    } else if (owned.section.wanted() || now_ >= owned.renew_at) {
      SendExtend(i, section, /*let_go=*/OneIn(4));
    } else if (OneIn(20)) {
      SendExtend(i, section, /*let_go=*/true);
    }
    OwnerAfter(i, Micros(50 + Below(400)) * kMs, [=, this] { Tend(i, section); });
  }

  void SendTake(size_t i, uint32_t section, Micros delay) {
    Owned& owned = OwnedOf(i, section);
    if (owned.taking || owned.section.open()) return;
    owned.taking = true;
    const uint64_t take = ++owned.takes;
    OwnerAfter(i, 3 * kSecond, [=, this] {  // gives up
      if (OwnedOf(i, section).takes == take) OwnedOf(i, section).taking = false;
    });
    const int64_t sent = LocalNs(i);
    const StrictTake request{owners_[i].who, {{section, owned.seen}}};
    Ask<StrictGrant>(
        i, delay, [=, this] { return ExecuteTake(request, section); },
        [=, this](const StrictGrant& grant) {
          const Owned& mine = OwnedOf(i, section);
          if (mine.section.open()) return;
          const bool given_up = !mine.taking || mine.takes != take;
          if (!given_up || Faults::Has(Flaw::kAbandonedGrantUsed)) Granted(i, grant, sent);
        });
  }
  StrictGrant ExecuteTake(const StrictTake& request, uint32_t section) {
    if (OneIn(5)) GiveUpEnded(section);
    const bool left = store_.IsLeft(section);
    const StrictGrant grant = store_.Take(request);
    if (grant.verdict == StrictGrant::Verdict::kGranted) {
      ++coverage.takes;
      coverage.takes_of_ended += !left;
      HuntAfter(section);
    }
    return grant;
  }
  void GiveUpEnded(uint32_t section) { coverage.given_up += store_.GiveUpEnded(section); }
  // Another owner asks for the section in the moment in which its ownership ends.
  void HuntAfter(uint32_t section) {
    if (!OneIn(2)) return;
    const size_t hunter = Below(kOwners);
    const Micros until = store_.OwnershipLeft(section);
    OwnerAfter(
        hunter,
        std::max<Micros>(until - kSecond + Micros(Below(2)) * kSecond, 0) + Micros(Below(4)) * kMs,
        [=, this] { SendTake(hunter, section, 0); });
  }

  void Granted(size_t i, const StrictGrant& grant, int64_t sent) {
    Owned& owned = OwnedOf(i, grant.section);
    owned.taking = false;
    if (grant.verdict != StrictGrant::Verdict::kGranted) return;
    owned.token = grant.token;
    owned.seen = std::max(owned.seen, grant.max_seq);
    owned.section.Open(++owned.grants, grant.start, grant.max_seq, Deadline(i, sent));
    owned.renew_at = now_ + kTtl / 3;
    CallAt(i, grant.section, 0);
    CallNearDeadline(i, grant.section);
  }
  int64_t Deadline(size_t i, int64_t sent) const {
    if (Faults::Has(Flaw::kDeadlineFromAnswer)) sent = LocalNs(i);
    return sent + absl::ToInt64Nanoseconds(UsableFor<Faults>(absl::Microseconds(kTtl)));
  }
  void CallNearDeadline(size_t i, uint32_t section) {
    const int64_t left = OwnedOf(i, section).section.deadline_ns() - LocalNs(i);
    const auto until = static_cast<Micros>(static_cast<double>(left) / 1000 / owners_[i].rate);
    for (int calls = 0; calls < 3; ++calls) {
      OwnerAfter(i, std::max<Micros>(until - Micros(Below(20'000)), 0),
                 [=, this] { CallAt(i, section, 0); });
    }
  }

  // `let_go`: the memory of the keys, after their numbers were raised.
  void SendExtend(size_t i, uint32_t section, bool let_go) {
    Owned& owned = OwnedOf(i, section);
    if (owned.extending && !OneIn(4)) return;  // mostly one at a time
    owned.extending = true;
    OwnerAfter(i, 2 * kSecond, [=, this] { OwnedOf(i, section).extending = false; });
    const uint64_t token = owned.token;
    const uint64_t max_seq = owned.section.max_seq();
    const uint64_t raise = owned.section.wanted() || let_go ? max_seq + store_.options().step : 0;
    if (Faults::Has(Flaw::kUseBeforeStored) && raise > 0 && !let_go) {
      owned.section.Extend(raise, owned.section.deadline_ns());
    }
    const int64_t sent = LocalNs(i);
    const StrictExtend request{owners_[i].who, {{section, token, max_seq, raise}}};
    Ask<StrictExtended>(
        i, Delay(),
        [=, this] {
          if (OneIn(10)) GiveUpEnded(section);
          const StrictExtended extended = store_.Extend(request);
          if (extended.held) HuntAfter(section);
          return extended;
        },
        [=, this](const StrictExtended& answer) {
          Extended(i, token, raise > 0, let_go, answer, sent);
        });
  }
  void Extended(size_t i, uint64_t token, bool raised, bool let_go, const StrictExtended& answer,
                int64_t sent) {
    Owned& owned = OwnedOf(i, answer.section);
    owned.extending = false;
    if (!owned.section.open() || owned.token != token) return;  // handed over meanwhile
    if (!answer.held) {
      ++coverage.lost;
      Close(owned);
      return;
    }
    owned.seen = std::max(owned.seen, answer.max_seq);
    if (let_go) {
      LetGo(i, owned, answer, Deadline(i, sent));
    } else {
      owned.section.Extend(answer.max_seq, Deadline(i, sent));
    }
    owned.renew_at = now_ + kTtl / 3;
    if (raised) {
      ++coverage.raises;
      owned.section.Raised();
    }
    CallNearDeadline(i, answer.section);
  }
  // Like the sequencer: the memory is freed.
  static void Forget(Owned& owned) {
    for (Cell& cell : owned.cells) cell = 0;
  }
  static void Close(Owned& owned) {
    owned.section.Close();
    Forget(owned);
  }
  void LetGo(size_t i, Owned& owned, const StrictExtended& answer, int64_t deadline_ns) {
    ++coverage.let_go;
    const uint64_t grant = ++owned.grants;
    if (!Faults::Has(Flaw::kLetGoAfterUse)) {
      owned.section.Reopen(grant, answer.max_seq, deadline_ns, [&] { Forget(owned); });
    } else {
      const uint64_t start = owned.section.max_seq();
      owned.section.Extend(answer.max_seq, deadline_ns);
      OwnerAfter(i, Micros(Below(100)) * kMs, [=, &owned] {
        if (!owned.section.open()) return;
        Close(owned);
        owned.section.Open(grant, start, answer.max_seq, deadline_ns);
      });
    }
    CallAt(i, answer.section, 0);
  }

  void HandOver(size_t i, uint32_t section, size_t successor) {
    ++coverage.hand_overs;
    Owned& owned = OwnedOf(i, section);
    const bool early = Faults::Has(Flaw::kReleaseBeforeClose);
    if (!early) Close(owned);
    const StrictRelease request{owners_[i].who,
                                {{section, owned.token, owned.section.max_seq()}},
                                OneIn(3) ? std::string() : owners_[successor].who.name};
    Ask<StrictExtended>(
        i, Delay(),
        [=, this] {
          const StrictExtended released = store_.Release(request);
          OwnerAfter(successor, Micros(Below(4)) * kMs,
                     [=, this] { SendTake(successor, section, Micros(Below(2)) * kMs); });
          return released;
        },
        [=, this](const StrictExtended&) {
          if (early) Close(OwnedOf(i, section));
        });
  }

  // --- callers
  void CallSomebody() {
    const uint32_t section = static_cast<uint32_t>(Below(kSections));
    size_t i = Below(kOwners);
    for (size_t tries = 0; tries < 2 && !OwnedOf(i, section).section.open(); ++tries) {
      i = (i + 1) % kOwners;
    }
    CallAt(i, section, OneIn(8) ? Micros(Below(30)) * kMs : 0);
    After(Micros(1 + Below(120)) * kMs, [this] { CallSomebody(); });
  }
  // How long a thread takes from one step to the next.
  Micros Step() {
    if (OneIn(60)) return Micros(Below(12'000)) * kMs;
    return OneIn(3) ? Micros(Below(40)) * kMs : 0;
  }
  void CallAt(size_t i, uint32_t section, Micros way) {
    const Call call{i, section, now_, true, {}, {}};
    OwnerAfter(i, way, [=, this] { First(call); });
  }
  void First(Call call) {
    call.reading = OwnedOf(call.owner, call.section).section.Read();
    if (call.reading.grant == 0) return;
    OwnerAfter(call.owner, Step(), [=, this] { Second(call); });
  }
  void Second(Call call) {
    if (Faults::Has(Flaw::kCheckBeforeAdvance)) {
      call.held = StillHeld(call);
    } else {
      Advance(call);
    }
    OwnerAfter(call.owner, Step(), [=, this] { Third(call); });
  }
  void Third(Call call) {
    if (Faults::Has(Flaw::kCheckBeforeAdvance)) {
      Advance(call);
    } else {
      call.held = StillHeld(call);
    }
    if (!call.held) {
      ++coverage.late;
      return;
    }
    Owned& owned = OwnedOf(call.owner, call.section);
    for (size_t uid = 0; uid < kUids; ++uid) {
      if (call.numbers[uid] == 0) {
        owned.section.Want();
        continue;
      }
      owned.section.WantsMore(call.numbers[uid], call.reading, store_.options().step / 2);
      ++coverage.numbers;
      history_.push_back({call.section * kUids + uid, call.numbers[uid], call.called, now_});
    }
    // A caller that got an answer asks again, often at another owner.
    if (OneIn(3)) {
      const size_t other = Below(kOwners);
      After(1, [=, this] { CallAt(other, call.section, 0); });
    }
  }
  bool StillHeld(const Call& call) {
    return OwnedOf(call.owner, call.section).section.StillHeld(call.reading, LocalNs(call.owner));
  }
  void Advance(Call& call) {
    Owned& owned = OwnedOf(call.owner, call.section);
    for (size_t uid = 0; uid < kUids; ++uid) {
      call.numbers[uid] = SimSection::Advance(owned.cells[uid], call.reading);
    }
  }

  // --- what goes wrong
  void Disturb() {
    const size_t i = Below(kOwners);
    switch (Below(9)) {
      case 0:
        ++coverage.kills;
        Begin(i);
        break;
      case 1:
      case 2: {
        const Micros pause = Micros(Below(14'000)) * kMs;
        coverage.pauses += pause > kTtl;
        owners_[i].paused_until = now_ + pause;
        break;
      }
      case 3:
      case 4:
        ++coverage.cuts;
        owners_[i].cut_until = now_ + Micros(Below(16'000)) * kMs;
        break;
      case 5:
        ++coverage.stalls;
        stalled_until_ = now_ + Micros(Below(OneIn(3) ? 12'000 : 2'000)) * kMs;
        break;
      case 6:
        // Once within a ttl.
        if (now_ >= next_step_) {
          // Losses that forget one another are told apart by a clock that does not go back.
          store_.SetForward(!rewinds_ && OneIn(4) ? -Micros(Below(20)) * kSecond : kSecond);
          next_step_ = now_ + kTtl + 2 * kSecond;
        }
        break;
      case 7:
        store_.Keep();
        break;
      default:
        if (!rewinds_ || !OneIn(2)) break;
        ++coverage.rewinds;
        store_.Rewind(plan_.silent_rewinds);
    }
    After(Micros(200 + Below(3'000)) * kMs, [this] { Disturb(); });
  }

  std::mt19937_64 random_;
  const SimulationPlan plan_;
  Micros now_ = 0;
  Micros end_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;

  SimulatedStore store_;
  bool worst_rates_ = false;
  Micros next_step_ = 0;
  Micros stalled_until_ = 0;
  bool rewinds_ = false;

  std::array<Owner, kOwners> owners_;
  uint64_t instances_ = 0;
  std::vector<Drawn> history_;
};

}  // namespace

Flaws SimulateStrict(uint64_t seed, const SimulationPlan& plan) { return World(seed, plan).Run(); }

const StrictCoverage& CoverageOfStrict() { return coverage; }

}  // namespace locus::strict
