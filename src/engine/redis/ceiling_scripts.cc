// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/ceiling_scripts.h"

#include "src/engine/redis/number_script.h"

namespace locus::redis {
namespace {

constexpr char kCeilingTools[] = R"lua(
local key = KEYS[1]
local replication = redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then
  return redis.error_reply('READONLY this is a replica, though it takes writes')
end
local master = string.match(replication, 'master_replid:(%x+)')
local held = redis.call('HMGET', key, 'master', 'life', 'version', 'value', 'ceiling', 'low', 'high')
local holder, life, version, value, ceiling = held[1], held[2], held[3], held[4], held[5]
local low, high = held[6], held[7]
if holder or life or version then
  local whole = holder and life and is_number(version)
  if whole and value then
    whole = is_number(value) and is_number(ceiling) and at_most(value, ceiling)
    if low or high then whole = whole and is_number(low) and is_number(high) end
  end
  if not whole then return {'bad', value or version or '', ceiling or ''} end
elseif redis.call('EXISTS', key) == 1 then
  return {'bad', 'a hash of other fields'}
end
local function counts(seen)
  return holder == master and at_most(seen, version)
end
local function written()
  return string.format('%.0f', redis.call('HINCRBY', key, 'version', '1'))
end
)lua";

constexpr char kDraw[] = R"lua(
local seen, new_life, span, room = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not counts(seen) then
  local first = born()
  if not at_most(seen, first) then first = seen end
  if version and not at_most(version, first) then first = version end
  redis.call('DEL', key)
  redis.call('HSET', key, 'master', master, 'life', new_life, 'version', first)
  written()
  return {'lost', new_life}
end
if not value then return {'lost', life} end
if not at_most(value, room) then return {'max', life, value} end
if not reaches(value, span, ceiling) then
  if low and not at_most(low, room) then return {'max', life, value} end
  if not (low and reaches(low, span, high)) then return {'short', life} end
  redis.call('HSET', key, 'value', low, 'ceiling', high)
  redis.call('HDEL', key, 'low', 'high')
  value, ceiling, low, high = low, high, false, false
end
redis.call('HINCRBY', key, 'value', span)
return {'ok', life, value, written(), ceiling, low or '', high or ''}
)lua";

constexpr char kInstall[] = R"lua(
local from, to, size = ARGV[2], ARGV[3], ARGV[4]
if not (holder == master and life == ARGV[1]) then return {'late'} end
if not value then
  redis.call('HSET', key, 'value', from, 'ceiling', to)
  written()
  return {'begun'}
end
local top = high or ceiling
if from == top then
  redis.call('HSET', key, high and 'high' or 'ceiling', to)
  return {'extended'}
end
if at_most(from, top) then return {'late'} end
if low and reaches(low, size, high) then return {'kept'} end
redis.call('HSET', key, 'low', from, 'high', to)
return {'next'}
)lua";

constexpr char kLook[] = R"lua(
if holder and value and counts(ARGV[1]) then return {'ok', value} end
return {'none'}
)lua";

constexpr char kSet[] = R"lua(
local seen, wanted, for_life, from, to = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not (holder and counts(seen)) then return {'lost'} end
if value then
  if not at_most(value, wanted) then return {'below', value} end
  if at_most(wanted, ceiling) then
    redis.call('HSET', key, 'value', wanted)
    written()
    return {'stored'}
  end
end
if for_life == '' or for_life ~= life then return {'short'} end
redis.call('HSET', key, 'value', at_most(wanted, from) and from or wanted, 'ceiling', to)
redis.call('HDEL', key, 'low', 'high')
written()
return {'stored'}
)lua";

constexpr char kPutBack[] = R"lua(
if not (holder and counts(ARGV[1])) then return {'kept'} end
if value ~= ARGV[2] or version ~= ARGV[3] then return {'kept'} end
redis.call('HSET', key, 'value', ARGV[4])
written()
return {'stored'}
)lua";

Script CeilingScript(const char* body) {
  return Script(std::string(kNumbers) + kCeilingTools + body);
}

}  // namespace

const CeilingScripts& CeilingScripts::Get() {
  static const auto& scripts =
      *new CeilingScripts{CeilingScript(kDraw), CeilingScript(kInstall), CeilingScript(kLook),
                          CeilingScript(kSet), CeilingScript(kPutBack)};
  return scripts;
}

}  // namespace locus::redis
