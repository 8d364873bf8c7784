// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "absl/strings/str_cat.h"
#include "locus/engine/redis.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/engine/redis/answers.h"
#include "src/engine/redis/client.h"
#include "src/engine/redis/number_script.h"
#include "src/engine/redis/sequencer_scripts.h"
#include "src/sequence/sequencer_rules.h"

namespace locus {

using internal::ToAbsl;

using redis::NumberIn;
using redis::Reply;
using redis::ScriptCall;
using redis::SequencerScripts;
using redis::WordOf;

class RedisSequencer::Rep {
 public:
  Rep(std::unique_ptr<redis::Client> client, const SequencerOptions& options)
      : client_(std::move(client)),
        options_(options),
        ttl_(absl::StrCat(absl::ToInt64Milliseconds(options.ttl))) {}

  redis::Client& client() { return *client_; }
  const SequencerScripts& scripts() const { return SequencerScripts::Get(); }
  std::string_view ttl() const { return ttl_; }

  static std::string KeyFor(std::string_view name) {
    return absl::StrCat("locus:sequence:", ToAbsl(name));
  }
  std::string_view KeyOf(std::string_view name) const {
    return name.substr(options_.key_prefix.size());
  }

  // ARGV of the script `take`.
  struct TakeArgs {
    TakeArgs(const Rep& rep, int64_t span)
        : words{absl::StrCat(span), absl::StrCat(sequencer_rules::Limit(rep.options_) - span),
                rep.Wraps() ? "1" : "0"},
          views{words[0], words[1], words[2], rep.ttl_} {}
    TakeArgs(const TakeArgs&) = delete;
    std::array<std::string, 3> words;
    std::array<std::string_view, 4> views;
  };

  absl::StatusOr<Taken> Took(absl::StatusOr<Reply> reply, std::string_view key, int64_t span) {
    LOCUS_RETURN_IF_ERROR(reply.status());
    auto answer = redis::ReadTaken(*reply, span, sequencer_rules::Limit(options_));
    if (!answer) return Spoilt(key, *reply);
    if (answer->at_limit) return sequencer_rules::AtLimit(key, answer->current, span, options_);
    return Taken{answer->current + span, answer->version};
  }

  absl::StatusOr<bool> Stored(const Reply& reply, std::string_view key) const {
    if (WordOf(reply) == "stored") return true;
    if (WordOf(reply) == "kept") return false;
    return Spoilt(key, reply);
  }

  absl::Status Spoilt(std::string_view key, const Reply& reply) const {
    return sequencer_rules::NoNumber("redis", key, redis::TextsOf(reply));
  }

 private:
  bool Wraps() const {
    return options_.max_value != 0 && options_.at_max == SequencerOptions::AtMax::kWrap;
  }

  const std::unique_ptr<redis::Client> client_;
  const SequencerOptions options_;
  const std::string ttl_;
};

RedisSequencer::RedisSequencer(const SequencerOptions& options, std::unique_ptr<Rep> rep)
    : Sequencer(options), rep_(std::move(rep)) {}

RedisSequencer::~RedisSequencer() {
  if (rep_->client().forked()) rep_.release();
}

absl::StatusOr<std::unique_ptr<RedisSequencer>> RedisSequencer::Open(
    const RedisOptions& server, const SequencerOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<redis::Client> client, redis::Client::Open(server));
  auto rep = std::make_unique<Rep>(std::move(client), options);
  return std::unique_ptr<RedisSequencer>(new RedisSequencer(options, std::move(rep)));
}

std::vector<absl::StatusOr<int64_t>> RedisSequencer::NextEach(
    std::span<const std::string_view> keys) {
  std::vector<absl::StatusOr<int64_t>> numbers(keys.size(), absl::StatusOr<int64_t>(0));
  Rep::TakeArgs args(*rep_, options().step);
  std::vector<std::string> names(keys.size());
  std::vector<ScriptCall> calls;
  std::vector<size_t> asked;
  calls.reserve(keys.size());
  asked.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    absl::StatusOr<std::string> name = NameOf(keys[i]);
    if (!name.ok()) {
      numbers[i] = name.status();
      continue;
    }
    names[i] = Rep::KeyFor(*name);
    calls.push_back({names[i], args.views});
    asked.push_back(i);
  }
  auto replies = rep_->client().RunEach(rep_->scripts().take, calls);
  for (size_t i = 0; i < asked.size(); ++i) {
    auto taken = rep_->Took(std::move(replies[i]), keys[asked[i]], options().step);
    if (taken.ok()) {
      numbers[asked[i]] = taken->last;
    } else {
      numbers[asked[i]] = taken.status();
    }
  }
  return numbers;
}

absl::StatusOr<Sequencer::Taken> RedisSequencer::Take(const std::string& name, int64_t span) {
  Rep::TakeArgs args(*rep_, span);
  std::string key = Rep::KeyFor(name);
  ScriptCall call{key, args.views};
  auto replies = rep_->client().RunEach(rep_->scripts().take, {&call, 1});
  return rep_->Took(std::move(replies[0]), rep_->KeyOf(name), span);
}

absl::Status RedisSequencer::Store(const std::string& name, int64_t value) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply, rep_->client().Run(rep_->scripts().store, Rep::KeyFor(name),
                                                         {absl::StrCat(value), "0", rep_->ttl()}));
  return rep_->Stored(reply, rep_->KeyOf(name)).status();
}

absl::StatusOr<bool> RedisSequencer::StoreNew(const std::string& name, int64_t value) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply, rep_->client().Run(rep_->scripts().store, Rep::KeyFor(name),
                                                         {absl::StrCat(value), "1", rep_->ttl()}));
  return rep_->Stored(reply, rep_->KeyOf(name));
}

absl::StatusOr<std::optional<int64_t>> RedisSequencer::Load(const std::string& name) {
  LOCUS_ASSIGN_OR_RETURN(
      Reply reply, rep_->client().Run(rep_->scripts().load, Rep::KeyFor(name), {rep_->ttl()}));
  if (WordOf(reply) == "none") return std::nullopt;
  std::optional<int64_t> value = NumberIn(reply, 1);
  if (WordOf(reply) != "ok" || !value) return rep_->Spoilt(rep_->KeyOf(name), reply);
  return value;
}

absl::StatusOr<bool> RedisSequencer::PutBack(const std::string& name, const Taken& taken,
                                             int64_t value) {
  LOCUS_ASSIGN_OR_RETURN(Reply reply,
                         rep_->client().Run(rep_->scripts().put_back, Rep::KeyFor(name),
                                            {absl::StrCat(taken.last), absl::StrCat(taken.version),
                                             absl::StrCat(value), rep_->ttl()}));
  return rep_->Stored(reply, rep_->KeyOf(name));
}

RedisStats RedisSequencer::Stats() const { return rep_->client().Stats(); }

}  // namespace locus
