// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_DEFAULT_VALUE_H_
#define LOCUS_MIGRATION_PREFLIGHT_DEFAULT_VALUE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace locus::preflight {

// The first part of an expression, as information_schema shows it, whose value may differ between
// servers, or that a second server may give again: a sequence, a function that is not on the list
// of known ones, a variable. Empty: there is none. A clock is no such part.
std::string PartOfOneServer(absl::string_view expression);

}  // namespace locus::preflight

#endif  // LOCUS_MIGRATION_PREFLIGHT_DEFAULT_VALUE_H_
