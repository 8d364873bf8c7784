// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/sequencer_scripts.h"

#include "src/engine/redis/number_script.h"

namespace locus::redis {
namespace {

constexpr char kSequencerTools[] = R"lua(
local key = KEYS[1]
local function stay(ttl)
  if ttl == '0' then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, ttl) end
end
local held = redis.call('HMGET', key, 'value', 'version')
local value, version = held[1], held[2]
if value or version then
  if not (is_number(value) and is_number(version)) then
    return {'bad', value or '', version or ''}
  end
elseif redis.call('EXISTS', key) == 1 then
  return {'bad', 'a hash of other fields'}
end
)lua";

constexpr char kTake[] = R"lua(
local word = 'ok'
if not value then
  word, value, version = 'new', '0', born()
  redis.call('HSET', key, 'value', ARGV[5], 'version', version)
elseif at_most(value, ARGV[2]) then
  redis.call('HINCRBY', key, 'value', ARGV[1])
  version = redis.call('HINCRBY', key, 'version', '1')
elseif ARGV[3] == '1' then
  word = 'wrap'
  redis.call('HSET', key, 'value', ARGV[5])
  version = redis.call('HINCRBY', key, 'version', '1')
else
  return {'max', value, version}
end
stay(ARGV[4])
return {word, value, string.format('%.0f', version)}
)lua";

constexpr char kStore[] = R"lua(
if value and ARGV[2] == '1' then
  if ARGV[3] ~= '0' then stay(ARGV[3]) end
  return {'kept'}
end
if value then
  redis.call('HSET', key, 'value', ARGV[1])
  redis.call('HINCRBY', key, 'version', '1')
else
  redis.call('HSET', key, 'value', ARGV[1], 'version', born())
end
stay(ARGV[3])
return {'stored'}
)lua";

constexpr char kLoad[] = R"lua(
if not value then return {'none'} end
if ARGV[1] ~= '0' then stay(ARGV[1]) end
return {'ok', value}
)lua";

constexpr char kPutBack[] = R"lua(
if value ~= ARGV[1] or version ~= ARGV[2] then return {'kept'} end
redis.call('HSET', key, 'value', ARGV[3])
redis.call('HINCRBY', key, 'version', '1')
stay(ARGV[4])
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
