// SPDX-License-Identifier: Apache-2.0
// A load of worker leases, segments and counters, for bench/segment/segment_bench.sh:
//
//   allocation_load ENGINE MODE COUNT SECONDS HOST:PORT...
//
//   renew     COUNT threads renew a worker lease each, again and again
//   acquire   they acquire and release one
//   hold      COUNT holders renew as WorkerLease does at ttl 10 s; 16 threads
//   gap       renews every 10 ms, and says how long it once had to wait for a renewal; COUNT 1
//   segment   COUNT threads allocate a segment of order IDs each, of a section of their own
//   number    they take a number each, of a counter of their own
//
// ENGINE: locusd; etcd (our engine: a durable transaction for each renewal, a space for each
// thread, so that threads do not meet in a key); keepalive (etcd's own leases by the same JSON
// gateway: the leader keeps them in memory, nothing is made durable). Prints one line: ENGINE MODE,
// operations a second, p50 and p99 in microseconds, the longest in ms.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "locus/engine/etcd.h"
#include "locus/engine/locusd.h"
#include "locus/segment_store.h"
#include "locus/sequencer.h"
#include "locus/worker_lease_store.h"
#include "src/http/connection.h"

namespace locus {
namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void Die(const std::string& what, const absl::Status& why) {
  std::fprintf(stderr, "allocation_load: %s: %s\n", what.c_str(), why.ToString().c_str());
  std::exit(1);
}

// One caller of a store or server.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual absl::Status Acquire() = 0;
  virtual absl::Status Renew() = 0;
  virtual absl::Status Release() = 0;
};

class StoreCaller : public Caller {
 public:
  StoreCaller(std::shared_ptr<WorkerLeaseStore> store, SpaceName space, int number)
      : store_(std::move(store)), space_(std::move(space)), number_(number) {}

  absl::Status Acquire() override {
    WorkerAcquire request;
    request.range = {0, 65535};
    request.start = static_cast<uint64_t>(number_) * 16 + static_cast<uint64_t>(turn_++ % 16);
    request.term.ttl = absl::Seconds(10);
    request.nonce = absl::StrCat("load-", number_, "-", turn_);
    request.holder = R"({"host":"bench"})";
    request.caller_now = absl::Now();
    auto grant = store_->Acquire(space_, request);
    if (!grant.ok()) return grant.status();
    renew_ = {grant->worker, grant->token,   grant->ceiling, request.term,
              request.nonce, request.holder, absl::Now()};
    return absl::OkStatus();
  }
  absl::Status Renew() override {
    renew_.caller_now = absl::Now();
    auto grant = store_->Renew(space_, renew_);
    if (!grant.ok()) return grant.status();
    renew_.ceiling = grant->ceiling;
    return absl::OkStatus();
  }
  absl::Status Release() override {
    return store_->Release(
        space_, {renew_.worker, renew_.token, absl::Now() - absl::Seconds(1), renew_.nonce});
  }

 private:
  const std::shared_ptr<WorkerLeaseStore> store_;
  const SpaceName space_;
  const int number_;
  int turn_ = 0;
  WorkerRenew renew_;
};

class SegmentCaller : public Caller {
 public:
  SegmentCaller(std::shared_ptr<SegmentStore> store, int number)
      : store_(std::move(store)), section_(static_cast<uint16_t>(number * 8 % 256)) {}

  absl::Status Acquire() override {
    const SegmentRequest request{section_, 64, 0};
    const auto reply = store_->Allocate(space_, options_, {&request, 1}, absl::Now());
    if (!reply.ok()) return reply.status();
    if (reply->grants[0].segment.length == 64) return absl::OkStatus();
    return absl::UnavailableError("the section's lead is used up");
  }
  absl::Status Renew() override { return Acquire(); }
  absl::Status Release() override { return absl::OkStatus(); }

 private:
  const std::shared_ptr<SegmentStore> store_;
  const SpaceName space_;
  const SpaceOptions options_;
  // etcd keeps eight neighbouring sections in a key: so 32 callers do not meet in one.
  const uint16_t section_;
};

class NumberCaller : public Caller {
 public:
  NumberCaller(std::unique_ptr<Sequencer> sequencer, int number)
      : sequencer_(std::move(sequencer)), key_(absl::StrCat("load-", number)) {}

