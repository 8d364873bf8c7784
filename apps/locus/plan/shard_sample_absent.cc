// SPDX-License-Identifier: Apache-2.0
// In place of shard_sample.cc where the engine MariaDB is left out of the build.
#include "absl/strings/str_cat.h"
#include "apps/locus/plan/shard_sample.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Quoted;

namespace {

absl::Status Absent(const std::string& shard) {
  return absl::FailedPreconditionError(
      absl::StrCat("shard ", Quoted(shard),
                   ": this locus was built without the engine; build it with -DLOCUS_MYSQL=ON"));
}

}  // namespace

absl::StatusOr<SampledShard> SampledShard::Open(const Shard& shard, const ShardAccess&) {
  return Absent(shard.name);
}

absl::StatusOr<ShardSample> SampledShard::Count(Counted) const { return Absent(name_); }

}  // namespace locus::cli
