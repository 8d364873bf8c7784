// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_URI_PASSWORD_H_
#define LOCUS_ROUTING_URI_PASSWORD_H_

#include "locus/routing/uri.h"

namespace locus::internal {

// The password; "" without a callback.
inline absl::StatusOr<std::string_view> Ask(const AskPassword& ask) {
  if (ask == nullptr) return std::string_view();
  return ask();
}

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_URI_PASSWORD_H_
