// SPDX-License-Identifier: Apache-2.0
// A service of a cluster of locusd that is being cut into parts: takes numbers, allocates
// sequences, and reads and alters a type, each in a thread. Leaves each call that ended in OUT
// (store_records.h). Runs until it is killed.
// usage: store_writer OUT CA_FILE TOKEN_FILE HOST:PORT...
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/engine/locusd.h"
#include "src/base/os/check.h"
#include "tests/proof/store_records.h"

namespace locus::proof {
namespace {

using Kind = StoreRecord::Kind;

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

template <typename T>
std::shared_ptr<T> Opened(absl::StatusOr<std::unique_ptr<T>> opened) {
  if (opened.ok()) return *std::move(opened);
  std::cerr << opened.status() << "\n";
  std::exit(2);
}

// Thread safety: Add may be called by any thread, as each line is one write.
class Log {
 public:
  explicit Log(const std::string& path)
      : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    LOCUS_CHECK(file_ >= 0);
  }
  void Add(const StoreRecord& record) {
    const std::string line = LineOf(record);
    LOCUS_CHECK(write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  }

 private:
  const int file_;
};

// A call, and what it took: first and last.
using Call = std::function<absl::StatusOr<std::pair<uint64_t, uint64_t>>()>;

absl::Status Record(Log& log, Kind kind, const Call& call) {
  StoreRecord record;
  record.taken.began = Now();
  const auto taken = call();
  record.taken.ended = Now();
  if (taken.ok()) {
    record.kind = kind;
    std::tie(record.taken.first, record.taken.last) = *taken;
  } else if (kind == Kind::kAltered && absl::IsAborted(taken.status())) {
    record.kind = Kind::kOvertaken;
  } else {
    record.error = absl::StrCat(absl::StatusCodeToString(taken.status().code()), ": ",
                                taken.status().message());
  }
  log.Add(record);
  return taken.status();
}

void TakeNumbers(const LocusdOptions& options, Log& log) {
  const auto sequencer = Opened(LocusdSequencer::Open(options));
  while (true) {
    static_cast<void>(
        Record(log, Kind::kNumbers, [&]() -> absl::StatusOr<std::pair<uint64_t, uint64_t>> {
          LOCUS_ASSIGN_OR_RETURN(const SequenceBatch batch, sequencer->NextBatch(kCounter, 3));
          return std::pair(static_cast<uint64_t>(batch.first), static_cast<uint64_t>(batch.last()));
        }));
  }
}

void AllocateSequences(const LocusdOptions& options, Log& log) {
  const auto store = Opened(LocusdSegmentStore::Open(options));
  const SegmentRequest request{kSection, 64, 0};
  while (true) {
    static_cast<void>(
        Record(log, Kind::kSegment, [&]() -> absl::StatusOr<std::pair<uint64_t, uint64_t>> {
          LOCUS_ASSIGN_OR_RETURN(const SegmentReply reply,
                                 store->Allocate(SpaceName(), {}, {&request, 1}, absl::Now()));
          const Segment& segment = reply.grants[0].segment;
          if (segment.length == 0) return absl::UnavailableError("nothing fits");
          return std::pair(segment.first, segment.end() - 1);
        }));
    // A new space has 262,144 such segments a section, and then none for 19 minutes (max_lead).
    Clock::System().SleepFor(absl::Milliseconds(20));
  }
}

void AlterTypes(const LocusdOptions& options, Log& log) {
  const auto store = Opened(LocusdSequenceTypeStore::Open(options));
  while (true) {
    SequenceType type;
    const absl::Status read =
        Record(log, Kind::kRead, [&]() -> absl::StatusOr<std::pair<uint64_t, uint64_t>> {
          LOCUS_ASSIGN_OR_RETURN(type, store->Find(kType));
          return std::pair(type.version, type.version);
        });
    if (!read.ok()) continue;
    type.step = 1 + type.step % 9;
    static_cast<void>(
        Record(log, Kind::kAltered, [&]() -> absl::StatusOr<std::pair<uint64_t, uint64_t>> {
          const absl::StatusOr<SequenceType> altered = store->Alter(type);
          LOCUS_RETURN_IF_ERROR(altered.status());
          return std::pair(altered->version, altered->version);
        }));
  }
}

int Main(const std::vector<std::string>& words) {
  if (words.size() < 4) {
    std::cerr << "usage: store_writer OUT CA_FILE TOKEN_FILE HOST:PORT...\n";
    return 2;
  }
  LocusdOptions options;
  options.tls = {true, words[1]};
  std::getline(std::ifstream(words[2]), options.token);
  options.endpoints.assign(words.begin() + 3, words.end());
  options.timeout = kCallTimeout;
  options.request_timeout = kRequestTimeout;
  Log log(words[0]);
  std::thread numbers([&] { TakeNumbers(options, log); });
  std::thread sequences([&] { AllocateSequences(options, log); });
  AlterTypes(options, log);
  return 0;
}

}  // namespace
}  // namespace locus::proof

int main(int argc, char** argv) { return locus::proof::Main({argv + 1, argv + argc}); }
