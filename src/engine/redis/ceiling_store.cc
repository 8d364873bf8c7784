// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/ceiling_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/counter/sequencer_rules.h"
#include "src/engine/redis/answers.h"
#include "src/engine/redis/number_script.h"

namespace locus::redis {

using ceiling::Block;
using ceiling::Drawn;
using ceiling::Word;

namespace {
constexpr char kUnderCeiling[] = "locus:ceiling:";
}  // namespace

CeilingStore::Name CeilingStore::NameOf(const std::string& name, size_t prefix_size) const {
  return {absl::StrCat(kUnderCeiling, name), name.substr(prefix_size)};
}

absl::Status CeilingStore::Spoilt(const Name& name, const Reply& reply) const {
  return sequencer_rules::NoNumber("redis", name.key, TextsOf(reply));
}

absl::StatusOr<Drawn> CeilingStore::Draw(const Name& name, const ceiling::DrawRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply, client_->Run(CeilingScripts::Get().draw, name.redis,
                                                   {absl::StrCat(request.seen), request.new_life,
                                                    absl::StrCat(request.span),
                                                    absl::StrCat(request.limit - request.span)}));
  std::optional<Drawn> drawn = ReadDrawn(reply, request.span, request.limit);
  if (!drawn) return Spoilt(name, reply);
  return *std::move(drawn);
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
  for (std::string_view word : {"begun", "extended", "next", "kept", "late"}) {
    if (WordOf(*reply) == word) return absl::OkStatus();
  }
  return Spoilt(name, *reply);
}

absl::StatusOr<std::optional<int64_t>> CeilingStore::Look(const Name& name, uint64_t seen) {
  LOCUS_ASSIGN_OR_RETURN(
      Reply reply, client_->Run(CeilingScripts::Get().look, name.redis, {absl::StrCat(seen)}));
  if (WordOf(reply) == "none") return std::nullopt;
  std::optional<int64_t> value = NumberIn(reply, 1);
  if (WordOf(reply) != "ok" || !value) return Spoilt(name, reply);
  return value;
}

absl::StatusOr<CeilingStore::SetTo> CeilingStore::Set(const Name& name, uint64_t seen,
                                                      int64_t value, const std::string& life,
                                                      const std::optional<Block>& block) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply,
                         client_->Run(CeilingScripts::Get().set, name.redis,
                                      {absl::StrCat(seen), absl::StrCat(value), block ? life : "",
                                       block ? absl::StrCat(block->low) : "",
                                       block ? absl::StrCat(block->high) : ""}));
  if (WordOf(reply) == "stored") return SetTo::kStored;
  if (WordOf(reply) == "below") return SetTo::kBelow;
  if (WordOf(reply) == "short") return SetTo::kShort;
  if (WordOf(reply) == "lost") return SetTo::kLost;
  return Spoilt(name, reply);
}

absl::StatusOr<bool> CeilingStore::PutBack(const Name& name, uint64_t seen, int64_t last,
                                           uint64_t version, int64_t value) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply, client_->Run(CeilingScripts::Get().put_back, name.redis,
                                                   {absl::StrCat(seen), absl::StrCat(last),
                                                    absl::StrCat(version), absl::StrCat(value)}));
  if (WordOf(reply) == "stored") return true;
  if (WordOf(reply) == "kept") return false;
  return Spoilt(name, reply);
}

}  // namespace locus::redis

namespace locus {

absl::StatusOr<std::optional<int64_t>> CeilingSequencer::Stored(const RedisOptions& server,
                                                                const std::string& name) {
  static const auto& stored = *new redis::Script(R"lua(
local value = redis.call('HGET', KEYS[1], 'value')
if value then return {'ok', value} end
return {'none'}
)lua");
  LOCUS_ASSIGN_OR_RETURN(const auto client, redis::Client::Open(server));
  LOCUS_ASSIGN_OR_RETURN(const redis::Reply reply,
                         client->Run(stored, absl::StrCat(redis::kUnderCeiling, name), {}));
  if (redis::WordOf(reply) == "none") return std::nullopt;
  std::optional<int64_t> value = redis::NumberIn(reply, 1);
  if (!value) return sequencer_rules::NoNumber("redis", name, redis::TextsOf(reply));
  return value;
}

}  // namespace locus
