// SPDX-License-Identifier: Apache-2.0
// A pool of threads that hands out order IDs, warmed before the first request, with metrics as
// Prometheus reads them.
// usage: thread_pool FILE THREADS ORDERS      ORDERS order IDs on THREADS threads; metrics on
// stdout
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "locus/engine/sqlite.h"
#include "locus/locus.h"
#include "locus/routing/metrics.h"

namespace {

// In place of a request's handler, which would insert the order under this ID.
void HandleOrder(const locus::OrderId&) {}

// Takes orders until none is left. Returns why it gave up.
absl::Status Work(locus::OrderIdGenerator& generator, std::atomic<int64_t>& left) {
  for (int64_t order; (order = left.fetch_sub(1)) > 0;) {
    locus::BuyerKey buyer = locus::BuyerKey::Uint64(static_cast<uint64_t>(order % 1000));
    // The usual call takes some nanoseconds; only where the store is slow does it wait.
    absl::StatusOr<locus::OrderId> id = generator.Next(buyer, absl::Seconds(5));
    if (!id.ok()) return id.status();
    HandleOrder(*id);
  }
  return absl::OkStatus();
}

int Fail(const absl::Status& status) {
  std::cerr << "thread_pool: " << status.message() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = argc == 4 ? std::atoi(argv[2]) : 0;
  std::atomic<int64_t> left = argc == 4 ? std::atoll(argv[3]) : 0;
  if (threads < 1 || threads > 1000 || left < 1) {
    std::cerr << "usage: thread_pool FILE THREADS ORDERS\n";
    return 2;
  }

  auto store = locus::SqliteSegmentStore::Open(argv[1], {.create = true});
  if (!store.ok()) return Fail(store.status());
  locus::OrderIdGenerator::Options options;
  options.create_space = true;
  options.on_event = [](const locus::GeneratorEvent& event) {
    if (event.kind == locus::GeneratorEvent::Kind::kAllocated) return;
    std::cerr << "generator: " << ToString(event.kind) << " in " << event.sections << " sections "
              << event.status.message() << "\n";
  };
  auto generator = locus::OrderIdGenerator::Create(*std::move(store), options);
  if (!generator.ok()) return Fail(generator.status());

  // Before traffic arrives: one call allocates segments for all sections, so that no request waits
  // for it.
  if (absl::Status warmed = (*generator)->Warm(absl::Seconds(30)); !warmed.ok()) {
    return Fail(warmed);
  }

  std::vector<absl::Status> ended(static_cast<size_t>(threads));
  std::vector<std::thread> pool;
  for (absl::Status& status : ended) {
    pool.emplace_back([&] { status = Work(**generator, left); });
  }
  for (std::thread& thread : pool) thread.join();
  for (const absl::Status& status : ended) {
    if (!status.ok()) return Fail(status);
  }

  // The answer of a handler of GET /metrics, with PrometheusText::kContentType.
  locus::PrometheusText metrics;
  metrics.Add((*generator)->Stats(), {{"space", options.space.str()}});
  std::cout << metrics.ToString();
  return 0;
}
