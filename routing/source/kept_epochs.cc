// SPDX-License-Identifier: Apache-2.0
#include "routing/source/kept_epochs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "routing/source/publication_note.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

constexpr size_t kDigits = 20;
constexpr std::string_view kEnding = ".json";
constexpr std::string_view kFolderEnding = ".epochs";  // of the folder beside the file of a place

std::string NameOf(uint64_t epoch) { return absl::StrFormat("%020d%s", epoch, ToAbsl(kEnding)); }

std::optional<uint64_t> EpochOf(std::string_view name) {
  uint64_t epoch = 0;
  bool fits = name.size() == kDigits + kEnding.size() && name.ends_with(kEnding) &&
              absl::SimpleAtoi(ToAbsl(name.substr(0, kDigits)), &epoch) && NameOf(epoch) == name;
  if (!fits || epoch == 0 || epoch > RoutingTable::kMaxEpoch) return std::nullopt;
  return epoch;
}

using OpenDirectory = std::unique_ptr<DIR, int (*)(DIR*)>;

absl::StatusOr<std::vector<uint64_t>> EpochsIn(const std::string& directory) {
  std::vector<uint64_t> epochs;
  OpenDirectory open(opendir(directory.c_str()), closedir);
  if (open == nullptr && errno == ENOENT) return epochs;
  if (open == nullptr) return FailedFileCall(errno, "list", directory);
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr && errno != 0) return FailedFileCall(errno, "list", directory);
    if (entry == nullptr) break;
    if (std::optional<uint64_t> epoch = EpochOf(entry->d_name)) epochs.push_back(*epoch);
  }
  std::sort(epochs.rbegin(), epochs.rend());
  return epochs;
}

