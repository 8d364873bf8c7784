// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/workers.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/engine/redis/client.h"
#include "src/engine/redis/number_script.h"
#include "src/engine/redis/worker_scripts.h"
#include "src/worker/record_text.h"
#include "src/worker/worker_rules.h"

namespace locus {

using internal::ParseDecimal;
using internal::Quoted;

namespace {

using redis::NumberIn;
using redis::Reply;
using redis::TextAt;
using redis::WordOf;
using redis::WorkerScripts;
using worker::TextOf;

// scripts.h says why.
constexpr uint64_t kMostToken = uint64_t{1} << 52;
constexpr uint64_t kMostStored = (uint64_t{1} << 53) - 1;
constexpr int kMostWorkerPages = 100'000;

std::string Millis(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration));
}

// As the scripts compare clocks: in milliseconds.
absl::Status CheckClock(const WorkerLeaseTerm& term, absl::Time caller_now, absl::Time store_now) {
  return worker::CheckClock(term, absl::FromUnixMillis(absl::ToUnixMillis(caller_now)), store_now);
}

absl::Status CheckToken(uint64_t token) {
  if (token <= kMostToken) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("token ", token, " is above ", kMostToken,
                                                 ", the greatest one of a lease in redis"));
}

std::optional<absl::Time> MillisAt(const Reply& reply, size_t i) {
  return worker::TimeOf(TextAt(reply, i));
}

class WorkerStore final : public RedisWorkerLeaseStore {
 public:
  WorkerStore(std::unique_ptr<redis::Client> client, Clock* clock)
      : client_(std::move(client)), clock_(clock) {}
  ~WorkerStore() override { internal::AbandonIfForked(client_); }

