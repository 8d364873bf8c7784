// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/routing/file_table.h"
#include "routing/source/kept_epochs.h"
#include "routing/source/table_file.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/check.h"
#include "src/base/os/file_lock.h"
#include "src/base/text/text.h"

namespace locus {

using internal::AbsolutePath;
using internal::FailedFileCall;
using internal::FileFacts;
using internal::FileLock;
using internal::FollowLinks;
using internal::KeptEpochs;
using internal::LookAtTableFile;
using internal::ReadTableFile;
using internal::ReplaceTableFile;
using internal::TableFile;

namespace {

constexpr std::chrono::seconds kLockTimeout{10};

// The table that routers read, and the file it is in.
struct Newest {
  TableFile file;
  RoutingTable table;
};

// The files of a publisher, symbolic links followed.
struct Files {
  std::string table;
  KeptEpochs kept;
};

Files FilesAt(const std::string& path) {
  std::string table = FollowLinks(path);
  return {table, KeptEpochs(table + ".epochs")};
}

// nullopt: there is no such file. DATA_LOSS: it is no routing table.
absl::StatusOr<std::optional<Newest>> InForce(const Files& files) {
  // A file may be replaced while it is read, but not a hundred times in a row.
  constexpr int kTries = 100;
  absl::StatusOr<TableFile> file = ReadTableFile(files.table);
  for (int i = 1; absl::IsAborted(file.status()) && i < kTries; ++i) {
    file = ReadTableFile(files.table);
  }
  if (absl::IsNotFound(file.status())) return std::optional<Newest>();
  if (absl::IsAborted(file.status())) return absl::UnavailableError(file.status().message());
  LOCUS_RETURN_IF_ERROR(file.status());
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(file->document);
  if (table.ok()) return std::optional<Newest>({*std::move(file), *std::move(table)});
  return absl::DataLossError(absl::StrCat(files.table, ": ", table.status().message()));
}

// The table of the highest epoch, whether routers read it or it is only kept: PATH may have been
// deleted or replaced by an older table.
absl::StatusOr<RoutingTable> NewestTable(const Files& files,
                                         const std::optional<Newest>& in_force) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> kept, files.kept.List(1));
  if (!kept.empty() && (!in_force || kept[0].epoch > in_force->table.epoch())) {
    return files.kept.Read(kept[0].epoch);
  }
  if (in_force) return in_force->table;
  return absl::NotFoundError(
      absl::StrCat("no routing table was published to ", files.table, " yet"));
}

// Gives the file that routers read a second name, PATH.spoiled or one with a number: it may hold
// work that must not be lost.
absl::Status KeepSpoiled(const std::string& path) {
  constexpr int kMost = 1000;
  for (int i = 1; i <= kMost; ++i) {
    std::string aside = absl::StrCat(path, ".spoiled", i == 1 ? "" : absl::StrCat(".", i));
    if (link(path.c_str(), aside.c_str()) == 0) return absl::OkStatus();
    if (errno != EEXIST) return FailedFileCall(errno, "link", aside);
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ".spoiled and ", kMost - 1, " more are there: remove some"));
}

// Keeps the note, replaces the file that routers read, with permissions as `like` has them, then
// keeps the table.
absl::Status PutInForce(const Files& files, const RoutingTable& table, const PublicationNote& note,
                        const FileFacts* like, const FileLock& lock) {
  TableFile file{table.ToJson(), {}};
  LOCUS_RETURN_IF_ERROR(files.kept.KeepNote(table.epoch(), file.document, note, like, lock));
  // The note stays where this fails: the table may be in force nevertheless.
  LOCUS_RETURN_IF_ERROR(
      ReplaceTableFile(files.table, files.table + ".publishing", file.document, like, 0, lock));
  LOCUS_ASSIGN_OR_RETURN(file.facts, LookAtTableFile(files.table));
  absl::Status kept = files.kept.Keep(table.epoch(), file, lock);
  if (kept.ok()) return kept;
  return absl::Status(
      kept.code(),
      absl::StrCat(
          "epoch ", table.epoch(), " is in force in ", files.table,
          ", but is not in the history until it is published again or replaced: ", kept.message()));
}

// "1..4, 7", the lowest first; of many runs the highest eight.
std::string Runs(std::vector<PublishedEpoch> newest_first) {
  constexpr size_t kMostRuns = 8;
  std::vector<std::string> runs;
  for (size_t i = 0; i < newest_first.size();) {
    size_t end = i + 1;
    while (end < newest_first.size() &&
           newest_first[end].epoch + 1 == newest_first[end - 1].epoch) {
      ++end;
    }
    if (runs.size() == kMostRuns) {
      runs.push_back("...");
      break;
    }
    uint64_t first = newest_first[end - 1].epoch, last = newest_first[i].epoch;
    runs.push_back(first == last ? absl::StrCat(first) : absl::StrCat(first, "..", last));
    i = end;
  }
  std::reverse(runs.begin(), runs.end());
  return absl::StrJoin(runs, ", ");
}

