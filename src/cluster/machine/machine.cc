// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/machine.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/flaw.h"

namespace locus::cluster_machine {
namespace {

Answer Refused(absl::Status status) { return {std::move(status), std::nullopt, {}}; }

absl::Status LimitMet(const SpaceName& space, size_t most, std::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat("space ", space.str(), ": the cluster has ",
                                                   most, " ", internal::ToAbsl(what),
                                                   ", which is the most"));
}

// The fields of a refusal's fact.
struct Asked {
  uint64_t worker = 0;
  uint64_t token = 0;
  std::string nonce;
};
Asked AskedBy(const Action& action) {
  struct {
    Asked operator()(const Create&) const { return {}; }
    Asked operator()(const WorkerAcquire& one) const { return {0, 0, one.nonce}; }
    Asked operator()(const WorkerRenew& one) const { return {one.worker, one.token, one.nonce}; }
    Asked operator()(const WorkerRelease& one) const { return {one.worker, one.token, ""}; }
    Asked operator()(const Verdict& one) const { return {one.worker, one.token, ""}; }
    Asked operator()(const Delete&) const { return {}; }
    Asked operator()(const Mend&) const { return {}; }
    // These have no facts.
    Asked operator()(const counter_machine::Call&) const { return {}; }
    Asked operator()(const segment_machine::Call&) const { return {}; }
    Asked operator()(const type_machine::Call&) const { return {}; }
    Asked operator()(const strict_machine::Call&) const { return {}; }
  } asked;
  return std::visit(asked, action);
}

Fact FactOf(Fact::Kind kind, absl::Time now, const SpaceName& space, const WorkerRecord& record) {
  Fact fact;
  fact.kind = kind;
  fact.time = now;
  fact.space = space;
  fact.worker = record.worker;
  fact.token = record.token;
  fact.floor = record.floor;
  fact.ceiling = record.ceiling;
  fact.nonce = record.nonce;
  if (kind == Fact::Kind::kGranted) fact.holder = record.holder;
  return fact;
}

std::string HexOf(uint64_t high, uint64_t low) {
  char bytes[16];
  internal::StoreBigEndian64(high, bytes);
  internal::StoreBigEndian64(low, bytes + 8);
  return internal::HexOf({bytes, sizeof bytes});
}

// Spaces are created by any clock that could get a lease.
const WorkerLeaseTerm kTermOfCreate{.max_skew = absl::Seconds(60)};

}  // namespace

// A request under way.
struct Machine::InSpace {
  const SpaceName& name;
  WorkerSpace* space;  // nullptr: there is none
  std::vector<Fact>& facts;

  Lease* Find(uint64_t worker) const {
    if (space == nullptr) return nullptr;
    const auto found = space->leases.find(worker);
    return found == space->leases.end() ? nullptr : &found->second;
  }
  const WorkerRecord* RecordOf(uint64_t worker) const {
    const Lease* lease = Find(worker);
    return lease == nullptr ? nullptr : &lease->record;
  }
};

Machine::Applied Machine::Apply(const Command& command) {
  const absl::Time time = absl::FromUnixMillis(absl::ToUnixMillis(command.time));
  const absl::Time before = now_;
  now_ = Has(Flaw::kTimeFalls) ? time : std::max(now_, time);
  if (command.leaps && !Has(Flaw::kLeapsCount)) {
    // Before anything is forgotten or ended by the new time: the leap must not count.
    counters_.Leap(before, now_);
    strict_sets_.Leap(before, now_);
  }
  requests_.ForgetBefore(now_);
  sessions_.ForgetBefore(now_);
  counters_.Sweep(now_);
  keeps_ends_ = command.keeps_ends;
  Applied applied;
  if (command.expire) ExpireDue(applied.facts);
  applied.answers.reserve(command.requests.size());
  for (const Request& request : command.requests) {
    applied.answers.push_back(IsOfStore(request.action) ? AnswerOfStore(request, applied.facts)
                                                        : AnswerTo(request, applied.facts));
  }
  SettleQueue();
  return applied;
}

