// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_RELOAD_FILE_WATCH_H_
#define LOCUS_APPS_LOCUSD_RELOAD_FILE_WATCH_H_

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace locus::locusd {

// Notices that files were changed, replaced by a rename, removed or made: also where a symbolic
// link on the way to one leads elsewhere, as in volumes of Kubernetes, which change all of a
// directory by renaming "..data".
//
// It is told by inotify that something happened near the files, waits until that is over, and then
// looks at the files themselves. Where the kernel tells nothing (another machine's file system, no
// more watches), Look still finds what changed.
// Thread safety: none.
class FileWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // What happens near the files within this time is one change: editors and tools write in steps.
  static constexpr std::chrono::milliseconds kQuiet{200};
  // After so long it is looked at nevertheless.
  static constexpr std::chrono::milliseconds kLongest{2000};

  FileWatch();
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Readable when something happened; -1: the kernel gave no inotify.
  int fd() const { return fd_; }

  // Watches these from now on, and no others. What a new one is now is no change; others go on from
  // the last Look.
  void Watch(const std::vector<std::string>& paths);

  // Takes what the kernel told.
  void TakeEvents(TimePoint now);
  // When Look is to be called; nullopt: nothing happened.
  std::optional<TimePoint> due() const;
  // Whether a file is not what it was when this was last asked. Watches directories that came to
  // lie on the way.
  bool Look();

 private:
  // What tells one state of a file from another.
  struct State {
    int error = 0;  // errno of a file that cannot be looked at
    uint64_t device = 0, inode = 0;
    int64_t size = 0, modified_ns = 0, changed_ns = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  static State StateOf(const std::string& path);
  void WatchDirectories();

  const int fd_;
  std::map<std::string, State> files_;
  std::map<std::string, int> directories_;  // with their watches
  std::optional<TimePoint> first_;          // of the events that were not looked after yet
  TimePoint last_;
};

// The directories in which something happens when one of the path's components, or what the file
// itself is, becomes another: those that hold the file or a symbolic link on the way to it.
std::set<std::string> DirectoriesOf(const std::string& path);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_RELOAD_FILE_WATCH_H_
