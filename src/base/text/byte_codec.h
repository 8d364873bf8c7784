// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_BYTE_CODEC_H_
#define LOCUS_SRC_BASE_TEXT_BYTE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

// Values as bytes. Numbers are little-endian, of 8 bytes, or of 4 if they are sizes; a text follows
// its size. A codec derives from both classes, and gives its own types a Put and a Get.

namespace locus::internal {

class ByteWriter {
 public:
  void Number(uint64_t number) { Raw(&number, sizeof number); }
  void Size(size_t size) {
    const auto four = static_cast<uint32_t>(size);
    Raw(&four, sizeof four);
  }
  void Byte(uint8_t byte) { Raw(&byte, 1); }
  void Text(std::string_view text) {
    Size(text.size());
    Raw(text.data(), text.size());
  }
  std::string Take() { return std::move(out_); }

 private:
  void Raw(const void* from, size_t size) { out_.append(static_cast<const char*>(from), size); }

  std::string out_;
};

// After the first error every read gives 0 or nothing, and Finish returns that error.
class ByteReader {
 public:
  // `name` begins each message: "raft bytes". It outlives the reader.
  ByteReader(std::string_view bytes, const char* name) : bytes_(bytes), name_(name) {}

  uint64_t Number() {
    uint64_t number = 0;
    Raw(&number, sizeof number);
    return number;
  }
  size_t Size(size_t most, const char* what) {
    uint32_t size = 0;
    const size_t at = at_;
    Raw(&size, sizeof size);
    if (size <= most) return size;
    Fail(at, absl::StrCat("a size of ", size, " for ", what, "; the most are ", most));
    return 0;
  }
  uint8_t Byte(uint8_t most) {
    uint8_t byte = 0;
    const size_t at = at_;
    Raw(&byte, 1);
    if (byte <= most) return byte;
    Fail(at, absl::StrCat("a byte of ", byte, "; the most is ", most));
    return 0;
  }
  bool Flag() { return Byte(1) == 1; }
  std::string Text(size_t most, const char* what) {
    const size_t size = Size(most, what);
    if (bytes_.size() - at_ < size) {
      Fail(at_, absl::StrCat("the end, where ", size, " bytes of ", what, " should follow"));
    }
    if (!status_.ok()) return "";
    std::string text(bytes_.substr(at_, size));
    at_ += size;
    return text;
  }

  bool ok() const { return status_.ok(); }
  // The place of the next read.
  size_t at() const { return at_; }
  // INVALID_ARGUMENT: the value at a place is wrong.
  void Fail(size_t at, std::string_view what) {
    if (!status_.ok()) return;
    status_ =
        absl::InvalidArgumentError(absl::StrCat(name_, ": at byte ", at, " is ", ToAbsl(what)));
  }
  // OK: all bytes were read.
  absl::Status Finish() {
    if (status_.ok() && at_ < bytes_.size()) {
      Fail(at_, absl::StrCat(bytes_.size() - at_, " bytes behind the end"));
    }
    return status_;
  }

 private:
  void Raw(void* to, size_t size) {
    if (status_.ok() && bytes_.size() - at_ < size)
      Fail(at_, "the end, where a number should follow");
    if (!status_.ok()) return;
    std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }

  std::string_view bytes_;
  const char* name_;
  size_t at_ = 0;
  absl::Status status_;
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_BYTE_CODEC_H_
