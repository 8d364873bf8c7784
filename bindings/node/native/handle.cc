// SPDX-License-Identifier: Apache-2.0
#include "handle.h"

#include <thread>
#include <utility>
#include <vector>

namespace locus_node {

Handle::Handle(const char* kind, void* object, void (*close)(void*))
    : kind_(kind), close_(close), object_(object) {}

void* Handle::Enter() {
  const std::lock_guard lock(mutex_);
  if (refuses_) return nullptr;
  ++calls_;
  return object_;
}

void Handle::Leave() {
  const std::lock_guard lock(mutex_);
  if (--calls_ == 0) changed_.notify_all();
}

void Handle::Refuse() {
  const std::lock_guard lock(mutex_);
  refuses_ = true;
}

bool Handle::refuses() const {
  const std::lock_guard lock(mutex_);
  return refuses_;
}

void Handle::End() {
  std::unique_lock lock(mutex_);
  if (ended_) {
    changed_.wait(lock, [this] { return object_ == nullptr; });
    return;
  }
  refuses_ = ended_ = true;
  changed_.wait(lock, [this] { return calls_ == 0; });
  lock.unlock();
  close_(object_);
  lock.lock();
  object_ = nullptr;
  changed_.notify_all();
}

void OpenHandles::Add(std::shared_ptr<Handle> handle) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      handles_.insert(std::move(handle));
      return;
    }
  }
  handle->End();
}

void OpenHandles::Remove(const std::shared_ptr<Handle>& handle) {
  const std::lock_guard lock(mutex_);
  handles_.erase(handle);
}

void OpenHandles::EndAll() {
  std::set<std::shared_ptr<Handle>> handles;
  {
    const std::lock_guard lock(mutex_);
    handles.swap(handles_);
    ended_ = true;
  }
  if (handles.size() == 1) return (*handles.begin())->End();
  std::vector<std::thread> threads;
  for (const std::shared_ptr<Handle>& handle : handles) {
    threads.emplace_back([&handle] { handle->End(); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace locus_node
