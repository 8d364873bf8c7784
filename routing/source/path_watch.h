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
#include "src/base/atomic_file.h"

namespace locus {

// The way from the root to a file, through all symbolic links.
struct PathChain {
  struct Directory {
    std::string path;  // without symbolic links
    dev_t device = 0;
    ino_t inode = 0;
    // What is looked up in it and may turn the way elsewhere: symbolic links, the file, what is
    // missing.
    std::set<std::string> names;

    friend bool operator==(const Directory&, const Directory&) = default;
  };

  std::vector<Directory> directories;
  // Where it ends, without symbolic links: the file, or what was in the way of one.
  std::string file;
  // NOT_FOUND: something on the way is missing. FAILED_PRECONDITION: it may not be looked at, links
  // go in circles, or there is something else than a regular file at its end.
  absl::Status status;
};

// `path` is absolute.
PathChain FollowPath(const std::string& path);

// What is known of those who write a file.
struct WriterSigns {
  // It changed, or what the path leads to did, since somebody cleared this.
  bool changed = false;
  // It was written to and not closed since.
  bool open = false;
};

// Tells of whatever happens to the file at a path, by inotify on all directories that the way to it
// leads through: those themselves, and names in them that matter.
// Thread safety: none.
class PathWatch {
 public:
  explicit PathWatch(const std::string& path);  // absolute

  // Where the path leads now. From then on changes are told.
  PathChain Follow();
  // Whether the kernel tells all changes since the last Follow(): not where it refuses to watch,
  // nor on file systems that others change too.
  bool complete() const { return complete_; }
  // Becomes readable when there may be news; -1: never.
  int fd() const { return inotify_.get(); }
  // Takes what was told so far. Whether any of it matters.
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
  // What watched_ was made for.
  std::vector<PathChain::Directory> directories_;
  std::string file_;
  bool stale_ = true;  // the watches are to be set anew
  bool complete_ = false;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_SOURCE_PATH_WATCH_H_
