// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_TEXT_LIST_H_
#define LOCUS_APPS_LOCUSD_IDS_TEXT_LIST_H_

#include <cstddef>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace locus::locusd {

// Reads {"name": ["...", ...]}, which is nearly every body of a batch, without an allocation for
// each text: calls `visit` for each element, until it answers false. True: the body is that, of 1
// to `most` texts, and `visit` took all of them. False: it is something else, which may be right or
// wrong, and what was visited counts for nothing.
bool ReadTextList(std::string_view body, std::string_view name, size_t most,
                  absl::FunctionRef<bool(std::string_view)> visit);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_TEXT_LIST_H_
