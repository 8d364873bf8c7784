// SPDX-License-Identifier: Apache-2.0
#include "src/raft/log/commit_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::raft {
namespace {

// Within one sector: it is on the disk whole or not at all.
struct Content {
  NodeId self = 0;
  uint64_t transactions = 0;
  uint64_t sum = 0;

  uint64_t Sum() const {
    const uint64_t numbers[] = {self, transactions};
    return XXH64(numbers, sizeof numbers, 0x6B72616D);  // "mark"
  }
};
static_assert(sizeof(Content) == 24, "no padding goes to the file");

}  // namespace

absl::StatusOr<CommitMark> CommitMark::Open(const std::string& path) {
  const std::string mark = absl::StrCat(path, "-mark");
  internal::FileDescriptor file(
      open(mark.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (file.get() < 0) return internal::FailedFileCall(errno, "open", mark);
  return CommitMark(std::move(file));
}

uint64_t CommitMark::Read(NodeId self) const {
  Content content;
  if (pread(file_.get(), &content, sizeof content, 0) != sizeof content) return 0;
  return content.self == self && content.sum == content.Sum() ? content.transactions : 0;
}

void CommitMark::Write(NodeId self, uint64_t transactions) {
  Content content{self, transactions, 0};
  content.sum = content.Sum();
  (void)!pwrite(file_.get(), &content, sizeof content, 0);
}

}  // namespace locus::raft
