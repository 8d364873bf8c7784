// SPDX-License-Identifier: Apache-2.0
#include "routing/source/path_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <deque>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

constexpr int kMostLinks = 40;  // like the kernel
constexpr uint32_t kItself = IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW;
constexpr uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |
                            IN_CLOSE_WRITE | IN_ATTRIB | IN_EXCL_UNLINK;

// File systems on which another host, or a process behind the kernel, may change files unreported.
bool ChangesUntold(const std::string& directory) {
  constexpr std::array<uint64_t, 12> kShared = {
      0x6969,      // NFS
      0x517B,      // SMB
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB 2
      0x65735546,  // FUSE
      0x01021997,  // 9P
      0x00C36400,  // Ceph
      0x5346414F,  // AFS
      0x73757245,  // Coda
      0x7461636F,  // OCFS2
      0x01161970,  // GFS2
      0x0BD00BD0,  // Lustre
  };
  struct statfs system;
  if (statfs(directory.c_str(), &system) != 0) return true;
  uint64_t type = static_cast<uint64_t>(system.f_type) & 0xFFFFFFFF;
  return std::find(kShared.begin(), kShared.end(), type) != kShared.end();
}

// Walks a path as the kernel does, and notes the directories.
class Walk {
 public:
  explicit Walk(const std::string& path) : path_(path) { Prepend(path); }

  PathChain Finish() {
    chain_.status = Go();
    return std::move(chain_);
  }

 private:
  void Prepend(absl::string_view path) {
    std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
    rest_.insert(rest_.begin(), parts.begin(), parts.end());
  }

  std::string Prefix() const { return here_ == "/" ? "/" : here_ + "/"; }

  void Enter(const std::string& directory, const struct stat& facts) {
    here_ = directory;
    auto known = std::find_if(chain_.directories.begin(), chain_.directories.end(),
                              [&](const auto& each) { return each.path == directory; });
    if (known == chain_.directories.end()) {
      chain_.directories.push_back({directory, facts.st_dev, facts.st_ino, {}});
    }
  }

  void Matters(const std::string& name) {
    for (PathChain::Directory& each : chain_.directories) {
      if (each.path == here_) each.names.insert(name);
    }
  }

  absl::Status Missing(const std::string& what) const {
    return absl::NotFoundError(absl::StrCat(
        "there is no ", Quoted(path_), what == path_ ? "" : absl::StrCat(": no ", Quoted(what))));
  }

  absl::Status Go() {
    struct stat facts;
    if (lstat("/", &facts) != 0) return FailedFileCall(errno, "look at", "/");
    Enter("/", facts);
    for (int links = 0; !rest_.empty();) {
      std::string name = std::move(rest_.front());
      rest_.pop_front();
      if (name == ".") continue;
      if (name == "..") {
        here_ = DirectoryOf(here_);
        continue;
      }
      std::string full = Prefix() + name;
      chain_.file = full;
      if (lstat(full.c_str(), &facts) != 0) {
        int error = errno;
        Matters(name);
        return error == ENOENT || error == ENOTDIR ? Missing(full)
                                                   : FailedFileCall(error, "look at", full);
      }
      if (S_ISDIR(facts.st_mode) && !rest_.empty()) {
        Enter(full, facts);
        continue;
      }
      Matters(name);
      if (S_ISLNK(facts.st_mode)) {
        if (++links > kMostLinks) return FailedFileCall(ELOOP, "follow", path_);
        LOCUS_RETURN_IF_ERROR(Turn(full));
        continue;
      }
      if (!rest_.empty()) return Missing(full + "/" + rest_.front());
      if (!S_ISREG(facts.st_mode)) return NoRegularFile(S_ISDIR(facts.st_mode));
      return absl::OkStatus();
    }
    return NoRegularFile(true);
  }

