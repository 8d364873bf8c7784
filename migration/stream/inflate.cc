// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/inflate.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "migration/stream/byte_reader.h"
#include "src/base/os/check.h"

namespace locus::stream {

namespace {

absl::Status Malformed(std::string_view stored) {
  return absl::DataLossError(
      absl::StrCat("malformed value of a compressed column, ", stored.size(), " bytes"));
}

class Inflater {
 public:
  explicit Inflater(bool wrapped) {
    LOCUS_CHECK(inflateInit2(&stream_, wrapped ? MAX_WBITS : -MAX_WBITS) == Z_OK);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Whether `packed` unpacks to exactly `size` bytes.
  bool Run(std::string_view packed, size_t size, std::string& out) {
    constexpr size_t kStep = 256 << 10;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    // One byte of room past the end shows a value that is longer than it says.
    for (int result = Z_OK; result == Z_OK;) {
      const size_t before = out.size();
      const size_t room = std::min(kStep, size + 1 - before);
      if (room == 0) return false;
      out.resize(before + room);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream_.avail_out = static_cast<uInt>(room);
      result = inflate(&stream_, Z_NO_FLUSH);
      out.resize(before + room - stream_.avail_out);
      if (result == Z_STREAM_END) return out.size() == size && stream_.avail_in == 0;
    }
    return false;
  }

 private:
  z_stream stream_{};
};

}  // namespace

absl::StatusOr<std::string> UnpackColumn(std::string_view stored, size_t most) {
  constexpr uint8_t kMethodMask = 0xF0, kZlib = 0x80, kBare = 0x08, kLengthMask = 0x07;
  ByteReader reader(stored);
  const uint8_t how = reader.Byte();
  if (!reader.ok()) return Malformed(stored);
  if (how == 0) {
    if (reader.rest().size() > most) return Malformed(stored);
    return std::string(reader.rest());
  }
  const unsigned length_bytes = how & kLengthMask;
  if ((how & kMethodMask) != kZlib || length_bytes == 0 || length_bytes > 4) {
    return Malformed(stored);
  }
  const uint64_t size = reader.Big(length_bytes);
  if (!reader.ok() || size > most || reader.rest().size() > most) return Malformed(stored);
  std::string value;
  if (!Inflater((how & kBare) == 0).Run(reader.rest(), static_cast<size_t>(size), value)) {
    return Malformed(stored);
  }
  return value;
}

}  // namespace locus::stream
