// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/moves_watch.h"

#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locusd/console/table_answers.h"
#include "apps/locusd/front/access.h"

namespace locus::locusd {

namespace json = boost::json;

using internal::MutexLock;

MovesWatch::MovesWatch(std::unique_ptr<MoveLook> look, Table table, Told on_look)
    : look_(std::move(look)), table_(std::move(table)), on_look_(std::move(on_look)) {
  thread_ = std::thread([this] { Run(); });
}

MovesWatch::~MovesWatch() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void MovesWatch::Want(absl::Duration until) {
  MutexLock lock(mutex_);
  if (until <= wanted_until_) return;
  wanted_until_ = until;
  changed_.NotifyAll();
}

ShardWrites MovesWatch::Writes() {
  MutexLock lock(mutex_);
  return state_.seen.writes;
}

void MovesWatch::Ask(std::function<void(absl::StatusOr<State>)> told) {
  absl::StatusOr<State> now;
  {
    MutexLock lock(mutex_);
    if (SteadyNow() - last_ > kFresh) {
      if (waiting_.size() < kMostWaiting) {
        waiting_.push_back(std::move(told));
        changed_.NotifyAll();
        return;
      }
      now = absl::UnavailableError(
          absl::StrCat(kMostWaiting, " requests wait for the state of moves, which is the most"));
    } else {
      now = state_;
    }
  }
  told(std::move(now));
}

void MovesWatch::Run() {
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!ends_ && waiting_.empty()) {
        const absl::Duration now = SteadyNow(), next = last_ + kPause;
        if (now < wanted_until_) {
          if (now >= next) break;
          changed_.WaitUntil(
              mutex_, std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(next - now));
        } else {
          changed_.Wait(mutex_);
        }
      }
      if (ends_) break;
    }
    const std::shared_ptr<const RoutingTable> table = table_();
    absl::StatusOr<MoveLook::Seen> seen =
        table != nullptr ? look_->Look(*table)
                         : absl::UnavailableError("there is no routing table yet");
    State state;
    std::vector<std::function<void(absl::StatusOr<State>)>> waiting;
    {
      MutexLock lock(mutex_);
      state_.error = seen.status();
      if (seen.ok()) {
        state_.seen = *std::move(seen);
        state_.looked_at = absl::Now();
      }
      last_ = SteadyNow();
      state = state_;
      waiting = std::exchange(waiting_, {});
    }
    on_look_(state);
    for (const auto& told : waiting) told(state);
  }
  std::vector<std::function<void(absl::StatusOr<State>)>> waiting;
  {
    MutexLock lock(mutex_);
    waiting = std::exchange(waiting_, {});
  }
  for (const auto& told : waiting) told(absl::UnavailableError("this process ends"));
}

std::string MovesJson(const RoutingTable& table, const std::string& file,
                      const MovesWatch::State& state) {
  json::value looked_at, error, path;
  if (state.looked_at != absl::InfinitePast()) looked_at = absl::ToUnixMillis(state.looked_at);
  if (!state.error.ok()) {
    error = json::string(state.error.message().data(), state.error.message().size());
  }
  if (!file.empty()) path = json::string(file);
  return absl::StrCat(
      "{\"epoch\":", table.epoch(), ",\"table_moves\":", TableMovesJson(table),
      ",\"moves\":", state.seen.moves, ",\"file\":", json::serialize(path),
      ",\"looked_at_ms\":", json::serialize(looked_at), ",\"error\":", json::serialize(error),
      ",\"unheard\":", json::serialize(json::value(json::string(state.seen.unheard))), "}");
}

std::string MovesJsonOfTable(const RoutingTable& table) {
  const MovesWatch::State nothing;
  return MovesJson(table, "", nothing);
}

}  // namespace locus::locusd
