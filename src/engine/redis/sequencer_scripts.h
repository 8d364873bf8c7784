// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_SEQUENCER_SCRIPTS_H_
#define LOCUS_SRC_ENGINE_REDIS_SEQUENCER_SCRIPTS_H_

#include "src/engine/redis/client.h"

namespace locus::redis {

// What RedisSequencer does, each on one key: a hash of `value` and `version`. Where they are no
// numbers the answer is "bad", and they themselves.
struct SequencerScripts {
  static const SequencerScripts& Get();

  Script take;      // span, the highest value that leaves room for it, wraps?, ttl in ms (0: none)
  Script store;     // value, only a new key?, ttl
  Script load;      // ttl
  Script put_back;  // value and version as they must be, value, ttl
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_SEQUENCER_SCRIPTS_H_
