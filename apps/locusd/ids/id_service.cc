// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/locusd/ids/id_events.h"
#include "apps/locusd/ids/id_metrics.h"
#include "apps/locusd/ids/id_places.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"

namespace locus::locusd {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {

// Between two attempts to open what does not answer.
constexpr internal::Backoff::Policy kPauses = {.first = absl::Milliseconds(100),
                                               .longest = absl::Seconds(5)};

absl::Status Refusal(std::string_view what, const absl::Status& status) {
  const std::string message = absl::StrCat(internal::ToAbsl(what), ": ", status.message());
  return absl::IsInvalidArgument(status) ? absl::InvalidArgumentError(message)
                                         : absl::FailedPreconditionError(message);
}

struct Keys {
  std::optional<KeyRing> ring;
  std::shared_ptr<const OrderNoCodec> codec;
};

absl::StatusOr<Keys> LoadKeys(const IdSettings& settings) {
  Keys keys;
  if (settings.keys.empty()) return keys;
  absl::StatusOr<KeyRing> ring = KeyRing::Load(settings.keys);
  if (!ring.ok()) return Refusal("ids.keys", ring.status());
  LOCUS_ASSIGN_OR_RETURN(OrderNoCodec codec, OrderNoCodec::Create(*ring, settings.space));
  keys.ring = *std::move(ring);
  keys.codec = std::make_shared<const OrderNoCodec>(std::move(codec));
  return keys;
}

// OK: every order_no that can be read with `old_ring`, and was not given up on purpose, can be read
// with the new one, and no version of `retired` has a key again.
absl::Status CheckRing(const KeyRing& old_ring, const KeyRing& new_ring,
                       const std::set<KeyVersion>& retired) {
  const std::vector<KeyRing::Entry> entries = new_ring.entries();
  for (const KeyRing::Entry& each : entries) {
    if (each.state != KeyRing::State::kRetired && retired.contains(each.version)) {
      return absl::FailedPreconditionError(
          absl::StrCat("ids.keys: version ", each.version.value(),
                       " was retired, and has a key again; a version has one key for good"));
    }
  }
  for (const KeyRing::Entry& old_one : old_ring.entries()) {
    if (old_one.state == KeyRing::State::kRetired) continue;
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const KeyRing::Entry& each) {
      return each.version == old_one.version;
    });
    const std::string version = absl::StrCat("version ", old_one.version.value());
    if (same == entries.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("ids.keys: the ring lacks ", version, ", which is in use; retire it first"));
    }
    if (same->state == KeyRing::State::kRetired) continue;
    if (*old_ring.key(old_one.version) != *new_ring.key(old_one.version)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "ids.keys: ", version, " has another key than the one in use: is it another ring?"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

class IdService::Rep {
 public:
  Rep(const IdSettings& settings, IdServiceOptions options)
      : options_(std::move(options)), settings_(settings) {}

  ~Rep() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    for (std::thread& thread : threads_) thread.join();
    api_.reset();
  }

  absl::Status Start() {
    LOCUS_ASSIGN_OR_RETURN(Keys keys, LoadKeys(settings_));
    auto parts = std::make_shared<IdParts>();
    parts->buyers = settings_.text_buyers ? IdParts::Buyers::kText : IdParts::Buyers::kUint64;
    parts->order_no_codec = keys.codec;
    TakeRing(std::move(keys.ring));
    const absl::Status opening = absl::UnavailableError("its place is being asked");
    if (settings_.orders) parts->orders = IdPart<OrderIdGenerator>::NotYet(opening);
    if (settings_.sequences) parts->sequences = IdPart<SequenceSet>::NotYet(opening);
    if (settings_.snowflake) parts->snowflake = IdPart<LeasedSnowflake<>>::NotYet(opening);
    if (settings_.table) parts->router = IdPart<Router>::NotYet(opening);
    LOCUS_RETURN_IF_ERROR(MakeApi(std::move(parts)));
    // One after the other: one may make the file that the next one needs.
    if (settings_.orders) {
      const auto& members = settings_.orders->members;
      const bool at_once = std::none_of(members.begin(), members.end(), [this](const auto& member) {
        return IsLater(member.place);
      });
      LOCUS_RETURN_IF_ERROR(Open(
          &IdParts::orders, "order IDs", [this] { return Orders(); }, at_once));
    }
    if (settings_.sequences) {
      auto open = [this] { return Sequences(); };
      LOCUS_RETURN_IF_ERROR(
          Open(&IdParts::sequences, "sequences", open, !IsLater(settings_.sequences->place)));
    }
    if (settings_.snowflake) {
      auto open = [this] {
        return OpenSnowflake(*settings_.snowflake, LeaseEvents(options_.on_event),
                             RollbackEvents(options_.on_event));
      };
      LOCUS_RETURN_IF_ERROR(
          Open(&IdParts::snowflake, "Snowflake IDs", open, !IsLater(settings_.snowflake->leases)));
    }
    if (!settings_.table) return absl::OkStatus();
    auto open = [this, from = *settings_.table] {
      return OpenRouter(from, RouterEvents(options_.on_event));
    };
    return Open(&IdParts::router, "routing table", open, /*at_once=*/true);
  }

  IdApi& api() { return *api_; }
  std::shared_ptr<const IdParts> parts() const { return api_->parts(); }

  absl::StatusOr<std::unique_ptr<TablePublisher>> OpenPublisher() const {
    std::optional<TableSettings> from;
    {
      MutexLock lock(mutex_);
      from = settings_.table;
    }
    if (from) return locusd::OpenPublisher(*from);
    return absl::NotFoundError("this service has no routing table: [ids.table] names its place");
  }
  absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLeases() const {
    std::optional<SnowflakeSettings> from;
    {
      MutexLock lock(mutex_);
      from = settings_.snowflake;
    }
    if (!from) {
      return absl::NotFoundError(
          "this service has no worker lease: [ids.snowflake] names its place");
    }
    from->create = false;
    return locusd::OpenLeases(*from);
  }

  absl::StatusOr<Reloaded> Prepare(const IdSettings& settings) {
    Reloaded reloaded;
    reloaded.settings = settings;
    // Of the settings of before, where the start alone reads them.
    reloaded.settings.space = settings_.space;
    LOCUS_ASSIGN_OR_RETURN(Keys keys, LoadKeys(reloaded.settings));
    if (ring_ && keys.ring) LOCUS_RETURN_IF_ERROR(CheckRing(*ring_, *keys.ring, retired_));
    reloaded.keys = true;
    reloaded.ring = std::move(keys.ring);
    reloaded.order_no_codec = std::move(keys.codec);
    const std::shared_ptr<const IdParts> now = parts();
    if (settings.table == settings_.table) return reloaded;
    reloaded.table = true;
    if (!settings.table) return reloaded;
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Router> router,
                           OpenRouter(*settings.table, RouterEvents(options_.on_event)));
    if (now->router) LOCUS_RETURN_IF_ERROR(CheckTable(*now->router, *router));
    reloaded.router = std::move(router);
    return reloaded;
  }

