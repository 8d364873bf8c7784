// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_NUMBER_JOBS_H_
#define LOCUS_APPS_LOCUSD_IDS_NUMBER_JOBS_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/locusd/ids/id_jobs.h"
#include "apps/locusd/ids/id_parts.h"
#include "apps/locusd/ids/query.h"

// Jobs of what counts, with the errors of Understand. Names are as they stand in the path.
namespace locus::locusd {

// GET /v1/sequences/{name}/next[?n=N][&key=KEY]: numbers of a sequence or, where the store has a
// type of that name, of the counter of the key by its type. Options that the client names, start,
// step, max_value, at_max and ttl, must agree with the type.
absl::StatusOr<IdJob> SequenceJob(std::string_view name, const Query& query,
                                  const std::shared_ptr<const IdParts>& parts, bool lines);

// GET /v1/numbers/{type}/next[?count=N][&key=KEY][&field.NAME=VALUE]: numbers as the type's pattern
// writes them. Options as above.
absl::StatusOr<IdJob> NumberJob(std::string_view name, const Query& query,
                                const std::shared_ptr<const IdParts>& parts, bool lines);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_NUMBER_JOBS_H_
