// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_
#define LOCUS_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace locus {

// A directory of its own that goes with the object; in memory where there is such a file system
// with room for some servers: tests kill processes, they do not cut the power, and need not wait
// for a disk.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    constexpr uintmax_t kRoom = uintmax_t{2} << 30;
    std::error_code ignored;
    bool in_memory = std::filesystem::space("/dev/shm", ignored).available >= kRoom && !ignored;
    std::string name = "/dev/shm/locus-XXXXXX";
    if (!in_memory || mkdtemp(name.data()) == nullptr) {
      name = (std::filesystem::temp_directory_path() / "locus-XXXXXX").string();
      if (mkdtemp(name.data()) == nullptr) std::abort();
    }
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string str() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_
