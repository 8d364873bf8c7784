// SPDX-License-Identifier: Apache-2.0
#include "locus/version.h"

namespace locus {

const char* Version() { return LOCUS_VERSION; }

}  // namespace locus
