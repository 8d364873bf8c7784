// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_LOAD_POOL_H_
#define LOCUS_APPS_LOCUSD_IDS_LOAD_POOL_H_

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "locus/executor.h"

namespace locus::locusd {

// A few threads that load for many generators. Outlives them; what is due later is then dropped.
class LoadPool : public Executor {
 public:
  // Throws std::system_error where the system has no threads to give.
  explicit LoadPool(size_t threads) : pool_(threads) {}
  ~LoadPool() override {
    pool_.stop();
    pool_.join();
  }

  void Post(std::function<void()> task, absl::Duration delay) override {
    if (delay <= absl::ZeroDuration()) {
      boost::asio::post(pool_, std::move(task));
      return;
    }
    auto timer =
        std::make_shared<boost::asio::steady_timer>(pool_, absl::ToChronoNanoseconds(delay));
    timer->async_wait([timer, task = std::move(task)](const auto& error) {
      if (!error) task();
    });
  }

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_LOAD_POOL_H_
