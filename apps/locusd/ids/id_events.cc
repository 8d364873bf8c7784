// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_events.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"
#include "src/number/type_text.h"

namespace locus::locusd {

using internal::Mutex;
using internal::MutexLock;
using Level = IdServiceEvent::Level;

namespace {

// Tells what is repeated once in ten seconds.
class Seldom {
 public:
  bool IsDue() {
    const absl::Time now = absl::Now();
    MutexLock lock(mutex_);
    // A clock that was set back does not silence it.
    if (now - told_ < absl::Seconds(10) && now >= told_) return false;
    told_ = now;
    return true;
  }

 private:
  Mutex mutex_;
  absl::Time told_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

}  // namespace

std::function<void(const GeneratorEvent&)> OrderEvents(const OnIdServiceEvent& tell) {
  if (!tell) return nullptr;
  auto failures = std::make_shared<Seldom>();
  auto starvation = std::make_shared<Seldom>();
  return [tell, failures, starvation](const GeneratorEvent& event) {
    const std::string store = event.store.empty() ? "" : absl::StrCat(" of ", event.store);
    switch (event.kind) {
      case GeneratorEvent::Kind::kAllocated:
      case GeneratorEvent::Kind::kFirstUse:
        return;
      case GeneratorEvent::Kind::kStoreFailed:
        if (failures->IsDue()) {
          tell({Level::kWarn, absl::StrCat("order IDs: the store", store, " failed"),
                TextOf(event.status)});
        }
        return;
      case GeneratorEvent::Kind::kStarved:
        if (starvation->IsDue()) {
          tell({Level::kWarn, absl::StrCat("order IDs: sections", store, " ran out of sequences"),
                absl::StrCat(event.sections, " sections")});
        }
        return;
      case GeneratorEvent::Kind::kLossNoticed:
        return tell({Level::kError, absl::StrCat("order IDs: the store", store, " lost leases"),
                     "it goes on above all that it may have given"});
      case GeneratorEvent::Kind::kLeadUsedUp:
        if (starvation->IsDue()) {
          tell({Level::kWarn, "order IDs: sections are as far ahead of the floor as may be",
                absl::StrCat(event.sections, " sections")});
        }
        return;
    }
  };
}

std::function<void(const SegmentSequenceEvent&)> SequenceEvents(const OnIdServiceEvent& tell) {
  if (!tell) return nullptr;
  auto failures = std::make_shared<Seldom>();
  auto begun = std::make_shared<Seldom>();
  auto unnamed = std::make_shared<std::atomic<uint64_t>>(0);  // counters begun since the last line
  return [tell, failures, begun, unnamed](const SegmentSequenceEvent& event) {
    if (event.begun) {
      ++*unnamed;
      if (!begun->IsDue()) return;
      const uint64_t others = unnamed->exchange(0) - 1;
      tell(
          {Level::kInfo, absl::StrCat("sequence ", event.key, " begins at ", event.numbers.first),
           others == 0 ? "" : absl::StrCat("so did ", others, " others since the last such line")});
    }
    if (event.kind != SegmentSequenceEvent::Kind::kStoreFailed || !failures->IsDue()) return;
    tell({Level::kWarn, absl::StrCat("sequence ", event.key, ": the store failed"),
          TextOf(event.status)});
  };
}

std::function<void(const TypeSwitchEvent&)> TypeEvents(const OnIdServiceEvent& tell) {
  if (!tell) return nullptr;
  struct Told {
    Mutex mutex;
    std::map<std::string, uint64_t> versions ABSL_GUARDED_BY(mutex);  // 0: dropped
  };
  return [tell, told = std::make_shared<Told>()](const TypeSwitchEvent& event) {
    const uint64_t version = event.after ? event.after->version : 0;
    {
      MutexLock lock(told->mutex);
      const auto [at, is_new] = told->versions.emplace(event.before.name, version);
      if (!is_new && at->second == version) return;
      at->second = version;
    }
    const std::string rule = absl::StrCat("sequence type ", event.before.name);
    if (!event.after) {
      return tell({Level::kWarn, absl::StrCat(rule, " was dropped"),
                   absl::StrCat("it had version ", event.before.version)});
    }
    tell({Level::kInfo, absl::StrCat(rule, ": version ", version, " is in use"),
          absl::StrCat("before it ", event.before.version, "; ",
                       internal::ChangesOf(event.before, *event.after))});
  };
}

std::function<void(const WorkerLeaseEvent&)> LeaseEvents(const OnIdServiceEvent& tell) {
  if (!tell) return nullptr;
  auto failures = std::make_shared<Seldom>();
  return [tell, failures](const WorkerLeaseEvent& event) {
    const std::string lease = absl::StrCat("worker ID ", event.worker);
    switch (event.kind) {
      case WorkerLeaseEvent::Kind::kAcquired:
        return tell({Level::kInfo, absl::StrCat(lease, " leased"), ""});
      case WorkerLeaseEvent::Kind::kRenewalFailed:
        if (failures->IsDue()) {
          tell({Level::kWarn, absl::StrCat(lease, " not renewed"), TextOf(event.status)});
        }
        return;
      case WorkerLeaseEvent::Kind::kLost:
        return tell({Level::kError, absl::StrCat(lease, " lost"), TextOf(event.status)});
      case WorkerLeaseEvent::Kind::kRenewed:
      case WorkerLeaseEvent::Kind::kUnhealthy:
      case WorkerLeaseEvent::Kind::kReleased:
        return;
    }
  };
}

std::function<void(const SnowflakeRollback&)> RollbackEvents(const OnIdServiceEvent& tell) {
  if (!tell) return nullptr;
  auto often = std::make_shared<Seldom>();
  return [tell, often](const SnowflakeRollback& rollback) {
    if (!often->IsDue()) return;
    tell({Level::kWarn,
          absl::StrCat("Snowflake IDs: the clock is ", absl::FormatDuration(rollback.behind),
                       " behind"),
          std::string(ToString(rollback.action))});
  };
}

std::function<void(const RouterEvent&)> RouterEvents(const OnIdServiceEvent& tell) {
  if (!tell) return nullptr;
  return [tell](const RouterEvent& event) {
    const std::string epoch = absl::StrCat("epoch ", event.epoch);
    switch (event.kind) {
      case RouterEvent::Kind::kInstalled:
        return tell({Level::kInfo, absl::StrCat("routing table: ", epoch, " is in force"), ""});
      case RouterEvent::Kind::kRefused:
        return tell({Level::kError, absl::StrCat("routing table: ", epoch, " refused"),
                     TextOf(event.status)});
      case RouterEvent::Kind::kSourceRecovered:
        return tell({Level::kInfo, "routing table: its place answers again", ""});
      case RouterEvent::Kind::kStartedFromFile:
      case RouterEvent::Kind::kLastGoodFileIgnored:
      case RouterEvent::Kind::kSourceFailed:
      case RouterEvent::Kind::kLastGoodFileFailed:
      case RouterEvent::Kind::kDescriptionsNearlyFull:
        return tell({Level::kWarn,
                     absl::StrCat("routing table: ", internal::ToAbsl(ToString(event.kind))),
                     TextOf(event.status)});
    }
  };
}

}  // namespace locus::locusd
