// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "locus/routing/open.h"

namespace shop {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr ClientKind kKinds[] = {ClientKind::kFollows, ClientKind::kLate, ClientKind::kFrozen,
                                 ClientKind::kPlain};

// A router that takes each table of another one after a random delay, as a process does whose
// configuration arrives late.
class LateRouter {
 public:
  LateRouter(locus::Router& newest, locus::RoutingTable first, absl::Duration latest, uint64_t seed)
      : newest_(newest), router_(std::move(first)), latest_(latest), random_(seed) {
    thread_ = std::thread([this] { Follow(); });
  }
  ~LateRouter() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_all();
    thread_.join();
  }

  locus::Router& router() { return router_; }

 private:
  bool Wait(absl::Duration duration) {
    std::unique_lock lock(mutex_);
    return !stopped_.wait_for(lock, absl::ToChronoNanoseconds(duration), [this] { return stop_; });
  }

  void Follow() {
    while (Wait(absl::Milliseconds(50))) {
      if (newest_.epoch() == router_.epoch()) continue;
      std::shared_ptr<const locus::RoutingTable> table = newest_.Table();
      const double share = std::uniform_real_distribution<double>(0, 1)(random_);
      if (!Wait(latest_ * share)) return;
      // Refused only where it is older than the one in force.
      static_cast<void>(router_.Install(*table));
    }
  }

  locus::Router& newest_;
  locus::Router router_;
  const absl::Duration latest_;
  Random random_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

// The routers that a client of some kind has.
struct Routers {
  std::unique_ptr<locus::Router> own;
  std::unique_ptr<LateRouter> late;

  locus::Router& router() { return late != nullptr ? late->router() : *own; }
};

absl::StatusOr<Routers> MakeRouters(const Place& place, const ClientOptions& options) {
  Routers routers;
  if (options.kind == ClientKind::kFrozen || options.kind == ClientKind::kPlain) {
    auto table = FetchTable(place);
    if (!table.ok()) return table.status();
    routers.own = std::make_unique<locus::Router>(*std::move(table));
    return routers;
  }
  auto source = OpenSource(place);
  if (!source.ok()) return source.status();
  auto router = locus::Router::Open(*std::move(source));
  if (!router.ok()) return router.status();
  routers.own = *std::move(router);
  if (options.kind == ClientKind::kLate) {
    routers.late = std::make_unique<LateRouter>(*routers.own, *routers.own->Table(), options.latest,
                                                options.traffic.seed);
  }
  return routers;
}

absl::StatusOr<std::unique_ptr<locus::OrderIdGenerator>> MakeIds(
    const Place& place, const std::vector<BuyerRow>& buyers) {
  auto store = locus::SqliteSegmentStore::Open(place.store(), {});
  if (!store.ok()) return store.status();
  auto ids =
      locus::OrderIdGenerator::Create(std::shared_ptr<locus::SegmentStore>(*std::move(store)));
  if (!ids.ok()) return ids;
  std::vector<locus::BuyerKey> keys;
  for (const BuyerRow& row : buyers) keys.push_back(locus::BuyerKey::Uint64(row.buyer));
  if (auto warm = (*ids)->Warm(absl::Seconds(60), keys); !warm.ok()) return warm;
  return ids;
}

// Writes the status file every second, and once at the end.
class StatusWriter {
 public:
  StatusWriter(const Place& place, const ClientOptions& options, const Statistics& statistics,
               const locus::Router& router)
      : path_(absl::StrCat(place.directory, "/", options.name, ".status")),
        kind_(NameOf(options.kind)),
        statistics_(statistics),
        router_(router),
        begun_(SteadyClock::now()) {
    thread_ = std::thread([this] { Run(); });
  }
  ~StatusWriter() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_all();
    thread_.join();
  }

 private:
  void Run() {
    SteadyClock::time_point before = begun_;
    uint64_t writes = 0;
    bool last = false;
    while (!last) {
      {
        std::unique_lock lock(mutex_);
        last = stopped_.wait_for(lock, std::chrono::seconds(1), [this] { return stop_; });
      }
      const SteadyClock::time_point now = SteadyClock::now();
      ClientStatus status;
      status.kind = kind_;
      status.pid = static_cast<int>(getpid());
      status.epoch = router_.epoch();
      status.running = absl::FromChrono(now - begun_);
      status.counts = statistics_.counts();
      status.writes_a_second = static_cast<double>(status.counts.writes - writes) /
                               std::chrono::duration<double>(now - before).count();
      writes = status.counts.writes;
      before = now;
      // A watcher misses a line, but only the record counts.
      static_cast<void>(WriteStatus(path_, status));
    }
  }

