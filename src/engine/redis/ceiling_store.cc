// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/ceiling_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/engine/redis/number_script.h"
#include "src/sequence/sequencer_rules.h"

namespace locus::redis {

using ceiling::Block;
using ceiling::Drawn;
using ceiling::Word;

CeilingStore::Name CeilingStore::NameOf(const std::string& name, size_t prefix_size) const {
  return {absl::StrCat("locus:ceiling:", name), name.substr(prefix_size)};
}

absl::Status CeilingStore::Spoilt(const Name& name, const Reply& reply) const {
  std::string stored;
  for (size_t i = 1; i < reply.elements.size(); ++i) {
    absl::StrAppend(&stored, i > 1 ? ", " : "", reply.elements[i].text);
  }
  return sequencer_rules::NoNumber("redis", name.key, stored);
}

absl::StatusOr<Drawn> CeilingStore::Draw(const Name& name, const ceiling::DrawRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply, client_->Run(CeilingScripts::Get().draw, name.redis,
                                                   {absl::StrCat(request.seen), request.new_life,
                                                    absl::StrCat(request.span),
                                                    absl::StrCat(request.limit - request.span)}));
  std::string_view word = WordOf(reply);
  if (word == "bad" || reply.elements.size() < 2) return Spoilt(name, reply);
  Drawn drawn;
  drawn.life = reply.elements[1].text;
  drawn.value = NumberIn(reply, 2).value_or(0);
  if (word == "lost") drawn.word = Word::kLost;
  if (word == "short") drawn.word = Word::kShort;
  if (word == "max") drawn.word = Word::kMax;
  if (word != "ok") return drawn;
  auto version = NumberIn(reply, 3), top = NumberIn(reply, 4);
  if (!version || !top) return Spoilt(name, reply);
  drawn.version = static_cast<uint64_t>(*version);
  drawn.left = *top - drawn.value - request.span;
  auto low = NumberIn(reply, 5), high = NumberIn(reply, 6);
  if (low && high) drawn.left += *high - *low;
  return drawn;
}

absl::StatusOr<Block> CeilingStore::Raise(const Name& name, int64_t least, int64_t wanted) {
  wanted = std::max(least, wanted);
  while (true) {
    absl::StatusOr<SequenceBatch> batch = durable_->NextBatch(name.key, wanted);
    if (batch.ok()) return Block{batch->first - 1, batch->last()};
    // Near the end of all numbers fewer may fit.
    if (!absl::IsOutOfRange(batch.status()) || wanted == least) {
      return absl::Status(batch.status().code(),
                          absl::StrCat("raising the ceiling: ", batch.status().message()));
    }
    wanted = std::max(least, wanted / 2);
  }
}

absl::Status CeilingStore::Install(const Name& name, const std::string& life, const Block& block) {
  absl::StatusOr<Reply> reply =
      client_->Run(CeilingScripts::Get().install, name.redis,
                   {life, absl::StrCat(block.low), absl::StrCat(block.high),
                    absl::StrCat(block.high - block.low)});
  LOCUS_RETURN_IF_ERROR(reply.status());
  return WordOf(*reply) == "bad" ? Spoilt(name, *reply) : absl::OkStatus();
}

absl::StatusOr<std::optional<int64_t>> CeilingStore::Look(const Name& name, uint64_t seen) {
  LOCUS_ASSIGN_OR_RETURN(
      Reply reply, client_->Run(CeilingScripts::Get().look, name.redis, {absl::StrCat(seen)}));
  if (WordOf(reply) == "bad") return Spoilt(name, reply);
  if (WordOf(reply) == "none") return std::nullopt;
  return NumberIn(reply, 1);
}

absl::StatusOr<CeilingStore::SetTo> CeilingStore::Set(const Name& name, uint64_t seen,
                                                      int64_t value, const std::string& life,
                                                      const std::optional<Block>& block) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply,
                         client_->Run(CeilingScripts::Get().set, name.redis,
                                      {absl::StrCat(seen), absl::StrCat(value), block ? life : "",
                                       block ? absl::StrCat(block->low) : "",
                                       block ? absl::StrCat(block->high) : ""}));
  if (WordOf(reply) == "bad") return Spoilt(name, reply);
  if (WordOf(reply) == "stored") return SetTo::kStored;
  if (WordOf(reply) == "below") return SetTo::kBelow;
  return WordOf(reply) == "short" ? SetTo::kShort : SetTo::kLost;
}

absl::StatusOr<bool> CeilingStore::PutBack(const Name& name, uint64_t seen, int64_t last,
                                           uint64_t version, int64_t value) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply, client_->Run(CeilingScripts::Get().put_back, name.redis,
                                                   {absl::StrCat(seen), absl::StrCat(last),
                                                    absl::StrCat(version), absl::StrCat(value)}));
  if (WordOf(reply) == "bad") return Spoilt(name, reply);
  return WordOf(reply) == "stored";
}

}  // namespace locus::redis
