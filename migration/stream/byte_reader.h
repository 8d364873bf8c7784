// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_BYTE_READER_H_
#define LOCUS_MIGRATION_STREAM_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace locus::stream {

// Reads numbers and byte strings from the front of `bytes`. A read past the end gives zeros or
// nothing and is remembered: decoders read a whole structure and ask ok() once.
// Thread safety: none. Cost: no allocation.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  // `size` bytes; nothing at all where there are fewer.
  std::string_view Bytes(size_t size) {
    if (size > rest_.size()) [[unlikely]] {
      ok_ = false;
      rest_ = {};
      return {};
    }
    std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  // An unsigned number of 1 to 8 bytes, least significant first.
  uint64_t Little(size_t size) {
    std::string_view bytes = Bytes(size);
    uint64_t value = 0;
    for (size_t i = bytes.size(); i > 0; --i) {
      value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
    }
    return value;
  }
  // Likewise, most significant first.
  uint64_t Big(size_t size) {
    uint64_t value = 0;
    for (char byte : Bytes(size)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  uint8_t Byte() { return static_cast<uint8_t>(Little(1)); }

  // MariaDB's packed length: one byte below 251, otherwise 252, 253 or 254 and 2, 3 or 8 bytes.
  uint64_t Packed() {
    const uint8_t first = Byte();
    switch (first) {
      case 252:
        return Little(2);
      case 253:
        return Little(3);
      case 254:
        return Little(8);
      case 251:
      case 255:
        ok_ = false;
        return 0;
      default:
        return first;
    }
  }
  // A packed length and that many bytes.
  std::string_view PackedBytes() {
    const uint64_t size = Packed();
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    return Bytes(static_cast<size_t>(size));
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_BYTE_READER_H_