  const std::string path_;
  const std::string kind_;
  const Statistics& statistics_;
  const locus::Router& router_;
  const SteadyClock::time_point begun_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

// The threads of a process; the first error ends all of them.
absl::Status RunThreads(const TrafficParts& parts, const ClientOptions& options,
                        std::atomic<bool>& stop) {
  std::mutex mutex;
  std::condition_variable ended;
  absl::Status first_error;
  unsigned running = options.threads;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.threads; ++i) {
    TrafficOptions traffic = options.traffic;
    traffic.seed = options.traffic.seed * 1000 + i;
    traffic.first_buyer += i * traffic.buyer_stride;
    traffic.buyer_stride *= options.threads;
    traffic.writes_a_second /= options.threads;
    if (traffic.orders != UINT64_MAX) traffic.orders = ShareOf(traffic.orders, options.threads, i);
    traffic.bulk = ShareOf(traffic.bulk, options.threads, i);
    threads.emplace_back([&, traffic] {
      const absl::Status status = Traffic(parts, traffic).Run();
      std::lock_guard lock(mutex);
      if (!status.ok()) {
        if (first_error.ok()) first_error = status;
        stop = true;
      }
      --running;
      ended.notify_all();
    });
  }
  {
    const auto until = SteadyClock::now() +
                       absl::ToChronoNanoseconds(std::min(options.run_for, absl::Hours(24 * 365)));
    std::unique_lock lock(mutex);
    ended.wait_until(lock, until, [&] { return running == 0; });
    stop = true;
  }
  for (std::thread& thread : threads) thread.join();
  return first_error;
}

}  // namespace

uint64_t ShareOf(uint64_t all, unsigned parts, unsigned i) {
  return all / parts + (i < all % parts ? 1 : 0);
}

const char* NameOf(ClientKind kind) {
  switch (kind) {
    case ClientKind::kFollows:
      return "follows";
    case ClientKind::kLate:
      return "late";
    case ClientKind::kFrozen:
      return "frozen";
    case ClientKind::kPlain:
      return "plain";
  }
  return "";
}

absl::StatusOr<ClientKind> ClientKindOf(const std::string& name) {
  for (const ClientKind kind : kKinds) {
    if (NameOf(kind) == name) return kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is no kind of client; it must be follows, late, frozen, plain"));
}

absl::StatusOr<std::unique_ptr<locus::TableSource>> OpenSource(const Place& place) {
  const bool is_uri = place.table.find(':') != std::string::npos;
  return locus::OpenTableSource(
      is_uri ? place.table : "file:" + place.table,
      {.password = [&place] { return absl::StatusOr<std::string_view>(place.table_password); }});
}

absl::StatusOr<locus::RoutingTable> FetchTable(const Place& place) {
  auto source = OpenSource(place);
  if (!source.ok()) return source.status();
  auto sourced = (*source)->Next("", SteadyClock::now() + std::chrono::seconds(10));
  if (!sourced.ok()) return sourced.status();
  if (!*sourced) return absl::UnavailableError(absl::StrCat(place.table, " gave no table"));
  return locus::RoutingTable::Parse((*sourced)->document);
}

absl::StatusOr<std::unique_ptr<locus::ShardPools>> MakePools(const Place& place,
                                                             absl::Duration timeout) {
  locus::ShardPoolsOptions options;
  options.user = place.user;
  options.password = place.password;
  options.timeout = timeout;
  return locus::ShardPools::Create(options);
}

absl::StatusOr<locus::OrderNoCodec> MakeCodec(const Place& place) {
  auto ring = locus::KeyRing::Load(place.keys());
  if (!ring.ok()) return ring.status();
  return locus::OrderNoCodec::Create(*ring);
}

absl::Status RunClient(const Place& place, const ClientOptions& options,
                       const std::vector<BuyerRow>& buyers, std::atomic<bool>& stop) {
  auto routers = MakeRouters(place, options);
  if (!routers.ok()) return routers.status();
  // Below the deadline of a write, so that a lock that is waited for does not use it up.
  auto pools = MakePools(place, absl::Seconds(2));
  if (!pools.ok()) return pools.status();
  auto codec = MakeCodec(place);
  if (!codec.ok()) return codec.status();
  auto ids = MakeIds(place, buyers);
  if (!ids.ok()) return ids.status();
  auto recorder = Recorder::Create(absl::StrCat(place.directory, "/", options.name, ".records"));
  if (!recorder.ok()) return recorder.status();
  PlainStore plain(routers->router(), **pools);
  FencedStore fenced(routers->router(), **pools, stop);
  const bool is_plain = options.kind == ClientKind::kPlain;
  OrderStore& store = is_plain ? static_cast<OrderStore&>(plain) : fenced;
  Statistics statistics;
  StatusWriter status(place, options, statistics, routers->router());
  return RunThreads(
      {store, is_plain ? nullptr : &fenced, **ids, *codec, buyers, *recorder, statistics, stop},
      options, stop);
}

}  // namespace shop
