// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_PASSWORD_H_
#define LOCUS_APPS_LOCUS_PLACE_PASSWORD_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "locus/routing/uri.h"

namespace locus::cli {

enum class PasswordFor { kStore, kCeiling, kAudit };

// The password for the engine of a store: LOCUS_PASSWORD, which is wiped from this process's
// environment when it is read, or the first line of the file (permissions 0600) that
// LOCUS_PASSWORD_FILE names. That of --ceiling: LOCUS_CEILING_PASSWORD or
// LOCUS_CEILING_PASSWORD_FILE where one is set, otherwise the store's. That of --audit:
// LOCUS_AUDIT_PASSWORD or LOCUS_AUDIT_PASSWORD_FILE, never the store's. Empty: none is set. Each is
// read once; the answer lives as long as the process, in memory that core dumps leave out.
// INVALID_ARGUMENT: both of a pair are set, or it is longer than 1,024 bytes; otherwise the errors
// of ReadPrivateFile.
// Thread safety: none.
absl::StatusOr<std::string_view> Password(PasswordFor whose);

// The same for locus/routing/uri.h.
inline AskPassword AskFor(PasswordFor whose) {
  return [whose] { return Password(whose); };
}

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_PLACE_PASSWORD_H_
