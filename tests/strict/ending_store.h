// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STRICT_ENDING_STORE_H_
#define LOCUS_TESTS_STRICT_ENDING_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/clock.h"
#include "src/base/run/mutex.h"
#include "src/strict/store_frame.h"
#include "src/strict/strict_rules.h"

namespace locus::strict {

// A store in memory of one set, of whatever name, whose sections may be near their last numbers.
class EndingStore : public StoreFrame<StrictStore> {
 public:
  EndingStore(const StrictSetOptions& options, std::map<uint32_t, uint64_t> max_seqs,
              Clock& clock = Clock::System())
      : clock_(clock) {
    set_.options = options;
    for (const auto& [section, max_seq] : max_seqs) {
      Record& record = records_[section];
      record.max_seq = record.start = max_seq;
      record.token = 1;
    }
  }

  absl::Status Create(const SpaceName& name, const StrictSetOptions& options,
                      const StrictSetPast&) override {
    internal::MutexLock lock(mutex_);
    return CheckSame(name, set_.options, options);
  }
  absl::Status DeclareRestored(const SpaceName&) override {
    return absl::UnavailableError("no such thing");
  }
  absl::StatusOr<StrictSetView> Show(const SpaceName&) override {
    internal::MutexLock lock(mutex_);
    return ViewOf(set_, records_, clock_.Now());
  }

 protected:
  absl::Status InTransaction(const SpaceName&,
                             const std::function<absl::Status(Step&)>& body) override {
    internal::MutexLock lock(mutex_);
    Step step{set_, clock_.Now(), false, {}, {}};
    const std::map<uint32_t, Record> before = records_;
    std::map<uint32_t, Record> after = before;
    Set set = set_;
    step.read = [&before](const std::vector<uint32_t>& sections, Batch& batch) {
      for (const uint32_t section : sections) {
        const auto found = before.find(section);
        if (found != before.end()) batch.records.insert(*found);
      }
      return absl::OkStatus();
    };
    step.write = [&after, &set](const Batch& batch) {
      set = batch.set;
      for (const uint32_t section : batch.changed) after[section] = batch.records.at(section);
      return absl::OkStatus();
    };
    absl::Status status = body(step);
    if (!status.ok()) return status;
    set_ = std::move(set);
    records_ = std::move(after);
    return status;
  }

 private:
  Clock& clock_;
  internal::Mutex mutex_;
  Set set_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, Record> records_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::strict

#endif  // LOCUS_TESTS_STRICT_ENDING_STORE_H_
