// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_SECRET_BYTES_H_
#define LOCUS_SRC_BASE_OS_SECRET_BYTES_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus::internal {

// Memory for secrets: pages of its own, left out of core dumps, wiped before they are given back.
// Moved, not copied.
class SecretBytes {
 public:
  // `size` zero bytes, at least 1. UNAVAILABLE: the kernel gives no such memory.
  static absl::StatusOr<SecretBytes> Allocate(size_t size);

  // Holds nothing.
  SecretBytes() = default;
  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  ~SecretBytes();

  char* data() { return data_; }
  const char* data() const { return data_; }
  // The same for OpenSSL.
  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(data_); }
  size_t size() const { return size_; }
  std::string_view view() const { return {data_, size_}; }

 private:
  SecretBytes(char* data, size_t size) : data_(data), size_(size) {}

  char* data_ = nullptr;
  size_t size_ = 0;
};

// Leaves every page that [address, address + size) touches out of core dumps from now on. For
// secrets that a library keeps on the ordinary heap: their neighbours on the page are also left
// out, and the pages stay so. Pages that are not mapped are skipped.
void ExcludeFromCoreDumps(const void* address, size_t size);

// Copies without the vector registers that memcpy uses: their content outlives the copy, and a
// dynamic linker that binds late saves it on the stack.
void CopySecret(const void* from, void* to, size_t size);

// Overwrites the stack below the caller's frame, where functions that returned may have left
// secrets.
void WipeDeadStack();

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_SECRET_BYTES_H_
