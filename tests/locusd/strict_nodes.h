// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_LOCUSD_STRICT_NODES_H_
#define LOCUS_TESTS_LOCUSD_STRICT_NODES_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/engine/strict_client.h"
#include "src/http/tls_context.h"
#include "tests/locusd/ids_process.h"

namespace locus {

inline constexpr uint32_t kStrictSections = 20;

// Nodes "n1", "n2", ... of one set in an SQLite file, of kStrictSections sections with 100 uids
// each.
class StrictNodesTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kTtl = absl::Seconds(3);
  static constexpr char kToken[] = "the-token-of-these-nodes";

  // Nodes that follow those there are; `more` is for [strict], `more_api` for [api].
  void Start(int count, const std::string& more = "", const std::string& more_api = "",
             const std::string& ttl = "3s") {
    while (count-- > 0) {
      const std::string name = absl::StrCat("n", nodes_.size() + 1);
      auto node = std::make_unique<IdsProcess>(directory_, name);
      node->Write("roles = [\"sequence-node\"]\n", more_api,
                  absl::StrCat("[strict]\nname = \"", name,
                               "\"\nstore = \"sqlite:", directory_ / "strict.db",
                               "\"\ncreate = true\nuids = ", kStrictSections * 100,
                               "\nsection_size = 100\nttl = \"", ttl, "\"\n", more));
      if (!more_api.empty()) node->token = kToken;
      node->tls = tls_.get();
      ASSERT_TRUE(node->Start()) << node->LogText();
      nodes_.push_back(std::move(node));
    }
  }

  int Owned(size_t node) const {
    const std::string text = nodes_[node]->Metric("locus_strict_sections_owned");
    return text.empty() ? 0 : std::stoi(text);
  }
  // Until all sections are owned by these, none by much more than its part.
  bool Spread(const std::vector<size_t>& nodes) const {
    return WaitUntil([&] {
      int all = 0;
      int most = 0;
      for (const size_t node : nodes) {
        all += Owned(node);
        most = std::max(most, Owned(node));
      }
      return all == kStrictSections && most <= static_cast<int>(kStrictSections / nodes.size() + 3);
    });
  }
  std::unique_ptr<StrictClient> Client(size_t node = 0) const {
    StrictClientOptions options;
    options.endpoints = {nodes_[node]->api()};
    options.token = nodes_[node]->token;
    options.tls = client_tls_;
    auto client =
        StrictClient::Open(options, std::chrono::steady_clock::now() + std::chrono::minutes(1));
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  const TemporaryDirectory directory_;
  std::shared_ptr<const http::TlsContext> tls_;  // by which the test asks; nullptr: plain text
  LocusdOptions::Tls client_tls_;
  std::vector<std::unique_ptr<IdsProcess>> nodes_;
};

// Callers that draw all the time, one number of each section at once, and judge what they get.
class StrictCallers {
 public:
  explicit StrictCallers(const std::vector<std::unique_ptr<StrictClient>>& clients) {
    for (const auto& client : clients) {
      threads_.emplace_back([this, &client = *client] { Draw(client); });
    }
  }
  ~StrictCallers() { End(); }

  // The longest that a call took since the last time.
  absl::Duration TakeLongest() { return absl::Nanoseconds(longest_.exchange(0)); }
  uint64_t calls() const { return calls_; }
  void End() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void Draw(StrictClient& client) {
    while (!ends_) {
      for (uint32_t section = 0; section < kStrictSections && !ends_; ++section) {
        const uint64_t before = highest_[section];  // of calls that have ended
        const auto begun = std::chrono::steady_clock::now();
        const auto number = client.Next(section * 100, begun + std::chrono::minutes(1));
        ASSERT_TRUE(number.ok()) << number.status();
        EXPECT_GT(*number, before) << "section " << section;
        Raise(highest_[section], *number);
        Raise(longest_, static_cast<uint64_t>((std::chrono::steady_clock::now() - begun).count()));
        ++calls_;
      }
    }
  }
  static void Raise(std::atomic<uint64_t>& value, uint64_t to) {
    uint64_t is = value;
    while (is < to && !value.compare_exchange_weak(is, to)) {
    }
  }

  std::atomic<uint64_t> highest_[kStrictSections] = {};
  std::atomic<uint64_t> longest_ = 0;
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
};

inline bool MoreCalls(const StrictCallers& callers, uint64_t more) {
  const uint64_t until = callers.calls() + more;
  return WaitUntil([&] { return callers.calls() >= until; });
}

}  // namespace locus

#endif  // LOCUS_TESTS_LOCUSD_STRICT_NODES_H_
