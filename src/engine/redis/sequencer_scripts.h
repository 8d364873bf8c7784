// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_SEQUENCER_SCRIPTS_H_
#define LOCUS_SRC_ENGINE_REDIS_SEQUENCER_SCRIPTS_H_

#include "src/engine/redis/client.h"

namespace locus::redis {

// The scripts of RedisSequencer, each on one key: a hash of `value` and `version`. If these are no
// numbers, the answer is "bad" and their texts. The last three arguments of each script are the ttl
// in ms (0 for none), and Wall and Earlier of internal::CallersClock, in ms since 1970.
//
// With a ttl the hash has `until`, "<version>:<ms>": once the server's clock and the caller's
// earlier one have both reached it, the counter is unknown. It counts for the version that it
// names: earlier builds know only value and version. The key expires by a margin later, the ttl and
// at least an hour. If there is no key, and the server's clock is ahead of the caller's by more
// than the margin, it may have expired early: the answer is "ahead", and both clocks. Only a Set
// begins it then.
struct SequencerScripts {
  static const SequencerScripts& Get();

  Script take;   // span, the highest value that leaves room for it, wraps?, where it begins again
  Script store;  // value, only a new key?
  Script load;   // no others
  Script put_back;  // value and version as they must be, value
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_SEQUENCER_SCRIPTS_H_
