// SPDX-License-Identifier: Apache-2.0
// The result does not depend on how requests come in: batched or one by one, before or after a
// restore.
#include "tests/cluster/machine/machine_fixture.h"
#include "tests/support/sanitizers.h"

namespace locus::cluster_machine {
namespace {

class RandomRequests {
 public:
  explicit RandomRequests(uint64_t seed) : random_(seed) {}

  Command Next() {
    now_ += absl::Milliseconds(Below(4) == 0 ? Below(8000) : Below(200));
    if (Below(50) == 0) now_ += absl::Minutes(2);
    Command command{now_ - absl::Milliseconds(Below(100)), Below(3) == 0, {}};
    for (uint64_t i = Below(12); i > 0; --i) command.requests.push_back(OneRequest());
    return command;
  }
  // Remembers the grants of the answers, to be renewed and released later.
  void Learn(const Command& command, const std::vector<Answer>& answers) {
    for (size_t i = 0; i < answers.size(); ++i) {
      const auto* acquire = std::get_if<WorkerAcquire>(&command.requests[i].action);
      if (acquire == nullptr || !answers[i].grant) continue;
      grants_.push_back({*answers[i].grant, acquire->nonce});
      if (grants_.size() > 12) grants_.erase(grants_.begin());
    }
    if (!command.requests.empty()) sent_ = command.requests;
  }

 private:
  struct Granted {
    WorkerGrant grant;
    std::string nonce;
  };

  uint64_t Below(uint64_t end) { return random_() % end; }

  Request OneRequest() {
    if (Below(6) == 0 && !sent_.empty()) return sent_[Below(sent_.size())];
    Request request;
    request.space = SpaceName::Parse(Below(3) == 0 ? "a" : "b").value();
    if (Below(2) == 0) request.id = RequestId{now_, 1, ++ids_};
    const uint64_t kind = Below(20);
    const WorkerLeaseTerm term{absl::Seconds(10 + Below(10)), absl::Seconds(1)};
    if (kind == 0) {
      request.action = Create{absl::ZeroDuration(), now_};
      if (Below(3) == 0) request.action = Delete{};
    } else if (kind < 8 || grants_.empty()) {
      const uint64_t last = Below(12);
      WorkerAcquire acquire{{0, last}, {},  Below(last + 1), term, absl::StrCat("n", Below(40)),
                            "{}",      now_};
      if (Below(3) == 0) acquire.preferred = Below(last + 1);
      request.action = acquire;
    } else {
      const Granted& one = grants_[Below(grants_.size())];
      const WorkerGrant& grant = one.grant;
      if (kind < 16) {
        request.action = WorkerRenew{grant.worker, grant.token, grant.ceiling,
                                     term,         one.nonce,   std::string(Below(20), 'h'),
                                     now_};
      } else if (kind < 18) {
        request.action = WorkerRelease{grant.worker, grant.token, now_};
      } else {
        request.action = Verdict{grant.worker, grant.token, Below(2) == 0, "probe"};
      }
    }
    return request;
  }

