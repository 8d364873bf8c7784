// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/lease/recording_store.h"

#include <utility>

#include "src/base/run/mutex.h"
#include "src/base/text/nonce_mark.h"

namespace locus::proof {
namespace {

class RecordingStore : public WorkerLeaseStore {
 public:
  RecordingStore(std::unique_ptr<LocusdWorkerLeaseStore> store, std::shared_ptr<CallLog> log)
      : store_(std::move(store)), log_(std::move(log)) {}

  absl::Status Create(const SpaceName& space, const WorkerSpacePast& past,
                      absl::Time caller_now) override {
    return store_->Create(space, past, caller_now);
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space, const WorkerAcquire& wish) override {
    RecordedCall call = CallOf(RecordedCall::Kind::kAcquire, space);
    call.range = wish.range;
    call.nonce = internal::NonceMark(wish.nonce);
    return Record<WorkerGrant>(call, [&] { return store_->Acquire(space, wish); });
  }

  absl::StatusOr<WorkerGrant> Renew(const SpaceName& space, const WorkerRenew& wish) override {
    RecordedCall call = CallOf(RecordedCall::Kind::kRenew, space);
    call.worker = wish.worker;
    call.token = wish.token;
    call.nonce = internal::NonceMark(wish.nonce);
    return Record<WorkerGrant>(call, [&] { return store_->Renew(space, wish); });
  }

  absl::Status Release(const SpaceName& space, const WorkerRelease& wish) override {
    RecordedCall call = CallOf(RecordedCall::Kind::kRelease, space);
    call.worker = wish.worker;
    call.token = wish.token;
    call.last_used = wish.last_used;
    internal::MutexLock lock(mutex_);
    const uint64_t number = log_->Begin(std::move(call));
    const LocusdStats before = store_->Stats();
    absl::Status said = store_->Release(space, wish);
    RecordedAnswer answer;
    answer.code = said.code();
    answer.lost = LostSince(before);
    log_->End(number, std::move(answer));
    return said;
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) override {
    return Record<WorkerSpaceView>(CallOf(RecordedCall::Kind::kShow, space),
                                   [&] { return store_->Show(space); });
  }

  WorkerStoreFacts facts() const override { return store_->facts(); }

 private:
  static RecordedCall CallOf(RecordedCall::Kind kind, const SpaceName& space) {
    RecordedCall call;
    call.kind = kind;
    call.space = space.str();
    return call;
  }

  // A redirection is a failure that carried nothing out.
  uint64_t LostSince(const LocusdStats& before) const {
    const LocusdStats after = store_->Stats();
    return (after.failures - before.failures) - (after.redirects - before.redirects);
  }

  template <typename Answer, typename Ask>
  absl::StatusOr<Answer> Record(RecordedCall call, const Ask& ask) {
    internal::MutexLock lock(mutex_);
    const uint64_t number = log_->Begin(std::move(call));
    const LocusdStats before = store_->Stats();
    absl::StatusOr<Answer> said = ask();
    RecordedAnswer answer;
    answer.code = said.status().code();
    answer.lost = LostSince(before);
    if (said.ok()) {
      if constexpr (std::is_same_v<Answer, WorkerGrant>) answer.grant = *said;
      if constexpr (std::is_same_v<Answer, WorkerSpaceView>) answer.view = *said;
    }
    log_->End(number, std::move(answer));
    return said;
  }

  const std::unique_ptr<LocusdWorkerLeaseStore> store_;
  const std::shared_ptr<CallLog> log_;
  internal::Mutex mutex_;  // one call at a time, so that the counts are its own
};

}  // namespace

std::unique_ptr<WorkerLeaseStore> Recording(std::unique_ptr<LocusdWorkerLeaseStore> store,
                                            std::shared_ptr<CallLog> log) {
  return std::make_unique<RecordingStore>(std::move(store), std::move(log));
}

}  // namespace locus::proof
