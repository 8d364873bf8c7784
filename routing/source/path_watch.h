// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_SOURCE_PATH_WATCH_H_
#define LOCUS_ROUTING_SOURCE_PATH_WATCH_H_

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "src/base/os/atomic_file.h"

namespace locus::internal {

// The directories that lead from the root to a file, through all symbolic links.
struct PathChain {
  struct Directory {
    std::string path;  // without symbolic links
    dev_t device = 0;
    ino_t inode = 0;
    // Names in it that decide where the path leads: symbolic links, the file, what is missing.
    std::set<std::string> names;

    friend bool operator==(const Directory&, const Directory&) = default;
  };

  std::vector<Directory> directories;
  // Where the path ends, without symbolic links: at the file, or where it could not be followed
  // further.
  std::string file;
  // NOT_FOUND: something on the path is missing. FAILED_PRECONDITION: no right to search a
  // directory, a loop of symbolic links, or no regular file at the end.
  absl::Status status;
};

// `path` is absolute.
PathChain FollowPath(const std::string& path);

// The kernel's reports about writers of a file.
struct WriterSigns {
  // The file, or where the path leads, changed since this was cleared.
  bool changed = false;
  // The file was written to, and not closed since.
  bool open = false;
};

// Reports changes of the file at a path, by inotify on every directory that the path leads through.
// Thread safety: none.
class PathWatch {
 public:
  explicit PathWatch(const std::string& path);  // absolute

  // Where the path leads now. Changes are reported from then on.
  PathChain Follow();
  // Whether every change since the last Follow() is reported: not if the kernel refuses to watch,
  // nor on file systems that other hosts change.
  bool complete() const { return complete_; }
  // Becomes readable when something may have changed; -1: never.
  int fd() const { return inotify_.get(); }
  // Adds what was reported so far to `signs`. Returns whether any of it matters.
  bool Take(WriterSigns& signs);

 private:
  struct Watched {
    std::set<std::string> names;
    bool has_file = false;
  };

  bool Note(int watch, uint32_t mask, std::string_view name, WriterSigns& signs);
  void SetWatches(const PathChain& chain);

  const std::string path_;
  FileDescriptor inotify_;
  std::map<int, Watched> watched_;  // by watch descriptor
  // The chain that watched_ was made for.
  std::vector<PathChain::Directory> directories_;
  std::string file_;
  bool stale_ = true;  // the watches must be set again
  bool complete_ = false;
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_SOURCE_PATH_WATCH_H_