Answer Machine::AnswerTo(const Request& request, std::vector<Fact>& facts) {
  const uint64_t fingerprint = request.id ? FingerprintOf(request) : 0;
  if (request.id) {
    if (request.id->serial != 0) {
      return Refused(absl::InvalidArgumentError(absl::StrCat(
          "request ID ", ToString(*request.id), " has a serial, which those of leases have not")));
    }
    const absl::Status in_time = RememberedRequests::CheckTime(*request.id, now_);
    if (!in_time.ok()) return Refused(in_time);
    if (const auto* known = requests_.Find(*request.id); known != nullptr) {
      if (known->fingerprint == fingerprint) return known->answer;
      return Refused(absl::InvalidArgumentError(absl::StrCat(
          "request ID ", ToString(*request.id), " was used for another request; draw a new one")));
    }
    if (requests_.full()) return Refused(LimitMet(request.space, kMostRemembered, "requests"));
  }
  const auto space = spaces_.find(request.space);
  const InSpace call{request.space, space == spaces_.end() ? nullptr : &space->second, facts};
  const size_t facts_before = facts.size();
  Answer answer = std::visit(
      [&](const auto& action) -> Answer {
        if constexpr (requires { this->Do(call, action); }) {
          return Do(call, action);
        } else {
          LOCUS_UNREACHABLE();  // AnswerOfStore answers these
        }
      },
      request.action);
  const bool changed = facts.size() > facts_before;
  if (!answer.status.ok()) {
    if (answer.status.message().size() > kMostMessageBytes) {
      answer.status =
          absl::Status(answer.status.code(), answer.status.message().substr(0, kMostMessageBytes));
    }
    Asked asked = AskedBy(request.action);
    Fact fact;
    fact.kind = Fact::Kind::kRefused;
    fact.time = now_;
    fact.space = request.space;
    fact.worker = asked.worker;
    fact.token = asked.token;
    fact.nonce = std::move(asked.nonce);
    fact.status = answer.status;
    facts.push_back(std::move(fact));
  }
  for (size_t i = facts_before; i < facts.size(); ++i) facts[i].trace = request.trace;
  if (request.id && changed) requests_.Remember(*request.id, {fingerprint, answer});
  return answer;
}

Answer Machine::Do(const InSpace& call, const Create& create) {
  absl::Status status = worker::CheckRest(create.rest);
  status.Update(worker::CheckClock(kTermOfCreate, create.caller_now, now_));
  if (!status.ok()) return Refused(status);
  if (call.space != nullptr) {
    const uint64_t losses = call.space->state.losses;
    worker::DeclareLoss(call.space->state, create.rest, now_);
    if (call.space->state.losses != losses)
      call.facts.push_back(FactOfSpace(call, Fact::Kind::kLossNoticed));
    return {};
  }
  if (spaces_.size() >= kMostSpaces) return Refused(LimitMet(call.name, kMostSpaces, "spaces"));
  worker::Space& made = spaces_[call.name].state;
  made.rest_until = deleted_up_to_;  // the floor of whatever is granted in it
  worker::DeclareLoss(made, create.rest, now_);
  call.facts.push_back(FactOfSpace(call, Fact::Kind::kSpaceCreated));
  return {};
}

Answer Machine::Do(const InSpace& call, const WorkerAcquire& acquire) {
  absl::Status status = worker::Check(acquire);
  if (status.ok() && call.space == nullptr) status = worker::NoSuchSpace(call.name);
  if (status.ok()) status = worker::CheckClock(acquire.term, acquire.caller_now, now_);
  if (!status.ok()) return Refused(status);
  const absl::StatusOr<uint64_t> worker = WorkerFor(call, acquire);
  if (!worker.ok()) return Refused(worker.status());
  status = CheckRoom(call, *worker);
  const Lease* lease = call.Find(*worker);
  if (lease != nullptr && lease->unhealthy && lease->record.ceiling >= now_) {
    status = absl::FailedPreconditionError(
        absl::StrCat("worker ", *worker, ": its holder was found unhealthy"));
  }
  if (!status.ok()) return Refused(status);
  worker::Outcome outcome =
      worker::PlanAcquire(call.space->state, call.RecordOf(*worker), *worker, acquire, now_);
  if (Has(Flaw::kForgetsCeiling) && outcome.record) {
    outcome.record->floor = outcome.grant.floor = absl::InfinitePast();
  }
  return Carry(call, std::move(outcome), Fact::Kind::kGranted);
}

