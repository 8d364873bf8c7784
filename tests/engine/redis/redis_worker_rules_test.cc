// SPDX-License-Identifier: Apache-2.0
// The worker scripts decide on the server, in Lua, what src/worker/worker_rules.h decides for every
// other engine. Here a real server decides random requests upon random states, and the rules have
// to agree.
#include <iostream>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"
#include "src/engine/redis/workers.h"
#include "src/worker/record_text.h"
#include "src/worker/worker_rules.h"
#include "tests/engine/redis/redis_server.h"

namespace locus {

using internal::RedisWorkerLeaseStoreAccess;
using worker::Outcome;

namespace {

constexpr char kKey[] = "locus:workers:{orders}";
constexpr int kRounds = 4000;

class RedisWorkerRulesTest : public ::testing::Test {
 protected:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  // A time at which decisions change, or near one.
  absl::Time RandomTime() {
    if (OneIn(5)) return absl::InfinitePast();
    if (OneIn(3)) return now() + absl::Milliseconds(static_cast<int64_t>(Below(3)) - 1);
    return now() + absl::Milliseconds(static_cast<int64_t>(Below(2'000'000)) - 1'000'000);
  }
  std::string RandomNonce() { return std::string(1, static_cast<char>('a' + Below(4))); }
  uint64_t RandomToken() {
    if (OneIn(4)) return static_cast<uint64_t>(absl::ToUnixMillis(now())) + Below(3) - 1;
    return OneIn(8) ? (uint64_t{1} << 52) - Below(2) : 1 + Below(6);
  }
  WorkerLeaseTerm RandomTerm() {
    return {absl::Milliseconds(10'000 + Below(1'000'000)), absl::Milliseconds(Below(60'001))};
  }
  absl::Time RandomCaller(const WorkerLeaseTerm& term) {
    if (!OneIn(8)) return now();
    const absl::Duration off = term.max_skew + absl::Milliseconds(Below(2));
    return OneIn(2) ? now() + off : now() - off;
  }
  absl::Time now() { return clock_.Now(); }

