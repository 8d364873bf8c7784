// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/machine/cluster_machine_simulation.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/proof/linear/lease_model.h"
#include "tests/cluster/machine/cluster_simulation.h"
#include "tests/cluster/machine/ledger.h"

namespace locus::cluster_machine {
namespace {

using linear::LeaseHistory;
using linear::LeaseOperation;

constexpr uint64_t kWorkers = 3;
constexpr absl::Duration kTtl = absl::Seconds(10);
constexpr absl::Duration kSkew = absl::Seconds(2);

struct Operation {
  size_t holder = 0;
  Request request;
  bool is_show = false;
  int64_t called = 0;
  std::optional<int64_t> returned;
  std::optional<Answer> answer;  // the first one that is final
  std::optional<WorkerSpaceView> view;
};

// A process that wants a worker ID, or an earlier life of it that does not know that it is over.
struct Holder {
  enum class Phase : uint8_t { kIdle, kAcquiring, kHolding, kReleasing };
  Phase phase = Phase::kIdle;
  std::string nonce;
  WorkerGrant grant;  // with the highest ceiling that it knows
  absl::Time last_used = absl::InfinitePast();
  std::optional<uint64_t> tag;  // of the call under way
  int64_t wall_ahead = 0;
  int64_t paused_until = 0;
};

class Simulation final : public ClusterSimulation {
 public:
  Simulation(uint64_t seed, const Flaws& flaws, Covered& covered)
      : ClusterSimulation(seed, flaws, {.steady = seed % 3 == 0, .long_steps = true}, covered),
        covered_(covered),
        steady_(seed % 3 == 0),
        follows_machine_(seed % 2 == 0),
        ledger_(steady_),
        holders_(4) {
    covered.steady += steady_;
  }

  void OnApplied(int64_t proposed, const Machine::Applied& applied) override {
    for (const Fact& fact : applied.facts) {
      OnFailure(ledger_.Note(fact, proposed));
      created_ = created_ || fact.kind == Fact::Kind::kSpaceCreated;
      if (fact.kind == Fact::Kind::kGranted) granted_[fact.nonce] = fact.worker;
      covered_.granted += fact.kind == Fact::Kind::kGranted;
      covered_.renewed += fact.kind == Fact::Kind::kRenewed;
      covered_.released += fact.kind == Fact::Kind::kReleased;
      covered_.expired += fact.kind == Fact::Kind::kExpired;
      covered_.refused += fact.kind == Fact::Kind::kRefused;
      covered_.unhealthy += fact.kind == Fact::Kind::kUnhealthy;
    }
  }
  void OnRead(uint64_t tag, const Machine& machine) override {
    absl::StatusOr<WorkerSpaceView> view = machine.Show(space_);
    if (!view.ok()) return;
    Operation& operation = operations_.at(tag);
    operation.returned = ++moment_;
    operation.view = *std::move(view);
    ++covered_.shows;
  }

 private:
  absl::Time Wall(const Holder& holder) const {
    const absl::Time machine = replicas_.MachineTime();
    const bool follows = follows_machine_ && machine > absl::UnixEpoch();
    return (follows ? machine : absl::FromUnixMillis(now_)) + absl::Milliseconds(holder.wall_ahead);
  }

