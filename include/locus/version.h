// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_VERSION_H_
#define LOCUS_VERSION_H_

#include "locus/internal/cxx20.h"

namespace locus {

// The version of the library linked in, as "MAJOR.MINOR.PATCH" (SemVer). While MAJOR is 0 a new
// MINOR may break source and binary compatibility, a new PATCH breaks neither. The formats of
// docs/inside/formats.md are not covered by this number: they are frozen.
const char* Version();

}  // namespace locus

#endif  // LOCUS_VERSION_H_
