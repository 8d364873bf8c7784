// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_WORKER_SPACE_TEXT_H_
#define LOCUS_SRC_ENGINE_ETCD_WORKER_SPACE_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/engine/etcd/space_record.h"
#include "src/worker/worker_rules.h"

namespace locus::etcd {

// The stored values of a space of worker IDs, beside its records.
struct WorkerSpace : worker::Space, Life {
  // "1 raised_at_ns cluster surplus life rest_until longest losses".
  std::string Text() const;
  // FAILED_PRECONDITION: it has another schema version. DATA_LOSS: it is invalid.
  static absl::StatusOr<WorkerSpace> Parse(std::string_view text);
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_WORKER_SPACE_TEXT_H_
