// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_NONCE_MARK_H_
#define LOCUS_SRC_BASE_TEXT_NONCE_MARK_H_

#include <string>
#include <string_view>

namespace locus::internal {

// Stands for a nonce in lists and in the audit: equal for equal nonces, and says nothing else of a
// nonce that was drawn at random, with which anybody could renew and release the lease. The first 8
// bytes of its SHA-256 as hex digits; empty for the empty nonce.
std::string NonceMark(std::string_view nonce);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_NONCE_MARK_H_