Answer Machine::Do(const InSpace& call, const WorkerRenew& renew) {
  absl::Status status = worker::Check(renew);
  if (status.ok()) status = worker::CheckClock(renew.term, renew.caller_now, now_);
  if (!status.ok()) return Refused(status);
  WorkerRenew asked = renew;
  const Lease* lease = call.Find(renew.worker);
  if (Has(Flaw::kExtendsWithoutToken) && lease != nullptr) {
    asked.token = lease->record.token;
    asked.nonce = lease->record.nonce;
  }
  worker::Outcome outcome = worker::PlanRenew(call.space == nullptr ? nullptr : &call.space->state,
                                              call.RecordOf(renew.worker), asked, now_);
  if (outcome.status.ok()) {
    if (lease != nullptr && lease->unhealthy && lease->record.token == asked.token) {
      return Refused(absl::FailedPreconditionError(absl::StrCat(
          "worker ", renew.worker, ", token ", renew.token, ": its holder was found unhealthy")));
    }
    status = CheckRoom(call, renew.worker);
    if (!status.ok()) return Refused(status);
  }
  return Carry(call, std::move(outcome), Fact::Kind::kRenewed);
}

Answer Machine::Do(const InSpace& call, const WorkerRelease& release) {
  const absl::Status status = worker::Check(release);
  if (!status.ok()) return Refused(status);
  if (call.space == nullptr) return Refused(worker::NoSuchSpace(call.name));
  const WorkerRecord* record = call.RecordOf(release.worker);
  worker::Outcome outcome = worker::PlanRelease(record, release);
  if (!outcome.status.ok()) return Refused(outcome.status);
  if (!outcome.record) return {};
  Fact fact = FactOf(Fact::Kind::kReleased, now_, call.name, *outcome.record);
  // Before Store, which overwrites *record.
  fact.nonce = record->nonce;
  Store(call, *std::move(outcome.record));
  call.facts.push_back(std::move(fact));
  return {};
}

Answer Machine::Do(const InSpace& call, const Verdict& verdict) {
  if (call.space == nullptr) return Refused(worker::NoSuchSpace(call.name));
  Lease* lease = call.Find(verdict.worker);
  if (lease == nullptr || lease->record.token != verdict.token || lease->record.nonce.empty()) {
    return Refused(absl::AbortedError(absl::StrCat("worker ", verdict.worker, ", token ",
                                                   verdict.token, ": it has no such holder")));
  }
  // A verdict that changes nothing is no fact.
  if (lease->unhealthy != verdict.healthy) return {};
  lease->unhealthy = !verdict.healthy;
  const auto kind = verdict.healthy ? Fact::Kind::kHealthy : Fact::Kind::kUnhealthy;
  Fact fact = FactOf(kind, now_, call.name, lease->record);
  if (!verdict.healthy) fact.status = absl::FailedPreconditionError(verdict.why);
  call.facts.push_back(std::move(fact));
  return {};
}

Answer Machine::Do(const InSpace& call, const Delete&) {
  if (call.space == nullptr) return Refused(worker::NoSuchSpace(call.name));
  auto refused = [&call](auto... why) {
    return Refused(absl::FailedPreconditionError(
        absl::StrCat("space ", call.name.str(), " cannot be deleted yet: ", why...)));
  };
  const WorkerSpace& space = *call.space;
  if (space.state.rest_until >= now_) return refused("it rests");
  absl::Time highest = space.state.rest_until;
  for (const auto& [worker, lease] : space.leases) {
    const WorkerRecord& record = lease.record;
    if (!record.nonce.empty()) return refused("worker ", worker, " is held");
    if (record.ceiling >= now_) return refused("worker ", worker, " rests");
    // Tokens begin at the clock, so that those of a later space of this name are higher only if all
    // tokens here are below it.
    if (record.token >= static_cast<uint64_t>(absl::ToUnixMillis(now_))) {
      return refused("worker ", worker, " has token ", record.token, ", which is above the clock");
    }
    highest = std::max(highest, record.ceiling);
  }
  deleted_up_to_ = std::max(deleted_up_to_, highest);
  workers_ -= space.leases.size();
  spaces_.erase(call.name);
  call.facts.push_back(FactOfSpace(call, Fact::Kind::kSpaceDeleted));
  return {};
}

