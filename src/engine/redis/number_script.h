// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_NUMBER_SCRIPT_H_
#define LOCUS_SRC_ENGINE_REDIS_NUMBER_SCRIPT_H_

#include <optional>
#include <string>
#include <string_view>

#include "src/base/text/text.h"
#include "src/engine/redis/resp.h"

namespace locus::redis {

// The head of scripts that compare numbers up to 2^63 - 1. Lua's numbers are doubles, exact to 2^53
// only: so numbers stay strings of decimal digits, are compared in halves and added to by HINCRBY.
//
//   halves(s)        the digits before the last nine, and the last nine
//   is_number(s)     whether s is 0 to 2^63 - 1 in canonical decimal
//   at_most(a, b)    a <= b
//   reaches(a, n, b) a + n <= b
//   born()           the version that a key begins with: µs since 1970, which is above every
//   version
//                    that the key had before it was deleted
inline constexpr char kNumbers[] = R"lua(
local function halves(s)
  return tonumber(string.sub(s, 1, -10)) or 0, tonumber(string.sub(s, -9))
end
local function at_most(a, b)
  if #a ~= #b then return #a < #b end
  local ah, al = halves(a)
  local bh, bl = halves(b)
  return ah < bh or (ah == bh and al <= bl)
end
local function is_number(s)
  return s and #s <= 19 and string.find(s, '^%d+$') and (#s == 1 or string.byte(s) ~= 48)
    and (#s < 19 or at_most(s, '9223372036854775807'))
end
local function reaches(a, n, b)
  local ah, al = halves(a)
  local nh, nl = halves(n)
  local bh, bl = halves(b)
  local h, l = ah + nh, al + nl
  if l >= 1000000000 then h, l = h + 1, l - 1000000000 end
  return h < bh or (h == bh and l <= bl)
end
local function born()
  local now = redis.call('TIME')
  return now[1] .. string.format('%06d', tonumber(now[2]))
end
)lua";

// The number at `i` of a script's answer. nullopt: there is none from 0 to 2^63 - 1.
inline std::optional<int64_t> NumberIn(const Reply& reply, size_t i) {
  if (i >= reply.elements.size() || reply.elements[i].kind != Reply::Kind::kText) {
    return std::nullopt;
  }
  auto number = internal::ParseDecimal(reply.elements[i].text, INT64_MAX);
  return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

// The text at `i` of a script's answer; empty: there is none.
inline std::string_view TextAt(const Reply& reply, size_t i) {
  return i < reply.elements.size() ? std::string_view(reply.elements[i].text) : std::string_view();
}

// The word with which a script's answer begins; empty: there is none.
inline std::string_view WordOf(const Reply& reply) { return TextAt(reply, 0); }

// Whether one of our scripts can have answered this: a word and then texts, of which some may be
// missing. Nothing that reads an answer needs to look for arrays in it.
inline bool IsScriptAnswer(const Reply& reply) {
  if (reply.kind != Reply::Kind::kArray || WordOf(reply).empty()) return false;
  for (const Reply& element : reply.elements) {
    if (element.kind != Reply::Kind::kText && element.kind != Reply::Kind::kNil) return false;
  }
  return true;
}

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_NUMBER_SCRIPT_H_
