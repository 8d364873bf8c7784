// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_KEY_RING_REP_H_
#define LOCUS_SRC_ORDER_KEY_RING_REP_H_

#include <array>

#include "locus/key_ring.h"
#include "src/base/os/secret_bytes.h"

namespace locus {

struct KeyRing::Rep {
  enum class Given : uint8_t { kNever, kHasKey, kRetired };
  static constexpr size_t kVersions = KeyVersion::kMax + 1;

  Given& given(KeyVersion version) { return given_by_version[version.value()]; }
  unsigned char* key(KeyVersion version) { return keys.bytes() + version.value() * kKeyBytes; }

  std::array<Given, kVersions> given_by_version{};
  KeyVersion active;
  internal::SecretBytes keys;  // kVersions * kKeyBytes
};

}  // namespace locus

#endif  // LOCUS_SRC_ORDER_KEY_RING_REP_H_
