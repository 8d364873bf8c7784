// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/routing/file_table.h"
#include "nlohmann/json.hpp"
#include "routing/source/path_watch.h"
#include "routing/source/table_file.h"
#include "routing/source/writer_patience.h"
#include "src/base/check.h"
#include "src/base/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {
namespace {

using std::chrono::nanoseconds;
using Steady = std::chrono::steady_clock;
using TimePoint = TableSource::TimePoint;

std::string VersionOf(const std::string& document) {
  XXH128_hash_t hash = XXH3_128bits(document.data(), document.size());
  return absl::StrCat(document.size(), "-", absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

// How long ago the file changed, by the clock of this host; 0 where that is in the future.
nanoseconds AgeOf(const FileFacts& file) {
  int64_t age = absl::GetCurrentTimeNanos() - std::max(file.modified_ns, file.changed_ns);
  return nanoseconds(std::max<int64_t>(age, 0));
}

// File systems tell times to some milliseconds, some to 2 s: a file that had changed shortly before
// it was read may have changed once more since and show the same time.
constexpr std::chrono::seconds kTimesAreCoarse{3};
// Between looks, where the kernel does not tell of changes.
constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{1000};
constexpr std::chrono::milliseconds kShortPause{5};
// How late an answer may be for the sake of a file that was closed a moment ago.
constexpr std::chrono::milliseconds kGrace{200};

}  // namespace

class FileTableSource::Rep {
 public:
  Rep(std::string path, FileDescriptor wake)
      : path_(std::move(path)), wake_(std::move(wake)), watch_(path_) {}

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known, TimePoint deadline);
  void LookNow() {
    uint64_t one = 1;
    // Only a full counter refuses, and then it is readable already.
    [[maybe_unused]] ssize_t written = write(wake_.get(), &one, sizeof one);
  }
  const std::string& path() const { return path_; }

 private:
  // What a look found: news, or what to answer unless something comes of waiting.
  struct Look {
    std::optional<SourcedTable> table;
    absl::Status status;             // OK: `known` is the newest
    std::optional<TimePoint> again;  // an answer would be premature before; nullopt: it is not
  };

  // What was read last.
  struct Seen {
    FileFacts facts;
    std::string version;
    bool settled = false;  // the facts tell every change since
  };

  Look LookAt(const std::string& known);
  Look Vanished(const absl::Status& status, bool expected, TimePoint now);
  Look HeldBack(const std::string& known, TimePoint until) const;
  bool Unchanged(const FileFacts& facts, TimePoint now);
  bool WasAsked();
  void Wait(TimePoint until);

  const std::string path_;
  const FileDescriptor wake_;  // an eventfd: LookNow was called
  PathWatch watch_;
  WriterSigns signs_;
  std::optional<Seen> seen_;
  std::optional<FileFacts> noticed_;     // the file as it was when changed_at_ was set
  TimePoint changed_at_;                 // when the file changed last
  bool untold_ = false;                  // that change showed before the kernel told of it
  std::optional<TimePoint> busy_since_;  // since when its changes are waited out
  std::optional<TimePoint> missing_since_;
  std::chrono::milliseconds pause_{kFirstPause};
};

absl::StatusOr<std::optional<SourcedTable>> FileTableSource::Rep::Next(const std::string& known,
                                                                       TimePoint deadline) {
  // Since an answer was due: what is about to be finished is waited for all the same, for a moment.
  std::optional<TimePoint> due_since;
  for (bool asked = false;;) {
    asked |= WasAsked();
    Look look = LookAt(known);
    if (look.table) return std::optional<SourcedTable>(std::move(look.table));
    TimePoint now = Steady::now();
    if (!look.again && !look.status.ok()) return look.status;
    bool due = asked || now >= deadline;
    if (due && !due_since) due_since = now;
    bool soon =
        look.again && *look.again <= now + kWriteShowsFirst && (!due || now < *due_since + kGrace);
    if (due && !soon) {
      if (!look.status.ok()) return look.status;
      return std::optional<SourcedTable>();
    }
    TimePoint until = soon ? *look.again : std::min(deadline, look.again.value_or(deadline));
    if (watch_.complete()) {
      pause_ = kFirstPause;
    } else {
      until = std::min(until, now + pause_);
      pause_ = std::min(pause_ * 2, kLongestPause);
    }
    Wait(until);
  }
}

bool FileTableSource::Rep::WasAsked() {
  uint64_t times = 0;
  return read(wake_.get(), &times, sizeof times) == sizeof times;
}

// Until news, LookNow or `until`.
void FileTableSource::Rep::Wait(TimePoint until) {
  for (;;) {
    TimePoint now = Steady::now();
    if (now >= until) return;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    constexpr std::chrono::milliseconds kLongestPoll = std::chrono::hours(1);
    std::array<pollfd, 2> fds = {pollfd{wake_.get(), POLLIN, 0},
                                 pollfd{watch_.fd(), POLLIN, 0}};  // -1 is passed over
    int ready =
        poll(fds.data(), fds.size(), static_cast<int>(std::min(left, kLongestPoll).count()));
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0 && fds[0].revents != 0) return;
    if (ready > 0 && fds[1].revents != 0 && watch_.Take(signs_)) return;
  }
}

