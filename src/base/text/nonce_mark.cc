// SPDX-License-Identifier: Apache-2.0
#include "src/base/text/nonce_mark.h"

#include <openssl/sha.h>

#include "src/base/text/text.h"

namespace locus::internal {

std::string NonceMark(std::string_view nonce) {
  if (nonce.empty()) return "";
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(nonce.data()), nonce.size(), digest);
  return HexOf({reinterpret_cast<const char*>(digest), 8});
}

}  // namespace locus::internal
