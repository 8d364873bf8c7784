// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/front/request_id.h"

#include <atomic>
#include <chrono>
#include <cstdint>

#include "src/base/os/random_word.h"
#include "src/base/text/text.h"

namespace locus::locusd {
namespace {

constexpr size_t kMostBytes = 128;

uint64_t RandomOfProcess() {
  // Without randomness the clock tells processes apart well enough for a log.
  return internal::RandomWord().value_or(
      static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
}

}  // namespace

bool IsRequestId(std::string_view text) {
  if (text.empty() || text.size() > kMostBytes) return false;
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_letter && !is_digit && std::string_view("._:-+/=").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

std::string MakeRequestId() {
  static const uint64_t process = RandomOfProcess();
  static std::atomic<uint64_t> next = 1;
  char bytes[16];
  internal::StoreBigEndian64(process, bytes);
  internal::StoreBigEndian64(next.fetch_add(1, std::memory_order_relaxed), bytes + 8);
  return internal::HexOf({bytes, sizeof bytes});
}

}  // namespace locus::locusd
