// SPDX-License-Identifier: Apache-2.0
#include "routing/router/last_good_writer.h"

#include <system_error>
#include <utility>

#include "routing/router/follow_rules.h"
#include "src/base/os/signals_blocked.h"

namespace locus::internal {

struct LastGoodWriter::State {
  State(Write write_in, OnFailure on_failure_in)
      : write(std::move(write_in)), on_failure(std::move(on_failure_in)) {}

  bool has_work() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return pending != nullptr && !failed;
  }

  const Write write;
  const OnFailure on_failure;

  Mutex mutex;
  CondVar changed;
  std::shared_ptr<const RoutingTable> pending ABSL_GUARDED_BY(mutex);
  bool failed ABSL_GUARDED_BY(mutex) = false;     // pending was tried, and waits for Retry
  bool started ABSL_GUARDED_BY(mutex) = false;    // there is a thread
  bool ending ABSL_GUARDED_BY(mutex) = false;     // the writer is being destroyed
  bool ended ABSL_GUARDED_BY(mutex) = false;      // the thread writes nothing more
  bool reporting ABSL_GUARDED_BY(mutex) = false;  // on_failure runs
  bool abandoned ABSL_GUARDED_BY(mutex) = false;  // the writer is gone: on_failure must not run
  uint64_t writes ABSL_GUARDED_BY(mutex) = 0;
  uint64_t failures ABSL_GUARDED_BY(mutex) = 0;
  uint64_t epoch_in_file ABSL_GUARDED_BY(mutex) = 0;  // 0: unknown
  absl::Status error ABSL_GUARDED_BY(mutex);
};

LastGoodWriter::LastGoodWriter(Write write, OnFailure on_failure,
                               std::chrono::milliseconds patience)
    : state_(std::make_shared<State>(std::move(write), std::move(on_failure))),
      patience_(patience) {}

LastGoodWriter::~LastGoodWriter() {
  State& state = *state_;
  bool started, has_work;
  {
    MutexLock lock(state.mutex);
    state.failed = false;  // a process that restarts right after an install should find that table
    state.ending = true;
    state.changed.NotifyAll();
    started = state.started;
    has_work = state.has_work();
  }
  if (!started && has_work) Start();
  MutexLock start_lock(start_mutex_);
  if (!thread_.joinable()) {
    // The system still has no thread, so this one does the write, however long it takes.
    if (has_work) WriteNewest(state);
    return;
  }
  bool ended;
  {
    MutexLock lock(state.mutex);
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    while (!state.ended && std::chrono::steady_clock::now() < deadline) {
      state.changed.WaitUntil(state.mutex, deadline);
    }
    ended = state.ended;
    state.abandoned = true;
    while (state.reporting) state.changed.Wait(state.mutex);
  }
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void LastGoodWriter::BeganWith(uint64_t epoch) {
  MutexLock lock(state_->mutex);
  state_->epoch_in_file = epoch;
}

void LastGoodWriter::BeganDamaged(const absl::Status& status) {
  MutexLock lock(state_->mutex);
  state_->error = Unshared(status);
}

void LastGoodWriter::Put(std::shared_ptr<const RoutingTable> table) {
  {
    MutexLock lock(state_->mutex);
    state_->pending = std::move(table);
    state_->failed = false;
    state_->changed.NotifyAll();
  }
  Start();
}

void LastGoodWriter::Retry() {
  {
    MutexLock lock(state_->mutex);
    if (state_->pending == nullptr || (!state_->failed && state_->started)) return;
    state_->failed = false;
    state_->changed.NotifyAll();
  }
  Start();
}

void LastGoodWriter::Start() {
  MutexLock start_lock(start_mutex_);
  if (thread_.joinable()) return;
  try {
    const SignalsBlocked blocked;
    thread_ = std::thread([state = state_] { Run(*state); });
  } catch (const std::system_error&) {
    return;
  }
  MutexLock lock(state_->mutex);
  state_->started = true;
}

bool LastGoodWriter::started() const {
  MutexLock lock(state_->mutex);
  return state_->pending == nullptr || state_->started;
}

void LastGoodWriter::Run(State& state) {
  while (true) {
    {
      MutexLock lock(state.mutex);
      while (!state.has_work() && !state.ending) state.changed.Wait(state.mutex);
      if (!state.has_work()) {
        state.ended = true;
        state.changed.NotifyAll();
        return;
      }
    }
    WriteNewest(state);
  }
}

void LastGoodWriter::WriteNewest(State& state) {
  std::shared_ptr<const RoutingTable> table;
  {
    MutexLock lock(state.mutex);
    table = state.pending;
  }
  absl::Status written = state.write(*table);
  {
    MutexLock lock(state.mutex);
    ++(written.ok() ? state.writes : state.failures);
    state.reporting = !written.ok() && state.error != written && !state.abandoned;
    state.error = Unshared(written);
    if (written.ok()) state.epoch_in_file = table->epoch();
    // A newer table may have come during the write, and is next.
    if (state.pending == table) {
      state.failed = !written.ok();
      if (written.ok()) state.pending.reset();
    }
    if (!state.reporting) return;
  }
  state.on_failure(table->epoch(), written);
  MutexLock lock(state.mutex);
  state.reporting = false;
  state.changed.NotifyAll();
}

void LastGoodWriter::Fill(RouterStats& stats) const {
  MutexLock lock(state_->mutex);
  stats.last_good_writes = state_->writes;
  stats.last_good_failures = state_->failures;
  stats.last_good_epoch = state_->epoch_in_file;
  stats.last_good_error = Unshared(state_->error);
}

}  // namespace locus::internal