absl::Status Fill(int fd, const std::string& part, std::string_view text, const FileFacts* like,
                  int64_t modified_ns) {
  if (like != nullptr) {
    LOCUS_RETURN_IF_ERROR(KeepPermissions(fd, like->user, like->group, like->permissions, part));
  }
  LOCUS_RETURN_IF_ERROR(WriteAll(fd, text, part));
  if (modified_ns != 0) {
    timespec time = {static_cast<time_t>(modified_ns / 1'000'000'000),
                     static_cast<long>(modified_ns % 1'000'000'000)};  // NOLINT: as timespec has it
    std::array<timespec, 2> times = {time, time};
    if (futimens(fd, times.data()) != 0) return FailedFileCall(errno, "date", part);
  }
  if (fsync(fd) != 0) return FailedFileCall(errno, "sync", part);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReplaceTableFile(const std::string& path, const std::string& part,
                              std::string_view text, const FileFacts* like, int64_t modified_ns,
                              const FileLock& lock) {
  LOCUS_RETURN_IF_ERROR(lock.CheckHeld());
  if (unlink(part.c_str()) != 0 && errno != ENOENT) return FailedFileCall(errno, "replace", part);
  // Unreadable to others until it has the permissions of `like`.
  mode_t mode = like == nullptr ? 0666 : 0600;
  FileDescriptor fd(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (fd.get() < 0) return FailedFileCall(errno, "create", part);
  absl::Status filled = Fill(fd.get(), part, text, like, modified_ns);
  if (filled.ok()) filled = lock.CheckHeld();
  if (filled.ok() && std::rename(part.c_str(), path.c_str()) != 0) {
    filled = FailedFileCall(errno, "replace", path);
  }
  if (!filled.ok()) {
    if (BearsName(fd.get(), part)) unlink(part.c_str());
    return filled;
  }
  return SyncDirectory(DirectoryOf(path));
}

std::string KeptEpochs::PathOf(uint64_t epoch) const {
  return absl::StrCat(directory_, "/", NameOf(epoch));
}

std::string KeptEpochs::NotePathOf(uint64_t epoch) const {
  return absl::StrFormat("%s/%020d.note", directory_, epoch);
}

absl::StatusOr<std::vector<PublishedEpoch>> KeptEpochs::List(size_t most) const {
  LOCUS_ASSIGN_OR_RETURN(std::vector<uint64_t> epochs, EpochsIn(directory_));
  std::vector<PublishedEpoch> kept;
  for (uint64_t epoch : epochs) {
    if (kept.size() == most) break;
    absl::StatusOr<FileFacts> file = LookAtTableFile(PathOf(epoch));
    if (absl::IsNotFound(file.status())) continue;  // pruned meanwhile
    LOCUS_RETURN_IF_ERROR(file.status());
    kept.push_back({epoch, absl::FromUnixNanos(file->modified_ns), NoteOf(epoch, std::nullopt)});
  }
  return kept;
}

absl::StatusOr<RoutingTable> KeptEpochs::Read(uint64_t epoch) const {
  std::string path = PathOf(epoch);
  LOCUS_ASSIGN_OR_RETURN(TableFile file, ReadTableFile(path));
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(file.document);
  if (table.ok() && table->epoch() == epoch) return table;
  const std::string why =
      table.ok() ? absl::StrCat("/epoch: it is ", table->epoch(), ", not the epoch of its name")
                 : std::string(table.status().message());
  const std::string place = directory_.substr(0, directory_.rfind(kFolderEnding));
  return absl::DataLossError(
      absl::StrCat(path, ": ", why,
                   "; put this file back from a backup, or move it away. If its table was the "
                   "newest, `locus table restore file:",
                   place, " EPOCH --above ", epoch,
                   "` then publishes an earlier one above it; `locus table history` lists them"));
}

absl::Status KeptEpochs::MakeDirectory() const {
  if (mkdir(directory_.c_str(), 0777) == 0) return SyncDirectory(DirectoryOf(directory_));
  if (errno == EEXIST) return absl::OkStatus();
  return FailedFileCall(errno, "create", directory_);
}

PublicationNote KeptEpochs::NoteOf(uint64_t epoch, std::optional<std::string> document) const {
  const absl::StatusOr<TableFile> note = ReadTableFile(NotePathOf(epoch));
  if (!note.ok()) return {};
  if (!document) {
    absl::StatusOr<TableFile> table = ReadTableFile(PathOf(epoch));
    if (!table.ok()) return {};
    document = std::move(table->document);
  }
  return ParseNoteText(note->document, VersionOf(*document));
}

absl::Status KeptEpochs::KeepNote(uint64_t epoch, std::string_view document,
                                  const PublicationNote& note, const FileFacts* like,
                                  const FileLock& lock) const {
  const std::string path = NotePathOf(epoch);
  if (note == PublicationNote()) {
    LOCUS_RETURN_IF_ERROR(lock.CheckHeld());
    if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
    return FailedFileCall(errno, "remove", path);
  }
  LOCUS_RETURN_IF_ERROR(MakeDirectory());
  return ReplaceTableFile(path, absl::StrCat(directory_, "/.noting"),
                          NoteText(note, VersionOf(document)), like, 0, lock);
}

absl::Status KeptEpochs::Keep(uint64_t epoch, const TableFile& file, const FileLock& lock) const {
  LOCUS_RETURN_IF_ERROR(MakeDirectory());
  std::string path = PathOf(epoch);
  if (LookAtTableFile(path).ok()) return absl::OkStatus();
  return ReplaceTableFile(path, absl::StrCat(directory_, "/.keeping"), file.document, &file.facts,
                          file.facts.modified_ns, lock);
}

absl::Status KeptEpochs::Prune() const {
  LOCUS_ASSIGN_OR_RETURN(std::vector<uint64_t> epochs, EpochsIn(directory_));
  for (size_t i = kMost; i < epochs.size(); ++i) {
    for (const std::string& path : {NotePathOf(epochs[i]), PathOf(epochs[i])}) {
      if (unlink(path.c_str()) != 0 && errno != ENOENT) {
        return FailedFileCall(errno, "remove", path);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace locus::internal
