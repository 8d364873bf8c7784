// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_WORKER_HOOKED_WORKER_STORE_H_
#define LOCUS_TESTS_WORKER_HOOKED_WORKER_STORE_H_

#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "locus/engine/memory.h"
#include "locus/worker_lease_store.h"

namespace locus {

// A memory store with one space, for tests of holders: each call can be made to fail before or
// after it is carried out, to block, or to let time pass. It remembers the calls that were carried
// out.
// Thread safety: all methods may be called from any thread.
class HookedWorkerStore : public WorkerLeaseStore {
 public:
  enum class Call { kAcquire, kRenew, kRelease };
  using Hook = std::function<absl::Status(Call)>;

  explicit HookedWorkerStore(Clock& clock) : store_(clock) {
    store_.Create(SpaceName(), {.first_ever = true}, clock.Now()).IgnoreError();
  }

  // An error is answered, and the call is not carried out.
  void Before(Hook hook) {
    std::lock_guard lock(mutex_);
    before_ = std::move(hook);
  }
  // An error replaces the answer of a call that was carried out.
  void After(Hook hook) {
    std::lock_guard lock(mutex_);
    after_ = std::move(hook);
  }

  absl::Status Create(const SpaceName& space, const WorkerSpacePast& past,
                      absl::Time now) override {
    return store_.Create(space, past, now);
  }
  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space,
                                      const WorkerAcquire& request) override {
    return Around<absl::StatusOr<WorkerGrant>>(Call::kAcquire, [&] {
      Remember(acquires_, request);
      return store_.Acquire(space, request);
    });
  }
  absl::StatusOr<WorkerGrant> Renew(const SpaceName& space, const WorkerRenew& request) override {
    return Around<absl::StatusOr<WorkerGrant>>(Call::kRenew, [&] {
      Remember(renewals_, request);
      return store_.Renew(space, request);
    });
  }
  absl::Status Release(const SpaceName& space, const WorkerRelease& request) override {
    return Around<absl::Status>(Call::kRelease, [&] {
      Remember(releases_, request);
      return store_.Release(space, request);
    });
  }
  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) override {
    return store_.Show(space);
  }
  WorkerStoreFacts facts() const override { return store_.facts(); }

  std::vector<WorkerAcquire> acquires() const { return Copy(acquires_); }
  std::vector<WorkerRenew> renewals() const { return Copy(renewals_); }
  std::vector<WorkerRelease> releases() const { return Copy(releases_); }
  // The stored record of the worker ID.
  std::optional<WorkerRecord> Record(uint64_t id) {
    const WorkerSpaceView view = store_.Show(SpaceName()).value();
    for (const WorkerRecord& record : view.workers) {
      if (record.worker == id) return record;
    }
    return std::nullopt;
  }

 private:
  template <typename Answer, typename Carry>
  Answer Around(Call call, Carry carry) {
    Hook before = Copy(before_);
    Hook after = Copy(after_);
    absl::Status status = before ? before(call) : absl::OkStatus();
    if (!status.ok()) return status;
    Answer answer = carry();
    status = after ? after(call) : absl::OkStatus();
    return status.ok() ? answer : Answer(status);
  }
  template <typename T>
  void Remember(std::vector<T>& calls, const T& call) {
    std::lock_guard lock(mutex_);
    calls.push_back(call);
  }
  template <typename T>
  T Copy(const T& what) const {
    std::lock_guard lock(mutex_);
    return what;
  }

  MemoryWorkerLeaseStore store_;
  mutable std::mutex mutex_;
  Hook before_;
  Hook after_;
  std::vector<WorkerAcquire> acquires_;
  std::vector<WorkerRenew> renewals_;
  std::vector<WorkerRelease> releases_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_WORKER_HOOKED_WORKER_STORE_H_
