// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_EVENT_SPOOL_H_
#define LOCUS_MIGRATION_STREAM_EVENT_SPOOL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace locus::stream {

// Byte strings, written once and read in order as often as one likes. They lie in memory up to a
// limit; past it, all of them lie in a file without a name that only this process can open and that
// goes with the object.
// Thread safety: none.
class EventSpool {
 public:
  struct Options {
    // More: larger transactions stay in memory. Less: more of them are written to the file.
    size_t memory_limit = size_t{64} << 20;
    // Where the file is made. On a disk: in a directory that lies in memory nothing is gained.
    std::string directory = "/var/tmp";
  };
  explicit EventSpool(Options options) : options_(std::move(options)) {}
  ~EventSpool();
  EventSpool(EventSpool&& other) noexcept;
  EventSpool& operator=(EventSpool&& other) noexcept;

  // RESOURCE_EXHAUSTED: the disk is full. FAILED_PRECONDITION: no file can be made in the
  // directory. UNAVAILABLE: it cannot be written. Not after Next.
  absl::Status Append(std::string_view record) { return Append({}, record); }
  // One record of both.
  absl::Status Append(std::string_view first, std::string_view rest);

  // The next Next gives the first record.
  absl::Status Rewind();
  // The next record, valid until the next call of any method; nullopt at the end. DATA_LOSS: the
  // file no longer has what was written. UNAVAILABLE: it cannot be read.
  absl::StatusOr<std::optional<std::string_view>> Next();

  uint64_t bytes() const { return bytes_; }
  uint64_t records() const { return records_; }
  bool spilt() const { return fd_ >= 0; }

 private:
  absl::Status Spill();
  absl::Status Write(std::string_view bytes);
  absl::Status Flush();
  // Makes `size` bytes from the place of reading on available in buffer_.
  absl::Status Fill(size_t size);
  void Swap(EventSpool& other) noexcept;

  Options options_;
  std::vector<std::string> chunks_;  // in memory; empty once spilt
  int fd_ = -1;
  std::string buffer_;      // of the file: what is not yet written, or what was read ahead
  uint64_t file_size_ = 0;  // written so far
  uint64_t bytes_ = 0;      // of records
  uint64_t records_ = 0;
  bool reading_ = false;
  // The place of reading: in chunks_, or in buffer_, which ends at file_read_ of the file.
  size_t chunk_ = 0;
  size_t offset_ = 0;
  uint64_t file_read_ = 0;
};

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_EVENT_SPOOL_H_
