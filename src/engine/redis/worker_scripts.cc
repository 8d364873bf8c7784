// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/worker_scripts.h"

#include "absl/strings/str_cat.h"
#include "src/engine/redis/identity_script.h"

namespace locus::redis {
namespace {

// A time is a number, or -math.huge. `spoilt` is set to a stored text that cannot be.
constexpr char kTools[] = R"lua(
local key, now, spoilt = KEYS[1], nil, nil
local function set_now(given)
  if given ~= '' then now = tonumber(given) return end
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local function time_of(text)
  if text == '-' then return -math.huge end
  if #text <= 15 and string.find(text, '^%d+$') then return tonumber(text) end
end
local function digits(n) return string.format('%d', n) end
local function time_text(time)
  if time == -math.huge then return '-' end
  return digits(time)
end
local function read(text)
  local token, floor, ceiling, granted, renewed, nonce, holder =
    string.match(text, '^(%d+) (%S+) (%S+) (%d+) (%d+) (%S*) (.*)$')
  local r = token and {token = tonumber(token), floor = time_of(floor), ceiling = time_of(ceiling),
                       granted = granted, renewed = renewed, nonce = nonce, holder = holder}
  if not (r and r.token > 0 and r.token < 2 ^ 53 and r.floor and r.ceiling) then
    spoilt = text
    return nil
  end
  return r
end
local function record_of(worker)
  local text = redis.call('HGET', key, worker)
  return text and read(text)
end
local function text_of(r)
  return table.concat({digits(r.token), time_text(r.floor), time_text(r.ceiling), r.granted,
                       r.renewed, r.nonce, r.holder}, ' ')
end
local function write(worker, r) redis.call('HSET', key, worker, text_of(r)) end
local function refused(r) return {'refused', r and text_of(r) or '', digits(now or 0)} end
local head = redis.call('HMGET', key, 'schema', 'identity', 'rest_until', 'longest', 'losses')
local schema = head[1]
if schema and schema ~= '1' then return {'schema', schema} end
local rest, longest, losses = -math.huge, 0, 0
if schema then
  rest, longest, losses = time_of(head[3] or ''), tonumber(head[4] or ''), tonumber(head[5] or '')
  if not (head[2] and rest and longest and losses) then return {'bad', head[3] or ''} end
elseif redis.call('EXISTS', key) == 1 then
  return {'bad', 'a hash of other fields'}
end
local function write_space(id)
  redis.call('HSET', key, 'schema', '1', 'identity', id, 'rest_until', time_text(rest),
             'longest', digits(longest), 'losses', digits(losses))
end
)lua";

// For `acquire` and `renew`, which begin with the same arguments.
constexpr char kGrants[] = R"lua(
set_now(ARGV[1])
local whole, nonce, holder = tonumber(ARGV[3]), ARGV[5], ARGV[6]
if math.abs(tonumber(ARGV[2]) - now) > tonumber(ARGV[4]) then return {'clock', digits(now)} end
local id = identity()
if not id then return no_master() end
local lost = false
local function note_loss()
  longest = math.max(longest, whole)
  rest = math.max(rest, now + longest)
  losses = losses + 1
  lost = true
end
if schema and id ~= head[2] then
  note_loss()
  write_space(id)
end
local function granted(worker, r)
  r.ceiling = math.max(r.ceiling, now + whole)
  r.renewed = digits(now)
  if lost or not schema or whole > longest then
    longest = math.max(longest, whole)
    write_space(id)
  end
  write(worker, r)
  return {'ok', worker, digits(r.token), time_text(r.floor), digits(r.ceiling),
          lost and '1' or '0', r.renewed}
end
)lua";

constexpr char kOfASpace[] = R"lua(
if not schema then return {'none'} end
)lua";

constexpr char kCreateWorkers[] = R"lua(
set_now(ARGV[1])
local id = identity()
if not id then return no_master() end
local for_ms, lost = tonumber(ARGV[2]), ARGV[3] == '1'
local ends = schema and for_ms == 0 and losses == 0 and rest >= now
if ends then rest = -math.huge end
if lost then losses = losses + 1 end
if for_ms > 0 and (lost or not schema) then rest = math.max(rest, now + for_ms) end
-- The identity last seen stays, so that a loss that nobody noticed is noticed.
if lost or ends or not schema then write_space(schema and head[2] or id) end
return {'ok'}
)lua";

