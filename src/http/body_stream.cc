// SPDX-License-Identifier: Apache-2.0
#include "src/http/body_stream.h"

#include <utility>

namespace locus::http {

using internal::MutexLock;

bool BodyStream::Write(Piece piece) {
  MutexLock lock(mutex_);
  if (ended_ || overrun_ || detached_) return false;
  if (piece->empty()) return true;
  bytes_ += piece->size();
  if (bytes_ > most_bytes_ && !waiting_.empty()) {
    overrun_ = true;
    waiting_.clear();
    bytes_ = 0;
  } else {
    waiting_.push_back(std::move(piece));
  }
  Wake();
  return !overrun_;
}

void BodyStream::End() {
  MutexLock lock(mutex_);
  if (std::exchange(ended_, true)) return;
  Wake();
}

bool BodyStream::closed() const {
  MutexLock lock(mutex_);
  return ended_ || overrun_ || detached_;
}

bool BodyStream::overrun() const {
  MutexLock lock(mutex_);
  return overrun_;
}

void BodyStream::Attach(std::function<void()> wake) {
  MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

BodyStream::Taken BodyStream::Take() {
  MutexLock lock(mutex_);
  Taken taken{std::exchange(waiting_, {}), ended_, overrun_};
  bytes_ = 0;
  return taken;
}

void BodyStream::Detach() {
  MutexLock lock(mutex_);
  detached_ = true;
  wake_ = nullptr;
  waiting_.clear();
  bytes_ = 0;
}

void BodyStream::Wake() {
  if (wake_) wake_();
}

}  // namespace locus::http
