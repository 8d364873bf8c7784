// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_CEILING_STORE_H_
#define LOCUS_SRC_ENGINE_REDIS_CEILING_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "locus/engine/redis.h"
#include "src/base/run/mutex.h"
#include "src/engine/redis/ceiling_protocol.h"
#include "src/engine/redis/ceiling_scripts.h"
#include "src/engine/redis/client.h"
#include "src/engine/redis/servers.h"

namespace locus::redis {

// The two places a key of CeilingSequencer is kept in, by the words of the protocol.
// Thread safety: all methods may be called from any thread.
class CeilingStore {
 public:
  // `name` is prefix and key: Redis has it under `name`, the durable sequencer under the key.
  struct Name {
    std::string redis;
    std::string key;
  };
  CeilingStore(std::unique_ptr<Client> client, std::shared_ptr<Sequencer> durable)
      : client_(std::move(client)), durable_(std::move(durable)) {}

  Name NameOf(const std::string& name, size_t prefix_size) const;

  absl::StatusOr<ceiling::Drawn> Draw(const Name& name, const ceiling::DrawRequest& request);
  // Of at least `least` numbers, and `wanted` where there are so many.
  absl::StatusOr<ceiling::Block> Raise(const Name& name, int64_t least, int64_t wanted);
  absl::Status Install(const Name& name, const std::string& life, const ceiling::Block& block);

  // The last number given out, of a life that counts.
  absl::StatusOr<std::optional<int64_t>> Look(const Name& name, uint64_t seen);
  enum class SetTo { kStored, kBelow, kShort, kLost };
  // `block`: if the numbers up to the ceiling do not reach so far.
  absl::StatusOr<SetTo> Set(const Name& name, uint64_t seen, int64_t value, const std::string& life,
                            const std::optional<ceiling::Block>& block);
  absl::StatusOr<bool> PutBack(const Name& name, uint64_t seen, int64_t last, uint64_t version,
                               int64_t value);

  Client& client() { return *client_; }
  Sequencer& durable() { return *durable_; }

 private:
  absl::Status Spoilt(const Name& name, const Reply& reply) const;

  const std::unique_ptr<Client> client_;
  const std::shared_ptr<Sequencer> durable_;
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_CEILING_STORE_H_
