// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/secret_bytes.h"

#include <openssl/crypto.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "src/base/os/check.h"

namespace locus::internal {

absl::StatusOr<SecretBytes> SecretBytes::Allocate(size_t size) {
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    return absl::UnavailableError("the kernel provides no memory for secrets");
  }
  SecretBytes secret(static_cast<char*>(pages), size);
  if (madvise(pages, size, MADV_DONTDUMP) != 0) {
    return absl::UnavailableError("the kernel cannot leave memory out of core dumps");
  }
  return secret;
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SecretBytes::~SecretBytes() {
  if (data_ == nullptr) return;
  OPENSSL_cleanse(data_, size_);
  LOCUS_CHECK(munmap(data_, size_) == 0);
}

void ExcludeFromCoreDumps(const void* address, size_t size) {
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(address) & ~(page - 1);
  uintptr_t end = (reinterpret_cast<uintptr_t>(address) + size + page - 1) & ~(page - 1);
  // ENOMEM: a part is not mapped; the kernel has marked the rest nevertheless.
  int result = madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTDUMP);
  LOCUS_CHECK(result == 0 || errno == ENOMEM);
}

void CopySecret(const void* from, void* to, size_t size) {
  auto* in = static_cast<const volatile char*>(from);
  auto* out = static_cast<volatile char*>(to);
  for (size_t i = 0; i < size; ++i) out[i] = in[i];
}

[[gnu::noinline]] void WipeDeadStack() {
  char frames[16384];
  OPENSSL_cleanse(frames, sizeof frames);
}

}  // namespace locus::internal
