// SPDX-License-Identifier: Apache-2.0
// The bytes that a Redis sends, and what its replies mean. The first byte says how the bytes are
// cut into pieces.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/engine/redis/answers.h"
#include "src/engine/redis/errors.h"
#include "src/engine/redis/number_script.h"

namespace {

using locus::redis::Reply;

void Require(bool holds) {
  if (!holds) std::abort();
}

size_t CountOf(const Reply& reply) {
  size_t count = 1;
  for (const Reply& element : reply.elements) count += CountOf(element);
  return count;
}

void CheckMeaning(const Reply& reply) {
  const locus::RedisOptions::Address from{"db", 6379};
  if (auto redirect = locus::redis::ParseRedirect(reply, from)) {
    Require(redirect->slot < locus::redis::kSlots && redirect->to.port != 0);
    Require(locus::redis::IsHost(redirect->to.host));
  }
  if (auto ranges = locus::redis::ReadSlots(reply, from); ranges.ok()) {
    size_t slots = 0;
    for (const auto& range : *ranges) slots += range.last - range.first + 1u;
    Require(slots <= locus::redis::kSlots);
  }
  if (auto master = locus::redis::ReadMasterAddress(reply)) Require(master->port != 0);
  for (int64_t limit : {int64_t{1000}, INT64_MAX}) {
    if (auto taken = locus::redis::ReadTaken(reply, 10, 7, limit)) {
      Require(taken->at_limit || (taken->last >= 7 && taken->last <= limit));
    }
    if (auto drawn = locus::redis::ReadDrawn(reply, 10, limit)) {
      Require(drawn->left >= 0 && drawn->value >= 0);
    }
  }
  if (locus::redis::IsScriptAnswer(reply)) Require(!locus::redis::WordOf(reply).empty());
  absl::Status status = locus::redis::StatusOf(reply, from);
  for (char c : status.message()) Require(c >= ' ' && c <= '~');
  locus::redis::TextsOf(reply);
  locus::redis::ParseServerView(reply.text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  size_t piece = size_t{bytes[0]} + 1;
  locus::redis::ReplyReader::Limits limits{1 << 20, 10'000, 7, 1000};
  locus::redis::ReplyReader reader(limits);
  for (size_t at = 0; at < text.size(); at += piece) {
    reader.Feed(text.substr(at, piece));
    while (true) {
      Reply reply;
      auto whole = reader.Next(reply);
      if (!whole.ok()) return 0;
      if (!*whole) break;
      Require(CountOf(reply) <= limits.elements + 1);
      Require(reader.last_cost() >= sizeof(Reply));
      CheckMeaning(reply);
    }
  }
  return 0;
}