// Tokens are set below the clock, so that the next token is the time of its grant. The holder of a
// mended lease learns of it when it renews; the ID rests until its ceiling.
Answer Machine::Do(const InSpace& call, const Mend& mend) {
  if (call.space == nullptr) return {worker::NoSuchSpace(call.name), std::nullopt, {}};
  const uint64_t behind =
      std::max<uint64_t>(static_cast<uint64_t>(absl::ToUnixMillis(now_)), 2) - 1;
  for (auto& [worker, lease] : call.space->leases) {
    if (lease.record.token < std::max(mend.from, behind)) continue;
    Fact fact = FactOf(Fact::Kind::kExpired, now_, call.name, lease.record);
    fact.status = absl::FailedPreconditionError(
        absl::StrCat("no cluster grants this token, which a renewal brought; mended to ", behind));
    call.facts.push_back(std::move(fact));
    if (!lease.record.nonce.empty()) TakeFromHolder(call.name, *call.space, lease);
    lease.record.token = behind;
  }
  return {};
}

absl::StatusOr<uint64_t> Machine::WorkerFor(const InSpace& call,
                                            const WorkerAcquire& acquire) const {
  const auto& leases = call.space->leases;
  const WorkerRange& range = acquire.range;
  // A repetition, maybe without an ID, gets the same worker ID.
  for (auto own = call.space->holders.lower_bound({acquire.nonce, range.first});
       own != call.space->holders.end() && own->first == acquire.nonce && own->second <= range.last;
       ++own) {
    if (leases.at(own->second).record.ceiling >= now_) return own->second;
  }
  if (acquire.preferred && worker::IsFree(call.RecordOf(*acquire.preferred), acquire, now_)) {
    return *acquire.preferred;
  }
  auto scan = [&leases](uint64_t first, uint64_t last, const worker::Visit& visit) {
    for (auto at = leases.lower_bound(first); at != leases.end() && at->first <= last; ++at) {
      if (!visit(at->second.record)) break;
    }
    return absl::OkStatus();
  };
  WorkerBlocks& blocks = call.space->blocks;
  auto free = blocks.FirstFree(acquire.start, range.last, now_, scan);
  if (!free && acquire.start > range.first) {
    free = blocks.FirstFree(range.first, acquire.start - 1, now_, scan);
  }
  if (free) return *free;
  const WorkerBlocks::Taken taken = blocks.In(range.first, range.last, scan);
  return worker::AllTaken(call.name, range, taken.held, taken.next_free, now_);
}

// Whether this worker ID may have a holder.
absl::Status Machine::CheckRoom(const InSpace& call, uint64_t worker) const {
  if (call.space == nullptr && spaces_.size() >= kMostSpaces) {
    return LimitMet(call.name, kMostSpaces, "spaces");
  }
  const Lease* lease = call.Find(worker);
  if (lease == nullptr && workers_ >= kMostWorkers) {
    return LimitMet(call.name, kMostWorkers, "worker IDs that were ever granted");
  }
  if ((lease == nullptr || lease->record.nonce.empty()) && held_ >= kMostHeld) {
    return LimitMet(call.name, kMostHeld, "worker IDs with a holder");
  }
  return absl::OkStatus();
}

Fact Machine::FactOfSpace(const InSpace& call, Fact::Kind kind) const {
  Fact fact;
  fact.kind = kind;
  fact.time = now_;
  fact.space = call.name;
  return fact;
}

Answer Machine::Carry(const InSpace& call, worker::Outcome outcome, Fact::Kind kind) {
  InSpace stored = call;
  if (outcome.space) {
    if (stored.space == nullptr) stored.space = &spaces_[call.name];
    if (outcome.space->losses != stored.space->state.losses) {
      call.facts.push_back(FactOfSpace(call, Fact::Kind::kLossNoticed));
    }
    stored.space->state = *outcome.space;
  }
  if (!outcome.record) return Refused(std::move(outcome.status));
  Fact fact = FactOf(kind, now_, call.name, *outcome.record);
  Store(stored, *std::move(outcome.record));
  call.facts.push_back(std::move(fact));
  return {absl::OkStatus(), outcome.grant, {}};
}

