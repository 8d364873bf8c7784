// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "absl/strings/str_cat.h"
#include "locus/engine/redis.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/counter/callers_clock.h"
#include "src/counter/sequencer_rules.h"
#include "src/engine/redis/answers.h"
#include "src/engine/redis/client.h"
#include "src/engine/redis/number_script.h"
#include "src/engine/redis/sequencer_scripts.h"

namespace locus {

using internal::ToAbsl;

using redis::NumberIn;
using redis::Reply;
using redis::ScriptCall;
using redis::SequencerScripts;
using redis::WordOf;

namespace {

class Counters final : public RedisSequencer {
 public:
  Counters(std::unique_ptr<redis::Client> client, const SequencerOptions& options, Clock& clock)
      : RedisSequencer(options),
        client_(std::move(client)),
        ttl_(absl::StrCat(absl::ToInt64Milliseconds(options.ttl))),
        clock_(clock, options.ttl) {}
  ~Counters() override {
    // In a forked child the sockets are its parent's.
    internal::AbandonIfForked(client_);
  }

  std::vector<absl::StatusOr<int64_t>> NextEach(std::span<const std::string_view> keys) override {
    std::vector<absl::StatusOr<int64_t>> numbers(keys.size(), absl::StatusOr<int64_t>(0));
    TakeArgs args(*this, options().step);
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
      names[i] = KeyFor(*name);
      calls.push_back({names[i], args.views});
      asked.push_back(i);
    }
    auto replies = client_->RunEach(Scripts().take, calls);
    for (size_t i = 0; i < asked.size(); ++i) {
      auto taken = Took(std::move(replies[i]), keys[asked[i]], options().step);
      if (taken.ok()) {
        numbers[asked[i]] = taken->last;
      } else {
        numbers[asked[i]] = taken.status();
      }
    }
    return numbers;
  }

  RedisStats Stats() const override { return client_->Stats(); }

 private:
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override {
    TakeArgs args(*this, span);
    std::string key = KeyFor(name);
    ScriptCall call{key, args.views};
    auto replies = client_->RunEach(Scripts().take, {&call, 1});
    return Took(std::move(replies[0]), KeyOf(name), span);
  }

  absl::Status Store(const std::string& name, int64_t value) override {
    LOCUS_ASSIGN_OR_RETURN(Reply reply,
                           client_->Run(Scripts().store, KeyFor(name),
                                        {absl::StrCat(value), "0", ttl_, WallMs(), EarlierMs()}));
    return Stored(reply, KeyOf(name)).status();
  }

  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) override {
    LOCUS_ASSIGN_OR_RETURN(Reply reply,
                           client_->Run(Scripts().store, KeyFor(name),
                                        {absl::StrCat(value), "1", ttl_, WallMs(), EarlierMs()}));
    return Stored(reply, KeyOf(name));
  }

  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override {
    LOCUS_ASSIGN_OR_RETURN(
        Reply reply, client_->Run(Scripts().load, KeyFor(name), {ttl_, WallMs(), EarlierMs()}));
    if (WordOf(reply) == "none") return std::nullopt;
    std::optional<int64_t> value = NumberIn(reply, 1);
    if (WordOf(reply) != "ok" || !value) return Refused(KeyOf(name), reply);
    return value;
  }

  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken,
                               int64_t value) override {
    LOCUS_ASSIGN_OR_RETURN(Reply reply,
                           client_->Run(Scripts().put_back, KeyFor(name),
                                        {absl::StrCat(taken.last), absl::StrCat(taken.version),
                                         absl::StrCat(value), ttl_, WallMs(), EarlierMs()}));
    return Stored(reply, KeyOf(name));
  }

  static const SequencerScripts& Scripts() { return SequencerScripts::Get(); }
  static std::string KeyFor(std::string_view name) {
    return absl::StrCat("locus:sequence:", ToAbsl(name));
  }
  std::string_view KeyOf(std::string_view name) const {
    return name.substr(options().key_prefix.size());
  }
  bool Wraps() const {
    return options().max_value != 0 && options().at_max == SequencerOptions::AtMax::kWrap;
  }

  // ARGV of the script `take`.
  struct TakeArgs {
    TakeArgs(Counters& numbers, int64_t span)
        : words{absl::StrCat(span),
                absl::StrCat(sequencer_rules::Limit(numbers.options()) - span),
                numbers.Wraps() ? "1" : "0",
                absl::StrCat(sequencer_rules::LastOfFirst(span, numbers.options())),
                numbers.WallMs(),
                numbers.EarlierMs()},
          views{words[0], words[1], words[2], words[3], numbers.ttl_, words[4], words[5]} {}
    TakeArgs(const TakeArgs&) = delete;
    std::array<std::string, 6> words;
    std::array<std::string_view, 7> views;
  };

  absl::StatusOr<Taken> Took(absl::StatusOr<Reply> reply, std::string_view key, int64_t span) {
    LOCUS_RETURN_IF_ERROR(reply.status());
    auto answer = redis::ReadTaken(*reply, span, sequencer_rules::LastOfFirst(span, options()),
                                   sequencer_rules::Limit(options()));
    if (!answer) return Refused(key, *reply);
    if (answer->at_limit) return sequencer_rules::AtLimit(key, answer->last, span, options());
    return Taken{answer->last, answer->version};
  }

  absl::StatusOr<bool> Stored(const Reply& reply, std::string_view key) const {
    if (WordOf(reply) == "stored") return true;
    if (WordOf(reply) == "kept") return false;
    return Refused(key, reply);
  }

  absl::Status Refused(std::string_view key, const Reply& reply) const {
    const std::optional<int64_t> now = NumberIn(reply, 1), caller = NumberIn(reply, 2);
    if (WordOf(reply) != "ahead" || !now || !caller) {
      return sequencer_rules::NoNumber("redis", key, redis::TextsOf(reply));
    }
    const absl::Time servers = absl::FromUnixMillis(*now), own = absl::FromUnixMillis(*caller);
    return absl::FailedPreconditionError(absl::StrCat(
        client_->place(), " has no counter ", internal::Quoted(key), ", and its clock, ",
        absl::FormatTime(servers, absl::UTCTimeZone()), ", is ",
        absl::FormatDuration(servers - own), " ahead of this host's clock, ",
        absl::FormatTime(own, absl::UTCTimeZone()),
        own + absl::Seconds(2) < clock_.Wall() ? " without its jump" : "",
        ": the counter may have been forgotten before its ttl was over. Set the clocks right, then "
        "set the counter to the highest number that was given out (`locus seq set`)"));
  }
  std::string WallMs() const { return absl::StrCat(absl::ToUnixMillis(clock_.Wall())); }
  std::string EarlierMs() { return absl::StrCat(absl::ToUnixMillis(clock_.Earlier())); }

  std::unique_ptr<redis::Client> client_;
  const std::string ttl_;
  internal::CallersClock clock_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RedisSequencer>> RedisSequencer::Open(
    const RedisOptions& server, const SequencerOptions& options, Clock& clock) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<redis::Client> client, redis::Client::Open(server));
  return std::make_unique<Counters>(std::move(client), options, clock);
}

}  // namespace locus
