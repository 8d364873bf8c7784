// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/sequencer_scripts.h"

#include "src/engine/redis/number_script.h"

namespace locus::redis {
namespace {

constexpr char kSequencerTools[] = R"lua(
local key = KEYS[1]
local ttl, caller = tonumber(ARGV[#ARGV - 2]), tonumber(ARGV[#ARGV - 1])
local earlier = tonumber(ARGV[#ARGV])
local margin = math.max(ttl, 3600000)
local held = redis.call('HMGET', key, 'value', 'version', 'until')
local value, version = held[1], held[2]
local function decimal(n) return string.format('%.0f', n) end
local function now_ms()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end
if value or version then
  if not (is_number(value) and is_number(version)) then
    return {'bad', value or '', version or ''}
  end
elseif redis.call('EXISTS', key) == 1 then
  return {'bad', 'a hash of other fields'}
end
-- A version that is not the counter's: an earlier build has written it since.
local of, till = string.match(held[3] or '', '^(%d+):(%d+)$')
if of == version and tonumber(till) <= math.min(now_ms(), earlier) then
  value, version = false, false
end
local known = value
local ends = known and of == version and tonumber(till)
local function risen() return decimal(redis.call('HINCRBY', key, 'version', '1')) end
-- Others may hold numbers of a counter that stays by a longer ttl: its end never comes nearer.
local function stay(of_version, anew)
  -- A key of an earlier build expires without `until`.
  local for_good = known and not ends and redis.call('PERSIST', key) == 0
  if ttl == 0 or (for_good and not anew) then
    if held[3] then redis.call('HDEL', key, 'until') end
    redis.call('PERSIST', key)
  else
    -- From the later clock on: the other one may be set right.
    local now = now_ms()
    local till_then = math.max(now, caller) + ttl
    if ends and not anew then till_then = math.max(till_then, ends) end
    redis.call('HSET', key, 'until', of_version .. ':' .. decimal(till_then))
    redis.call('PEXPIRE', key, decimal(till_then - now + margin))
  end
end
-- The clocks, where the key is not there and this may be why.
local function gone()
  if value or held[1] or ttl == 0 then return end
  local now = now_ms()
  if now - earlier > margin then return {'ahead', decimal(now), decimal(earlier)} end
end
)lua";

constexpr char kTake[] = R"lua(
local word = 'ok'
if not value then
  local clocks = gone()
  if clocks then return clocks end
  word, value, version = 'new', '0', born()
  redis.call('HSET', key, 'value', ARGV[4], 'version', version)
elseif at_most(value, ARGV[2]) then
  redis.call('HINCRBY', key, 'value', ARGV[1])
  version = risen()
elseif ARGV[3] == '1' then
  word = 'wrap'
  redis.call('HSET', key, 'value', ARGV[4])
  version = risen()
else
  return {'max', value, version}
end
stay(version)
return {word, value, version}
)lua";

constexpr char kStore[] = R"lua(
local only_new = ARGV[2] == '1'
if value and only_new then
  if ttl ~= 0 then stay(version) end
  return {'kept'}
end
if value then
  redis.call('HSET', key, 'value', ARGV[1])
  version = risen()
else
  local clocks = only_new and gone()
  if clocks then return clocks end
  version = born()
  redis.call('HSET', key, 'value', ARGV[1], 'version', version)
end
stay(version, true)
return {'stored'}
)lua";

constexpr char kLoad[] = R"lua(
if not value then return gone() or {'none'} end
if ttl ~= 0 then stay(version) end
return {'ok', value}
)lua";

constexpr char kPutBack[] = R"lua(
if value ~= ARGV[1] or version ~= ARGV[2] then return {'kept'} end
redis.call('HSET', key, 'value', ARGV[3])
stay(risen())
return {'stored'}
)lua";

Script SequencerScript(const char* body) {
  return Script(std::string(kNumbers) + kSequencerTools + body);
}

}  // namespace

const SequencerScripts& SequencerScripts::Get() {
  static const auto& scripts =
      *new SequencerScripts{SequencerScript(kTake), SequencerScript(kStore), SequencerScript(kLoad),
                            SequencerScript(kPutBack)};
  return scripts;
}

}  // namespace locus::redis
