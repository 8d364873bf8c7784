// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/load_pool.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

namespace locus::locusd {
namespace {

class LoadPool : public Executor {
 public:
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

}  // namespace

std::unique_ptr<Executor> MakeLoadPool(size_t threads) {
  return std::make_unique<LoadPool>(threads);
}

}  // namespace locus::locusd
