// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_ERRORS_H_
#define LOCUS_SRC_ENGINE_REDIS_ERRORS_H_

#include <optional>

#include "absl/status/status.h"
#include "locus/engine/redis.h"
#include "src/engine/redis/resp.h"

namespace locus::redis {

// OK unless `reply` is an error; the code as in redis.h.
absl::Status StatusOf(const Reply& reply, const RedisOptions::Address& from);

// "MOVED 3999 127.0.0.1:6381", and the like with ASK. An empty host: that of `from`.
struct Redirect {
  bool ask = false;
  uint16_t slot = 0;
  RedisOptions::Address to;
};
std::optional<Redirect> ParseRedirect(const Reply& reply, const RedisOptions::Address& from);

// Whether this server is not, or not any more, the one that writes.
bool ShowsNoMaster(const Reply& reply);

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_ERRORS_H_
