// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_WORKER_SCRIPTS_H_
#define LOCUS_SRC_ENGINE_REDIS_WORKER_SCRIPTS_H_

#include "src/engine/redis/client.h"

namespace locus::redis {

// The scripts of RedisWorkerLeaseStore, each on one space: a hash of
//   schema    1
//   identity  run id of the server and its term as master, as of the last grant
//   rest_until, longest, losses
//   <number>  of a worker ID: token floor ceiling granted_at renewed_at nonce holder
// Times are ms since 1970, or '-' for none; `now` '' is the server's own. The rules are those of
// src/worker/worker_rules.h.
//
// Lua's numbers are doubles, exact to 2^53. Worker IDs are below 2^32. Times are below 2^48 (the
// year 9999), and each sum is one of a time and at most 50 h. Tokens: the engine sends none above
// 2^52, and a grant's token is the clock or one more than the last; 2^52 grants later, at a million
// a second in 142 years, a token of 2^53 is refused as spoilt.
//
// Cost: `acquire` looks at the records from its start on until the first free ID, at most
// kMostLooks of them, in HMGETs of up to 1,000; the size of the range costs nothing. A range with
// more held IDs in a row is searched by several calls. `renew` and `release` read one record.
struct WorkerScripts {
  static constexpr int kMostLooks = 1024;
  static const WorkerScripts& Get();

  // now, rest in ms -> ok
  Script create;
  // now, caller_now, ttl + max_skew, max_skew, nonce, holder, preferred or '', held and next_free
  // of the calls before, (first, last)... -> ok, worker, token, floor, ceiling, loss noticed?, now
  // | clock, now | rests, rest_until, now | taken, held, next_free, now | more, number of the run,
  // first of the rest, held, next_free
  Script acquire;
  // now, caller_now, ttl + max_skew, max_skew, nonce, holder, worker, token, ceiling -> ok as
  // above | clock, now | refused, record or '', now
  Script renew;
  // worker, token, last_used, nonce or '' -> ok | refused, record
  Script release;
  // now, cursor -> ok, cursor, rest_until, losses, now, (worker, record)...
  Script show;
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_WORKER_SCRIPTS_H_