  void StepClients() override {
    Holder& holder = holders_[random_.Below(holders_.size())];
    UseIds(holder);
    if (!zombies_.empty() && random_.OneIn(4)) UseIds(zombies_[random_.Below(zombies_.size())]);
    if (random_.OneIn(200))
      holder.paused_until = now_ + static_cast<int64_t>(random_.Below(20'000));
    if (holder.paused_until <= now_) Act(holder);
    if (random_.OneIn(40)) AskShow();
    if (random_.OneIn(created_ ? 80 : 4)) SendVerdictOrCreate();
    if (random_.OneIn(60)) Forge();
  }

  void Act(Holder& holder) {
    if (random_.OneIn(150)) return Crash(holder);
    const bool off = std::abs(holder.wall_ahead) > 1000;
    if (random_.OneIn(off ? 20 : 150)) {
      const bool far = !off && random_.OneIn(3);
      holder.wall_ahead = far ? 3'600'000 - static_cast<int64_t>(random_.Below(7'200'000))
                              : static_cast<int64_t>(random_.Below(2000)) - 1000;
    }
    if (holder.tag) {
      if (random_.OneIn(3)) SendAgain(holder);
      return;
    }
    switch (holder.phase) {
      case Holder::Phase::kIdle:
        return Acquire(holder);
      case Holder::Phase::kHolding:
        if (random_.OneIn(15)) return Release(holder);
        if (random_.OneIn(3)) return Renew(holder);
        return;
      case Holder::Phase::kAcquiring:
      case Holder::Phase::kReleasing:
        holder.phase = Holder::Phase::kIdle;
        return;
    }
  }

  // It forgets everything; some holders keep making IDs without knowing that their lease is lost.
  void Crash(Holder& holder) {
    if (holder.phase == Holder::Phase::kHolding && zombies_.size() < 6) zombies_.push_back(holder);
    const int64_t ahead = holder.wall_ahead;
    holder = {};
    holder.wall_ahead = ahead;
  }

  void UseIds(Holder& holder) {
    const bool open = holder.phase == Holder::Phase::kHolding ||
                      (holder.phase == Holder::Phase::kReleasing &&
                       flaws_.shell == ShellFlaw::kUsesIdsAfterReleaseBegan);
    if (!open) return;
    absl::Time time = Wall(holder);
    const uint64_t kind = random_.Below(8);
    if (kind == 0) time = holder.grant.ceiling;
    if (kind == 1) time = holder.grant.floor + absl::Milliseconds(1);
    if (time <= holder.grant.floor || time > holder.grant.ceiling) return;
    if (time == absl::InfinitePast()) return;
    if (holder.phase == Holder::Phase::kHolding) {
      holder.last_used = std::max(holder.last_used, time);
    }
    ++covered_.ids;
    covered_.late_ids += holder.grant.ceiling < replicas_.MachineTime();
    OnFailure(ledger_.Use(holder.grant.worker, holder.grant.token, time));
  }

  void Acquire(Holder& holder) {
    holder.phase = Holder::Phase::kAcquiring;
    holder.nonce = absl::StrCat("n", ++nonces_);
    WorkerAcquire acquire;
    acquire.range = {0, kWorkers - 1};
    acquire.start = random_.Below(kWorkers);
    acquire.term = {kTtl, kSkew};
    acquire.nonce = holder.nonce;
    Call(holder, acquire, true);
  }
  void Renew(Holder& holder) {
    const WorkerGrant& grant = holder.grant;
    Call(holder,
         WorkerRenew{grant.worker, grant.token, grant.ceiling, {kTtl, kSkew}, holder.nonce, "", {}},
         random_.OneIn(3));
  }
  void Release(Holder& holder) {
    holder.phase = Holder::Phase::kReleasing;
    const absl::Time last = random_.OneIn(6) ? absl::InfiniteFuture() : holder.last_used;
    Call(holder, WorkerRelease{holder.grant.worker, holder.grant.token, last, holder.nonce}, true);
  }

  void Call(Holder& holder, Action action, bool with_id) {
    Operation operation;
    operation.holder = static_cast<size_t>(&holder - holders_.data());
    operation.request.space = space_;
    operation.request.action = std::move(action);
    if (with_id) operation.request.id = RequestId{Wall(holder), 1, operations_.size()};
    operation.called = ++moment_;
    holder.tag = operations_.size();
    operations_.push_back(std::move(operation));
    Send(holder, *holder.tag);
  }

  // A call with an ID may be sent again; one without is another call.
  void SendAgain(Holder& holder) {
    if (random_.OneIn(12)) {
      holder.tag.reset();  // given up
      return;
    }
    const Operation& operation = operations_[*holder.tag];
    if (operation.request.id) return Send(holder, *holder.tag);
    Renew(holder);
  }

  void Send(Holder& holder, uint64_t tag) {
    Request request = operations_[tag].request;
    const absl::Time wall = Wall(holder);
    if (auto* acquire = std::get_if<WorkerAcquire>(&request.action)) acquire->caller_now = wall;
    if (auto* renew = std::get_if<WorkerRenew>(&request.action)) renew->caller_now = wall;
    Post(SomeNode(), tag, request);
  }

  // The request was not carried out, or its outcome is unknown.
  static bool IsNoAnswer(const Answer& answer) {
    return answer.status.code() == absl::StatusCode::kDeadlineExceeded ||
           (answer.status.code() == absl::StatusCode::kFailedPrecondition &&
            absl::StartsWith(answer.status.message(), "the request was made"));
  }

  // It changed nothing, and a copy that comes later may be granted. What is ABORTED stays so.
  static bool IsAnsweredAnew(const Operation& operation, const Answer& answer) {
    return operation.request.id && !answer.status.ok() &&
           answer.status.code() != absl::StatusCode::kAborted;
  }

  // A release that found nothing to free is OK, and ABORTED once the ID has another holder.
  static bool AreOne(const Operation& operation, const Answer& other) {
    const Answer& one = *operation.answer;
    const bool releases = std::holds_alternative<WorkerRelease>(operation.request.action);
    auto aborted = [](const Answer& answer) {
      return answer.status.code() == absl::StatusCode::kAborted;
    };
    return one == other || (aborted(one) && aborted(other)) ||
           (releases && (aborted(one) || aborted(other)));
  }

  void Receive(uint64_t tag, const Answer& answer) override {
    Operation& operation = operations_[tag];
    Holder& holder = holders_[operation.holder];
    const bool waits = holder.tag == tag;
    if (waits) holder.tag.reset();
    if (IsNoAnswer(answer)) {
      ++covered_.forgotten;
      if (waits && holder.phase != Holder::Phase::kHolding) holder.phase = Holder::Phase::kIdle;
      return;
    }
    if (IsAnsweredAnew(operation, answer)) {
      if (waits) Learn(holder, operation, answer);
      return;
    }
    if (operation.answer) {
      ++covered_.repeated;
      if (!AreOne(operation, answer)) {
        OnFailure(absl::StrCat("request ", tag,
                               " has two answers: ", operation.answer->status.ToString(), " and ",
                               answer.status.ToString()));
      }
      return;
    }
    operation.answer = answer;
    operation.returned = ++moment_;
    if (waits) Learn(holder, operation, answer);
  }

  void Learn(Holder& holder, const Operation& operation, const Answer& answer) {
    if (holder.phase == Holder::Phase::kReleasing) {
      holder.phase = Holder::Phase::kIdle;
      return;
    }
    if (answer.grant) {
      if (holder.phase == Holder::Phase::kAcquiring) {
        holder.phase = Holder::Phase::kHolding;
        holder.last_used = answer.grant->floor;
        holder.grant = *answer.grant;
      }
      holder.grant.ceiling = std::max(holder.grant.ceiling, answer.grant->ceiling);
      return;
    }
    const bool lost = answer.status.code() == absl::StatusCode::kAborted;
    if (holder.phase == Holder::Phase::kAcquiring) holder.phase = Holder::Phase::kIdle;
    if (holder.phase == Holder::Phase::kHolding && lost) Crash(holder);
    (void)operation;
  }

  void AskShow() {
    Operation operation;
    operation.is_show = true;
    operation.called = ++moment_;
    operations_.push_back(operation);
    replicas_.Read(replicas_.Leader(), operations_.size() - 1);
  }

  // A client that knows what the list shows, and no nonce.
  void Forge() {
    const Holder& holder = holders_[random_.Below(holders_.size())];
    const WorkerGrant& grant = holder.grant;
    Request request{std::nullopt, space_, WorkerRelease{grant.worker, grant.token, {}, "forged"}};
    if (random_.OneIn(2)) {
      const absl::Time now = replicas_.MachineTime();
      if (random_.OneIn(2)) request.space = SpaceName::Parse("unknown").value();
      const uint64_t ahead = static_cast<uint64_t>(absl::ToUnixMillis(now)) + 3'600'000'000;
      const uint64_t token = random_.OneIn(2) ? uint64_t{1} << 62 : ahead;
      request.action =
          WorkerRenew{grant.worker, token, now + kTtl, {kTtl, kSkew}, "forged", "", now};
    }
    ++covered_.forged;
    Post(replicas_.Leader(), kNoTag, request);
  }

  // From the cluster's own probe, or an operator: no client waits for the answer.
  void SendVerdictOrCreate() {
    const Holder& holder = holders_[random_.Below(holders_.size())];
    const bool healthy = !random_.OneIn(3);
    const Verdict verdict{holder.grant.worker, holder.grant.token, healthy, "probe"};
    if (!created_ || random_.OneIn(20)) {
      const Create create{absl::ZeroDuration(), replicas_.MachineTime()};
      Post(replicas_.Leader(), kNoTag, {std::nullopt, space_, create});
    } else {
      Post(replicas_.Leader(), kNoTag, {std::nullopt, space_, verdict});
    }
  }

  // The history of one worker ID, as clients saw it.
  LeaseHistory HistoryOf(uint64_t worker) const {
    LeaseHistory history;
    for (const Operation& operation : operations_) {
      LeaseOperation one;
      if (operation.is_show) {
        if (!operation.view) continue;
        one.kind = LeaseOperation::Kind::kShow;
        one.now = operation.view->now;
        for (const WorkerRecord& record : operation.view->workers) {
          if (record.worker == worker) one.record = record;
        }
      } else if (!Describe(operation, worker, one)) {
        continue;
      }
      history.push_back({operation.called, operation.returned, std::move(one)});
    }
    return history;
  }

  bool Describe(const Operation& operation, uint64_t worker, LeaseOperation& one) const {
    const std::optional<Answer>& answer = operation.answer;
    if (answer) {
      one.code = answer->status.code();
      const bool of_the_id =
          one.code == absl::StatusCode::kOk || one.code == absl::StatusCode::kAborted;
      if (!of_the_id) return false;
      if (answer->grant) one.grant = *answer->grant;
    }
    if (const auto* acquire = std::get_if<WorkerAcquire>(&operation.request.action)) {
      one.kind = LeaseOperation::Kind::kAcquire;
      one.nonce = acquire->nonce;
      if (answer) return one.grant.worker == worker;
      // It may have been granted any ID, or none; the facts know, and spare a search in all of
      // them.
      const auto granted = granted_.find(acquire->nonce);
      return granted != granted_.end() && granted->second == worker;
    }
    if (const auto* renew = std::get_if<WorkerRenew>(&operation.request.action)) {
      one.kind = LeaseOperation::Kind::kRenew;
      one.nonce = renew->nonce;
      one.token = renew->token;
      return renew->worker == worker;
    }
    const auto& release = std::get<WorkerRelease>(operation.request.action);
    one.kind = LeaseOperation::Kind::kRelease;
    one.token = release.token;
    one.last_used = absl::FromUnixMillis(absl::ToUnixMillis(release.last_used));
    if (release.last_used == absl::InfiniteFuture()) one.last_used = absl::InfiniteFuture();
    if (release.last_used == absl::InfinitePast()) one.last_used = absl::InfinitePast();
    return release.worker == worker;
  }

  void CheckHistories() override {
    for (uint64_t worker = 0; worker < kWorkers; ++worker) {
      const LeaseHistory history = HistoryOf(worker);
      covered_.calls += history.size();
      const linear::Report report = linear::Check<linear::LeaseModel>(history);
      const std::string wrong = linear::Told(history, report);
      if (!wrong.empty()) OnFailure(absl::StrCat("worker ", worker, ": ", wrong));
    }
  }

  Covered& covered_;
  const bool steady_;
  // Holders' clocks go by the machine's, so that a machine whose time is off still grants.
  const bool follows_machine_;
  const SpaceName space_;
  uint64_t nonces_ = 0;
  bool created_ = false;                     // the space
  std::map<std::string, uint64_t> granted_;  // worker, by nonce
  Ledger ledger_;
  std::vector<Operation> operations_;
  std::vector<Holder> holders_;
  std::vector<Holder> zombies_;
};

}  // namespace

std::string Simulate(uint64_t seed, const Flaws& flaws, Covered& covered) {
  return Simulation(seed, flaws, covered).Run();
}

}  // namespace locus::cluster_machine
