// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/segments.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/engine/redis/client.h"
#include "src/engine/redis/number_script.h"
#include "src/engine/redis/segment_scripts.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"

namespace locus {

using internal::ParseDecimal;
using internal::Quoted;

namespace {

using redis::NumberIn;
using redis::Reply;
using redis::SegmentScripts;
using redis::TextAt;
using redis::WordOf;

std::string Micros(absl::Time time) {
  return absl::StrCat(std::max<int64_t>(absl::ToUnixMicros(time), 0));
}

std::string TextOf(const SpaceOptions& options) {
  return absl::StrCat(options.section_size, " ", Micros(options.floor_epoch), " ",
                      options.floor_rate, " ", options.max_lead);
}

// The numbers of `text`, by single spaces; fewer than `count`: it is something else.
std::vector<uint64_t> Numbers(std::string_view text, size_t count) {
  std::vector<uint64_t> numbers;
  while (numbers.size() < count) {
    size_t size = std::min(text.find(' '), text.size());
    auto number = ParseDecimal(text.substr(0, size), UINT64_MAX);
    if (!number) return {};
    numbers.push_back(*number);
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return text.empty() ? numbers : std::vector<uint64_t>();
}

std::optional<SpaceOptions> ParseOptions(std::string_view text) {
  std::vector<uint64_t> numbers = Numbers(text, 4);
  if (numbers.size() != 4 || numbers[0] > 65536) return std::nullopt;
  SpaceOptions options;
  options.section_size = static_cast<uint32_t>(numbers[0]);
  options.floor_epoch = absl::FromUnixMicros(static_cast<int64_t>(numbers[1]));
  options.floor_rate = numbers[2];
  options.max_lead = numbers[3];
  if (!segment_rules::CheckOptions(options).ok()) return std::nullopt;
  return options;
}

// A sequence or the length of a segment, at most 2^56.
std::optional<uint64_t> SequenceAt(const Reply& reply, size_t i) {
  return ParseDecimal(TextAt(reply, i), segment_rules::kEndOfSequences);
}

// 1970 to 2255: within it no arithmetic of the rules overflows.
constexpr uint64_t kMostMicros = uint64_t{9'000'000'000} * 1'000'000;
std::optional<absl::Time> TimeAt(const Reply& reply, size_t i) {
  auto micros = ParseDecimal(TextAt(reply, i), kMostMicros);
  if (!micros) return std::nullopt;
  return absl::FromUnixMicros(static_cast<int64_t>(*micros));
}

// Whether a space can have these options in Redis.
bool CanHave(const SpaceOptions& options) {
  return segment_rules::CheckOptions(options).ok() &&
         absl::FromUnixMicros(absl::ToUnixMicros(options.floor_epoch)) == options.floor_epoch;
}

class Store final : public RedisSegmentStore {
 public:
  Store(std::unique_ptr<redis::Client> client, Clock* clock)
      : client_(std::move(client)), clock_(clock) {}
  ~Store() override { internal::AbandonIfForked(client_); }

  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time caller_now) override {
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(options));
    if (!CanHave(options)) {
      return absl::InvalidArgumentError("floor_epoch must be whole microseconds in redis");
    }
    LOCUS_ASSIGN_OR_RETURN(Reply reply, client_->Run(SegmentScripts::Get().create, KeyFor(space),
                                                     {Now(), Micros(caller_now), TextOf(options)}));
    if (WordOf(reply) == "ok") return absl::OkStatus();
    if (WordOf(reply) == "clock") return BadClock(space, options, caller_now, reply);
    if (WordOf(reply) != "exists") return Unusable(space, reply);
    std::optional<SpaceOptions> stored = ParseOptions(TextAt(reply, 1));
    if (!stored) return Unusable(space, reply);
    return segment_rules::CheckSameOptions(space, *stored, options);
  }

  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override {
    LOCUS_ASSIGN_OR_RETURN(SpaceView view, Show(space, absl::InfinitePast()));
    return view.options;
  }

  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override {
    // Options that no space can have differ from those of this one.
    if (!CanHave(options)) {
      LOCUS_ASSIGN_OR_RETURN(SpaceOptions stored, ReadOptions(space));
      return segment::Admit(space, stored, options, requests);
    }
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckRequests(options, requests));
    std::vector<std::string> words = {Now(), Micros(caller_now), TextOf(options)};
    words.reserve(3 + 3 * requests.size());
    for (const SegmentRequest& request : requests) {
      words.push_back(absl::StrCat(request.section));
      words.push_back(absl::StrCat(request.length));
      words.push_back(absl::StrCat(request.seen));
    }
    std::vector<std::string_view> args(words.begin(), words.end());
    std::string key = KeyFor(space);
    redis::ScriptCall call{key, args};
    auto replies = client_->RunEach(SegmentScripts::Get().allocation, {&call, 1});
    LOCUS_RETURN_IF_ERROR(replies[0].status());
    const Reply& reply = *replies[0];
    if (WordOf(reply) == "ok") return Granted(space, options, requests, reply);
    if (WordOf(reply) == "clock") return BadClock(space, options, caller_now, reply);
    if (WordOf(reply) == "options") {
      std::optional<SpaceOptions> stored = ParseOptions(TextAt(reply, 1));
      if (stored && *stored != options) return segment::Admit(space, *stored, options, requests);
    }
    return Unusable(space, reply);
  }

  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time) override {
    LOCUS_ASSIGN_OR_RETURN(Reply reply,
                           client_->Run(SegmentScripts::Get().show, KeyFor(space), {Now()}));
    if (WordOf(reply) != "ok") return Unusable(space, reply);
    std::optional<SpaceOptions> options = ParseOptions(TextAt(reply, 1));
    std::optional<uint64_t> base = SequenceAt(reply, 2);
    std::optional<int64_t> losses = NumberIn(reply, 3);
    std::optional<absl::Time> now = TimeAt(reply, reply.elements.size() - 1);
    if (!options || !base || !losses || !now) return Unusable(space, reply);
    std::vector<SpaceView::Section> sections;
    for (size_t i = 4; i + 2 < reply.elements.size(); i += 2) {
      auto number = ParseDecimal(TextAt(reply, i), 65535);
      std::vector<uint64_t> held = Numbers(TextAt(reply, i + 1), 2);
      if (!number || held.size() != 2 || held[0] > segment_rules::kEndOfSequences ||
          held[1] > kMostMicros) {
        return Unusable(space, reply);
      }
      sections.push_back({static_cast<uint16_t>(*number), held[0], absl::ZeroDuration(),
                          absl::FromUnixMicros(static_cast<int64_t>(held[1]))});
    }
    std::sort(sections.begin(), sections.end(),
              [](const auto& a, const auto& b) { return a.section < b.section; });
    return segment::View({*options, *base, static_cast<uint64_t>(*losses)}, *now,
                         std::move(sections));
  }

  absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) override {
    return ChangeBase(space, /*declares_loss=*/true, 0, caller_now).status();
  }

  absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override {
    // Whether the raise is sane does not depend on what happens meanwhile: floor and base only
    // rise.
    LOCUS_ASSIGN_OR_RETURN(SpaceView view, Show(space, caller_now));
    segment::Space checked{view.options, view.base, view.losses};
    LOCUS_RETURN_IF_ERROR(segment::Raise(checked, to, reach, view.now).status());
    return ChangeBase(space, /*declares_loss=*/false, to, caller_now);
  }

  RedisStats Stats() const override { return client_->Stats(); }

 private:
  static std::string KeyFor(const SpaceName& space) {
    return absl::StrCat("locus:segments:{", space.str(), "}");
  }
  std::string Now() const { return clock_ == nullptr ? "" : Micros(clock_->Now()); }

  absl::StatusOr<BaseRaise> ChangeBase(const SpaceName& space, bool declares_loss, uint64_t to,
                                       absl::Time caller_now) {
    LOCUS_ASSIGN_OR_RETURN(
        Reply reply,
        client_->Run(SegmentScripts::Get().raise, KeyFor(space),
                     {Now(), Micros(caller_now), declares_loss ? "1" : "0", absl::StrCat(to)}));
    if (WordOf(reply) == "ok") {
      std::optional<uint64_t> before = SequenceAt(reply, 1), after = SequenceAt(reply, 2);
      if (!before || !after) return Unusable(space, reply);
      return BaseRaise{*before, *after};
    }
    if (WordOf(reply) != "clock") return Unusable(space, reply);
    std::optional<SpaceOptions> options = ParseOptions(TextAt(reply, 2));
    if (!options) return Unusable(space, reply);
    return BadClock(space, *options, caller_now, reply);
  }

  // The script has decided. The rules must come to the same decision, or the grant is not used.
  absl::StatusOr<SegmentReply> Granted(const SpaceName& space, const SpaceOptions& options,
                                       std::span<const SegmentRequest> requests,
                                       const Reply& reply) {
    if (reply.elements.size() != 4 + 3 * requests.size()) return Unusable(space, reply);
    std::optional<uint64_t> base = SequenceAt(reply, 1);
    std::optional<absl::Time> granted_at = TimeAt(reply, reply.elements.size() - 1);
    if (!base || !granted_at) return Unusable(space, reply);
    // As the script left it: a loss that it noticed has raised base already.
    segment::State after{{options, *base, 0}, {}, false};
    std::vector<Segment> segments;
    for (size_t i = 0; i < requests.size(); ++i) {
      std::optional<uint64_t> head = SequenceAt(reply, 3 + 3 * i),
                              first = SequenceAt(reply, 4 + 3 * i),
                              length = SequenceAt(reply, 5 + 3 * i);
      if (!head || !first || !length) return Unusable(space, reply);
      after.heads.push_back(*head);
      segments.push_back({*first, *length});
    }
    segment::Outcome outcome = segment::Plan(after, requests, *granted_at);
    for (size_t i = 0; i < requests.size(); ++i) {
      const Segment& segment = segments[i];
      const Segment& planned = outcome.reply.grants[i].segment;
      bool same = planned.length == segment.length && (segment.length == 0 || planned == segment);
      if (!same || outcome.reply.loss_noticed) {
        return absl::DataLossError(
            absl::StrCat("redis granted ", segment.first, "+", segment.length, " of section ",
                         requests[i].section, " in space ", space.str(), " where the rules grant ",
                         planned.first, "+", planned.length));
      }
    }
    outcome.reply.loss_noticed = TextAt(reply, 2) == "1";
    return std::move(outcome.reply);
  }

  // Of an answer that names the store's time and refuses the caller's.
  absl::Status BadClock(const SpaceName& space, const SpaceOptions& options, absl::Time caller_now,
                        const Reply& reply) const {
    std::optional<absl::Time> store_now = TimeAt(reply, 1);
    if (!store_now) return Unusable(space, reply);
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(options, caller_now, *store_now));
    return absl::FailedPreconditionError(
        "this process's clock is 60s from that of redis: correct the clock");
  }

  absl::Status Unusable(const SpaceName& space, const Reply& reply) const {
    if (WordOf(reply) == "none") {
      return absl::NotFoundError(absl::StrCat(client_->place(), " has no space ", space.str()));
    }
    if (WordOf(reply) == "schema") {
      return absl::FailedPreconditionError(absl::StrCat("space ", space.str(), " in ",
                                                        client_->place(), " has schema ",
                                                        Quoted(TextAt(reply, 1)), ", not 1"));
    }
    return absl::DataLossError(absl::StrCat(client_->place(), " holds ", Quoted(TextAt(reply, 1)),
                                            " in space ", space.str(),
                                            ", which is not a valid state of a space"));
  }

  std::unique_ptr<redis::Client> client_;
  Clock* const clock_;  // null: the server's
};

}  // namespace

absl::StatusOr<std::unique_ptr<RedisSegmentStore>> internal::RedisSegmentStoreAccess::Open(
    const RedisOptions& server, Clock* clock) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<redis::Client> client, redis::Client::Open(server));
  return std::make_unique<Store>(std::move(client), clock);
}

absl::StatusOr<std::unique_ptr<RedisSegmentStore>> RedisSegmentStore::Open(
    const RedisOptions& server) {
  return internal::RedisSegmentStoreAccess::Open(server, nullptr);
}

}  // namespace locus
