// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/routing/file_table.h"
#include "routing/source/kept_epochs.h"
#include "routing/source/table_file.h"
#include "src/base/atomic_file.h"
#include "src/base/check.h"
#include "src/base/file_lock.h"
#include "src/base/text.h"

namespace locus {
namespace {

constexpr std::chrono::seconds kLockTimeout{10};

// What is at the path: the table, if it is one, and the bytes.
struct Newest {
  TableFile file;
  RoutingTable table;
};

// Where everything is, symbolic links followed.
struct Place {
  std::string file;
  KeptEpochs kept;
};

Place PlaceOf(const std::string& path) {
  std::string file = FollowLinks(path);
  return {file, KeptEpochs(file + ".epochs")};
}

// nullopt: nothing is there. DATA_LOSS: it is no table.
absl::StatusOr<std::optional<Newest>> InForce(const Place& place) {
  // A file that is replaced while it is read, over and over, is read at last.
  constexpr int kTries = 100;
  absl::StatusOr<TableFile> file = ReadTableFile(place.file);
  for (int i = 1; absl::IsAborted(file.status()) && i < kTries; ++i) {
    file = ReadTableFile(place.file);
  }
  if (absl::IsNotFound(file.status())) return std::optional<Newest>();
  if (absl::IsAborted(file.status())) return absl::UnavailableError(file.status().message());
  LOCUS_RETURN_IF_ERROR(file.status());
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(file->document);
  if (table.ok()) return std::optional<Newest>({*std::move(file), *std::move(table)});
  return absl::DataLossError(absl::StrCat(place.file, ": ", table.status().message()));
}

// The table of the highest epoch, in force or kept.
absl::StatusOr<RoutingTable> NewestTable(const Place& place,
                                         const std::optional<Newest>& in_force) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> kept, place.kept.List(1));
  if (!kept.empty() && (!in_force || kept[0].epoch > in_force->table.epoch())) {
    return place.kept.Read(kept[0].epoch);
  }
  if (in_force) return in_force->table;
  return absl::NotFoundError(
      absl::StrCat("no routing table was published to ", place.file, " yet"));
}

// Makes `table` what routers read, and keeps it.
absl::Status PutInForce(const Place& place, const RoutingTable& table,
                        const std::optional<Newest>& before, const FileLock& lock) {
  TableFile file{table.ToJson(), {}};
  LOCUS_RETURN_IF_ERROR(ReplaceTableFile(place.file, place.file + ".publishing", file.document,
                                         before ? &before->file.facts : nullptr, 0, lock));
  LOCUS_ASSIGN_OR_RETURN(file.facts, LookAtTableFile(place.file));
  absl::Status kept = place.kept.Keep(table.epoch(), file, lock);
  if (kept.ok()) return kept;
  return absl::Status(
      kept.code(),
      absl::StrCat("epoch ", table.epoch(), " is in force in ", place.file,
                   ", but not kept until it is published again or replaced: ", kept.message()));
}

// "1..4, 7", the lowest first; the lower ones left out where it would be long.
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

// What is kept, and what is in force if it is not; a file in force that is no table is not told.
absl::StatusOr<std::vector<PublishedEpoch>> Published(const Place& place, size_t most) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> all, place.kept.List(most));
  absl::StatusOr<std::optional<Newest>> in_force = InForce(place);
  if (!in_force.ok() && (all.empty() || !absl::IsDataLoss(in_force.status()))) {
    return in_force.status();
  }
  if (!in_force.ok() || !in_force->has_value()) return all;
  const Newest& newest = **in_force;
  PublishedEpoch also = {newest.table.epoch(), absl::FromUnixNanos(newest.file.facts.modified_ns)};
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
  Place place = PlaceOf(path_);
  LOCUS_ASSIGN_OR_RETURN(std::optional<Newest> in_force, InForce(place));
  return NewestTable(place, in_force);
}

absl::Status FileTablePublisher::Publish(const RoutingTable& table, uint64_t expected) {
  if (table.epoch() <= expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("/epoch: ", table.epoch(), " is not greater than ", expected,
                     ", the epoch that is to be replaced in ", path_));
  }
  Place place = PlaceOf(path_);
  LOCUS_ASSIGN_OR_RETURN(FileLock lock,
                         FileLock::TakeOrCreate(place.file + ".lock",
                                                std::chrono::steady_clock::now() + kLockTimeout));
  LOCUS_ASSIGN_OR_RETURN(std::optional<Newest> in_force, InForce(place));
  absl::StatusOr<RoutingTable> newest = NewestTable(place, in_force);
  if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
  uint64_t epoch = newest.ok() ? newest->epoch() : 0;
  bool is_newest = newest.ok() && *newest == table;
  if (!is_newest && epoch != expected) {
    return absl::AbortedError(absl::StrCat("the newest epoch in ", path_, " is ", epoch, ", not ",
                                           expected, "; somebody else published"));
  }
  // Before a table is replaced it is kept, whoever put it there. What a process that is killed here
  // leaves, the next publication completes.
  if (in_force)
    LOCUS_RETURN_IF_ERROR(place.kept.Keep(in_force->table.epoch(), in_force->file, lock));
  if (!in_force || in_force->table != table) {
    LOCUS_RETURN_IF_ERROR(PutInForce(place, table, in_force, lock));
  }
  return place.kept.Prune();
}

absl::StatusOr<std::vector<PublishedEpoch>> FileTablePublisher::History(size_t most) {
  if (most < 1) return absl::InvalidArgumentError("a history of 0 epochs; at least 1");
  Place place = PlaceOf(path_);
  return Published(place, most);
}

absl::StatusOr<RoutingTable> FileTablePublisher::Fetch(uint64_t epoch) {
  Place place = PlaceOf(path_);
  absl::StatusOr<RoutingTable> kept = place.kept.Read(epoch);
  if (!absl::IsNotFound(kept.status())) return kept;
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> all, Published(place, 2 * KeptEpochs::kMost));
  LOCUS_ASSIGN_OR_RETURN(std::optional<Newest> in_force, InForce(place));
  if (in_force && in_force->table.epoch() == epoch) return in_force->table;
  return absl::NotFoundError(all.empty()
                                 ? absl::StrCat("no routing table was published to ", path_, " yet")
                                 : absl::StrCat("epoch ", epoch, " is not kept in ", path_,
                                                ".epochs; there are ", Runs(std::move(all))));
}

std::string FileTablePublisher::place() const { return "file " + path_; }

}  // namespace locus