  absl::Status Turn(const std::string& link) {
    std::array<char, PATH_MAX> target;
    ssize_t size = readlink(link.c_str(), target.data(), target.size());
    if (size < 0) return errno == ENOENT ? Missing(link) : FailedFileCall(errno, "follow", link);
    absl::string_view to(target.data(), static_cast<size_t>(size));
    if (!to.empty() && to[0] == '/') here_ = "/";
    Prepend(to);
    return absl::OkStatus();
  }

  absl::Status NoRegularFile(bool is_directory) const {
    return absl::FailedPreconditionError(
        Quoted(path_) + (is_directory ? " is a directory, not a file" : " is not a regular file"));
  }

  const std::string& path_;
  std::deque<std::string> rest_;
  std::string here_;  // a directory of chain_
  PathChain chain_;
};

}  // namespace

PathChain FollowPath(const std::string& path) { return Walk(path).Finish(); }

PathWatch::PathWatch(const std::string& path) : path_(path) {}

PathChain PathWatch::Follow() {
  constexpr int kTries = 4;
  for (int i = 0;; ++i) {
    PathChain chain = FollowPath(path_);
    bool same = !stale_ && chain.directories == directories_ && chain.file == file_;
    if ((same && complete_) || i == kTries) {
      complete_ &= same;
      return chain;
    }
    if (same && i > 0) return chain;  // the kernel refused to watch some of it
    // Following once more finds what changed while the watches were being set.
    SetWatches(chain);
  }
}

void PathWatch::SetWatches(const PathChain& chain) {
  if (inotify_.get() < 0) inotify_ = FileDescriptor(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  complete_ = inotify_.get() >= 0;
  stale_ = false;
  directories_ = chain.directories;
  file_ = chain.file;
  std::string file_directory = DirectoryOf(file_);
  std::map<int, Watched> watched;
  for (const PathChain::Directory& each : chain.directories) {
    if (inotify_.get() < 0) break;
    uint32_t mask = kItself | (each.names.empty() ? 0 : kNames);
    int watch = inotify_add_watch(inotify_.get(), each.path.c_str(), mask);
    if (watch < 0 || ChangesUntold(each.path)) complete_ = false;
    if (watch < 0) continue;
    // A bind mount can put one directory on the path twice.
    if (watched.count(watch) != 0) {
      inotify_add_watch(inotify_.get(), each.path.c_str(), mask | IN_MASK_ADD);
    }
    Watched& entry = watched[watch];
    entry.names.insert(each.names.begin(), each.names.end());
    entry.has_file |= each.path == file_directory;
  }
  for (const auto& [watch, ignored] : watched_) {
    if (watched.count(watch) == 0) inotify_rm_watch(inotify_.get(), watch);
  }
  watched_ = std::move(watched);
}

bool PathWatch::Take(WriterSigns& signs) {
  if (inotify_.get() < 0) return false;
  bool matters = false;
  alignas(inotify_event) std::array<char, 64 * 1024> events;
  for (;;) {
    ssize_t size = read(inotify_.get(), events.data(), events.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return matters;
    for (const char* at = events.data(); at < events.data() + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof *event + event->len;
      matters |= Note(event->wd, event->mask, event->len == 0 ? "" : event->name, signs);
    }
  }
}

// Whether the event matters.
bool PathWatch::Note(int watch, uint32_t mask, std::string_view name, WriterSigns& signs) {
  if (mask & IN_Q_OVERFLOW) {
    stale_ = signs.changed = true;
    return true;
  }
  auto found = watched_.find(watch);
  if (found == watched_.end()) return false;  // reported before the watch was removed
  if (mask & (IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF)) {
    if (mask & IN_IGNORED) watched_.erase(found);
    stale_ = signs.changed = true;
    return true;
  }
  if (found->second.names.count(std::string(name)) == 0) return false;
  signs.changed = true;
  bool is_file =
      found->second.has_file && name == std::string_view(file_).substr(file_.rfind('/') + 1);
  if (!is_file) return true;
  if (mask & IN_MODIFY) signs.open = true;
  // The name belongs to another file or to none, or the writer closed it.
  if (mask & (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE)) {
    signs.open = false;
  }
  return true;
}

}  // namespace locus::internal
