// SPDX-License-Identifier: Apache-2.0
// A client of a cluster of locusd that is being broken: makes IDs under a lease as fast as it is
// asked, gives leases back, takes others, and leaves OUT.ids and OUT.calls behind. A second thread
// calls the store itself, for histories; it leaves OUT.history. Runs until it is killed. With the
// seed 0 it keeps its lease as long as it can. With the rate 0 it makes no IDs, and asks each node
// by itself. A CA_FILE of "-": plain text, and no token.
// usage: lease_client OUT SEED IDS_A_SECOND FIRST_WORKER WORKERS CA_FILE TOKEN_FILE HOST:PORT...
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/proof/lease/recording_store.h"
#include "apps/proof/lease/records.h"
#include "apps/proof/lease/spaces.h"
#include "locus/engine/locusd.h"
#include "locus/leased_snowflake.h"

namespace locus::proof {
namespace {

struct Settings {
  std::string out;
  uint64_t seed = 0;
  uint64_t rate = 0;
  WorkerRange range;
  LocusdOptions store;
};

using Random = std::mt19937_64;

bool OneIn(Random& random, uint64_t n) { return random() % n == 0; }
absl::Duration Between(Random& random, int64_t least_ms, int64_t most_ms) {
  return absl::Milliseconds(
      least_ms + static_cast<int64_t>(random() % static_cast<uint64_t>(most_ms - least_ms + 1)));
}
void Pause(absl::Duration time) { Clock::System().SleepFor(time); }

std::unique_ptr<WorkerLeaseStore> Open(const Settings& settings, std::shared_ptr<CallLog> log) {
  auto store = LocusdWorkerLeaseStore::Open(settings.store);
  if (!store.ok()) {
    std::cerr << store.status() << "\n";
    std::exit(2);
  }
  return Recording(*std::move(store), std::move(log));
}

// Makes IDs until `end`, or until the lease is lost and not acquired again.
void MakeIds(AnyLeasedSnowflake& ids, bool reacquires, absl::Duration end, uint64_t rate,
             IdLog& log) {
  constexpr int64_t kBatchMs = 20;
  std::vector<int64_t> batch(std::max<uint64_t>(1, rate * kBatchMs / 1000));
  while (Clock::System().SinceBoot() < end) {
    const uint64_t token = ids.token();
    const absl::StatusOr<size_t> made = ids.NextBatch(batch);
    if (made.ok()) {
      log.Add({batch.data(), *made}, ids.token() == token ? token : 0);
    } else if (!reacquires && !ids.held()) {
      return;
    }
    Pause(absl::Milliseconds(kBatchMs));
  }
}

void WorkWithIds(const Settings& settings) {
  Random random(settings.seed);
  IdLog log(settings.out + ".ids");
  std::shared_ptr<WorkerLeaseStore> store =
      Open(settings, std::make_shared<CallLog>(settings.out + ".calls"));
  while (true) {
    LeasedSnowflakeOptions options;
    options.lease.space = SpaceName::Parse(kIdSpace).value();
    options.lease.range = settings.range;
    options.lease.ttl = kTtl;
    options.lease.max_skew = kMaxSkew;
    const bool steady = settings.seed == 0;
    options.reacquire = steady || OneIn(random, 2);
    auto ids = LeasedSnowflake<>::Create(store, options, absl::Seconds(3));
    if (!ids.ok()) {
      Pause(Between(random, 50, 300));
      continue;
    }
    // Some hold their lease for many renewals, others give it back before the first one.
    const absl::Duration held = steady             ? absl::Hours(24)
                                : OneIn(random, 2) ? Between(random, 100, 3000)
                                                   : Between(random, 3000, 60'000);
    MakeIds(**ids, options.reacquire, Clock::System().SinceBoot() + held, settings.rate, log);
  }
}

// A thread that leases by hand.
class Caller {
 public:
  // With a seed and a nonce of its own.
  Caller(const Settings& settings, uint64_t seed, std::shared_ptr<CallLog> log)
      : random_(seed),
        range_{settings.range.first, settings.range.first + kHistoryWorkers - 1},
        store_(Open(settings, std::move(log))) {}

  void Work() {
    while (true) {
      Pause(Between(random_, 20, 300));
      if (OneIn(random_, 4)) {
        Show().IgnoreError();
      } else if (!grant_) {
        Acquire();
      } else if (OneIn(random_, 8)) {
        Forget();  // it rests
      } else if (OneIn(random_, 2)) {
        Release();
      } else {
        Renew();
      }
    }
  }

  // Of one node, which it asks again and again: it is to be found when it leads no more and does
  // not know it, or leads from this moment on.
  void Probe() {
    while (true) {
      const bool leads = Show().ok();
      Pause(leads ? absl::Milliseconds(20) : Between(random_, 150, 300));
      if (!leads || OneIn(random_, 2)) continue;
      if (grant_) {
        Release();
      } else {
        Acquire();
      }
    }
  }

 private:
  absl::Status Show() { return store_->Show(space_).status(); }
  void Forget() {
    grant_.reset();
    nonce_.clear();
  }
  void Acquire() {
    if (nonce_.empty() || OneIn(random_, 2)) nonce_ = absl::StrCat("n", random_());
    WorkerAcquire wish;
    wish.range = range_;
    wish.start = range_.first + random_() % kHistoryWorkers;
    wish.term = {kTtl, kMaxSkew};
    wish.nonce = nonce_;
    wish.caller_now = Clock::System().Now();
    if (auto grant = store_->Acquire(space_, wish); grant.ok()) grant_ = *grant;
  }
  void Renew() {
    WorkerRenew wish;
    wish.worker = grant_->worker;
    wish.token = grant_->token;
    wish.ceiling = grant_->ceiling;
    wish.term = {kTtl, kMaxSkew};
    wish.nonce = nonce_;
    wish.caller_now = Clock::System().Now();
    auto grant = store_->Renew(space_, wish);
    if (grant.ok()) {
      grant_ = *grant;
    } else if (absl::IsAborted(grant.status())) {
      Forget();
    }
  }
  void Release() {
    WorkerRelease wish;
    wish.worker = grant_->worker;
    wish.token = grant_->token;
    wish.last_used = grant_->granted_at;
    wish.nonce = nonce_;
    const absl::Status released = store_->Release(space_, wish);
    if (!absl::IsUnavailable(released) || OneIn(random_, 2)) Forget();
  }

  Random random_;
  const WorkerRange range_;
  const SpaceName space_ = SpaceName::Parse(kHistorySpace).value();
  const std::unique_ptr<WorkerLeaseStore> store_;
  std::string nonce_;
  std::optional<WorkerGrant> grant_;
};

// A thread for each node.
void ProbeNodes(const Settings& settings) {
  auto log = std::make_shared<CallLog>(settings.out + ".history");
  std::vector<std::thread> threads;
  for (const std::string& endpoint : settings.store.endpoints) {
    Settings own = settings;
    own.store.endpoints = {endpoint};
    own.store.timeout = own.store.request_timeout = absl::Milliseconds(200);
    threads.emplace_back(
        [own, log, seed = settings.seed + threads.size()] { Caller(own, seed, log).Probe(); });
  }
  for (std::thread& thread : threads) thread.join();
}

int Main(const std::vector<std::string>& words) {
  if (words.size() < 8) return 2;
  Settings settings;
  settings.out = words[0];
  settings.seed = std::strtoull(words[1].c_str(), nullptr, 10);
  settings.rate = std::strtoull(words[2].c_str(), nullptr, 10);
  settings.range.first = std::strtoull(words[3].c_str(), nullptr, 10);
  settings.range.last = settings.range.first + std::strtoull(words[4].c_str(), nullptr, 10) - 1;
  if (words[5] != "-") {
    settings.store.tls = {true, words[5]};
    std::ifstream token(words[6]);
    std::getline(token, settings.store.token);
  }
  settings.store.endpoints.assign(words.begin() + 7, words.end());
  settings.store.timeout = absl::Seconds(4);
  settings.store.request_timeout = absl::Seconds(1);
  if (settings.rate == 0) {
    ProbeNodes(settings);
    return 0;
  }
  std::thread caller([&] {
    Caller(settings, settings.seed + 1, std::make_shared<CallLog>(settings.out + ".history"))
        .Work();
  });
  WorkWithIds(settings);
  return 0;
}

}  // namespace
}  // namespace locus::proof

int main(int argc, char** argv) { return locus::proof::Main({argv + 1, argv + argc}); }
