// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_ERRORS_H_
#define LOCUS_SRC_ENGINE_REDIS_ERRORS_H_

#include "absl/status/status.h"
#include "locus/engine/redis.h"
#include "src/engine/redis/resp.h"

namespace locus::redis {

// OK unless `reply` is an error; the code as in redis.h. The server's text is escaped.
absl::Status StatusOf(const Reply& reply, const RedisOptions::Address& from);

// Whether the error says that this server takes no writes: it is, or became, a replica.
bool ShowsNoMaster(const Reply& reply);

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_ERRORS_H_
