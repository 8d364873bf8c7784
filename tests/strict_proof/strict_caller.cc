// SPDX-License-Identifier: Apache-2.0
// A caller of sequence-nodes that are being broken: draws numbers of users that others draw for, as
// fast as it is answered, single ones and many at once, and leaves all of them in LOG. Runs until
// it is killed. Says each second on standard output how many numbers it has got.
// usage: strict_caller LOG SEED HOST:PORT...
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "locus/clock.h"
#include "locus/engine/strict_client.h"
#include "tests/strict_proof/call_log.h"

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
  Caller(StrictClient& client, const std::string& log, uint64_t seed)
      : client_(client), log_(log), random_(seed) {}

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
  CallLog log_;
  std::mt19937_64 random_;
  std::vector<uint64_t> uids_;
  std::vector<strict::Drawn> runs_;
  uint64_t drawn_ = 0;
  int64_t tell_at_ = 0;
};

int Run(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: strict_caller LOG SEED HOST:PORT...\n";
    return 2;
  }
  StrictClientOptions options;
  options.endpoints.assign(argv + 3, argv + argc);
  auto client = StrictClient::Open(options, steady_clock::now() + std::chrono::seconds(60));
  if (!client.ok()) {
    std::cerr << "strict_caller: " << client.status() << "\n";
    return 2;
  }
  Caller(**client, argv[1], std::strtoull(argv[2], nullptr, 10)).Call();
}

}  // namespace
}  // namespace locus::strict_proof

int main(int argc, char** argv) { return locus::strict_proof::Run(argc, argv); }
