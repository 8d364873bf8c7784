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
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/run/backoff.h"
#include "src/base/text/text.h"

namespace locus {

using internal::AbsolutePath;
using internal::FailedFileCall;
using internal::FileDescriptor;
using internal::FileFacts;
using internal::FileSigns;
using internal::kWriterPause;
using internal::kWriteShowsFirst;
using internal::LookAtTableFile;
using internal::PathChain;
using internal::PathWatch;
using internal::Quoted;
using internal::RandomWord;
using internal::ReadTableFile;
using internal::TableFile;
using internal::VersionOf;
using internal::WaitForWriter;
using internal::WriterSigns;

namespace {

using std::chrono::nanoseconds;
using Steady = std::chrono::steady_clock;
using TimePoint = TableSource::TimePoint;

// How long ago the file changed, by this host's clock; 0 if its time lies in the future.
nanoseconds AgeOf(const FileFacts& file) {
  int64_t age = absl::GetCurrentTimeNanos() - std::max(file.modified_ns, file.changed_ns);
  return nanoseconds(std::max<int64_t>(age, 0));
}

// File systems store times in units of up to 2 s: a file that had changed shortly before it was
// read may have changed again since and show the same time.
constexpr std::chrono::seconds kTimesAreCoarse{3};
// Between looks at the file where the kernel does not report changes. All processes on a host would
// look together without jitter.
constexpr internal::Backoff::Policy kPolling = {.first = absl::Milliseconds(20),
                                                .longest = absl::Seconds(1)};
// Until the next look after the file moved or changed during this one.
constexpr std::chrono::milliseconds kShortPause{5};
// How late an answer may be because the file was closed a moment ago.
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
  // The result of one look at the file: a new document, or the answer if none comes until `again`.
  struct Look {
    std::optional<SourcedTable> table = {};
    absl::Status status = {};             // OK: `known` is the newest
    std::optional<TimePoint> again = {};  // it is too early to answer before; nullopt: it is not
  };

  // The document that was read last.
  struct Seen {
    FileFacts facts;
    std::string version;
    bool settled = false;  // a change since then would show in the facts
  };

  Look LookAt(const std::string& known);
  Look Vanished(const absl::Status& status, bool expected, TimePoint now);
  Look HeldBack(const std::string& known, TimePoint until) const;
  Look Read(const std::string& file, const FileFacts& facts, const std::string& known,
            TimePoint now);
  void NoteChange(const FileFacts& facts, TimePoint now);
  // Whether `known` is certain to be in the file still, without reading it.
  bool Unchanged(const FileFacts& facts, const std::string& known) const;
  FileSigns SignsAt(TimePoint now) const;
  TimePoint NextLook(TimePoint until, TimePoint now);
  bool WasAsked();
  void Wait(TimePoint until);

  const std::string path_;
  const FileDescriptor wake_;  // an eventfd: LookNow was called
  PathWatch watch_;
  WriterSigns signs_;
  std::optional<Seen> seen_;
  std::optional<FileFacts> noticed_;     // the file as it was when changed_at_ was set
  TimePoint changed_at_;                 // when the file changed last
  bool unreported_ = false;              // that change showed before the kernel reported it
  std::optional<TimePoint> busy_since_;  // since when its changes are waited out
  std::optional<TimePoint> missing_since_;
  internal::Backoff polling_{kPolling};
};

absl::StatusOr<std::optional<SourcedTable>> FileTableSource::Rep::Next(const std::string& known,
                                                                       TimePoint deadline) {
  // An answer that is due is still held back for kGrace if a writer is about to finish.
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
    Wait(NextLook(soon ? *look.again : std::min(deadline, look.again.value_or(deadline)), now));
  }
}

// `until`, or sooner where the kernel would not report a change.
TimePoint FileTableSource::Rep::NextLook(TimePoint until, TimePoint now) {
  if (watch_.complete()) {
    polling_.Reset();
    return until;
  }
  uint64_t ticks = static_cast<uint64_t>(now.time_since_epoch().count());
  absl::Duration pause = polling_.Next(RandomWord().value_or(ticks));
  return std::min(until, now + absl::ToChronoNanoseconds(pause));
}

bool FileTableSource::Rep::WasAsked() {
  uint64_t times = 0;
  return read(wake_.get(), &times, sizeof times) == sizeof times;
}

