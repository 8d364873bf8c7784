// SPDX-License-Identifier: Apache-2.0
// How long a published table takes to all of a number of router processes, for
// bench/source/propagation_bench.sh:
//
//   propagation_bench NAME SOURCE_URI PUBLISH_URI ROUTERS TABLES
//
// Starts ROUTERS processes, each with a Router that follows SOURCE_URI; publishes TABLES tables at
// PUBLISH_URI, one when all processes have the one before, after a random pause of up to 100 ms.
// Prints medians and 99th percentiles from the call of Publish on: until it returned, until each
// router had installed, and until all had. Everything shares this machine's cores.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "locus/routing/open.h"
#include "locus/routing/router.h"
#include "locus/routing/table_change.h"

namespace locus {
namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void Give(const absl::Status& status) {
  std::fprintf(stderr, "propagation_bench: %s\n", status.ToString().c_str());
  std::_Exit(1);
}

template <typename T>
T Get(absl::StatusOr<T> value) {
  if (!value.ok()) Give(value.status());
  return *std::move(value);
}

// One clock for all processes of a machine.
int64_t Nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now().time_since_epoch())
      .count();
}

// What a router process tells: the epoch in force, and when it was installed.
struct Report {
  std::atomic<uint64_t> epoch{0};  // stored last
  std::atomic<int64_t> at{0};
};

std::vector<Report*> ShareReports(size_t routers) {
  void* memory = mmap(nullptr, routers * sizeof(Report), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Give(absl::ResourceExhaustedError("no shared memory"));
  std::vector<Report*> reports;
  for (size_t i = 0; i < routers; ++i) {
    reports.push_back(new (static_cast<Report*>(memory) + i) Report);
  }
  return reports;
}

void BeRouter(const std::string& uri, Report& report) {
  RouterOptions options;
  options.on_event = [&report](const RouterEvent& event) {
    if (event.kind != RouterEvent::Kind::kInstalled) return;
    report.at.store(Nanos(), std::memory_order_relaxed);
    report.epoch.store(event.epoch, std::memory_order_release);
  };
  std::unique_ptr<Router> router = Get(Router::Open(Get(OpenTableSource(uri)), options));
  // During Open the event may be left out; what is in force counts from here on.
  uint64_t none = 0;
  report.epoch.compare_exchange_strong(none, router->epoch());
  while (true) pause();
}

// Client libraries and their threads stay out of the process that forks.
pid_t InChild(const std::function<void()>& body) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) body();
  std::_Exit(0);
}

void WaitForAll(const std::vector<Report*>& reports, uint64_t epoch) {
  auto deadline = Steady::now() + std::chrono::seconds(60);
  for (Report* report : reports) {
    while (report->epoch.load(std::memory_order_acquire) < epoch) {
      if (Steady::now() > deadline) {
        Give(absl::DeadlineExceededError("a router has not installed a table within a minute"));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
}

RoutingTable FirstTable() {
  std::vector<std::pair<std::string, std::string>> shards;
  for (int i = 0; i < 16; ++i) {
    shards.emplace_back("orders-" + std::to_string(i),
                        "mysql://127.0.0.1:3306/orders-" + std::to_string(i));
  }
  return Get(RoutingTable::MakeEven(shards));
}

double At(std::vector<double>& times, double part) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1,
                        static_cast<size_t>(part * static_cast<double>(times.size())))];
}

void Measure(const char* name, const std::string& at, const std::vector<Report*>& reports,
             uint64_t tables) {
  std::unique_ptr<TablePublisher> publisher = Get(OpenTablePublisher(at));
  RoutingTable table = Get(publisher->Current());
  std::mt19937 random(1);
  std::vector<double> published;
  std::vector<double> each;
  std::vector<double> all;
  for (uint64_t i = 0; i < tables; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100'000));
    RoutingTable next = Get(WithEpoch(table, table.epoch() + 1));
    int64_t start = Nanos();
    absl::Status status = publisher->Publish(next, table.epoch());
    if (!status.ok()) Give(status);
    published.push_back(static_cast<double>(Nanos() - start) / 1e6);
    WaitForAll(reports, next.epoch());
    double slowest = 0;
    for (Report* report : reports) {
      each.push_back(static_cast<double>(report->at.load() - start) / 1e6);
      slowest = std::max(slowest, each.back());
    }
    all.push_back(slowest);
    table = next;
  }
  std::printf(
      "%-8s %zu routers, %llu tables   publish p50 %6.1f p99 %6.1f ms   "
      "a router p50 %6.1f p99 %6.1f ms   all p50 %6.1f p99 %6.1f ms\n",
      name, reports.size(), static_cast<unsigned long long>(tables), At(published, 0.5),
      At(published, 0.99), At(each, 0.5), At(each, 0.99), At(all, 0.5), At(all, 0.99));
}

uint64_t Count(const char* text) {
  uint64_t count = 0;
  if (!absl::SimpleAtoi(text, &count) || count == 0 || count > 10'000) {
    Give(absl::InvalidArgumentError(std::string(text) + " is not 1..10000"));
  }
  return count;
}

}  // namespace

int Main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: propagation_bench NAME SOURCE_URI PUBLISH_URI ROUTERS TABLES\n");
    return 2;
  }
  std::string from = argv[2];
  std::string to = argv[3];
  std::vector<Report*> reports = ShareReports(Count(argv[4]));
  uint64_t tables = Count(argv[5]);

  pid_t first = InChild([&] {
    absl::Status status = Get(OpenTablePublisher(to))->Publish(FirstTable(), 0);
    if (!status.ok()) Give(status);
  });
  int result = 0;
  if (waitpid(first, &result, 0) != first || result != 0) return 1;
  for (Report* report : reports) InChild([&from, report] { BeRouter(from, *report); });
  WaitForAll(reports, 1);
  Measure(argv[1], to, reports, tables);
  std::fflush(stdout);
  return 0;
}

}  // namespace locus

int main(int argc, char** argv) { return locus::Main(argc, argv); }
