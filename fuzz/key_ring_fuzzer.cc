// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "locus/key_ring.h"
#include "src/base/os/check.h"
#include "src/order/key_ring_text.h"

// Of every text that is a key ring: what is printed of it parses to the same ring, and prints
// alike.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using locus::KeyRing, locus::internal::KeyRingText;
  std::string_view text(reinterpret_cast<const char*>(input), size);
  auto ring = KeyRing::Parse(text);
  if (!ring.ok()) {
    LOCUS_CHECK(ring.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  auto printed = KeyRingText::Print(*ring).value();
  LOCUS_CHECK(printed.size == text.size());
  auto again = KeyRing::Parse(printed.view()).value();
  LOCUS_CHECK(KeyRingText::Print(again).value().view() == printed.view());
  LOCUS_CHECK(again.active() == ring->active());
  for (const KeyRing::Entry& entry : ring->entries()) {
    bool retired = entry.state == KeyRing::State::kRetired;
    LOCUS_CHECK(ring->key(entry.version).ok() != retired);
    LOCUS_CHECK(retired || again.key(entry.version).value() == ring->key(entry.version).value());
  }
  return 0;
}
