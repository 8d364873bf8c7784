// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_KEY_RING_TEXT_H_
#define LOCUS_SRC_ORDER_KEY_RING_TEXT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "locus/key_ring.h"
#include "src/base/os/private_file.h"

namespace locus::internal {

// The text of a key ring file.
class KeyRingText {
 public:
  // Longer than any ring's text.
  static constexpr size_t kMaxBytes = 8192;

  // INVALID_ARGUMENT: the message has `where`, the line's number and the reason, but nothing of the
  // line itself.
  static absl::StatusOr<KeyRing> Parse(std::string_view text, std::string_view where);
  // Parse() reads it back. UNAVAILABLE: no memory for secrets.
  static absl::StatusOr<PrivateText> Print(const KeyRing& ring);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ORDER_KEY_RING_TEXT_H_