// The kept tables and the one in force, the newest first. A file in force that is no table is left
// out, so that the history can still be read.
absl::StatusOr<std::vector<PublishedEpoch>> Published(const Files& files, size_t most) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> all, files.kept.List(most));
  absl::StatusOr<std::optional<Newest>> in_force = InForce(files);
  if (!in_force.ok() && (all.empty() || !absl::IsDataLoss(in_force.status()))) {
    return in_force.status();
  }
  if (!in_force.ok() || !in_force->has_value()) return all;
  const Newest& newest = **in_force;
  PublishedEpoch also = {newest.table.epoch(), absl::FromUnixNanos(newest.file.facts.modified_ns),
                         files.kept.NoteOf(newest.table.epoch(), newest.file.document)};
  auto at = std::find_if(all.begin(), all.end(),
                         [&](const PublishedEpoch& each) { return each.epoch <= also.epoch; });
  if (at == all.end() || at->epoch != also.epoch) all.insert(at, also);
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace

FileTablePublisher::~FileTablePublisher() = default;

absl::StatusOr<std::unique_ptr<FileTablePublisher>> FileTablePublisher::Open(
    const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(std::string absolute, AbsolutePath(path));
  return std::unique_ptr<FileTablePublisher>(new FileTablePublisher(std::move(absolute)));
}

absl::StatusOr<RoutingTable> FileTablePublisher::Current() {
  Files files = FilesAt(path_);
  LOCUS_ASSIGN_OR_RETURN(std::optional<Newest> in_force, InForce(files));
  return NewestTable(files, in_force);
}

absl::Status FileTablePublisher::Publish(const RoutingTable& table, uint64_t expected,
                                         const GuardedChanges& named, const PublicationNote& note) {
  LOCUS_RETURN_IF_ERROR(note.Check());
  Files files = FilesAt(path_);
  LOCUS_ASSIGN_OR_RETURN(FileLock lock,
                         FileLock::TakeOrCreate(files.table + ".lock",
                                                std::chrono::steady_clock::now() + kLockTimeout));
  absl::StatusOr<std::optional<Newest>> found = InForce(files);
  const bool spoiled = absl::IsDataLoss(found.status());
  if (named.spoiled && found.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        place(), ": it is named as spoiled, and has a routing table; name exactly what changes"));
  }
  if (!found.ok() && !(spoiled && named.spoiled)) return found.status();
  std::optional<Newest> in_force;
  std::optional<FileFacts> like;
  if (spoiled) {
    LOCUS_ASSIGN_OR_RETURN(like, LookAtTableFile(files.table));
  } else {
    in_force = *std::move(found);
    if (in_force) like = in_force->file.facts;
  }
  absl::StatusOr<RoutingTable> newest = NewestTable(files, in_force);
  if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
  // The newest table is that of the highest epoch, kept or in force: no other is above it.
  absl::Status judged =
      JudgePublication({.newest = newest.ok() ? &*newest : nullptr}, table, expected, named)
          .status();
  if (!judged.ok()) {
    return absl::Status(judged.code(), absl::StrCat(place(), ": ", judged.message()));
  }
  // A table is kept before it is replaced, also one that was put there by hand. If the process is
  // killed from here on, the next publication completes its work.
  if (in_force)
    LOCUS_RETURN_IF_ERROR(files.kept.Keep(in_force->table.epoch(), in_force->file, lock));
  if (!in_force || in_force->table != table) {
    if (spoiled) LOCUS_RETURN_IF_ERROR(KeepSpoiled(files.table));
    LOCUS_RETURN_IF_ERROR(PutInForce(files, table, note, like ? &*like : nullptr, lock));
  }
  return files.kept.Prune();
}

absl::StatusOr<std::vector<PublishedEpoch>> FileTablePublisher::History(size_t most) {
  if (most < 1) return absl::InvalidArgumentError("a history of 0 epochs; at least 1");
  Files files = FilesAt(path_);
  return Published(files, most);
}

absl::StatusOr<RoutingTable> FileTablePublisher::Fetch(uint64_t epoch) {
  Files files = FilesAt(path_);
  absl::StatusOr<RoutingTable> kept = files.kept.Read(epoch);
  if (!absl::IsNotFound(kept.status())) return kept;
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> all, Published(files, 2 * KeptEpochs::kMost));
  LOCUS_ASSIGN_OR_RETURN(std::optional<Newest> in_force, InForce(files));
  if (in_force && in_force->table.epoch() == epoch) return in_force->table;
  return absl::NotFoundError(all.empty()
                                 ? absl::StrCat("no routing table was published to ", path_, " yet")
                                 : absl::StrCat("epoch ", epoch, " is not kept in ", path_,
                                                ".epochs; there are ", Runs(std::move(all))));
}

std::string FileTablePublisher::place() const { return "file " + path_; }

}  // namespace locus