  absl::Status Acquire() override { return sequencer_->Next(key_).status(); }
  absl::Status Renew() override { return Acquire(); }
  absl::Status Release() override { return absl::OkStatus(); }

 private:
  const std::unique_ptr<Sequencer> sequencer_;
  const std::string key_;
};

// etcd's own lease, by its JSON gateway.
class KeepAliveCaller : public Caller {
 public:
  explicit KeepAliveCaller(const std::string& endpoint)
      : endpoint_(*http::Endpoint::Parse(endpoint)) {}

  absl::Status Acquire() override {
    auto answer = Send("/v3/lease/grant", R"({"TTL":"10"})");
    if (!answer.ok()) return answer.status();
    const size_t at = answer->find("\"ID\":\"");
    if (at == std::string::npos) return absl::InternalError(*answer);
    id_ = answer->substr(at + 6, answer->find('"', at + 6) - at - 6);
    return absl::OkStatus();
  }
  absl::Status Renew() override {
    return Send("/v3/lease/keepalive", absl::StrCat(R"({"ID":")", id_, "\"}")).status();
  }
  absl::Status Release() override {
    return Send("/v3/lease/revoke", absl::StrCat(R"({"ID":")", id_, "\"}")).status();
  }

 private:
  absl::StatusOr<std::string> Send(const std::string& target, const std::string& body) {
    const auto deadline = Steady::now() + std::chrono::seconds(10);
    if (connection_ == nullptr || !connection_->StillOpen()) {
      auto connection = http::HttpConnection::Connect(endpoint_, nullptr, deadline);
      if (!connection.ok()) return connection.status();
      connection_ = *std::move(connection);
    }
    auto answer = connection_->Send({"POST", target, {}, body}, 1 << 20, deadline);
    if (!answer.ok()) return answer.status();
    if (answer->status != 200) return absl::UnavailableError(answer->body);
    return answer->body;
  }

  const http::Endpoint endpoint_;
  std::unique_ptr<http::HttpConnection> connection_;
  std::string id_;
};

template <typename Base, typename Opened>
std::unique_ptr<Base> Must(absl::StatusOr<std::unique_ptr<Opened>> opened) {
  if (!opened.ok()) Die("open", opened.status());
  return *std::move(opened);
}

// A store of worker leases or of order IDs, or a sequencer with its options.
template <typename Base, typename OfLocusd, typename OfEtcd, typename... More>
std::unique_ptr<Base> OpenStore(const std::string& engine,
                                const std::vector<std::string>& endpoints, const More&... more) {
  if (engine == "locusd") {
    LocusdOptions options;
    options.endpoints = endpoints;
    options.timeout = absl::Seconds(30);
    return Must<Base>(OfLocusd::Open(options, more...));
  }
  EtcdOptions options;
  options.endpoints = endpoints;
  options.call_timeout = absl::Seconds(30);
  return Must<Base>(OfEtcd::Open(options, more...));
}

// Each with a connection of its own, as processes have.
std::unique_ptr<Caller> MakeSegmentCaller(const std::string& engine, int number,
                                          const std::vector<std::string>& endpoints) {
  auto store = OpenStore<SegmentStore, LocusdSegmentStore, EtcdSegmentStore>(engine, endpoints);
  const absl::Status made = store->Create(SpaceName(), SpaceOptions(), absl::Now());
  if (!made.ok()) Die("create", made);
  return std::make_unique<SegmentCaller>(std::move(store), number);
}

// The first `stores` callers open a store each; the others share these.
std::vector<std::unique_ptr<Caller>> MakeCallers(const std::string& engine, const std::string& mode,
                                                 int count, int stores,
                                                 const std::vector<std::string>& endpoints) {
  std::vector<std::unique_ptr<Caller>> callers;
  std::vector<std::shared_ptr<WorkerLeaseStore>> opened;
  for (int i = 0; i < count; ++i) {
    if (engine == "keepalive") {
      callers.push_back(std::make_unique<KeepAliveCaller>(endpoints[0]));
      continue;
    }
    if (mode == "segment") {
      callers.push_back(MakeSegmentCaller(engine, i, endpoints));
      continue;
    }
    if (mode == "number") {
      callers.push_back(
          std::make_unique<NumberCaller>(OpenStore<Sequencer, LocusdSequencer, EtcdSequencer>(
                                             engine, endpoints, SequencerOptions()),
                                         i));
      continue;
    }
    const bool is_new = i < stores;
    if (is_new) {
      opened.push_back(OpenStore<WorkerLeaseStore, LocusdWorkerLeaseStore, EtcdWorkerLeaseStore>(
          engine, endpoints));
    }
    const auto& store = opened[static_cast<size_t>(i % stores)];
    const SpaceName space =
        SpaceName::Parse(engine == "etcd" ? absl::StrCat("load-", i % stores) : "load").value();
    if (is_new) {
      const absl::Status made = store->Create(space, {.first_ever = true}, absl::Now());
      if (!made.ok()) Die("create", made);
    }
    callers.push_back(std::make_unique<StoreCaller>(store, space, i));
  }
  return callers;
}

