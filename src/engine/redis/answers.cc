// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/answers.h"

#include <algorithm>
#include <bitset>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/engine/redis/number_script.h"

namespace locus::redis {

using internal::ParseDecimal;
using internal::ToAbsl;

namespace {

constexpr size_t kLongestHost = 255;
// The scripts copy a life unchanged; ours has 16 digits.
constexpr size_t kLongestLife = 64;

std::optional<uint16_t> SlotIn(const Reply& reply) {
  bool fits = reply.kind == Reply::Kind::kInteger && reply.integer >= 0 &&
              reply.integer < static_cast<int64_t>(kSlots);
  return fits ? std::optional(static_cast<uint16_t>(reply.integer)) : std::nullopt;
}

// A node of CLUSTER SLOTS: host, port, and more that is not needed.
std::optional<Address> NodeIn(const Reply& node, const Address& from) {
  if (node.elements.size() < 2) return std::nullopt;
  const Reply& host = node.elements[0];
  const Reply& port = node.elements[1];
  if (port.kind != Reply::Kind::kInteger || port.integer < 1 || port.integer > 65535) {
    return std::nullopt;
  }
  bool unknown = host.kind == Reply::Kind::kNil ||
                 (host.kind == Reply::Kind::kText && (host.text.empty() || host.text == "?"));
  std::string name = unknown ? from.host : host.text;
  if (!IsHost(name)) return std::nullopt;
  return Address{name, static_cast<uint16_t>(port.integer)};
}

absl::Status NotSlots(std::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("the answer to CLUSTER SLOTS cannot be: ", ToAbsl(what)));
}

}  // namespace

bool IsHost(std::string_view text) {
  bool visible = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  return visible && !text.empty() && text.size() <= kLongestHost;
}

std::optional<Redirect> ParseRedirect(const Reply& reply, const Address& from) {
  Redirect redirect;
  redirect.ask = reply.IsError("ASK");
  if (!redirect.ask && !reply.IsError("MOVED")) return std::nullopt;
  std::string_view rest = reply.text;
  rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  size_t space = rest.find(' '), colon = rest.rfind(':');
  if (space == rest.npos || colon == rest.npos || colon < space) return std::nullopt;
  auto slot = ParseDecimal(rest.substr(0, space), kSlots - 1);
  std::string_view port_text = rest.substr(colon + 1);
  auto port = ParseDecimal(port_text.substr(0, port_text.find('@')), 65535);
  if (!slot || !port || *port == 0) return std::nullopt;
  redirect.slot = static_cast<uint16_t>(*slot);
  redirect.to.host = std::string(rest.substr(space + 1, colon - space - 1));
  if (redirect.to.host.empty() || redirect.to.host == "?") redirect.to.host = from.host;
  redirect.to.port = static_cast<uint16_t>(*port);
  return IsHost(redirect.to.host) ? std::optional(redirect) : std::nullopt;
}

absl::StatusOr<std::vector<SlotRange>> ReadSlots(const Reply& reply, const Address& from) {
  if (reply.kind != Reply::Kind::kArray) return NotSlots("it is not an array");
  std::bitset<kSlots> named;
  std::vector<SlotRange> ranges;
  for (const Reply& range : reply.elements) {
    if (range.elements.size() < 3) return NotSlots("a range names no node");
    std::optional<uint16_t> first = SlotIn(range.elements[0]), last = SlotIn(range.elements[1]);
    if (!first || !last || *first > *last) return NotSlots("a range has no slots");
    std::optional<Address> master = NodeIn(range.elements[2], from);
    if (!master) return NotSlots("a master has no host and port");
    for (size_t slot = *first; slot <= *last; ++slot) {
      if (named[slot]) return NotSlots(absl::StrCat("slot ", slot, " comes twice"));
      named.set(slot);
    }
    ranges.push_back({*first, *last, *std::move(master)});
  }
  return ranges;
}

std::optional<Address> ReadMasterAddress(const Reply& reply) {
  if (reply.elements.size() != 2 || reply.elements[0].kind != Reply::Kind::kText ||
      reply.elements[1].kind != Reply::Kind::kText || !IsHost(reply.elements[0].text)) {
    return std::nullopt;
  }
  auto port = ParseDecimal(reply.elements[1].text, 65535);
  if (!port || *port == 0) return std::nullopt;
  return Address{reply.elements[0].text, static_cast<uint16_t>(*port)};
}

std::optional<TakeAnswer> ReadTaken(const Reply& reply, int64_t span, int64_t restart,
                                    int64_t limit) {
  std::string_view word = WordOf(reply);
  std::optional<int64_t> current = NumberIn(reply, 1), version = NumberIn(reply, 2);
  if (!current || !version) return std::nullopt;
  TakeAnswer answer{word == "max", *current, static_cast<uint64_t>(*version)};
  if (answer.at_limit) return answer;
  if (word == "new" || word == "wrap") {
    answer.last = restart;
    return answer;
  }
  if (word != "ok" || span > limit || *current > limit - span) return std::nullopt;
  answer.last = *current + span;
  return answer;
}

std::optional<ceiling::Drawn> ReadDrawn(const Reply& reply, int64_t span, int64_t limit) {
  using ceiling::Word;
  std::string_view word = WordOf(reply);
  ceiling::Drawn drawn;
  drawn.life = TextAt(reply, 1);
  if (drawn.life.empty() || drawn.life.size() > kLongestLife) return std::nullopt;
  if (word == "lost" || word == "short") {
    drawn.word = word == "lost" ? Word::kLost : Word::kShort;
    return drawn;
  }
  std::optional<int64_t> value = NumberIn(reply, 2);
  if (!value) return std::nullopt;
  drawn.value = *value;
  if (word == "max") {
    drawn.word = Word::kMax;
    return drawn;
  }
  std::optional<int64_t> version = NumberIn(reply, 3), top = NumberIn(reply, 4);
  bool fits = word == "ok" && version && top && span <= limit && *value <= limit - span &&
              span <= *top && *value <= *top - span;
  if (!fits) return std::nullopt;
  drawn.version = static_cast<uint64_t>(*version);
  drawn.left = *top - *value - span;
  std::optional<int64_t> low = NumberIn(reply, 5), high = NumberIn(reply, 6);
  if (!low || !high) return drawn;
  if (*low < *top || *high < *low) return std::nullopt;  // so the sum stays below `high`
  drawn.left += *high - *low;
  return drawn;
}

std::string TextsOf(const Reply& reply) {
  constexpr size_t kMostShown = 4;
  std::string texts;
  for (size_t i = 1; i < std::min(reply.elements.size(), kMostShown + 1); ++i) {
    absl::StrAppend(&texts, i > 1 ? ", " : "", reply.elements[i].text);
  }
  return texts;
}

}  // namespace locus::redis
