// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_LATE_STORE_H_
#define LOCUS_APPS_LOCUSD_IDS_LATE_STORE_H_

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/segment_store.h"
#include "src/base/run/mutex.h"

namespace locus::locusd {

// A store of a set that did not answer when it was to be opened: every call opens it first, and
// returns why that failed. The other stores of the set lease meanwhile.
// Thread safety: all methods may be called from any thread; while it is being opened they wait.
class LateStore : public SegmentStore {
 public:
  using Open = std::function<absl::StatusOr<std::shared_ptr<SegmentStore>>()>;
  explicit LateStore(Open open) : open_(std::move(open)) {}

  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time caller_now) override;
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override;
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override;
  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time caller_now) override;
  absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) override;
  absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override;

 private:
  absl::StatusOr<std::shared_ptr<SegmentStore>> Opened();

  const Open open_;
  internal::Mutex mutex_;
  std::shared_ptr<SegmentStore> store_ ABSL_GUARDED_BY(mutex_);  // nullptr: not opened yet
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_LATE_STORE_H_
