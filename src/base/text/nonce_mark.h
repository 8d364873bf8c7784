// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_NONCE_MARK_H_
#define LOCUS_SRC_BASE_TEXT_NONCE_MARK_H_

#include <string>
#include <string_view>

namespace locus::internal {

// Replaces a nonce in lists and in the audit, because any reader of a nonce could renew and release
// the lease. Equal nonces have equal marks; a mark reveals nothing else of a random nonce. The
// first 8 bytes of its SHA-256 as hex digits; empty for the empty nonce.
std::string NonceMark(std::string_view nonce);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_NONCE_MARK_H_
