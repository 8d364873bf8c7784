// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_INSTANT_H_
#define LOCUS_MIGRATION_STREAM_INSTANT_H_

#include "migration/stream/change.h"

namespace locus::stream {

// In UTC. The epoch is the zero date: no other instant is stored as 0.
DateTime InUtc(Timestamp stamp);
// The other way; the zero date is the epoch.
Timestamp InstantOf(const DateTime& utc);

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_INSTANT_H_
