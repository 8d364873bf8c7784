// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_FENCE_DIFFERENCE_H_
#define LOCUS_MIGRATION_FENCE_FENCE_DIFFERENCE_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "locus/migration/fence.h"

namespace locus::internal {

// OK where there are none. FAILED_PRECONDITION names the server and all of them.
absl::Status RefusalOf(std::string_view place, const std::vector<FenceDifference>& differences);
// Whether such an error is also of a kTriggerBody. The status carries it beside its text.
bool NamesAnotherBody(const absl::Status& status);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_FENCE_FENCE_DIFFERENCE_H_
