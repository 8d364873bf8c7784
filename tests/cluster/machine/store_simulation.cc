// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/machine/store_simulation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cluster/machine/session_simulation.h"
#include "tests/support/taken_ranges.h"

namespace locus::cluster_machine {
namespace {

using Counter = counter_machine::Call;

// How far a Set raises a counter: further than all takes of a run.
constexpr int64_t kRaise = 1'000'000;

// Of a strict section that a client has. How long it answers without the cluster: the deadline of
// StrictSequencer, for a ttl of 3 s and clocks that run true to 10^-3.
constexpr int64_t kStrictTtl = 3'000;
constexpr int64_t kStrictUsable = 1'996;
constexpr uint32_t kStrictSections = 2;
struct Holding {
  uint64_t token = 0;
  uint64_t last = 0;  // the number drawn last
  uint64_t max_seq = 0;
  int64_t deadline = 0;
};

// Of the counter that is forgotten, and for how long what is taken of it is held.
constexpr char kForgotten[] = "forgotten";
constexpr int64_t kTtl = 4'000;
constexpr int64_t kHeld = kTtl / 2;

struct Operation : SessionCall {
  int64_t sent = 0;  // the true time
};

struct Client : SessionClient {
  // The last batch of a counter, with where its range is noted.
  struct Batch {
    std::string name;
    int64_t first = 0;
    counter_machine::Reply reply;
    size_t range = 0;
  };
  std::optional<Batch> batch;
  std::map<uint32_t, Holding> holds;  // by strict section
};

class Simulation final : public SessionSimulation<Client, Operation> {
 public:
  Simulation(uint64_t seed, const Flaws& flaws, StoreCovered& covered)
      : SessionSimulation(seed, flaws, /*steady=*/seed % 2 != 0, covered), covered_(covered) {
    strict_options_.uids = kStrictSections * uint64_t{100'000};
    strict_options_.step = 100;
    strict_options_.ttl = absl::Milliseconds(kStrictTtl);
  }

 private:
  void CheckHistories() override {
    for (auto& [name, ranges] : taken_) {
      std::erase_if(ranges, [](const TakenRange& range) { return range.last < range.first; });
      const std::string wrong = FlawOf(ranges);
      if (!wrong.empty()) OnFailure(absl::StrCat(name, ": ", wrong));
    }
  }

  void StepClients() override {
    Client& client = AnyClient();
    Draw(client);
    if (client.tag) return GoOn(client);
    if (!created_) return Call(client, space_, segment_machine::Create{options_, {}});
    if (!set_created_)
      return Call(client, space_, strict_machine::Create{strict_options_, {.first_ever = true}});
    switch (random_.Below(14)) {
      case 0:
        return Set(client);
      case 1:
      case 2:
        return PutBack(client);
      case 3:
      case 4:
        return Allocate(client);
      case 5:
      case 6:
        return Take(client);
      case 7:
        return TakeForgotten(client);
      default:
        return Strict(client);
    }
  }

  StrictOwner OwnerOf(const Client& client) const {
    return {absl::StrCat("client-", &client - clients_), "", client.session};
  }

  // An owner draws without the cluster, whatever it waits for.
  void Draw(Client& client) {
    for (auto& [section, holding] : client.holds) {
      if (now_ >= holding.deadline || holding.last == holding.max_seq) continue;
      const int64_t began = ++moment_;
      const uint64_t first = holding.last + 1;
      holding.last = std::min(holding.max_seq, holding.last + 1 + random_.Below(20));
      ++covered_.drawn;
      taken_[absl::StrCat("strict section ", section)].push_back(
          {began, ++moment_, first, holding.last});
    }
  }

  void Strict(Client& client) {
    const auto section = static_cast<uint32_t>(random_.Below(kStrictSections));
    const auto held = client.holds.find(section);
    if (held == client.holds.end()) {
      return Call(client, space_,
                  strict_machine::Take{strict_options_, {OwnerOf(client), {{section, 0}}}});
    }
    const Holding holding = held->second;
    if (random_.OneIn(8)) {
      client.holds.erase(held);  // first it stops to answer
      const std::string successor =
          random_.OneIn(2) ? absl::StrCat("client-", random_.Below(std::size(clients_))) : "";
      return Call(client, space_,
                  strict_machine::Release{
                      strict_options_,
                      {OwnerOf(client), {{section, holding.token, holding.max_seq}}, successor}});
    }
    // Also to less than is stored, which lowers nothing.
    const uint64_t raise_to = random_.OneIn(3) ? 0 : holding.last + 1 + random_.Below(150);
    Call(client, space_,
         strict_machine::Extend{
             strict_options_,
             {OwnerOf(client), {{section, holding.token, holding.max_seq, raise_to}}}});
  }

  void NoteStrict(Client& client, const Operation& operation, int64_t ended) {
    const auto& call = std::get<strict_machine::Call>(operation.request.action);
    const auto& reply = std::get<strict_machine::Reply>(operation.answer->reply);
    if (const auto* grants = std::get_if<StrictReply<StrictGrant>>(&reply)) {
      const StrictGrant& grant = grants->items.at(0);
      if (grant.verdict != StrictGrant::Verdict::kGranted) return;
      ++covered_.granted;
      taken_[absl::StrCat("tokens of section ", grant.section)].push_back(
          {operation.called, ended, grant.token, grant.token});
      uint64_t& owner = owners_[grant.section];
      covered_.taken_over += owner != 0 && owner != client.session;
      owner = client.session;
      client.holds[grant.section] = {grant.token, grant.start, grant.max_seq,
                                     operation.sent + kStrictUsable};
    } else if (const auto* extended = std::get_if<StrictReply<StrictExtended>>(&reply)) {
      const StrictExtended& item = extended->items.at(0);
      if (std::holds_alternative<strict_machine::Release>(call)) {
        covered_.released += item.held;
        owners_[item.section] = 0;
        return;
      }
      covered_.extended += item.held;
      if (!item.held) {
        client.holds.erase(item.section);
        return;
      }
      Holding& holding = client.holds.at(item.section);
      holding.max_seq = item.max_seq;
      holding.deadline = operation.sent + kStrictUsable;
    }
  }

  // A Set is never given up: it may take effect whenever a copy comes.
  bool Persists(const Client& client) const override { return set_ && set_ == client.tag; }
  // A copy of a Set that was refused as too early may still be carried out.
  void OnRefused(Client& client, const absl::Status& status) override {
    const bool for_good = absl::IsAborted(status) || absl::IsDeadlineExceeded(status);
    if (Persists(client) && !for_good) return;
    if (Persists(client)) set_.reset();
    client.tag.reset();
  }

  std::string AnyCounter() { return random_.OneIn(3) ? "b" : "a"; }

  void TakeForgotten(Client& client) {
    Counter call;
    call.kind = Counter::Kind::kTake;
    call.name = kForgotten;
    call.number = call.last_of_first = 1 + static_cast<int64_t>(random_.Below(4));
    call.ttl = absl::Milliseconds(kTtl);
    Call(client, SpaceName(), call);
  }
  void NoteForgotten(int64_t first, int64_t last, int64_t until) {
    std::erase_if(held_, [this](const Held& one) { return one.until <= now_; });
    covered_.begun_again += first == 1 && begun_++ > 0;
    if (until <= now_) return;
    for (const Held& one : held_) {
      if (first <= one.last && one.first <= last) {
        OnFailure(absl::StrCat("numbers from ", first, " to ", last,
                               " of a counter with a ttl are held by two clients"));
      }
    }
    held_.push_back({first, last, until});
  }

  void Take(Client& client) {
    Counter call;
    call.kind = Counter::Kind::kTake;
    call.name = AnyCounter();
    call.number = call.last_of_first = 1 + static_cast<int64_t>(random_.Below(4));
    Call(client, SpaceName(), call);
  }
  void Set(Client& client) {
    if (set_) return;
    Counter call;
    call.kind = Counter::Kind::kStore;
    call.name = AnyCounter();
    call.number = ++raises_ * kRaise;
    Call(client, SpaceName(), call);
    set_ = client.tag;
  }
  void PutBack(Client& client) {
    if (!client.batch) return;
    const Client::Batch batch = *std::exchange(client.batch, std::nullopt);
    const auto used = static_cast<int64_t>(random_.Below(2));
    Counter call;
    call.kind = Counter::Kind::kPutBack;
    call.name = batch.name;
    call.number = batch.first + used - 1;
    call.last = *batch.reply.value;
    call.version = batch.reply.version;
    // Whatever comes of it, the client uses no more of them.
    TakenRange& range = taken_[batch.name][batch.range];
    range.last = range.first + static_cast<uint64_t>(used) - 1;
    Call(client, SpaceName(), call);
  }
  void Allocate(Client& client) {
    const auto section = static_cast<uint16_t>(random_.Below(2));
    Call(client, space_, segment_machine::Allocation{options_, {{section, 128, 0}}, {}});
  }

  void Call(Client& client, const SpaceName& space, Action action) {
    Operation& operation = Begin(client);
    operation.sent = now_;
    operation.request = {NextId(client), space, std::move(action)};
    if (auto* call = std::get_if<segment_machine::Call>(&operation.request.action)) {
      std::visit([&](auto& one) { one.caller_now = Wall(client); }, *call);
    }
    Send(client);
  }

  void Learn(Client& client, Operation& operation) override {
    if (Persists(client)) set_.reset();
    const int64_t ended = *operation.returned;
    const Answer& answer = *operation.answer;
    if (const auto* counter = std::get_if<Counter>(&operation.request.action)) {
      const auto& reply = std::get<counter_machine::Reply>(answer.reply);
      covered_.sets += counter->kind == Counter::Kind::kStore;
      covered_.put_back += counter->kind == Counter::Kind::kPutBack && reply.done;
      if (counter->kind != Counter::Kind::kTake) return;
      ++covered_.numbers;
      const int64_t first = *reply.value - counter->number + 1;
      if (counter->name == kForgotten) {
        return NoteForgotten(first, *reply.value, operation.sent + kHeld);
      }
      std::vector<TakenRange>& ranges = taken_[counter->name];
      client.batch = {counter->name, first, reply, ranges.size()};
      ranges.push_back({operation.called, ended, static_cast<uint64_t>(first),
                        static_cast<uint64_t>(*reply.value)});
      return;
    }
    if (const auto* strict = std::get_if<strict_machine::Call>(&operation.request.action)) {
      set_created_ = set_created_ || std::holds_alternative<strict_machine::Create>(*strict);
      return NoteStrict(client, operation, ended);
    }
    created_ = true;
    const auto& call = std::get<segment_machine::Call>(operation.request.action);
    const auto* allocation = std::get_if<segment_machine::Allocation>(&call);
    if (allocation == nullptr) return;
    const auto& reply = std::get<SegmentReply>(std::get<segment_machine::Reply>(answer.reply));
    const Segment& segment = reply.grants.at(0).segment;
    if (segment.length == 0) return;
    ++covered_.segments;
    taken_[absl::StrCat("section ", allocation->requests[0].section)].push_back(
        {operation.called, ended, segment.first, segment.end() - 1});
  }

  struct Held {
    int64_t first, last, until;
  };

  StoreCovered& covered_;
  std::vector<Held> held_;  // of the counter that is forgotten
  int begun_ = 0;           // how often it was
  const SpaceName space_;
  const SpaceOptions options_ = {};
  int64_t raises_ = 0;
  bool created_ = false;  // the space
  bool set_created_ = false;
  StrictSetOptions strict_options_;
  std::map<uint32_t, uint64_t> owners_;  // sessions, by strict section; 0: it was released
  std::optional<uint64_t> set_;          // the Set under way
  std::map<std::string, std::vector<TakenRange>> taken_;  // by counter or section
};

}  // namespace

std::string SimulateStore(uint64_t seed, const Flaws& flaws, StoreCovered& covered) {
  return Simulation(seed, flaws, covered).Run();
}

}  // namespace locus::cluster_machine
