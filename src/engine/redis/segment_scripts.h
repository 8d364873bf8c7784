// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_SEGMENT_SCRIPTS_H_
#define LOCUS_SRC_ENGINE_REDIS_SEGMENT_SCRIPTS_H_

#include "src/engine/redis/client.h"

namespace locus::redis {

// The scripts of RedisSegmentStore, each on one space: a hash of
//   schema    1
//   options   section_size floor_epoch_us floor_rate max_lead
//   identity  run id of the server and its term as master, as of the last write
//   base, losses
//   <number>  of a section: head granted_at_us
// `now` is µs since 1970, '' for the server's own; each answer ends in the time that it took.
// Sequences are compared and added in units of 64, which doubles hold exactly up to 2^56.
struct SegmentScripts {
  static const SegmentScripts& Get();

  // now, caller_now, options -> ok | exists, options | clock
  Script create;
  // now -> ok, options, base, losses, (section, value)...
  Script show;
  // now, caller_now, options, (section, length, seen)... -> ok, base, lost?, (head before, first,
  // length)... | options, options | clock
  Script allocation;
  // now, caller_now, 1: a loss is declared, 0: base is raised to, sequence -> ok, base before, base
  // | clock
  Script raise;
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_SEGMENT_SCRIPTS_H_
