// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_IDENTITY_SCRIPT_H_
#define LOCUS_SRC_ENGINE_REDIS_IDENTITY_SCRIPT_H_

namespace locus::redis {

// The head of scripts that notice the loss of what Redis stored.
//
//   identity()   the server's run, and its term as master; nil: it is a replica
//   no_master()  the error reply of a replica
inline constexpr char kIdentity[] = R"lua(
-- The run, and the term of a master that was a replica in this run. Not the replication id alone:
-- that also changes when the first replica comes or the last has been gone for an hour. Nil: of a
-- replica, which may take writes all the same.
local function identity()
  local replication = redis.call('INFO', 'replication')
  if not string.find(replication, 'role:master', 1, true) then return nil end
  local term = '-'
  if not string.find(replication, 'second_repl_offset:-1', 1, true) then
    term = string.match(replication, 'master_replid:(%x+)')
  end
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') .. ' ' .. term
end
local function no_master()
  return redis.error_reply('READONLY this is a replica, though it takes writes')
end
)lua";

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_IDENTITY_SCRIPT_H_