  void Commit(Reloaded reloaded) {
    MutexLock lock(mutex_);
    auto parts = std::make_shared<IdParts>(*api_->parts());
    if (reloaded.keys) {
      parts->order_no_codec = reloaded.order_no_codec
                                  ? IdPart<const OrderNoCodec>(std::move(reloaded.order_no_codec))
                                  : IdPart<const OrderNoCodec>();
      TakeRing(std::move(reloaded.ring));
      settings_.keys = reloaded.settings.keys;
    }
    if (reloaded.table) {
      parts->router = std::move(reloaded.router);
      router_replaced_ = true;  // whatever the opener still finds
      settings_.table = reloaded.settings.table;
    }
    api_->Replace(std::move(parts));
    changed_.NotifyAll();
  }

  std::string Metrics() const {
    std::optional<SpaceOptions> space;
    {
      MutexLock lock(mutex_);
      space = space_;
    }
    return IdMetrics(*parts(), space, *lead_used_up_);
  }

  void Release() {
    std::shared_ptr<const IdParts> before;
    {
      MutexLock lock(mutex_);
      stopping_ = true;  // nothing more is opened
      changed_.NotifyAll();
      before = api_->parts();
      auto parts = std::make_shared<IdParts>(*before);
      parts->snowflake =
          IdPart<LeasedSnowflake<>>::NotYet(absl::UnavailableError("this process ends"));
      if (before->snowflake) api_->Replace(std::move(parts));
    }
    if (!before->snowflake) return;
    // Requests hold the parts that they began with, which may be those before the last reload: each
    // of these holds it. Those that take longer are told that it has ended.
    const auto until =
        std::chrono::steady_clock::now() +
        absl::ToChronoNanoseconds(std::min<absl::Duration>(settings_.wait, absl::Seconds(10)));
    while ((before.use_count() > 1 || before->snowflake.get().use_count() > 1) &&
           std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const absl::Status released = before->snowflake->Release();
    Tell(released.ok() ? IdServiceEvent::Level::kInfo : IdServiceEvent::Level::kWarn,
         released.ok() ? "worker ID released" : "worker ID not released",
         std::string(released.message()));
  }

 private:
  absl::StatusOr<std::shared_ptr<OrderIdGenerator>> Orders() {
    auto on_event = [count = lead_used_up_,
                     log = OrderEvents(options_.on_event)](const GeneratorEvent& event) {
      if (event.kind == GeneratorEvent::Kind::kLeadUsedUp) *count += event.sections;
      if (log) log(event);
    };
    LOCUS_ASSIGN_OR_RETURN(OpenedOrders opened, OpenOrders(settings_, on_event));
    MutexLock lock(mutex_);
    space_ = opened.space;
    return std::move(opened.orders);
  }

  absl::StatusOr<std::shared_ptr<SequenceSet>> Sequences() {
    const SequenceSettings& from = *settings_.sequences;
    return OpenSequences(from, settings_.waiting, SequenceEvents(options_.on_event),
                         TypeEvents(options_.on_event));
  }

  // OK: the table of `successor` may take the place of that in force.
  static absl::Status CheckTable(const Router& router, const Router& successor) {
    const std::shared_ptr<const RoutingTable> old_table = router.Table();
    const std::shared_ptr<const RoutingTable> new_table = successor.Table();
    if (old_table->table_id() != new_table->table_id()) {
      return absl::FailedPreconditionError(
          "ids.table: the place has another table (table_id) than the one in force; to change to "
          "it, "
          "start anew");
    }
    if (new_table->epoch() < old_table->epoch()) {
      return absl::FailedPreconditionError(
          absl::StrCat("ids.table: the place has epoch ", new_table->epoch(),
                       ", which is older than the one in force, ", old_table->epoch()));
    }
    return absl::OkStatus();
  }

  absl::Status MakeApi(std::shared_ptr<const IdParts> parts) {
    IdApiOptions options;
    options.wait = settings_.wait;
    options.waiters = settings_.waiters;
    options.most_waiting = settings_.waiting;
    options.memory.keep = settings_.remember;
    options.memory.most_bytes = settings_.remember_bytes;
    LOCUS_ASSIGN_OR_RETURN(api_, IdApi::Make(std::move(parts), options));
    return absl::OkStatus();
  }

  // One that was taken away is still what the next one is compared with.
  void TakeRing(std::optional<KeyRing> ring) {
    if (!ring) return;
    for (const KeyRing::Entry& each : ring->entries()) {
      if (each.state == KeyRing::State::kRetired) retired_.insert(each.version);
    }
    ring_ = std::move(ring);
  }

  bool IsLater(const PlaceSettings& place) const {
    return options_.clusters_later && IsCluster(place);
  }
  // Opens a part: at once, or, where its place does not answer, by a thread of its own that ends
  // with it. Not OK: its place refuses.
  template <typename T, typename Opener>
  absl::Status Open(IdPart<T> IdParts::*part, const char* what, Opener open, bool at_once) {
    if (at_once) {
      absl::StatusOr<std::shared_ptr<T>> opened = open();
      if (!opened.ok() && !IsAway(opened.status())) return Refusal(what, opened.status());
      if (Took(part, what, std::move(opened))) return absl::OkStatus();
    }
    try {
      threads_.emplace_back([this, part, what, at_once, open = std::move(open)] {
        internal::Backoff backoff(kPauses);
        bool is_first = !at_once;
        while (is_first || Pause(backoff.Next(internal::RandomWord().value_or(0)))) {
          is_first = false;
          if (Took(part, what, open())) return;
        }
      });
    } catch (const std::system_error& thrown) {
      return absl::UnavailableError(absl::StrCat("a thread of the ID service: ", thrown.what()));
    }
    return absl::OkStatus();
  }

  // Takes over what an attempt brought. True: there is no need for another.
  template <typename T>
  bool Took(IdPart<T> IdParts::*part, const char* what, absl::StatusOr<std::shared_ptr<T>> opened) {
    MutexLock lock(mutex_);
    if (stopping_ || IsReplaced(part)) return true;
    auto parts = std::make_shared<IdParts>(*api_->parts());
    const absl::Status before = ((*parts).*part).why_not();
    const absl::Status now = opened.status();
    if (now.ok()) {
      (*parts).*part = *std::move(opened);
      Tell(IdServiceEvent::Level::kInfo, absl::StrCat(what, " can be had"), "");
    } else {
      (*parts).*part = IdPart<T>::NotYet(now);
      if (before != now) {
        Tell(IsAway(now) ? IdServiceEvent::Level::kWarn : IdServiceEvent::Level::kError,
             absl::StrCat(what, " cannot be had yet"), std::string(now.message()));
      }
    }
    api_->Replace(std::move(parts));
    return now.ok();
  }

  template <typename T>
  bool IsReplaced(IdPart<T> IdParts::*) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::is_same_v<T, Router> && router_replaced_;
  }

