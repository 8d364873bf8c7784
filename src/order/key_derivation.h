// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_KEY_DERIVATION_H_
#define LOCUS_SRC_ORDER_KEY_DERIVATION_H_

#include <string_view>

#include "absl/status/status.h"

namespace locus::internal {

inline constexpr size_t kDerivedKeyBytes = 32;

// Writes HKDF-SHA256 of `master`, salted, to out[0..31]. OpenSSL holds copies on the ordinary heap
// while this runs, and wipes them before it returns. UNAVAILABLE: OpenSSL failed.
absl::Status DeriveKey(std::string_view master, std::string_view salt, std::string_view purpose,
                       unsigned char* out);

}  // namespace locus::internal

#endif  // LOCUS_SRC_ORDER_KEY_DERIVATION_H_
