// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_ANSWERS_H_
#define LOCUS_SRC_ENGINE_REDIS_ANSWERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/engine/redis/ceiling_protocol.h"
#include "src/engine/redis/connection.h"
#include "src/engine/redis/resp.h"

// Reads the replies of a server. Every possible shape of a reply is judged here, so users of the
// results need not check again. Pure; errors name no place.

namespace locus::redis {

constexpr size_t kSlots = 16384;

// Whether a server may name this host: 1 to 255 visible ASCII characters.
bool IsHost(std::string_view text);

// "MOVED 3999 127.0.0.1:6381", and the like with ASK. An empty host: that of `from`. nullopt: it is
// no redirection, or one to nowhere.
struct Redirect {
  bool ask = false;
  uint16_t slot = 0;
  RedisOptions::Address to;
};
std::optional<Redirect> ParseRedirect(const Reply& reply, const RedisOptions::Address& from);

// Reply to CLUSTER SLOTS: the masters and their slots. No slot comes twice. A node without a known
// host has that of `from`. FAILED_PRECONDITION: the reply has another shape.
struct SlotRange {
  uint16_t first = 0;
  uint16_t last = 0;
  RedisOptions::Address master;
};
absl::StatusOr<std::vector<SlotRange>> ReadSlots(const Reply& reply,
                                                 const RedisOptions::Address& from);

// Of SENTINEL get-master-addr-by-name. nullopt: it names none.
std::optional<RedisOptions::Address> ReadMasterAddress(const Reply& reply);

// Of the script `take`.
struct TakeAnswer {
  bool at_limit = false;  // nothing was taken; `last` is from an earlier call
  int64_t last = 0;       // the last number taken
  uint64_t version = 0;
};
// `restart`: the last number where the counter began with this call. nullopt: nothing that this
// script answers, or a number above `limit`.
std::optional<TakeAnswer> ReadTaken(const Reply& reply, int64_t span, int64_t restart,
                                    int64_t limit);

// Of the script `draw`. nullopt: nothing that this script answers.
std::optional<ceiling::Drawn> ReadDrawn(const Reply& reply, int64_t span, int64_t limit);

// The first texts of an answer after its word, for a message.
std::string TextsOf(const Reply& reply);

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_ANSWERS_H_
