// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SOURCE_LOSING_RELAY_H_
#define LOCUS_TESTS_SOURCE_LOSING_RELAY_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "src/base/run/mutex.h"

namespace locus {

// Stands between clients and a server of 127.0.0.1 that they speak plain text with: a network that
// loses answers.
// Thread safety: all methods may be called from any thread.
class LosingRelay {
 public:
  explicit LosingRelay(uint16_t server_port);
  ~LosingRelay();

  uint16_t port() const { return port_; }

  // From now on the server gets each request that holds `word`, and its answer gets lost: the
  // client's connection is closed instead. Empty: none.
  void LoseAnswersTo(const std::string& word);
  int lost() const { return lost_; }

 private:
  struct Link {
    int client = -1;
    int server = -1;
    std::string last_asked;  // the end of it: a word may come in two parts
    int words = 0;           // how many were named before that
    bool to_lose = false;
    bool ended = false;
  };

  void Run();
  void Accept();
  void PassRequest(Link& link);
  void PassAnswer(Link& link);

  const uint16_t server_port_;
  int listener_ = -1;
  int stop_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> lost_{0};
  internal::Mutex mutex_;
  std::string word_ ABSL_GUARDED_BY(mutex_);
  int words_ ABSL_GUARDED_BY(mutex_) = 0;  // that were named
  std::vector<Link> links_;                // of the thread
  std::thread thread_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SOURCE_LOSING_RELAY_H_
