// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/reload/file_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace locus::locusd {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                             IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

int64_t NanosOf(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

std::set<std::string> DirectoriesOf(const std::string& path) {
  std::set<std::string> directories;
  std::error_code error;
  fs::path left = fs::absolute(path, error);
  if (error) return directories;
  for (int links = 0; links <= kMostLinks; ++links) {
    fs::path way;
    bool is_link = false;
    for (auto part = left.begin(); part != left.end() && !is_link; ++part) {
      const fs::path parent = way;
      way /= *part;
      if (fs::symlink_status(way, error).type() != fs::file_type::symlink) continue;
      directories.insert(parent);
      fs::path target = fs::read_symlink(way, error);
      if (error) return directories;
      if (target.is_relative()) target = parent / target;
      for (++part; part != left.end(); ++part) target /= *part;
      left = target.lexically_normal();
      is_link = true;
      break;
    }
    if (is_link) continue;
    directories.insert(left.parent_path());
    break;
  }
  return directories;
}

FileWatch::FileWatch() : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}
FileWatch::~FileWatch() {
  if (fd_ >= 0) close(fd_);
}

FileWatch::State FileWatch::StateOf(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return {.error = errno};
  return {.error = 0,
          .device = about.st_dev,
          .inode = about.st_ino,
          .size = about.st_size,
          .modified_ns = NanosOf(about.st_mtim),
          .changed_ns = NanosOf(about.st_ctim)};
}

void FileWatch::Watch(const std::vector<std::string>& paths) {
  std::map<std::string, State> files;
  for (const std::string& path : paths) {
    const auto known = files_.find(path);
    files[path] = known != files_.end() ? known->second : StateOf(path);
  }
  files_ = std::move(files);
  WatchDirectories();
}

void FileWatch::WatchDirectories() {
  if (fd_ < 0) return;
  std::set<std::string> wanted;
  for (const auto& [path, state] : files_) wanted.merge(DirectoriesOf(path));
  // All anew: a directory may be another one under the name of before.
  std::map<std::string, int> watches;
  std::set<int> kept;
  for (const std::string& directory : wanted) {
    const int watch = inotify_add_watch(fd_, directory.c_str(), kEvents);
    if (watch < 0) continue;
    watches[directory] = watch;
    kept.insert(watch);
  }
  for (const auto& [directory, watch] : directories_) {
    if (!kept.contains(watch)) inotify_rm_watch(fd_, watch);
  }
  directories_ = std::move(watches);
}

void FileWatch::TakeEvents(TimePoint now) {
  alignas(inotify_event) char events[4096];
  bool any = false;
  while (fd_ >= 0 && read(fd_, events, sizeof events) > 0) any = true;
  if (!any) return;
  if (!first_) first_ = now;
  last_ = now;
}

std::optional<FileWatch::TimePoint> FileWatch::due() const {
  if (!first_) return std::nullopt;
  return std::min(last_ + kQuiet, *first_ + kLongest);
}

bool FileWatch::Look() {
  first_.reset();
  bool changed = false;
  WatchDirectories();
  for (auto& [path, state] : files_) {
    State now = StateOf(path);
    changed |= now != state;
    state = now;
  }
  return changed;
}

}  // namespace locus::locusd
