// SPDX-License-Identifier: Apache-2.0
// Restore refuses nothing that Apply accepted: random histories of all machines, with numbers and
// times at every limit. Each state is restored from its snapshot, is equal, and stays equal under
// the same commands.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cluster/machine/machine_fixture.h"
#include "tests/support/sanitizers.h"

namespace locus::cluster_machine {
namespace {

const absl::Time kLastTime = absl::FromUnixMillis(253370764799999);  // of a command

class ExtremeRequests {
 public:
  explicit ExtremeRequests(uint64_t seed) : random_(seed) {
    if (Below(4) == 0) now_ = absl::UnixEpoch();
    if (Below(4) == 0) now_ = kLastTime - absl::Minutes(Below(60));
    set_.section_size = 64;
    set_.uids = 64 * (1 + Below(70));
    set_.step = Pick({1, 10, uint64_t{1} << 20, uint64_t{1} << 32});
    set_.ttl = absl::Milliseconds(Pick({3000, 600'000}));
    order_.section_size = static_cast<uint32_t>(Pick({1, 256, 65536}));
    order_.floor_rate = Pick({1, 16384, 1 << 20});
    order_.max_lead = Pick({4096, uint64_t{1} << 24, uint64_t{1} << 40});
    order_.floor_epoch =
        absl::FromUnixSeconds(static_cast<int64_t>(Pick({0, 1672531200, 1LL << 33})));
  }

  Command Next() {
    const uint64_t step = Below(40);
    if (step == 0) now_ += absl::Hours(Pick({1, 25, 24 * 400, 24 * 365 * 300}));
    if (step < 20) now_ += absl::Milliseconds(Pick({1, 400, 11'000, 700'000}));
    now_ = std::min(now_, kLastTime);
    Command command{now_, Below(2) == 0, {}};
    for (uint64_t i = 1 + Below(3); i > 0; --i) command.requests.push_back(OneRequest());
    return command;
  }
  void Learn(const Command& command, const std::vector<Answer>& answers) {
    for (size_t i = 0; i < answers.size(); ++i) {
      const Answer& answer = answers[i];
      if (answer.grant) {
        numbers_.push_back(answer.grant->token);
        ceilings_.push_back(answer.grant->ceiling);
      }
      if (const auto* strict = std::get_if<strict_machine::Reply>(&answer.reply)) {
        if (const auto* grants = std::get_if<StrictReply<StrictGrant>>(strict)) {
          for (const StrictGrant& grant : grants->items) {
            numbers_.insert(numbers_.end(), {grant.token, grant.max_seq});
          }
        }
      }
      if (const auto* segments = std::get_if<segment_machine::Reply>(&answer.reply)) {
        if (const auto* allocated = std::get_if<SegmentReply>(segments)) {
          for (const SegmentGrant& grant : allocated->grants) {
            numbers_.push_back(grant.segment.first + grant.segment.length);
          }
        }
      }
      accepted_ += answer.status.ok();
    }
    (void)command;
  }
  uint64_t accepted() const { return accepted_; }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  uint64_t Pick(std::vector<uint64_t> of) { return of[Below(of.size())]; }

  // At a limit, beside one, known from an answer, or any.
  uint64_t Number() {
    const uint64_t kind = Below(8);
    if (kind < 4 && !numbers_.empty()) {
      return numbers_[numbers_.size() - 1 - Below(std::min<uint64_t>(numbers_.size(), 8))] +
             Pick({0, 0, 0, 1, UINT64_MAX, 64});
    }
    const uint64_t at = uint64_t{1} << Pick({0, 6, 31, 32, 46, 47, 56, 60, 61, 62, 63});
    if (kind < 7) return at + Pick({UINT64_MAX - 1, UINT64_MAX, 0, 1, 2});
    return random_();
  }
  absl::Time Time() {
    switch (Below(8)) {
      case 0:
        return absl::InfinitePast();
      case 1:
        return absl::InfiniteFuture();
      case 2:
        return absl::UnixEpoch() + absl::Milliseconds(Below(3));
      case 3:
        return now_ + absl::Hours(Pick({24, 25, 49, 50}));
      case 4:
        return now_ - absl::Milliseconds(Below(20'000));
      default:
        if (!ceilings_.empty()) return ceilings_[Below(ceilings_.size())];
        return now_;
    }
  }
  absl::Time CallerNow() { return now_ + absl::Milliseconds(Below(6) == 0 ? Below(70'000) : 0); }
  std::string Text(size_t most) {
    return std::string(Pick({0, 1, 5, most, most}), static_cast<char>('a' + Below(3)));
  }
  std::string Nonce() { return Below(30) == 0 ? Text(64) : absl::StrCat("n", Below(3)); }
  WorkerLeaseTerm Term() {
    return {absl::Milliseconds(Pick({10'000, 10'001, 86'400'000})),
            absl::Milliseconds(Pick({0, 1000, 60'000}))};
  }
  uint64_t Worker() { return Below(10) == 0 ? kMostWorker - Below(2) : Below(3); }

  Request OneRequest() {
    Request request;
    request.space = SpaceName::Parse(Pick({0, 0, 1}) == 0 ? "a" : "b").value();
    const uint64_t kind = Below(12);
    if (kind < 6) {
      request.action = OfLeases();
      if (Below(2) == 0) request.id = RequestId{CallerNow(), 1, ++ids_};
      return request;
    }
    request.action = OfStore(kind);
    if (Below(3) > 0) request.id = RequestId{CallerNow(), 2, Below(4), 1 + Below(3) + ids_++};
    return request;
  }
  Action OfLeases() {
    switch (Below(10)) {
      case 0:
        return Create{absl::Milliseconds(Pick({0, 0, 1, 90'000'000})), CallerNow()};
      case 1:
        return Below(3) == 0 ? Action(Delete{})
                             : Action(Verdict{Worker(), Number(), Below(2) == 0, Text(256)});
      case 2:
      case 3:
      case 4: {
        const uint64_t first = Worker();
        const uint64_t last = std::max(first, Worker());
        return WorkerAcquire{{first, last}, {},      Below(2) == 0 ? first : last,
                             Term(),        Nonce(), Text(1024),
                             CallerNow()};
      }
      case 5:
        return WorkerRelease{Worker(), Number(), Time()};
      default:
        return WorkerRenew{Worker(), Number(), Time(), Term(), Nonce(), Text(1024), CallerNow()};
    }
  }
  Action OfStore(uint64_t kind) {
    if (kind == 6 || kind == 7) return OfCounter();
    if (kind == 8) {
      type_machine::Call call{Text(64), Number(), {}};
      if (Below(2) == 0) call.expected = Below(3);
      if (Below(4) > 0) call.next = type_machine::Type{Number(), Text(4096)};
      return call;
    }
    return kind == 9 ? OfSegments() : OfStrict();
  }
  Action OfCounter() {
    counter_machine::Call call;
    call.kind = static_cast<counter_machine::Call::Kind>(Below(5));
    call.name = Text(768);
    const auto number = [this] { return static_cast<int64_t>(Number() & INT64_MAX); };
    if (call.kind != counter_machine::Call::Kind::kLoad) call.number = number();
    if (call.kind == counter_machine::Call::Kind::kTake) {
      if (Below(2) == 0) call.number = static_cast<int64_t>(1 + Below(5));
      call.last_of_first = Below(2) == 0 ? number() : 1;
      call.max_value = Below(2) == 0 ? number() : 0;
      call.wraps = Below(2) == 0;
    }
    if (call.kind == counter_machine::Call::Kind::kPutBack) {
      call.last = number();
      call.version = 1 + Below(20);
    }
    call.ttl = absl::Milliseconds(Pick({0, 0, 1, 1000, 36500ULL * 24 * 3600 * 1000}));
    return call;
  }
  Action OfSegments() {
    using segment_machine::Call;
    switch (Below(8)) {
      case 0:
      case 1:
        return Call(segment_machine::Create{order_, CallerNow()});
      case 2:
        if (Below(4) == 0) return Call(segment_machine::DeclareRestored{CallerNow()});
        return Call(segment_machine::Raise{
            Number(), Below(2) == 0 ? RaiseReach::kAnywhere : RaiseReach::kNearFloor, CallerNow()});
      default: {
        segment_machine::Allocation allocation{order_, {}, CallerNow()};
        for (uint64_t i = Below(3); i > 0; --i) {
          allocation.requests.push_back({static_cast<uint16_t>(Below(3) * Pick({1, 32767})),
                                         uint64_t{64} << Below(40), Below(2) == 0 ? 0 : Number()});
        }
        return Call(allocation);
      }
    }
  }
  StrictOwner Owner() { return {absl::StrCat("o", Below(2)), Text(256), 1 + Below(2)}; }
  Action OfStrict() {
    using strict_machine::Call;
    const auto sections = [this](auto make) {
      for (uint32_t i = 0, n = static_cast<uint32_t>(1 + Below(2)); i < n; ++i) make(i + 1);
    };
    switch (Below(8)) {
      case 0:
      case 1:
        return Call(strict_machine::Create{set_, {.first_ever = Below(2) == 0}});
      case 2:
        if (Below(3) == 0) return Call(strict_machine::DeclareRestored{});
        [[fallthrough]];
      case 3: {
        strict_machine::Release release{set_, {Owner(), {}, Below(2) == 0 ? "" : Text(64)}};
        sections([&](uint32_t i) {
          release.request.sections.push_back({i, Number(), Number() & INT64_MAX});
        });
        return Call(release);
      }
      case 4:
      case 5: {
        strict_machine::Extend extend{set_, {Owner(), {}}};
        sections([&](uint32_t i) {
          extend.request.sections.push_back({i, Number(), Number() & INT64_MAX, Number()});
        });
        return Call(extend);
      }
      default: {
        strict_machine::Take take{set_, {Owner(), {}}};
        sections([&](uint32_t i) {
          take.request.wishes.push_back({i, Below(3) == 0 ? Number() & INT64_MAX : 0});
        });
        return Call(take);
      }
    }
  }

  std::mt19937_64 random_;
  absl::Time now_ = absl::FromUnixMillis(1'700'000'000'000);
  uint64_t ids_ = 0;
  uint64_t accepted_ = 0;
  StrictSetOptions set_;
  SpaceOptions order_;
  std::vector<uint64_t> numbers_;
  std::vector<absl::Time> ceilings_;
};

// Empty: all was well.
std::string RunOne(uint64_t seed, uint64_t& accepted) {
  ExtremeRequests requests(seed);
  Machine machine;
  for (int i = 0; i < 150; ++i) {
    const auto bytes = Encode(requests.Next());
    if (!bytes.ok()) continue;
    const auto command = DecodeCommand(*bytes);
    if (!command.ok()) continue;
    const Machine::Applied applied = machine.Apply(*command);
    requests.Learn(*command, applied.answers);
    if (!Encode(applied.answers).ok()) return absl::StrCat("answers ", i, " have no bytes");
    const std::string snapshot = machine.Snapshot();
    absl::StatusOr<Machine> restored = Machine::Restore(snapshot);
    if (!restored.ok()) {
      return absl::StrCat("after command ", i, ": ", restored.status().ToString());
    }
    if (restored->Snapshot() != snapshot) return absl::StrCat("command ", i, ": another snapshot");
    if (i % 10 != 0) continue;
    const auto again = restored->Apply(*command);
    Machine goes_on = machine;
    const auto expected = goes_on.Apply(*command);
    if (again.answers != expected.answers || again.facts != expected.facts) {
      return absl::StrCat("command ", i, ": a restored machine goes on in another way");
    }
  }
  accepted += requests.accepted();
  return "";
}

TEST(RestoreTest, WhateverWasApplied_IsRestoredEqual) {
  const uint64_t seeds = kUnderAsan ? 60 : 600;
  uint64_t accepted = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    ASSERT_EQ(RunOne(seed, accepted), "") << "seed " << seed;
  }
  EXPECT_GT(accepted, seeds * 50) << "most histories get somewhere";
}

}  // namespace
}  // namespace locus::cluster_machine
