// SPDX-License-Identifier: Apache-2.0
#include "src/http/body_stream.h"

#include <algorithm>
#include <utility>

namespace locus::http {

using internal::MutexLock;

bool BodyStream::Write(Piece piece) {
  MutexLock lock(mutex_);
  if (ended_ || overrun_ || detached_) return false;
  if (piece->empty()) return true;
  bytes_ += piece->size();
  largest_ = std::max(largest_, piece->size());
  if (bytes_ - largest_ > most_bytes_) {
    overrun_ = true;
    Forget();
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
  Forget();
  return taken;
}

void BodyStream::Detach() {
  MutexLock lock(mutex_);
  detached_ = true;
  wake_ = nullptr;
  Forget();
}

void BodyStream::Forget() {
  waiting_.clear();
  bytes_ = largest_ = 0;
}

void BodyStream::Wake() {
  if (wake_) wake_();
}

}  // namespace locus::http
