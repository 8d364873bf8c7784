// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_CEILING_SCRIPTS_H_
#define LOCUS_SRC_ENGINE_REDIS_CEILING_SCRIPTS_H_

#include "src/engine/redis/client.h"

namespace locus::redis {

// The scripts of CeilingSequencer, each on one key: a hash of master, life, version and, once the
// life has a block, value, ceiling and perhaps low and high of the next block (ceiling_protocol.h).
// The role and the replication id are read inside each script: a connection outlives a change of
// roles, and a replica has the id of its master.
struct CeilingScripts {
  static const CeilingScripts& Get();

  // seen, new life, span, room -> ok, life, value before, version, ceiling, low, high
  //                               max, life, value | short, life | lost, life
  Script draw;
  // life, low, high, high - low -> begun, extended, next, kept, late
  Script install;
  // seen -> ok, value | none
  Script look;
  // seen, value, life, low, high ('' each: no block) -> stored | below, value | short | lost
  Script set;
  // seen, value and version as they must be, value -> stored | kept
  Script put_back;
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_CEILING_SCRIPTS_H_