// Until the file may have changed, LookNow or `until`.
void FileTableSource::Rep::Wait(TimePoint until) {
  for (;;) {
    TimePoint now = Steady::now();
    if (now >= until) return;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    constexpr std::chrono::milliseconds kLongestPoll = std::chrono::hours(1);
    std::array<pollfd, 2> fds = {pollfd{wake_.get(), POLLIN, 0},
                                 pollfd{watch_.fd(), POLLIN, 0}};  // poll skips -1
    int ready =
        poll(fds.data(), fds.size(), static_cast<int>(std::min(left, kLongestPoll).count()));
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0 && fds[0].revents != 0) return;
    if (ready > 0 && fds[1].revents != 0 && watch_.Take(signs_)) return;
  }
}

// Editors and tools delete a file and create it again a moment later.
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

// Notes when the file changed last, if it changed since it was noticed.
void FileTableSource::Rep::NoteChange(const FileFacts& facts, TimePoint now) {
  if (!signs_.changed && noticed_ == facts) return;
  // A change that the kernel reported happened now, any other when the file says.
  bool reported = signs_.changed && noticed_;
  unreported_ = !signs_.changed && noticed_ && watch_.complete();
  changed_at_ = reported ? now : now - std::min<nanoseconds>(AgeOf(facts), std::chrono::hours(1));
  if (!busy_since_) busy_since_ = now;
  noticed_ = facts;
  signs_.changed = false;
}

bool FileTableSource::Rep::Unchanged(const FileFacts& facts, const std::string& known) const {
  return seen_ && seen_->settled && seen_->facts == facts && seen_->version == known;
}

FileSigns FileTableSource::Rep::SignsAt(TimePoint now) const {
  FileSigns signs;
  signs.open = signs_.open;
  signs.unreported = unreported_;
  signs.quiet = now - changed_at_;
  signs.busy = now - busy_since_.value_or(now);
  return signs;
}

FileTableSource::Rep::Look FileTableSource::Rep::LookAt(const std::string& known) {
  watch_.Take(signs_);
  PathChain chain = watch_.Follow();
  TimePoint now = Steady::now();
  bool expected = seen_ || !known.empty();
  if (absl::IsNotFound(chain.status)) return Vanished(chain.status, expected, now);
  missing_since_.reset();
  if (!chain.status.ok()) return Look{.status = chain.status};
  absl::StatusOr<FileFacts> facts = LookAtTableFile(chain.file);
  if (absl::IsNotFound(facts.status())) return HeldBack(known, now + kShortPause);
  if (!facts.ok()) return Look{.status = facts.status()};
  bool changed = signs_.changed || noticed_ != *facts;
  NoteChange(*facts, now);
  if (!changed && Unchanged(*facts, known)) return Look();
  // While a writer has the file open there is no point in reading it.
  nanoseconds wait = WaitForWriter(SignsAt(now));
  if (signs_.open && wait > wait.zero()) return HeldBack(known, now + wait);
  return Read(chain.file, *facts, known, now);
}

FileTableSource::Rep::Look FileTableSource::Rep::Read(const std::string& file,
                                                      const FileFacts& facts,
                                                      const std::string& known, TimePoint now) {
  nanoseconds age = AgeOf(facts);
  absl::StatusOr<TableFile> read = ReadTableFile(file);
  watch_.Take(signs_);
  // If the file changed during the read, the document may be half old and half new.
  bool moved = absl::IsAborted(read.status()) || absl::IsNotFound(read.status());
  if (moved || (read.ok() && (signs_.changed || read->facts != facts))) {
    return HeldBack(known, now + kShortPause);
  }
  if (!read.ok()) return Look{.status = read.status()};
  Look look;
  std::string version = VersionOf(read->document);
  if (version != known) {
    FileSigns signs = SignsAt(now);
    signs.whole = nlohmann::json::accept(read->document);
    signs.replaced = seen_ && seen_->facts.inode != facts.inode;
    nanoseconds wait = WaitForWriter(signs);
    if (wait > wait.zero()) return HeldBack(known, now + wait);
    look.table = SourcedTable{std::move(read->document), version};
  }
  busy_since_.reset();
  seen_ = {facts, std::move(version), age > kTimesAreCoarse};
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
