// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PASSWORD_H_
#define LOCUS_APPS_LOCUS_PASSWORD_H_

#include "absl/status/statusor.h"
#include "src/private_file.h"

namespace locus {

// The password for the engine of a store: LOCUS_PASSWORD, which is then wiped from this process's
// environment, or the first line of the file (permissions 0600) that LOCUS_PASSWORD_FILE names.
// Empty: neither is set. INVALID_ARGUMENT: both are, or it is longer than 1,024 bytes; otherwise
// the errors of ReadPrivateFile.
absl::StatusOr<PrivateText> ReadPassword();

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_PASSWORD_H_
