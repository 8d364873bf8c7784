// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/segment_scripts.h"

#include "src/engine/redis/identity_script.h"

namespace locus::redis {
namespace {

// A sequence is {u, r}: 64 u + r. In decimal it is split nine digits before its end, since 10^9 is
// a multiple of 64.
constexpr char kSegmentTools[] = R"lua(
local key, now = KEYS[1], ARGV[1]
if now == '' then
  local time = redis.call('TIME')
  now = time[1] .. string.format('%06d', tonumber(time[2]))
end
local UNITS = 15625000
local END = 2 ^ 50
local function sequence(text)
  local high = tonumber(string.sub(text, 1, -10)) or 0
  local low = tonumber(string.sub(text, -9))
  return {high * UNITS + math.floor(low / 64), low % 64}
end
local function text(s)
  local high, low = math.floor(s[1] / UNITS), (s[1] % UNITS) * 64 + s[2]
  if high == 0 then return string.format('%d', low) end
  return string.format('%d%09d', high, low)
end
local function more(a, b) return a[1] > b[1] or (a[1] == b[1] and a[2] > b[2]) end
local function max(a, b) if more(b, a) then return b else return a end end
local function up(s) if s[2] > 0 then return s[1] + 1 else return s[1] end end
local function parse(options)
  local size, epoch, rate, lead = string.match(options, '^(%d+) (%d+) (%d+) (%d+)$')
  return {epoch = epoch, rate = tonumber(rate), lead = tonumber(lead) / 64}
end
-- a - b of two times, in µs: exact up to 285 years.
local function between(a, b)
  local seconds = (tonumber(string.sub(a, 1, -7)) or 0) - (tonumber(string.sub(b, 1, -7)) or 0)
  return seconds * 1000000 + tonumber(string.sub(a, -6)) - tonumber(string.sub(b, -6))
end
-- The floor at `us` after now; exact while it is below 2^53.
local function floor(o, us)
  local past = between(now, o.epoch) + us
  local s, f = math.floor(past / 1000000), past % 1000000
  if s < 0 then return {0, 0} end
  local n = s * o.rate + math.floor(f * o.rate / 1000000)
  if n >= 2 ^ 56 then return {END, 0} end
  return {math.floor(n / 64), n % 64}
end
local function after_loss(o, base, at_least)
  local b = max(base, floor(o, 120000000))
  b = max({b[1] + o.lead, b[2]}, at_least)
  if b[1] >= END then return {END, 0} end
  return b
end
local function bad_clock(o, caller)
  return math.abs(between(caller, now)) > 60000000 or between(now, o.epoch) < 0
end
local head = redis.call('HMGET', key, 'schema', 'options', 'identity', 'base', 'losses')
local schema, options, seen_identity, base, losses = head[1], head[2], head[3], head[4], head[5]
if schema and schema ~= '1' then return {'schema', schema} end
if schema then
  if not (options and string.match(options, '^%d+ %d+ %d+ %d+$') and seen_identity and base and
      string.match(base, '^%d+$') and #base <= 17 and losses and string.match(losses, '^%d+$')) then
    return {'bad', base or ''}
  end
elseif redis.call('EXISTS', key) == 1 then
  return {'bad', 'a hash of other fields'}
end
)lua";

constexpr char kCreateSpace[] = R"lua(
if schema then return {'exists', options} end
local o = parse(ARGV[3])
if bad_clock(o, ARGV[2]) then return {'clock', now} end
base = after_loss(o, {0, 0}, {0, 0})
local id = identity()
if not id then return no_master() end
redis.call('HSET', key, 'schema', '1', 'options', ARGV[3], 'identity', id,
           'base', text(base), 'losses', '1')
return {'ok', now}
)lua";

constexpr char kShowSpace[] = R"lua(
if not schema then return {'none'} end
local answer = {'ok', options, base, losses}
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  if string.match(all[i], '^%d+$') then
    answer[#answer + 1] = all[i]
    answer[#answer + 1] = all[i + 1]
  end
end
answer[#answer + 1] = now
return answer
)lua";

constexpr char kAllocate[] = R"lua(
if not schema then return {'none'} end
if options ~= ARGV[3] then return {'options', options} end
local o = parse(options)
if bad_clock(o, ARGV[2]) then return {'clock', now} end
base = sequence(base)
local heads, lost_up_to = {}, {0, 0}
for i = 4, #ARGV, 3 do
  local stored = redis.call('HGET', key, ARGV[i])
  local n = stored and string.match(stored, '^(%d+) %d+$')
  if stored and (not n or #n > 17 or tonumber(string.sub(n, -6)) % 64 ~= 0) then
    return {'bad', stored}
  end
  heads[i] = sequence(n or '0')
  local seen = sequence(ARGV[i + 2])
  if more(seen, base) and more(seen, heads[i]) then lost_up_to = max(lost_up_to, seen) end
end
local id = identity()
if not id then return no_master() end
local lost = id ~= seen_identity or lost_up_to[1] + lost_up_to[2] > 0
if lost then
  base = after_loss(o, base, lost_up_to)
  redis.call('HSET', key, 'base', text(base), 'identity', id)
  redis.call('HINCRBY', key, 'losses', '1')
end
local fl = floor(o, 0)
local top = math.min(max(fl, base)[1] + o.lead, END)
local function longest(first, limit, wanted)
  if limit < first + 1 then return 0 end
  local fit = 1
  while fit * 2 <= limit - first do fit = fit * 2 end
  return math.min(wanted, fit)
end
local answer = {'ok', text(base), lost and '1' or '0'}
for i = 4, #ARGV, 3 do
  local first = math.max(heads[i][1], up(sequence(ARGV[i + 2])), up(fl), up(base))
  local wanted, length = sequence(ARGV[i + 1])[1], 0
  if wanted > 64 then length = longest(first, top - o.lead / 8, wanted) end
  if length <= 64 then length = longest(first, top, math.min(wanted, 64)) end
  answer[#answer + 1] = text(heads[i])
  answer[#answer + 1] = text({first, 0})
  answer[#answer + 1] = text({length, 0})
  if length > 0 then
    redis.call('HSET', key, ARGV[i], text({first + length, 0}) .. ' ' .. now)
  end
end
answer[#answer + 1] = now
return answer
)lua";

constexpr char kRaiseSpace[] = R"lua(
if not schema then return {'none'} end
local o = parse(options)
if bad_clock(o, ARGV[2]) then return {'clock', now, options} end
local id = identity()
if not id then return no_master() end
local lost = ARGV[3] == '1' or id ~= seen_identity
local before = base
base = sequence(base)
if lost then
  base = after_loss(o, base, {0, 0})
  redis.call('HINCRBY', key, 'losses', '1')
end
base = max(base, sequence(ARGV[4]))
redis.call('HSET', key, 'base', text(base), 'identity', id)
return {'ok', before, text(base), now}
)lua";

Script SegmentScript(const char* body) {
  return Script(std::string(kIdentity) + kSegmentTools + body);
}

}  // namespace

const SegmentScripts& SegmentScripts::Get() {
  static const auto& scripts =
      *new SegmentScripts{SegmentScript(kCreateSpace), SegmentScript(kShowSpace),
                          SegmentScript(kAllocate), SegmentScript(kRaiseSpace)};
  return scripts;
}

}  // namespace locus::redis
