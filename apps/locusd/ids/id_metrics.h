// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_METRICS_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "apps/locusd/ids/id_parts.h"
#include "locus/space.h"

namespace locus::locusd {

// What /metrics shows of the parts as a whole: how long they go on without their stores, which are
// missing, and how much is left of the order IDs' space. `space`: nullopt until it was read.
// `lead_used_up`: sections that were told GeneratorEvent::Kind::kLeadUsedUp.
std::string IdMetrics(const IdParts& parts, const std::optional<SpaceOptions>& space,
                      uint64_t lead_used_up);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_METRICS_H_
