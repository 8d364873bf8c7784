// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_TCP_FRAME_H_
#define LOCUS_SRC_RAFT_TCP_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/raft/core/codec.h"
#include "src/raft/core/types.h"

// A connection between two nodes carries:
//   caller    a frame with a Hello, then frames with a message each (codec.h)
//   callee    a frame with a Welcome, then a zero byte for each frame that it has read
// A frame is its size in 4 bytes, little-endian, and so many bytes.

namespace locus::raft {

inline constexpr uint32_t kProtocolVersion = 3;
inline constexpr size_t kMostHelloBytes = 1024;

// An Append has one entry, or entries of CoreLimits::append_bytes.
inline constexpr size_t kMostFrameBytes = kMostEntryBytes + (4 << 20);
inline constexpr size_t kMostBulkFrameBytes = kMostStateBytes + (1 << 20);

struct Hello {
  uint32_t protocol = kProtocolVersion;
  uint32_t codec = kCodecVersion;
  NodeId from = 0;
  NodeId to = 0;      // the node that is called
  bool bulk = false;  // the connection is for snapshots, which others must not wait behind
  std::string cluster;
  std::string address;  // where the caller listens

  friend bool operator==(const Hello&, const Hello&) = default;
};

// INVALID_ARGUMENT: no Hello, or beyond the limits. Of another protocol only the version is read.
absl::StatusOr<Hello> DecodeHello(std::string_view bytes);
std::string Encode(const Hello& hello);

// Why `self` of this cluster does not take the call; OK: it does.
absl::Status CheckHello(const Hello& hello, NodeId self, std::string_view cluster);

// OK, or why not: FAILED_PRECONDITION. What is neither: INVALID_ARGUMENT.
std::string EncodeWelcome(const absl::Status& status);
absl::Status DecodeWelcome(std::string_view bytes);

std::string Framed(std::string_view bytes);

// Finds frames in a stream of bytes. Memory: the bytes that were fed, not the size that a frame
// announces.
class FrameReader {
 public:
  explicit FrameReader(size_t most) : most_(most) {}
  void set_most(size_t most) { most_ = most; }

  void Feed(std::string_view bytes);
  // The bytes of the next frame, valid until the next Feed; nullopt: it has not come whole.
  // INVALID_ARGUMENT: a frame of more than `most` bytes.
  absl::StatusOr<std::optional<std::string_view>> Next();
  // Bytes that the frame which has begun still lacks, as far as is known; 0: none has begun.
  size_t Lacks() const;

 private:
  size_t most_;
  std::string buffer_;
  size_t begin_ = 0;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_TCP_FRAME_H_