  void MakeState() {
    space_ = {OneIn(2) ? absl::InfinitePast() : RandomTime(), absl::Milliseconds(Below(1'000'000)),
              Below(5)};
    records_.clear();
    exists_ = !OneIn(10);
    for (uint64_t id = 10; exists_ && id < 18; ++id) {
      if (OneIn(5)) continue;
      WorkerRecord record;
      record.worker = id;
      record.token = RandomToken();
      record.ceiling = OneIn(3) ? RandomTime() : now() + absl::Milliseconds(Below(900'000));
      record.floor = std::min(RandomTime(), record.ceiling - absl::Milliseconds(1));
      record.granted_at = record.renewed_at = now() - absl::Hours(1);
      record.nonce = OneIn(4) ? "" : RandomNonce();
      record.holder = OneIn(2) ? "" : "{\"host\": \"of old\"}";
      records_[id] = record;
    }
  }
  // Writes it past the engine.
  void Store() {
    server_.Ask(absl::StrCat("DEL ", kKey));
    if (!exists_) return;
    std::vector<std::string> words = {
        "HSET",       kKey,
        "schema",     "1",
        "identity",   changed_ ? "another run" : identity_,
        "rest_until", worker::TextOf(space_.rest_until),
        "longest",    absl::StrCat(absl::ToInt64Milliseconds(space_.longest)),
        "losses",     absl::StrCat(space_.losses)};
    for (const auto& [id, record] : records_) {
      words.push_back(absl::StrCat(id));
      words.push_back(worker::TextOf(record));
    }
    server_.AskWords(words);
  }

  // The rules' decision. The change of identity comes first.
  Outcome PlanOf(const WorkerAcquire& request) {
    if (!exists_) return Refused(worker::NoSuchSpace(name_));
    absl::Status clock = worker::CheckClock(request.term, request.caller_now, now());
    if (!clock.ok()) return Refused(clock);
    NoteChange(request.term);
    auto scan = [this](uint64_t first, uint64_t last, const worker::Visit& visit) {
      for (auto it = records_.lower_bound(first); it != records_.end() && it->first <= last; ++it) {
        if (!visit(it->second)) break;
      }
      return absl::OkStatus();
    };
    auto free = worker::FindFree(name_, request, now(), scan);
    if (!free.ok()) return Refused(free.status());
    return Applied(worker::PlanAcquire(space_, free->record ? &*free->record : nullptr,
                                       free->worker, request, now()));
  }
  Outcome PlanOf(const WorkerRenew& request) {
    absl::Status clock = worker::CheckClock(request.term, request.caller_now, now());
    if (!clock.ok()) return Refused(clock);
    NoteChange(request.term);
    return Applied(
        worker::PlanRenew(exists_ ? &space_ : nullptr, Find(request.worker), request, now()));
  }
  Outcome PlanOf(const WorkerRelease& request) {
    if (!exists_) return Refused(worker::NoSuchSpace(name_));
    return Applied(worker::PlanRelease(Find(request.worker), request));
  }

  const WorkerRecord* Find(uint64_t id) {
    auto found = records_.find(id);
    return found == records_.end() ? nullptr : &found->second;
  }
  WorkerSpacePast RandomPast() {
    WorkerSpacePast past;
    past.first_ever = OneIn(2);
    past.lost = !past.first_ever && OneIn(2);
    past.longest_ttl = RandomTerm().ttl;
    return past;
  }
  static Outcome Refused(absl::Status status) {
    Outcome outcome;
    outcome.status = std::move(status);
    return outcome;
  }
  void NoteChange(const WorkerLeaseTerm& term) {
    noted_ = exists_ && changed_;
    if (noted_) worker::NoteLoss(space_, term, now());
  }
  Outcome Applied(Outcome outcome) {
    if (outcome.record.has_value()) {
      records_[outcome.record->worker] = *outcome.record;
      exists_ = true;
    }
    if (outcome.space.has_value() && exists_) space_ = *outcome.space;
    outcome.grant.loss_noticed |= noted_;
    return outcome;
  }

  void Compare(const absl::StatusOr<WorkerGrant>& got, const Outcome& plan) {
    ++answers_[absl::StatusCodeToString(plan.status.code())];
    ASSERT_EQ(got.status(), plan.status);
    if (!got.ok()) return;
    losses_ += plan.grant.loss_noticed;
    EXPECT_EQ(got->worker, plan.grant.worker);
    EXPECT_EQ(got->token, plan.grant.token);
    EXPECT_EQ(got->floor, plan.grant.floor);
    EXPECT_EQ(got->ceiling, plan.grant.ceiling);
    EXPECT_EQ(got->granted_at, plan.grant.granted_at);
    EXPECT_EQ(got->loss_noticed, plan.grant.loss_noticed);
  }
  void CompareState(WorkerLeaseStore& store) {
    auto view = store.Show(name_);
    if (!exists_) {
      EXPECT_TRUE(absl::IsNotFound(view.status())) << view.status();
      return;
    }
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->rest_until, space_.rest_until);
    EXPECT_EQ(view->losses, space_.losses);
    EXPECT_EQ(server_.AskWords({"HGET", kKey, "longest"}),
              absl::StrCat(absl::ToInt64Milliseconds(space_.longest)));
    std::map<uint64_t, std::string> stored, planned;  // as texts: any time before 1970 is "-"
    for (const WorkerRecord& record : view->workers) {
      stored[record.worker] = worker::TextOf(record);
    }
    for (const auto& [id, record] : records_) planned[id] = worker::TextOf(record);
    EXPECT_EQ(stored, planned);
  }

  std::mt19937_64 random_{11};
  RedisServer server_;
  fakes::ManualClock clock_;
  SpaceName name_;
  std::string identity_;
  bool changed_ = false;
  bool exists_ = true;
  bool noted_ = false;
  worker::Space space_;
  std::map<uint64_t, WorkerRecord> records_;
  std::map<std::string, int> answers_;
  int losses_ = 0;
};

TEST_F(RedisWorkerRulesTest, RandomStatesAndRequests_AreDecidedAsByTheRules) {
  clock_.Advance(absl::Trunc(now() - absl::UnixEpoch(), absl::Milliseconds(1)) -
                 (now() - absl::UnixEpoch()) + absl::Milliseconds(1));
  auto store = RedisWorkerLeaseStoreAccess::Open(server_.options(), &clock_).value();
  ASSERT_TRUE(store->Create(name_, {.first_ever = true}, now()).ok());
  identity_ = server_.AskWords({"HGET", kKey, "identity"});
  ASSERT_FALSE(identity_.empty());
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(absl::StrCat("seed 11, round ", round));
    clock_.Advance(absl::Milliseconds(Below(uint64_t{1} << Below(30))));
    MakeState();
    changed_ = OneIn(4);
    noted_ = false;
    Store();
    if (OneIn(8)) {
      const WorkerSpacePast past = RandomPast();
      EXPECT_EQ(store->Create(name_, past, now()), absl::OkStatus());
      if (!exists_) space_ = {};
      if (!exists_) records_.clear();
      ++answers_[worker::PlanCreate(space_, !exists_, past, now()) ? "created" : "was there"];
      exists_ = true;
    } else if (OneIn(4)) {
      WorkerRelease release{10 + Below(8), RandomToken(),
                            OneIn(8) ? absl::InfiniteFuture() : RandomTime()};
      if (const WorkerRecord* record = Find(release.worker); record != nullptr && !OneIn(4)) {
        release.token = record->token;
      }
      const absl::Status got = store->Release(name_, release);
      EXPECT_EQ(got, PlanOf(release).status);
      ++answers_[absl::StrCat("release ", absl::StatusCodeToString(got.code()))];
    } else if (OneIn(2)) {
      WorkerRenew renewal;
      renewal.worker = 10 + Below(8);
      renewal.token = RandomToken();
      renewal.nonce = RandomNonce();
      if (const WorkerRecord* record = Find(renewal.worker); record != nullptr && !OneIn(4)) {
        renewal.token = record->token;
        if (!OneIn(4) && !record->nonce.empty()) renewal.nonce = record->nonce;
      }
      renewal.ceiling = RandomTime();
      renewal.term = RandomTerm();
      renewal.holder = "{}";
      renewal.caller_now = RandomCaller(renewal.term);
      const auto got = store->Renew(name_, renewal);
      Compare(got, PlanOf(renewal));
    } else {
      WorkerAcquire wish;
      wish.range = {10 + Below(3), 13 + Below(5)};
      wish.start = wish.range.first + Below(wish.range.size());
      if (OneIn(2)) wish.preferred = wish.range.first + Below(wish.range.size());
      wish.term = RandomTerm();
      wish.nonce = RandomNonce();
      wish.holder = "{\"host\":\"new\"}";
      wish.caller_now = RandomCaller(wish.term);
      const auto got = store->Acquire(name_, wish);
      Compare(got, PlanOf(wish));
    }
    CompareState(*store);
    if (HasFailure()) return;
  }
  std::cout << losses_ << " losses noticed by grants\n";
  EXPECT_GT(losses_, kRounds / 100);
  // Each kind of answer was compared, not one of them only.
  for (const char* kind :
       {"OK", "RESOURCE_EXHAUSTED", "ABORTED", "FAILED_PRECONDITION", "NOT_FOUND", "UNAVAILABLE",
        "release OK", "release ABORTED", "created", "was there"}) {
    std::cout << answers_[kind] << " " << kind << "\n";
    EXPECT_GT(answers_[kind], kRounds / 200) << kind;
  }
}

// 10,000 IDs held in a row: several scripts, each a short one.
TEST_F(RedisWorkerRulesTest, RangeWithThousandsHeld_IsSearchedInSeveralShortScripts) {
  auto store = RedisWorkerLeaseStoreAccess::Open(server_.options(), &clock_).value();
  ASSERT_TRUE(store->Create(name_, {.first_ever = true}, now()).ok());
  constexpr uint64_t kHeld = 10'000;
  std::vector<std::string> words = {"HSET", kKey};
  WorkerRecord record;
  record.token = 7;
  record.ceiling = now() + absl::Minutes(10);
  record.granted_at = record.renewed_at = now();
  record.nonce = "x";
  record.holder = std::string(kMostHolderBytes, 'h');
  for (uint64_t id = 0; id < kHeld; ++id) {
    words.push_back(absl::StrCat(id));
    words.push_back(worker::TextOf(record));
    if (words.size() >= 400 || id + 1 == kHeld) {
      server_.AskWords(words);
      words = {"HSET", kKey};
    }
  }
  WorkerAcquire wish;
  wish.range = {0, kMostWorker};
  wish.nonce = "a";
  wish.caller_now = now();
  wish.preferred = kHeld;
  wish.nonce = "warm";
  ASSERT_TRUE(store->Acquire(name_, wish).ok());
  wish.preferred.reset();
  wish.nonce = "a";
  uint64_t calls = store->Stats().calls;
  auto grant = store->Acquire(name_, wish);
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->worker, kHeld + 1);
  EXPECT_EQ(store->Stats().calls - calls, 10u) << "1,024 looks each";
  // All of a part of it taken, with the start inside of it.
  wish.nonce = "b";
  wish.range = {5, 9'000};
  wish.start = 8'000;
  const absl::Status status = store->Acquire(name_, wish).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_NE(status.message().find("all 8996 worker IDs of 5..9000 are taken, 8996 of them held"),
            absl::string_view::npos)
      << status;
  EXPECT_EQ(store->Show(name_)->workers.size(), kHeld + 2);
  server_.Ask("CONFIG SET slowlog-log-slower-than 0");
  server_.Ask("SLOWLOG RESET");
  EXPECT_TRUE(absl::IsResourceExhausted(store->Acquire(name_, wish).status()));
  std::cout << server_.Ask("SLOWLOG GET 1").substr(0, 40) << "\n";
}

}  // namespace
}  // namespace locus