// A file that editors and tools delete and make anew is back soon.
FileTableSource::Rep::Look FileTableSource::Rep::Vanished(const absl::Status& status, bool expected,
                                                          TimePoint now) {
  Look look;
  look.status = status;
  busy_since_.reset();  // what comes next is another file
  if (!missing_since_) missing_since_ = now;
  if (expected && now < *missing_since_ + kWriterPause) {
    look.again = *missing_since_ + kWriterPause;
  }
  return look;
}

FileTableSource::Rep::Look FileTableSource::Rep::HeldBack(const std::string& known,
                                                          TimePoint until) const {
  Look look;
  look.again = until;
  if (known.empty()) look.status = absl::UnavailableError(Quoted(path_) + " is being written");
  return look;
}

// Notes when the file changed. Whether it is what was read last, and will stay so unless it shows.
bool FileTableSource::Rep::Unchanged(const FileFacts& facts, TimePoint now) {
  if (!signs_.changed && noticed_ == facts) return seen_ && seen_->settled && seen_->facts == facts;
  // What nobody told of happened when the file says; what was told, now.
  bool told = signs_.changed && noticed_;
  untold_ = !signs_.changed && noticed_ && watch_.complete();
  changed_at_ = told ? now : now - std::min<nanoseconds>(AgeOf(facts), std::chrono::hours(1));
  if (!busy_since_) busy_since_ = now;
  noticed_ = facts;
  signs_.changed = false;
  return false;
}

FileTableSource::Rep::Look FileTableSource::Rep::LookAt(const std::string& known) {
  watch_.Take(signs_);
  PathChain chain = watch_.Follow();
  TimePoint now = Steady::now();
  bool expected = seen_ || !known.empty();
  if (absl::IsNotFound(chain.status)) return Vanished(chain.status, expected, now);
  missing_since_.reset();
  Look look;
  look.status = chain.status;
  if (!look.status.ok()) return look;

  absl::StatusOr<FileFacts> facts = LookAtTableFile(chain.file);
  if (absl::IsNotFound(facts.status())) return HeldBack(known, now + kShortPause);
  look.status = facts.status();
  if (!look.status.ok()) return look;
  if (Unchanged(*facts, now) && seen_->version == known) return look;
  // While somebody writes there is no point in reading.
  FileSigns signs;
  signs.open = signs_.open;
  signs.quiet = now - changed_at_;
  signs.busy = now - busy_since_.value_or(now);
  if (nanoseconds wait = WaitForWriter(signs); signs_.open && wait > wait.zero()) {
    return HeldBack(known, now + wait);
  }

  nanoseconds age = AgeOf(*facts);
  absl::StatusOr<TableFile> file = ReadTableFile(chain.file);
  watch_.Take(signs_);
  bool moved = absl::IsAborted(file.status()) || absl::IsNotFound(file.status());
  if (moved || (file.ok() && (signs_.changed || file->facts != *facts))) {
    return HeldBack(known, now + kShortPause);
  }
  look.status = file.status();
  if (!look.status.ok()) return look;

  std::string version = VersionOf(file->document);
  if (version != known) {
    signs.open = signs_.open;
    signs.whole = nlohmann::json::accept(file->document);
    signs.replaced = seen_ && seen_->facts.inode != facts->inode;
    signs.untold = untold_;
    if (nanoseconds wait = WaitForWriter(signs); wait > wait.zero()) {
      return HeldBack(known, now + wait);
    }
    look.table = SourcedTable{std::move(file->document), version};
  }
  busy_since_.reset();
  seen_ = {*facts, std::move(version), age > kTimesAreCoarse};
  return look;
}

FileTableSource::FileTableSource(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
FileTableSource::~FileTableSource() = default;

absl::StatusOr<std::unique_ptr<FileTableSource>> FileTableSource::Open(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(std::string absolute, AbsolutePath(path));
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return FailedFileCall(errno, "wait for", path);
  auto rep = std::make_unique<Rep>(std::move(absolute), std::move(wake));
  return std::unique_ptr<FileTableSource>(new FileTableSource(std::move(rep)));
}

absl::StatusOr<std::optional<SourcedTable>> FileTableSource::Next(const std::string& known,
                                                                  TimePoint deadline) {
  return rep_->Next(known, deadline);
}

void FileTableSource::LookNow() { rep_->LookNow(); }

std::string FileTableSource::place() const { return "file " + rep_->path(); }

}  // namespace locus
