// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_LOAD_POOL_H_
#define LOCUS_APPS_LOCUSD_IDS_LOAD_POOL_H_

#include <cstddef>
#include <memory>

#include "locus/executor.h"

namespace locus::locusd {

// A few threads that load for many generators, and are to outlive them; what is due later is then
// dropped. Throws std::system_error where the system has no threads to give.
std::unique_ptr<Executor> MakeLoadPool(size_t threads);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_LOAD_POOL_H_
