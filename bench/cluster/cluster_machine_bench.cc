// SPDX-License-Identifier: Apache-2.0
// Commands a second that one node applies, from bytes to answers, on one core. The naive twin has
// no queue of expiries: with each command it looks at all leases.
#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/machine.h"

namespace locus::cluster_machine {
namespace {

const absl::Time kStart = absl::FromUnixMillis(1'700'000'000'000);
const WorkerLeaseTerm kTerm{absl::Minutes(10), absl::Seconds(10)};
const std::string kHolder = R"({"host":"order-7f9c","pid":4711,"version":"0.1.0"})";

WorkerAcquire AcquireOf(uint64_t worker) {
  return {
      {0, kMostHeld - 1}, worker, worker, kTerm, absl::StrCat("nonce-", worker), kHolder, kStart};
}

struct Held {
  Machine machine;
  std::vector<WorkerGrant> grants;

  explicit Held(size_t holders) {
    machine.Apply({kStart, false, {{std::nullopt, SpaceName(), Create{{}, kStart}}}});
    for (size_t i = 0; i < holders; ++i) {
      const Command command{kStart, false, {{std::nullopt, SpaceName(), AcquireOf(i)}}};
      grants.push_back(*machine.Apply(command).answers[0].grant);
    }
  }
  // A command that renews the next ones.
  std::string Renewals(size_t count, size_t& next) const {
    Command command{kStart, false, {}};
    for (size_t i = 0; i < count; ++i, next = (next + 1) % grants.size()) {
      const WorkerGrant& grant = grants[next];
      command.requests.push_back(
          {std::nullopt, SpaceName(),
           WorkerRenew{grant.worker, grant.token, grant.ceiling, kTerm,
                       absl::StrCat("nonce-", grant.worker), kHolder, kStart}});
    }
    return *Encode(command);
  }
};

// range(0) holders, range(1) renewals in one command; items: renewals.
void BM_Renew(benchmark::State& state) {
  Held held(static_cast<size_t>(state.range(0)));
  const auto count = static_cast<size_t>(state.range(1));
  size_t next = 0;
  std::vector<std::string> commands;
  for (size_t i = 0; i < 64; ++i) commands.push_back(held.Renewals(count, next));
  size_t at = 0;
  for (auto _ : state) {
    const Machine::Applied applied = held.machine.Apply(*DecodeCommand(commands[at++ % 64]));
    std::string answers = *Encode(applied.answers);
    benchmark::DoNotOptimize(answers);
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(BM_Renew)->Args({1024, 1})->Args({1024, 64})->Args({65536, 1})->Args({65536, 64});

// The same decisions over a map, and a look at all leases for the next expiry.
void BM_RenewNaively(benchmark::State& state) {
  Held held(static_cast<size_t>(state.range(0)));
  size_t next = 0;
  std::vector<std::string> commands;
  for (size_t i = 0; i < 64; ++i) commands.push_back(held.Renewals(1, next));
  std::map<uint64_t, WorkerRecord> records;
  const WorkerSpaceView view = held.machine.Show(SpaceName()).value();
  for (const WorkerRecord& record : view.workers) {
    records[record.worker] = record;
  }
  worker::Space space;
  size_t at = 0;
  for (auto _ : state) {
    const Command command = *DecodeCommand(commands[at++ % 64]);
    std::vector<Answer> answers;
    for (const Request& request : command.requests) {
      const auto& renew = std::get<WorkerRenew>(request.action);
      WorkerRecord& record = records[renew.worker];
      worker::Outcome outcome = worker::PlanRenew(&space, &record, renew, command.time);
      if (outcome.record) record = *outcome.record;
      answers.push_back({outcome.status, outcome.grant});
    }
    absl::Time expiry = absl::InfiniteFuture();
    for (const auto& [worker, record] : records) expiry = std::min(expiry, record.ceiling);
    benchmark::DoNotOptimize(expiry);
    std::string bytes = *Encode(answers);
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RenewNaively)->Arg(1024)->Arg(65536);

// An acquire and its release, both with a request ID; range(0) IDs are held by others.
void BM_AcquireAndRelease(benchmark::State& state) {
  const auto holders = static_cast<uint64_t>(state.range(0));
  Held held(holders);
  uint64_t ids = 0;
  absl::Time now = kStart;
  for (auto _ : state) {
    now += absl::Milliseconds(2);  // so that requests are forgotten
    WorkerAcquire acquire = AcquireOf(holders);
    acquire.caller_now = now;
    const Command take{now, false, {{RequestId{now, 1, ++ids}, SpaceName(), acquire}}};
    const Answer answer = held.machine.Apply(*DecodeCommand(*Encode(take))).answers[0];
    const WorkerRelease release{holders, answer.grant->token, answer.grant->floor};
    const Command give{now, false, {{RequestId{now, 1, ++ids}, SpaceName(), release}}};
    held.machine.Apply(*DecodeCommand(*Encode(give)));
  }
  state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(BM_AcquireAndRelease)->Arg(0)->Arg(1024)->Arg(32768);

// An acquire that finds the one free ID of its range behind range(0) held ones, and its release.
void BM_AcquireInNearlyFullRange(benchmark::State& state) {
  const auto holders = static_cast<uint64_t>(state.range(0));
  Held held(holders);
  WorkerAcquire acquire = AcquireOf(holders);
  acquire.range = {0, holders};
  acquire.preferred.reset();
  acquire.start = 0;
  const Command take{kStart, false, {{std::nullopt, SpaceName(), acquire}}};
  for (auto _ : state) {
    const Answer answer = held.machine.Apply(take).answers[0];
    const WorkerRelease release{holders, answer.grant->token, absl::UnixEpoch()};
    held.machine.Apply({kStart, false, {{std::nullopt, SpaceName(), release}}});
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AcquireInNearlyFullRange)->Arg(1024)->Arg(61809);

// An acquire that is refused, for all range(0) IDs of its range are held.
void BM_AcquireInFullRange(benchmark::State& state) {
  const auto holders = static_cast<uint64_t>(state.range(0));
  Held held(holders);
  WorkerAcquire acquire = AcquireOf(holders);
  acquire.range = {0, holders - 1};
  acquire.preferred.reset();
  acquire.start = holders / 2;
  const Command take{kStart, false, {{std::nullopt, SpaceName(), acquire}}};
  for (auto _ : state) benchmark::DoNotOptimize(held.machine.Apply(take).answers[0].status.ok());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AcquireInFullRange)->Arg(1024)->Arg(61809);

// range(0) leases that are all due.
void BM_Expire(benchmark::State& state) {
  const Held full(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    Machine machine = full.machine;
    state.ResumeTiming();
    while (machine.held() > 0) machine.Apply({kStart + absl::Hours(1), true, {}});
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Expire)->Arg(1024)->Arg(65536)->Unit(benchmark::kMillisecond);

void BM_Snapshot(benchmark::State& state) {
  const Held full(static_cast<size_t>(state.range(0)));
  size_t bytes = 0;
  for (auto _ : state) bytes = full.machine.Snapshot().size();
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}
BENCHMARK(BM_Snapshot)->Arg(1024)->Arg(65536)->Unit(benchmark::kMillisecond);

void BM_Restore(benchmark::State& state) {
  const std::string bytes = Held(static_cast<size_t>(state.range(0))).machine.Snapshot();
  for (auto _ : state) benchmark::DoNotOptimize(Machine::Restore(bytes).value().held());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}
BENCHMARK(BM_Restore)->Arg(1024)->Arg(65536)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace locus::cluster_machine
