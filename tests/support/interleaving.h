// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_INTERLEAVING_H_
#define LOCUS_TESTS_SUPPORT_INTERLEAVING_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace locus {

// Runs a few threads one at a time, and switches between them at every access to a SteppedAtomic,
// in every possible order: all executions of a sequentially consistent machine.
class Interleavings {
 public:
  // Calls `begin` before each run, which returns the threads' bodies, and `end` after it; only
  // orders in which at most `most_changes` threads are stopped in the middle. Returns how many runs
  // there were.
  static int Explore(const std::function<std::vector<std::function<void()>>()>& begin,
                     const std::function<void()>& end, int most_changes = 1000) {
    std::vector<Choice> path;
    int runs = 0;
    do {
      Interleavings run(path, most_changes);
      run.Run(begin());
      end();
      ++runs;
    } while (Advance(path));
    return runs;
  }

  // The calling thread is about to access what others see.
  static void Point() {
    if (current_ != nullptr) current_->Pause();
  }

 private:
  struct Choice {
    size_t taken = 0;
    size_t of = 1;  // how many threads could have gone on
  };
  static constexpr size_t kNobody = ~size_t{0};

  Interleavings(std::vector<Choice>& path, int most_changes)
      : path_(path), changes_left_(most_changes) {}

  // To the next path that was not run yet.
  static bool Advance(std::vector<Choice>& path) {
    while (!path.empty() && path.back().taken + 1 == path.back().of) path.pop_back();
    if (path.empty()) return false;
    ++path.back().taken;
    return true;
  }

  void Run(const std::vector<std::function<void()>>& bodies) {
    std::vector<std::thread> threads;
    alive_.assign(bodies.size(), true);
    for (size_t i = 0; i < bodies.size(); ++i) {
      threads.emplace_back([this, i, &bodies] {
        current_ = this;
        self_ = i;
        WaitForTurn();
        bodies[i]();
        std::lock_guard lock(mutex_);
        alive_[i] = false;
        Choose();
      });
    }
    {
      std::lock_guard lock(mutex_);
      Choose();
    }
    for (std::thread& thread : threads) thread.join();
  }

  void Pause() {
    {
      std::lock_guard lock(mutex_);
      Choose();
    }
    WaitForTurn();
  }
  void WaitForTurn() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return turn_ == self_; });
  }
  // Chooses the next thread: the one in the path, and after its end the first that can run.
  void Choose() {
    bool running = turn_ != kNobody && alive_[turn_];
    std::vector<size_t> able;
    if (running) able.push_back(turn_);
    for (size_t i = 0; i < alive_.size(); ++i) {
      if (alive_[i] && i != turn_ && (!running || changes_left_ > 0)) able.push_back(i);
    }
    if (able.empty()) return;
    if (depth_ == path_.size()) path_.push_back({0, able.size()});
    size_t chosen = able[path_[depth_++].taken];
    if (running && chosen != turn_) --changes_left_;
    if (chosen == turn_) return;
    turn_ = chosen;
    changed_.notify_all();
  }

  static inline thread_local Interleavings* current_ = nullptr;
  static inline thread_local size_t self_ = 0;

  std::vector<Choice>& path_;
  int changes_left_;
  size_t depth_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> alive_;
  size_t turn_ = kNobody;
};

// A std::atomic whose accesses are the points at which threads change.
template <typename T>
class SteppedAtomic {
 public:
  SteppedAtomic() = default;
  SteppedAtomic(T value) : value_(value) {}  // as std::atomic, from a value

  T load(std::memory_order order) const {
    Interleavings::Point();
    return value_.load(order);
  }
  void store(T value, std::memory_order order) {
    Interleavings::Point();
    value_.store(value, order);
  }
  T exchange(T value, std::memory_order order) {
    Interleavings::Point();
    return value_.exchange(value, order);
  }
  T fetch_add(T value, std::memory_order order) {
    Interleavings::Point();
    return value_.fetch_add(value, order);
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order order) {
    Interleavings::Point();
    return value_.compare_exchange_strong(expected, value, order);
  }

 private:
  std::atomic<T> value_{};
};

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_INTERLEAVING_H_
