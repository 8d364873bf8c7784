// SPDX-License-Identifier: Apache-2.0
// Snowflake IDs under a leased worker ID.
#include "apps/c_api/call.h"
#include "locus/leased_snowflake.h"
#include "locus/open.h"

using locus::LeasedSnowflake;
using locus::LeasedSnowflakeOptions;
using locus::WorkerLeaseStore;
using locus::WorkerRange;
using namespace locus::c_api;

struct locus_snowflake {
  std::unique_ptr<LeasedSnowflake<>> ids;
};

locus_code locus_snowflake_open(const char* lease_uri, const locus_snowflake_options* options,
                                locus_snowflake** snowflake, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("lease_uri", lease_uri));
    LOCUS_RETURN_IF_ERROR(NotNull("snowflake", snowflake));
    LOCUS_ASSIGN_OR_RETURN(const locus_snowflake_options set, OptionsOr(options));
    LeasedSnowflakeOptions of;
    LOCUS_ASSIGN_OR_RETURN(of.lease.space, SpaceOf(set.space));
    of.lease.ttl = MsOr(set.ttl_ms, of.lease.ttl);
    if (set.first_worker != 0 || set.last_worker != 0) {
      of.lease.range = WorkerRange{set.first_worker, set.last_worker};
    }
    of.reacquire = set.reacquire != 0;
    locus::StoreUriOptions place;
    LOCUS_ASSIGN_OR_RETURN(place.password, PasswordOf(set.password, set.password_file));
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<WorkerLeaseStore> store,
                           locus::OpenWorkerLeaseStore(lease_uri, place));
    auto made = std::make_unique<locus_snowflake>();
    LOCUS_ASSIGN_OR_RETURN(
        made->ids,
        LeasedSnowflake<>::Create(std::move(store), of, MsOr(set.patience_ms, absl::Seconds(10))));
    *snowflake = made.release();
    return absl::OkStatus();
  });
}

locus_code locus_snowflake_next(locus_snowflake* snowflake, int64_t* id, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("snowflake", snowflake));
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_ASSIGN_OR_RETURN(*id, snowflake->ids->Next());
    return absl::OkStatus();
  });
}

locus_code locus_snowflake_next_batch(locus_snowflake* snowflake, int64_t* ids, size_t count,
                                      size_t* made, locus_error* error) {
  if (made != nullptr) *made = 0;
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("snowflake", snowflake));
    LOCUS_RETURN_IF_ERROR(NotNull("ids", ids));
    LOCUS_RETURN_IF_ERROR(NotNull("made", made));
    LOCUS_ASSIGN_OR_RETURN(*made, snowflake->ids->NextBatch(std::span(ids, count)));
    return absl::OkStatus();
  });
}

locus_code locus_snowflake_worker(const locus_snowflake* snowflake, uint64_t* worker,
                                  locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("snowflake", snowflake));
    LOCUS_RETURN_IF_ERROR(NotNull("worker", worker));
    *worker = snowflake->ids->worker();
    return absl::OkStatus();
  });
}

void locus_snowflake_close(locus_snowflake* snowflake) { delete snowflake; }
