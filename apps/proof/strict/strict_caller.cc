// SPDX-License-Identifier: Apache-2.0
// Calls sequence-nodes while faults are injected: draws numbers of users that other callers draw
// for as well, as fast as it is answered, single ones and many at once, and writes all of them to
// LOG. Runs until it is killed. Prints each second how many numbers it has got.
// usage: strict_caller [--ca=FILE] [--token=FILE] [--pause=MS] LOG SEED HOST:PORT...
//   --ca     the nodes speak TLS, with certificates of these authorities
//   --token  its first line is the bearer token
//   --pause  between two calls [0]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "apps/proof/strict/call_log.h"
#include "locus/clock.h"
#include "locus/engine/strict_client.h"

namespace locus::strict_proof {
namespace {

using std::chrono::steady_clock;

// Of a batch: so many users, and so many numbers of each.
constexpr size_t kUsers = 20;
constexpr size_t kOfEach = 250;
// The first users of each section are drawn for more often than the others.
constexpr uint64_t kOften = 8;

class Caller {
 public:
  Caller(StrictClient& client, const std::string& log, uint64_t seed, absl::Duration pause)
      : client_(client), pause_(pause), log_(log), random_(seed) {}

  // One call after another.
  [[noreturn]] void Call() {
    while (true) {
      PickUids();
      std::vector<uint64_t> numbers(uids_.size());
      const int64_t called = Now();
      const absl::Status status =
          client_.NextBatch(uids_, numbers, steady_clock::now() + std::chrono::milliseconds(500));
      const int64_t answered = Now();
      if (status.ok()) {
        Keep(numbers, called, answered);
      } else if (!absl::IsDeadlineExceeded(status)) {
        std::cerr << "strict_caller: " << status << "\n";
        std::exit(2);
      }
      if (pause_ > absl::ZeroDuration()) Clock::System().SleepFor(pause_);
    }
  }

 private:
  static int64_t Now() { return absl::ToInt64Nanoseconds(Clock::System().SinceBoot()); }
  uint64_t Below(uint64_t n) { return random_() % n; }

  uint64_t UidOf(uint32_t section) {
    const StrictSetOptions& set = client_.options();
    const uint64_t first = uint64_t{section} * set.section_size;
    const uint64_t size = std::min<uint64_t>(set.section_size, set.uids - first);
    return set.first_uid + first + Below(Below(2) == 0 ? std::min(kOften, size) : size);
  }

  void PickUids() {
    const uint32_t sections = client_.options().sections();
    const auto section = static_cast<uint32_t>(Below(sections));
    uids_.clear();
    if (Below(4) == 0) {
      uids_.push_back(UidOf(section));
      return;
    }
    const bool of_all = Below(8) == 0;  // sections, which several nodes own
    std::vector<uint64_t> users;
    for (size_t i = 0; i < kUsers; ++i) {
      users.push_back(UidOf(of_all ? static_cast<uint32_t>(Below(sections)) : section));
    }
    std::sort(users.begin(), users.end());
    for (uint64_t user : users) uids_.insert(uids_.end(), kOfEach, user);
  }

  void Keep(const std::vector<uint64_t>& numbers, int64_t called, int64_t answered) {
    if (!RunsOf(uids_, numbers, called, answered, runs_)) {
      std::cerr << "strict_caller: the numbers of one answer do not rise\n";
      std::exit(3);
    }
    log_.Add(runs_);
    drawn_ += numbers.size();
    if (answered < tell_at_) return;
    tell_at_ = answered + 1'000'000'000;
    std::printf("%lu\n", static_cast<unsigned long>(drawn_));
    std::fflush(stdout);
  }

  StrictClient& client_;
  const absl::Duration pause_;
  CallLog log_;
  std::mt19937_64 random_;
  std::vector<uint64_t> uids_;
  std::vector<strict::Drawn> runs_;
  uint64_t drawn_ = 0;
  int64_t tell_at_ = 0;
};

int Run(std::vector<std::string> words) {
  StrictClientOptions options;
  absl::Duration pause;
  while (!words.empty() && absl::StartsWith(words.front(), "--")) {
    absl::string_view value = words.front();
    if (absl::ConsumePrefix(&value, "--ca=")) {
      options.tls = {true, std::string(value)};
    } else if (absl::ConsumePrefix(&value, "--token=")) {
      std::ifstream file{std::string(value)};
      std::getline(file, options.token);
    } else if (absl::ConsumePrefix(&value, "--pause=")) {
      pause = absl::Milliseconds(std::strtoll(value.data(), nullptr, 10));
    } else {
      words.clear();
      break;
    }
    words.erase(words.begin());
  }
  if (words.size() < 3) {
    std::cerr << "usage: strict_caller [--ca=FILE] [--token=FILE] [--pause=MS] LOG SEED "
                 "HOST:PORT...\n";
    return 2;
  }
  options.endpoints.assign(words.begin() + 2, words.end());
  auto client = StrictClient::Open(options, steady_clock::now() + std::chrono::seconds(60));
  if (!client.ok()) {
    std::cerr << "strict_caller: " << client.status() << "\n";
    return 2;
  }
  Caller(**client, words[0], std::strtoull(words[1].c_str(), nullptr, 10), pause).Call();
}

}  // namespace
}  // namespace locus::strict_proof

int main(int argc, char** argv) { return locus::strict_proof::Run({argv + 1, argv + argc}); }