struct Measured {
  std::mutex mutex;
  std::vector<int64_t> took;  // nanoseconds
};

void Print(const std::string& engine, const std::string& mode, Measured& measured, double seconds) {
  std::sort(measured.took.begin(), measured.took.end());
  const size_t n = measured.took.size();
  if (n == 0) {
    std::printf("%-10s %-8s nothing done\n", engine.c_str(), mode.c_str());
    return;
  }
  auto at = [&](double share) {
    return static_cast<double>(measured.took[std::min(
               n - 1, static_cast<size_t>(share * static_cast<double>(n)))]) /
           1e3;
  };
  std::printf("%-10s %-8s %9.0f/s   p50 %8.0f us   p99 %8.0f us   longest %8.1f ms\n",
              engine.c_str(), mode.c_str(), static_cast<double>(n) / seconds, at(0.5), at(0.99),
              static_cast<double>(measured.took.back()) / 1e6);
}

void Must(const std::string& what, const absl::Status& status) {
  if (!status.ok()) Die(what, status);
}

int Run(const std::string& engine, const std::string& mode, int count, double seconds,
        const std::vector<std::string>& endpoints) {
  const bool hold = mode == "hold";
  const int threads = hold ? std::min(count, 16) : count;
  auto callers = MakeCallers(engine, mode, count, threads, endpoints);
  Measured measured;
  std::atomic<int> ready{0};
  std::atomic<bool> counts{false}, stop{false};
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      std::vector<int64_t> own;
      own.reserve(1 << 16);
      std::vector<Caller*> mine;
      for (int i = t; i < count; i += threads)
        mine.push_back(callers[static_cast<size_t>(i)].get());
      if (mode != "acquire") {
        for (Caller* caller : mine) Must("acquire", caller->Acquire());
      }
      ++ready;
      const Steady::time_point start = Steady::now();
      // Of a holder: a third of its ttl.
      const auto period = std::chrono::duration_cast<Steady::duration>(
          hold ? std::chrono::duration<double>(10.0 / 3 / static_cast<double>(mine.size()))
               : std::chrono::duration<double>(mode == "gap" ? 0.01 : 0));
      for (size_t turn = 0; !stop; ++turn) {
        if (period.count() > 0) {
          std::this_thread::sleep_until(start + period * static_cast<int64_t>(turn));
        }
        Caller& caller = *mine[turn % mine.size()];
        const Steady::time_point begin = Steady::now();
        Must(mode, mode == "acquire" ? caller.Acquire() : caller.Renew());
        const int64_t took = (Steady::now() - begin).count();
        if (counts) own.push_back(took);
        if (mode == "acquire") Must("release", caller.Release());
      }
      std::lock_guard lock(measured.mutex);
      measured.took.insert(measured.took.end(), own.begin(), own.end());
    });
  }
  while (ready < threads) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::duration<double>(std::min(1.0, seconds / 3)));
  std::fputs("counting\n", stderr);  // the script begins to measure processor time
  counts = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  counts = false;
  std::fputs("counted\n", stderr);
  stop = true;
  for (std::thread& thread : running) thread.join();
  Print(engine, mode, measured, seconds);
  return 0;
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  int count = 0;
  double seconds = 0;
  if (argc < 6 || !absl::SimpleAtoi(argv[3], &count) || !absl::SimpleAtod(argv[4], &seconds) ||
      count < 1 || seconds <= 0) {
    std::fputs(
        "usage: allocation_load locusd|etcd|keepalive renew|acquire|hold|gap|segment|number "
        "COUNT SECONDS HOST:PORT...\n",
        stderr);
    return 2;
  }
  return locus::Run(argv[1], argv[2], count, seconds, {argv + 5, argv + argc});
}
