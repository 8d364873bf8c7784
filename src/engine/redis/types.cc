// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/engine/redis.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/engine/redis/answers.h"
#include "src/engine/redis/client.h"
#include "src/engine/redis/number_script.h"

namespace locus {

using internal::Quoted;
using redis::Reply;
using redis::Script;
using redis::TextAt;
using redis::WordOf;

namespace {

constexpr char kKey[] = "locus:sequence_types";
constexpr int kMostPages = 100'000;

const Script& LoadScript() {
  static const auto& script = *new Script(R"lua(
local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held then return {'none'} end
return {'ok', held}
)lua");
  return script;
}

// ARGV: the cursor, which is of the server's run that the answer names. Some at a time: there may
// be any number, and an answer has a largest size.
const Script& LoadAllScript() {
  static const auto& script = *new Script(R"lua(
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
local page = redis.pcall('HSCAN', KEYS[1], ARGV[1], 'COUNT', 500)
-- To a user without the right, all at once.
if page.err then page = {'0', redis.call('HGETALL', KEYS[1])} end
local answer = page[2]
table.insert(answer, 1, page[1])
table.insert(answer, 1, run)
table.insert(answer, 1, 'ok')
return answer
)lua");
  return script;
}

// ARGV: the name, the version expected ('0': none is held), the next value ('': removes it).
const Script& SwapScript() {
  static const auto& script = *new Script(R"lua(
local held = redis.call('HGET', KEYS[1], ARGV[1])
local version = '0'
if held then version = string.match(held, '^(%d+) ') end
if version ~= ARGV[2] then return {'kept'} end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return {'stored'}
)lua");
  return script;
}

class Types final : public RedisSequenceTypeStore {
 public:
  explicit Types(std::unique_ptr<redis::Client> client) : client_(std::move(client)) {}
  ~Types() override {
    // In a forked child the sockets are its parent's.
    internal::AbandonIfForked(client_);
  }

  RedisStats Stats() const override { return client_->Stats(); }

 private:
  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) override {
    LOCUS_ASSIGN_OR_RETURN(Reply reply, client_->Run(LoadScript(), kKey, {name}));
    if (WordOf(reply) == "none") return std::nullopt;
    std::optional<Stored> stored = Stored::Split(TextAt(reply, 1));
    if (WordOf(reply) != "ok" || !stored) return Spoilt(name, reply);
    return stored;
  }

  absl::StatusOr<std::map<std::string, Stored>> LoadAll() override {
    std::map<std::string, Stored> all;
    std::string cursor = "0", run;
    for (int page = 0; page < kMostPages; ++page) {
      LOCUS_ASSIGN_OR_RETURN(Reply reply, client_->Run(LoadAllScript(), kKey, {cursor}));
      if (TextAt(reply, 1) != run) {
        run = std::string(TextAt(reply, 1));
        const bool begins = cursor == "0";
        all.clear();
        cursor = "0";
        // The rest of it, by a cursor of another server, would lack some.
        if (!begins) continue;
      }
      for (size_t i = 3; i + 1 < reply.elements.size(); i += 2) {
        std::optional<Stored> stored = Stored::Split(TextAt(reply, i + 1));
        if (!stored) return Spoilt(TextAt(reply, i), reply);
        all[std::string(TextAt(reply, i))] = *std::move(stored);
      }
      cursor = std::string(TextAt(reply, 2));
      if (cursor == "0") return all;
    }
    return absl::UnavailableError(absl::StrCat(client_->place(), " shows its sequence types in ",
                                               "more than ", kMostPages, " pages"));
  }

  absl::StatusOr<bool> Swap(const std::string& name, uint64_t expected,
                            const std::optional<Stored>& next) override {
    LOCUS_ASSIGN_OR_RETURN(
        Reply reply, client_->Run(SwapScript(), kKey,
                                  {name, absl::StrCat(expected), next ? next->Joined() : ""}));
    if (WordOf(reply) == "stored") return true;
    if (WordOf(reply) == "kept") return false;
    return Spoilt(name, reply);
  }

  absl::Status Spoilt(std::string_view name, const Reply& reply) const {
    return absl::DataLossError(absl::StrCat(client_->place(), " holds ",
                                            Quoted(redis::TextsOf(reply)), " of sequence type ",
                                            Quoted(name), ", which is no sequence type"));
  }

  std::unique_ptr<redis::Client> client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RedisSequenceTypeStore>> RedisSequenceTypeStore::Open(
    const RedisOptions& server) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<redis::Client> client, redis::Client::Open(server));
  return std::make_unique<Types>(std::move(client));
}

}  // namespace locus