  std::mt19937_64 random_;
  absl::Time now_ = absl::FromUnixMillis(1'700'000'000'000);
  std::vector<Granted> grants_;
  std::vector<Request> sent_;
  uint64_t ids_ = 0;
};

// The ID that an acquire gets, by looking at all leases.
absl::StatusOr<uint64_t> NaiveWorker(const WorkerSpaceView& view, const SpaceName& space,
                                     const WorkerAcquire& acquire) {
  const WorkerRange& range = acquire.range;
  for (const WorkerRecord& record : view.workers) {
    const bool in_range = record.worker >= range.first && record.worker <= range.last;
    if (in_range && record.nonce == acquire.nonce && record.ceiling >= view.now) {
      return record.worker;
    }
  }
  auto scan = [&view](uint64_t first, uint64_t last, const worker::Visit& visit) {
    for (const WorkerRecord& record : view.workers) {
      if (record.worker < first) continue;
      if (record.worker > last || !visit(record)) break;
    }
    return absl::OkStatus();
  };
  const auto found = worker::FindFree(space, acquire, view.now, scan);
  if (!found.ok()) return found.status();
  return found->worker;
}

// Applies the request, which must get the worker ID, or the refusal, that the twin says.
Machine::Applied ApplyAsNaive(Machine& machine, const Command& command) {
  const Request& request = command.requests.at(0);
  const auto* acquire = std::get_if<WorkerAcquire>(&request.action);
  const absl::StatusOr<WorkerSpaceView> view = machine.Show(request.space);
  Machine::Applied applied = machine.Apply(command);
  const bool remembered = applied.facts.empty();
  if (acquire == nullptr || !view.ok() || remembered) return applied;
  const absl::StatusOr<uint64_t> worker = NaiveWorker(*view, request.space, *acquire);
  const Answer& answer = applied.answers.at(0);
  if (answer.status.code() == absl::StatusCode::kFailedPrecondition) return applied;  // the clock
  if (answer.grant) {
    EXPECT_EQ(worker.ok() ? *worker : ~uint64_t{0}, answer.grant->worker);
  } else if (!worker.ok()) {
    EXPECT_EQ(answer.status, worker.status());
  }
  return applied;
}

Machine::Applied OneByOne(Machine& machine, const Command& command) {
  Machine::Applied all;
  auto add = [&all](const Machine::Applied& applied) {
    all.answers.insert(all.answers.end(), applied.answers.begin(), applied.answers.end());
    all.facts.insert(all.facts.end(), applied.facts.begin(), applied.facts.end());
  };
  add(machine.Apply({command.time, command.expire, {}}));
  for (const Request& request : command.requests) {
    add(ApplyAsNaive(machine, {command.time, false, {request}}));
  }
  return all;
}

// The queue's answer, by looking at everything.
absl::Time NaiveNextExpiry(const Machine& machine) {
  absl::Time next = absl::InfiniteFuture();
  for (const char* name : {"a", "b"}) {
    const auto view = machine.Show(SpaceName::Parse(name).value());
    if (!view.ok()) continue;
    for (const WorkerRecord& record : view->workers) {
      if (!record.nonce.empty()) next = std::min(next, record.ceiling);
    }
  }
  return next;
}

TEST(ClusterMachineBatchTest, BatchedOrOneByOneOrRestored_IsTheSame) {
  const uint64_t seeds = kUnderAsan ? 40 : 300;
  size_t granted = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    RandomRequests requests(seed);
    Machine batched, single;
    for (int step = 0; step < 60; ++step) {
      const Command command = requests.Next();
      Machine restored = Machine::Restore(batched.Snapshot()).value();
      const Machine::Applied one = batched.Apply(command);
      const Machine::Applied other = OneByOne(single, command);
      const Machine::Applied third = restored.Apply(command);
      ASSERT_EQ(one.answers, other.answers) << "seed " << seed << " step " << step;
      ASSERT_TRUE(one.facts == other.facts) << "seed " << seed << " step " << step;
      ASSERT_EQ(one.answers, third.answers) << "seed " << seed << " step " << step;
      ASSERT_TRUE(one.facts == third.facts) << "seed " << seed << " step " << step;
      ASSERT_EQ(batched.Snapshot(), single.Snapshot()) << "seed " << seed << " step " << step;
      ASSERT_EQ(batched.Snapshot(), restored.Snapshot()) << "seed " << seed << " step " << step;
      ASSERT_EQ(batched.NextExpiry(), NaiveNextExpiry(batched)) << "seed " << seed;
      ASSERT_EQ(batched.held(), restored.held());
      requests.Learn(command, one.answers);
      for (const Answer& answer : one.answers) granted += answer.grant.has_value();
    }
  }
  EXPECT_GT(granted, 30 * seeds);
}

}  // namespace
}  // namespace locus::cluster_machine