  absl::Status Create(const SpaceName& space, const WorkerSpacePast& past, absl::Time) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(past));
    LOCUS_ASSIGN_OR_RETURN(
        Reply reply, client_->Run(WorkerScripts::Get().create, KeyFor(space),
                                  {Now(), Millis(worker::RestOf(past)), past.lost ? "1" : ""}));
    return WordOf(reply) == "ok" ? absl::OkStatus() : Unusable(space, reply);
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space,
                                      const WorkerAcquire& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    const absl::Time deadline = absl::Now() + client_->timeout();
    std::vector<WorkerRange> runs = {{request.start, request.range.last}};
    if (request.start > request.range.first) {
      runs.push_back({request.range.first, request.start - 1});
    }
    std::string preferred = request.preferred ? absl::StrCat(*request.preferred) : "";
    std::string held = "0", next_free = absl::StrCat(worker::kMostMillis);
    while (true) {
      std::vector<std::string> words = Words(request);
      for (const std::string& word : {preferred, held, next_free}) words.push_back(word);
      for (const WorkerRange& run : runs) {
        words.push_back(absl::StrCat(run.first));
        words.push_back(absl::StrCat(run.last));
      }
      LOCUS_ASSIGN_OR_RETURN(Reply reply, Run(WorkerScripts::Get().acquire, space, words));
      if (WordOf(reply) != "more") return Answered(space, request, reply);
      std::optional<uint64_t> run = ParseDecimal(TextAt(reply, 1), runs.size() - 1);
      std::optional<uint64_t> first = ParseDecimal(TextAt(reply, 2), kMostWorker);
      if (!run || !first || *first < runs[*run].first || *first > runs[*run].last ||
          (*run == 0 && *first == runs[0].first)) {
        return Unusable(space, reply);
      }
      runs.erase(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(*run));
      runs[0].first = *first;
      preferred.clear();
      held = std::string(TextAt(reply, 3));
      next_free = std::string(TextAt(reply, 4));
      if (!ParseDecimal(held, kMostWorker + 1) || !worker::TimeOf(next_free)) {
        return Unusable(space, reply);
      }
      if (absl::Now() >= deadline) {
        return absl::UnavailableError(
            absl::StrCat(client_->place(), " did not find a free worker ID in space ", space.str(),
                         " within ", absl::FormatDuration(client_->timeout()), ": it looked up to ",
                         *first, " and found ", held, " held"));
      }
    }
  }

  absl::StatusOr<WorkerGrant> Renew(const SpaceName& space, const WorkerRenew& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    LOCUS_RETURN_IF_ERROR(CheckToken(request.token));
    std::vector<std::string> words = Words(request);
    words.push_back(absl::StrCat(request.worker));
    words.push_back(absl::StrCat(request.token));
    words.push_back(TextOf(request.ceiling));
    LOCUS_ASSIGN_OR_RETURN(Reply reply, Run(WorkerScripts::Get().renew, space, words));
    if (WordOf(reply) == "clock") return BadClock(space, request.term, request.caller_now, reply);
    if (WordOf(reply) == "refused") {
      std::optional<absl::Time> now = MillisAt(reply, 2);
      std::optional<WorkerRecord> record = worker::RecordOf(request.worker, TextAt(reply, 1));
      if (!now || (!record && !TextAt(reply, 1).empty())) return Unusable(space, reply);
      const worker::Space any;
      absl::Status status =
          worker::PlanRenew(&any, record ? &*record : nullptr, request, *now).status;
      return status.ok() ? Unusable(space, reply) : status;
    }
    LOCUS_ASSIGN_OR_RETURN(WorkerGrant grant, Granted(space, request.term, reply));
    LOCUS_RETURN_IF_ERROR(CheckClock(request.term, request.caller_now, grant.granted_at));
    if (grant.worker != request.worker || grant.token != request.token ||
        grant.ceiling + absl::Milliseconds(1) <= request.ceiling) {
      return Unusable(space, reply);
    }
    return grant;
  }

  absl::Status Release(const SpaceName& space, const WorkerRelease& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    LOCUS_RETURN_IF_ERROR(CheckToken(request.token));
    absl::Time last = absl::FromUnixMillis(static_cast<int64_t>(worker::kMostMillis));
    if (request.last_used < last) {
      last = request.last_used + absl::Milliseconds(1) - absl::Nanoseconds(1);
    }
    LOCUS_ASSIGN_OR_RETURN(
        Reply reply, Run(WorkerScripts::Get().release, space,
                         {absl::StrCat(request.worker), absl::StrCat(request.token), TextOf(last),
                          request.nonce}));
    if (WordOf(reply) == "ok") return absl::OkStatus();
    if (WordOf(reply) != "refused") return Unusable(space, reply);
    std::optional<WorkerRecord> record = worker::RecordOf(request.worker, TextAt(reply, 1));
    if (!record) return Unusable(space, reply);
    absl::Status status = worker::PlanRelease(&*record, request).status;
    return status.ok() ? Unusable(space, reply) : status;
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) override {
    std::map<uint64_t, WorkerRecord> records;
    std::string cursor = "0";
    for (int page = 0; page < kMostWorkerPages; ++page) {
      LOCUS_ASSIGN_OR_RETURN(Reply reply, Run(WorkerScripts::Get().show, space, {Now(), cursor}));
      std::optional<absl::Time> rest_until = MillisAt(reply, 2), now = MillisAt(reply, 4);
      std::optional<int64_t> losses = NumberIn(reply, 3);
      if (WordOf(reply) != "ok" || !ParseDecimal(TextAt(reply, 1), UINT64_MAX) || !rest_until ||
          !losses || !now) {
        return Unusable(space, reply);
      }
      for (size_t i = 5; i + 1 < reply.elements.size(); i += 2) {
        std::optional<uint64_t> id = ParseDecimal(TextAt(reply, i), kMostWorker);
        std::optional<WorkerRecord> record =
            id ? worker::RecordOf(*id, TextAt(reply, i + 1)) : std::nullopt;
        if (!record || record->token > kMostStored) return Spoilt(space, TextAt(reply, i + 1));
        records[*id] = *std::move(record);
      }
      cursor = std::string(TextAt(reply, 1));
      if (cursor != "0") continue;
      WorkerSpaceView view =
          worker::ViewOf({*rest_until, absl::ZeroDuration(), static_cast<uint64_t>(*losses)}, *now);
      for (auto& [id, record] : records) view.workers.push_back(std::move(record));
      return view;
    }
    return absl::UnavailableError(absl::StrCat(client_->place(), " shows space ", space.str(),
                                               " in more than ", kMostWorkerPages, " pages"));
  }

  WorkerStoreFacts facts() const override {
    return {.engine = "redis", .durable = false, .notices_loss = client_->is_one()};
  }
  RedisStats Stats() const override { return client_->Stats(); }

 private:
  static std::string KeyFor(const SpaceName& space) {
    return absl::StrCat("locus:workers:{", space.str(), "}");
  }
  std::string Now() const { return clock_ == nullptr ? "" : TextOf(clock_->Now()); }

  // The first arguments of `acquire` and `renew`.
  template <typename Request>
  std::vector<std::string> Words(const Request& request) const {
    return {Now(),
            TextOf(request.caller_now),
            Millis(request.term.ttl + request.term.max_skew),
            Millis(request.term.max_skew),
            request.nonce,
            request.holder};
  }

  absl::StatusOr<Reply> Run(const redis::Script& script, const SpaceName& space,
                            const std::vector<std::string>& words) {
    const std::vector<std::string_view> args(words.begin(), words.end());
    const std::string key = KeyFor(space);
    const redis::ScriptCall call{key, args};
    return std::move(client_->RunEach(script, {&call, 1})[0]);
  }

  absl::StatusOr<WorkerGrant> Answered(const SpaceName& space, const WorkerAcquire& request,
                                       const Reply& reply) const {
    if (WordOf(reply) == "clock") return BadClock(space, request.term, request.caller_now, reply);
    if (WordOf(reply) == "rests") {
      std::optional<absl::Time> rest_until = MillisAt(reply, 1), now = MillisAt(reply, 2);
      if (!rest_until || !now || *rest_until < *now) return Unusable(space, reply);
      return worker::PlanAcquire({*rest_until, {}, 0}, nullptr, request.start, request, *now)
          .status;
    }
    if (WordOf(reply) == "taken") {
      std::optional<uint64_t> held = ParseDecimal(TextAt(reply, 1), kMostWorker + 1);
      std::optional<absl::Time> next_free = MillisAt(reply, 2), now = MillisAt(reply, 3);
      if (!held || !next_free || !now) return Unusable(space, reply);
      return worker::AllTaken(space, request.range, *held, *next_free, *now);
    }
    LOCUS_ASSIGN_OR_RETURN(WorkerGrant grant, Granted(space, request.term, reply));
    LOCUS_RETURN_IF_ERROR(CheckClock(request.term, request.caller_now, grant.granted_at));
    if (grant.worker < request.range.first || grant.worker > request.range.last) {
      return Unusable(space, reply);
    }
    return grant;
  }

  // The script has decided; its answer must be one that the rules can give.
  absl::StatusOr<WorkerGrant> Granted(const SpaceName& space, const WorkerLeaseTerm& term,
                                      const Reply& reply) const {
    if (WordOf(reply) != "ok") return Unusable(space, reply);
    std::optional<uint64_t> id = ParseDecimal(TextAt(reply, 1), kMostWorker);
    std::optional<uint64_t> token = ParseDecimal(TextAt(reply, 2), kMostStored);
    std::optional<absl::Time> floor = MillisAt(reply, 3), ceiling = MillisAt(reply, 4),
                              now = MillisAt(reply, 6);
    if (!id || !token || *token == 0 || !floor || !ceiling || !now || *floor >= *ceiling ||
        *ceiling < *now + term.ttl + term.max_skew) {
      return Unusable(space, reply);
    }
    return WorkerGrant{*id, *token, *floor, *ceiling, *now, TextAt(reply, 5) == "1"};
  }

  // Of an answer that names the store's time and refuses the caller's.
  absl::Status BadClock(const SpaceName& space, const WorkerLeaseTerm& term, absl::Time caller_now,
                        const Reply& reply) const {
    std::optional<absl::Time> store_now = MillisAt(reply, 1);
    if (!store_now) return Unusable(space, reply);
    LOCUS_RETURN_IF_ERROR(CheckClock(term, caller_now, *store_now));
    return Unusable(space, reply);
  }

  absl::Status Unusable(const SpaceName& space, const Reply& reply) const {
    if (WordOf(reply) == "none") return worker::NoSuchSpace(space);
    if (WordOf(reply) == "schema") {
      return absl::FailedPreconditionError(absl::StrCat("space ", space.str(), " of worker IDs in ",
                                                        client_->place(), " has schema ",
                                                        Quoted(TextAt(reply, 1)), ", not 1"));
    }
    return Spoilt(space, WordOf(reply) == "bad" ? TextAt(reply, 1) : WordOf(reply));
  }

  absl::Status Spoilt(const SpaceName& space, std::string_view text) const {
    return absl::DataLossError(absl::StrCat(client_->place(), " answers ", Quoted(text),
                                            " of worker IDs in space ", space.str(),
                                            ", which is not a valid state of them"));
  }

  std::unique_ptr<redis::Client> client_;
  Clock* const clock_;  // null: the server's
};

}  // namespace

absl::StatusOr<std::unique_ptr<RedisWorkerLeaseStore>> internal::RedisWorkerLeaseStoreAccess::Open(
    const RedisOptions& server, Clock* clock) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<redis::Client> client, redis::Client::Open(server));
  return std::make_unique<WorkerStore>(std::move(client), clock);
}

absl::StatusOr<std::unique_ptr<RedisWorkerLeaseStore>> RedisWorkerLeaseStore::Open(
    const RedisOptions& server) {
  return internal::RedisWorkerLeaseStoreAccess::Open(server, nullptr);
}

}  // namespace locus