  // False: the service ends.
  bool Pause(absl::Duration pause) {
    const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(pause);
    MutexLock lock(mutex_);
    while (!stopping_ && std::chrono::steady_clock::now() < until) {
      changed_.WaitUntil(mutex_, until);
    }
    return !stopping_;
  }

  void Tell(IdServiceEvent::Level level, std::string what, std::string why) {
    if (options_.on_event) options_.on_event({level, std::move(what), std::move(why)});
  }

  const IdServiceOptions options_;
  IdSettings settings_;  // keys and table: written by Commit under mutex_
  // Both of the caller of Prepare and Commit.
  std::optional<KeyRing> ring_;
  std::set<KeyVersion> retired_;  // of all rings so far
  std::unique_ptr<IdApi> api_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool router_replaced_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<SpaceOptions> space_ ABSL_GUARDED_BY(mutex_);  // of the order IDs
  // A count, which publishes nothing else; the generator's callback holds it.
  const std::shared_ptr<std::atomic<uint64_t>> lead_used_up_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  std::vector<std::thread> threads_;
};

IdService::IdService(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
IdService::~IdService() = default;

absl::StatusOr<std::unique_ptr<IdService>> IdService::Start(const IdSettings& settings,
                                                            IdServiceOptions options) {
  auto rep = std::make_unique<Rep>(settings, std::move(options));
  LOCUS_RETURN_IF_ERROR(rep->Start());
  return std::unique_ptr<IdService>(new IdService(std::move(rep)));
}

IdApi& IdService::api() { return rep_->api(); }
std::shared_ptr<const IdParts> IdService::parts() const { return rep_->parts(); }
absl::StatusOr<std::unique_ptr<TablePublisher>> IdService::OpenPublisher() const {
  return rep_->OpenPublisher();
}
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> IdService::OpenLeases() const {
  return rep_->OpenLeases();
}
absl::StatusOr<IdService::Reloaded> IdService::Prepare(const IdSettings& settings) {
  return rep_->Prepare(settings);
}
void IdService::Commit(Reloaded reloaded) { rep_->Commit(std::move(reloaded)); }
std::string IdService::Metrics() const { return rep_->Metrics(); }
void IdService::Release() { rep_->Release(); }

}  // namespace locus::locusd
