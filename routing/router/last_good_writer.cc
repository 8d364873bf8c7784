// SPDX-License-Identifier: Apache-2.0
#include "routing/router/last_good_writer.h"

#include <utility>

#include "routing/router/follow_rules.h"

namespace locus::internal {

LastGoodWriter::LastGoodWriter(Write write, OnFailure on_failure)
    : write_(std::move(write)), on_failure_(std::move(on_failure)) {
  driver_ = LoadDriver::OnThread([this] {
    WriteNewest();
    return absl::InfiniteDuration();
  });
}

LastGoodWriter::~LastGoodWriter() {
  driver_.reset();
  // A process that restarts right after an install should find that table.
  WriteNewest();
}

void LastGoodWriter::BeganWith(uint64_t epoch) {
  MutexLock lock(mutex_);
  epoch_in_file_ = epoch;
}

void LastGoodWriter::BeganDamaged(const absl::Status& status) {
  MutexLock lock(mutex_);
  error_ = Unshared(status);
}

void LastGoodWriter::Put(std::shared_ptr<const RoutingTable> table) {
  {
    MutexLock lock(mutex_);
    pending_ = std::move(table);
    failed_ = false;
    woken_ = true;
  }
  driver_->Wake();
}

void LastGoodWriter::Retry() {
  {
    MutexLock lock(mutex_);
    if (pending_ == nullptr || !failed_) return;
    failed_ = false;
  }
  driver_->Wake();
}

bool LastGoodWriter::started() const {
  MutexLock lock(mutex_);
  return !woken_ || driver_->started();
}

void LastGoodWriter::WriteNewest() {
  std::shared_ptr<const RoutingTable> table;
  {
    MutexLock lock(mutex_);
    if (pending_ == nullptr || failed_) return;
    table = pending_;
  }
  absl::Status written = write_(*table);
  bool news = false;
  {
    MutexLock lock(mutex_);
    ++(written.ok() ? writes_ : failures_);
    news = !written.ok() && error_ != written;
    error_ = Unshared(written);
    if (written.ok()) epoch_in_file_ = table->epoch();
    // A newer table may have come during the write; its Put woke the thread again.
    if (pending_ == table) {
      failed_ = !written.ok();
      if (written.ok()) pending_.reset();
    }
  }
  if (news) on_failure_(table->epoch(), written);
}

void LastGoodWriter::Fill(RouterStats& stats) const {
  MutexLock lock(mutex_);
  stats.last_good_writes = writes_;
  stats.last_good_failures = failures_;
  stats.last_good_epoch = epoch_in_file_;
  stats.last_good_error = Unshared(error_);
}

}  // namespace locus::internal