constexpr char kAcquire[] = R"lua(
local held, next_free, looks = tonumber(ARGV[8]), tonumber(ARGV[9]), MOST_LOOKS
local worker, found = nil, nil
local function search(first, last)
  local step = 16
  while first <= last and looks > 0 do
    local n = math.min(last - first + 1, step, looks)
    local ids = {}
    for i = 1, n do ids[i] = digits(first + i - 1) end
    local texts = redis.call('HMGET', key, unpack(ids))
    for i = 1, n do
      local ceiling, by
      if texts[i] then
        ceiling, by = string.match(texts[i], '^%d+ %S+ (%S+) %d+ %d+ (%S*) ')
        ceiling = ceiling and time_of(ceiling)
        if not ceiling then
          spoilt = texts[i]
          return
        end
      end
      if not ceiling or ceiling < now or by == nonce then
        worker, found = ids[i], texts[i] and read(texts[i])
        return
      end
      if by ~= '' then held = held + 1 end
      next_free = math.min(next_free, ceiling)
    end
    looks, first, step = looks - n, first + n, math.min(step * 4, 1000)
  end
  return first
end
if ARGV[7] ~= '' then
  search(tonumber(ARGV[7]), tonumber(ARGV[7]))
  if not worker then held = tonumber(ARGV[8]) end
end
for i = 10, #ARGV, 2 do
  if worker or spoilt then break end
  local upto = search(tonumber(ARGV[i]), tonumber(ARGV[i + 1]))
  if upto and upto <= tonumber(ARGV[i + 1]) then
    return {'more', digits((i - 10) / 2), digits(upto), digits(held), digits(next_free)}
  end
end
if spoilt then return {'bad', spoilt} end
if not worker then return {'taken', digits(held), digits(next_free), digits(now)} end
if found and found.nonce == nonce and found.ceiling >= now then
  return granted(worker, found)
end
if rest >= now then return {'rests', digits(rest), digits(now)} end
local r = {token = now, floor = rest, ceiling = -math.huge, granted = digits(now), nonce = nonce,
           holder = holder}
if found then
  r.token = math.max(now, found.token + 1)
  r.floor = math.max(rest, found.ceiling)
  r.ceiling = found.ceiling
end
return granted(worker, r)
)lua";

constexpr char kRenew[] = R"lua(
local worker, token, ceiling = ARGV[7], tonumber(ARGV[8]), time_of(ARGV[9])
local r = schema and record_of(worker)
if spoilt then return {'bad', spoilt} end
if r and r.token > token then
  if r.floor < ceiling then
    note_loss()
    write_space(id)
  end
  return refused(r)
end
local known = r and r.token == token
if known and r.nonce ~= nonce then return refused(r) end
local highest = known and math.max(r.ceiling, ceiling) or ceiling
if highest < now then return refused(known and r) end
if not known or r.ceiling < ceiling then note_loss() end
if not known then
  r = {token = token, floor = -math.huge, granted = digits(now), nonce = nonce}
end
r.ceiling = highest
r.holder = holder
return granted(worker, r)
)lua";

constexpr char kRelease[] = R"lua(
if not identity() then return no_master() end
local r = record_of(ARGV[1])
if spoilt then return {'bad', spoilt} end
local token = tonumber(ARGV[2])
if not r or r.token < token then return {'ok'} end
if r.token > token then return refused(r) end
if r.nonce == '' then return {'ok'} end
if ARGV[4] ~= '' and r.nonce ~= ARGV[4] then return refused(r) end
r.nonce = ''
r.ceiling = math.min(r.ceiling, math.max(time_of(ARGV[3]), r.floor))
write(ARGV[1], r)
return {'ok'}
)lua";

constexpr char kShowWorkers[] = R"lua(
set_now(ARGV[1])
local page = redis.call('HSCAN', key, ARGV[2], 'COUNT', 500)
local answer = {'ok', page[1], time_text(rest), digits(losses), digits(now)}
for i = 1, #page[2], 2 do
  if string.find(page[2][i], '^%d+$') then
    answer[#answer + 1] = page[2][i]
    answer[#answer + 1] = page[2][i + 1]
  end
end
return answer
)lua";

}  // namespace

const WorkerScripts& WorkerScripts::Get() {
  auto make = [](const auto&... pieces) {
    return Script(absl::StrCat(kIdentity, kTools, pieces...));
  };
  static const auto& scripts = *new WorkerScripts{
      make(kCreateWorkers),
      make(kOfASpace, kGrants, absl::StrCat("local MOST_LOOKS = ", kMostLooks, "\n"), kAcquire),
      make(kGrants, kRenew), make(kOfASpace, kRelease), make(kOfASpace, kShowWorkers)};
  return scripts;
}

}  // namespace locus::redis