void Machine::Store(const InSpace& call, WorkerRecord record) {
  const auto [at, is_new] = call.space->leases.try_emplace(record.worker);
  Lease& lease = at->second;
  if (is_new) ++workers_;
  const bool another = lease.record.token != record.token;
  const bool renewed = !another && lease.record.nonce == record.nonce;
  if (!renewed && !lease.record.nonce.empty()) {
    if (another) {
      call.facts.push_back(FactOf(Fact::Kind::kExpired, now_, call.name, lease.record));
    }
    TakeFromHolder(call.name, *call.space, lease);
  }
  call.space->blocks.Changed(is_new ? nullptr : &lease.record, record);
  lease.record = std::move(record);
  if (renewed) return;  // SettleQueue moves it when it comes to the front
  if (lease.record.nonce.empty()) {
    lease.record.holder.clear();
    return;
  }
  ++held_;
  call.space->holders.emplace(lease.record.nonce, lease.record.worker);
  Enqueue(call.name, lease);
}

void Machine::Enqueue(const SpaceName& name, Lease& lease) {
  lease.queued = lease.record.ceiling;
  queue_.emplace(lease.queued, name, lease.record.worker);
}

void Machine::TakeFromHolder(const SpaceName& name, WorkerSpace& space, Lease& lease) {
  --held_;
  space.holders.erase({lease.record.nonce, lease.record.worker});
  queue_.erase({lease.queued, name, lease.record.worker});
  lease.unhealthy = false;
  WorkerRecord rests = lease.record;
  rests.nonce.clear();
  rests.holder.clear();
  space.blocks.Changed(&lease.record, rests);
  lease.record = std::move(rests);
}

void Machine::SettleQueue() {
  while (!queue_.empty()) {
    const auto [queued, name, worker] = *queue_.begin();
    Lease& lease = spaces_.at(name).leases.at(worker);
    if (lease.record.ceiling == queued) return;
    queue_.erase(queue_.begin());
    Enqueue(name, lease);
  }
}

void Machine::ExpireDue(std::vector<Fact>& facts) {
  for (size_t ended = 0; ended < kMostExpiries; ++ended) {
    SettleQueue();
    if (queue_.empty() || std::get<0>(*queue_.begin()) >= now_) return;
    const auto [queued, name, worker] = *queue_.begin();
    WorkerSpace& space = spaces_.at(name);
    Lease& lease = space.leases.at(worker);
    facts.push_back(FactOf(Fact::Kind::kExpired, now_, name, lease.record));
    TakeFromHolder(name, space, lease);
  }
}

absl::StatusOr<WorkerSpaceView> Machine::Show(const SpaceName& space, uint64_t from,
                                              size_t limit) const {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return worker::NoSuchSpace(space);
  WorkerSpaceView view = worker::ViewOf(found->second.state, now_);
  const std::map<uint64_t, Lease>& leases = found->second.leases;
  view.workers.reserve(std::min(limit, leases.size()));
  for (auto at = leases.lower_bound(from); at != leases.end(); ++at) {
    if (view.workers.size() == limit) break;
    view.workers.push_back(at->second.record);
  }
  return view;
}

bool operator==(const Answer& one, const Answer& other) {
  if (one.status != other.status || one.grant.has_value() != other.grant.has_value() ||
      !HasSameReply(one, other)) {
    return false;
  }
  if (!one.grant) return true;
  auto all = [](const WorkerGrant& grant) {
    return std::tie(grant.worker, grant.token, grant.floor, grant.ceiling, grant.granted_at,
                    grant.loss_noticed);
  };
  return all(*one.grant) == all(*other.grant);
}

bool operator==(const Fact& one, const Fact& other) {
  auto all = [](const Fact& fact) {
    return std::tie(fact.kind, fact.time, fact.space, fact.worker, fact.token, fact.floor,
                    fact.ceiling, fact.nonce, fact.holder, fact.status, fact.trace.high,
                    fact.trace.low);
  };
  return all(one) == all(other) && one.type == other.type;
}

std::string ToString(const RequestId& id) {
  std::string text = absl::StrCat(absl::ToUnixMillis(id.made), "-", HexOf(id.high, id.low));
  if (id.serial != 0) absl::StrAppend(&text, "-", id.serial);
  return text;
}

std::string_view ToString(Fact::Kind kind) {
  constexpr std::string_view kNames[] = {"created",
                                         "granted",
                                         "renewed",
                                         "released",
                                         "expired",
                                         "refused",
                                         "unhealthy",
                                         "healthy",
                                         "loss noticed",
                                         "deleted",
                                         "sequence type changed"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace locus::cluster_machine
