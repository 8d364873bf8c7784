// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_LOOPBACK_H_
#define LOCUS_SRC_BASE_OS_LOOPBACK_H_

#include <string_view>

namespace locus::internal {

// Whether `host` is this machine's loopback: localhost in any case, with or without the dot
// of the root, an address in 127.0.0.0/8, or ::1, without
// brackets. No name is resolved.
bool IsLoopback(std::string_view host);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_LOOPBACK_H_
