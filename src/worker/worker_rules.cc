// SPDX-License-Identifier: Apache-2.0
#include "src/worker/worker_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

absl::Status WorkerLeaseStore::Delete(const SpaceName&) {
  return absl::UnimplementedError(
      absl::StrCat("only locusd deletes spaces of worker IDs, and this store is ", facts().engine));
}
namespace worker {
namespace {

constexpr absl::Duration kLeastTtl = absl::Seconds(10);
constexpr absl::Duration kMostTtl = absl::Hours(24);
constexpr absl::Duration kMostSkew = absl::Seconds(60);
constexpr absl::Duration kMostRest = absl::Hours(25);
constexpr uint64_t kMostToken = uint64_t{1} << 62;
// RestLeft reads the text between these: answers of a cluster keep only a code and a message.
constexpr absl::string_view kRests = "no worker ID is granted before ";
constexpr absl::string_view kFromNow = " from now";

absl::Time Millis(absl::Time time) {
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return time;
  return absl::FromUnixMillis(absl::ToUnixMillis(time));
}

std::string Shown(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

absl::Status CheckTerm(const WorkerLeaseTerm& term) {
  if (term.ttl < kLeastTtl || term.ttl > kMostTtl) {
    return absl::InvalidArgumentError(absl::StrCat("ttl is ", absl::FormatDuration(term.ttl),
                                                   "; it must be between 10 s and 24 h"));
  }
  if (term.max_skew < absl::ZeroDuration() || term.max_skew > kMostSkew) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_skew is ", absl::FormatDuration(term.max_skew), "; it must be between 0 and 60 s"));
  }
  for (absl::Duration each : {term.ttl, term.max_skew}) {
    if (each != absl::Milliseconds(absl::ToInt64Milliseconds(each))) {
      return absl::InvalidArgumentError(
          absl::StrCat(absl::FormatDuration(each), " is not in whole milliseconds"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckHolder(const std::string& nonce, const std::string& holder) {
  const bool known = std::all_of(nonce.begin(), nonce.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (nonce.empty() || nonce.size() > kMostNonceBytes || !known) {
    return absl::InvalidArgumentError(absl::StrCat("nonce ", internal::Quoted(nonce),
                                                   " is not 1 to ", kMostNonceBytes,
                                                   " characters of a-z, 0-9, '_' and '-'"));
  }
  if (holder.size() > kMostHolderBytes) {
    return absl::InvalidArgumentError(absl::StrCat("holder has ", holder.size(), " bytes; at most ",
                                                   kMostHolderBytes, " are kept"));
  }
  return absl::OkStatus();
}

absl::Status CheckCallerNow(absl::Time caller_now) {
  if (caller_now < absl::UnixEpoch() || caller_now > absl::FromUnixSeconds(253402300799)) {
    return absl::InvalidArgumentError(absl::StrCat("caller_now is ", absl::FormatTime(caller_now),
                                                   "; it must be between 1970 and 9999"));
  }
  return absl::OkStatus();
}

absl::Status CheckToken(uint64_t worker, uint64_t token, uint64_t least, uint64_t most) {
  if (worker > kMostWorker) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker ", worker, " is above ", kMostWorker, ", the highest worker ID"));
  }
  if (token < least || token > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("token ", token, " is not between ", least, " and ", most));
  }
  return absl::OkStatus();
}

absl::Status CheckAsked(uint64_t worker, uint64_t token) {
  return CheckToken(worker, token, 1, kMostToken);
}

absl::Duration Whole(const WorkerLeaseTerm& term) { return term.ttl + term.max_skew; }

// Stores and answers `record` with its ceiling raised.
Outcome Granted(const Space& before, const Space& space, WorkerRecord record,
                const WorkerLeaseTerm& term, absl::Time now) {
  record.ceiling = std::max(record.ceiling, now + Whole(term));
  record.renewed_at = now;
  Outcome outcome;
  outcome.grant = {record.worker,  record.token, record.floor,
                   record.ceiling, now,          space.losses != before.losses};
  Space after = space;
  after.longest = std::max(after.longest, Whole(term));
  if (after != before) outcome.space = after;
  outcome.record = std::move(record);
  return outcome;
}

Outcome Refused(absl::Status status) {
  Outcome outcome;
  outcome.status = std::move(status);
  return outcome;
}

absl::Status Resting(absl::Time until, absl::Time now) {
  return absl::UnavailableError(absl::StrCat(kRests, Shown(until), ", ",
                                             absl::FormatDuration(until - now), kFromNow,
                                             ": the space was created anew, or its store lost "
                                             "leases, and earlier holders may still use their IDs "
                                             "until then"));
}

Outcome Lost(uint64_t worker, uint64_t token, std::string_view why) {
  return Refused(absl::AbortedError(
      absl::StrCat("worker ", worker, ", token ", token, ": ", internal::ToAbsl(why))));
}

}  // namespace

absl::Status Check(const WorkerAcquire& request) {
  const WorkerRange& range = request.range;
  if (range.first > range.last || range.last > kMostWorker) {
    return absl::InvalidArgumentError(
        absl::StrCat("range ", range.first, "..", range.last, " is not within 0..", kMostWorker));
  }
  auto outside = [&range](uint64_t worker) { return worker < range.first || worker > range.last; };
  if (request.preferred.has_value() && outside(*request.preferred)) {
    return absl::InvalidArgumentError(absl::StrCat("preferred worker ", *request.preferred,
                                                   " is outside ", range.first, "..", range.last));
  }
  if (outside(request.start)) {
    return absl::InvalidArgumentError(
        absl::StrCat("start ", request.start, " is outside ", range.first, "..", range.last));
  }
  absl::Status status = CheckTerm(request.term);
  status.Update(CheckHolder(request.nonce, request.holder));
  status.Update(CheckCallerNow(request.caller_now));
  return status;
}

absl::Status Check(const WorkerRenew& request) {
  absl::Status status = CheckAsked(request.worker, request.token);
  status.Update(CheckTerm(request.term));
  status.Update(CheckHolder(request.nonce, request.holder));
  status.Update(CheckCallerNow(request.caller_now));
  if (status.ok() && request.ceiling > request.caller_now + kMostRest + kMostTtl) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ceiling ", Shown(request.ceiling), " is further ahead of the caller's clock, ",
        Shown(request.caller_now), ", than any that is granted"));
  }
  return status;
}

absl::Status Check(const WorkerRelease& request) {
  return CheckAsked(request.worker, request.token);
}

absl::Status Check(const WorkerSpacePast& past) {
  if (past.first_ever && past.lost) {
    return absl::InvalidArgumentError(
        "a space cannot both be the first ever of its name and have lost leases");
  }
  return CheckTerm({.ttl = past.longest_ttl});
}

absl::Status CheckRest(absl::Duration rest) {
  if (rest < absl::ZeroDuration() || rest > kMostRest) {
    return absl::InvalidArgumentError(
        absl::StrCat("rest is ", absl::FormatDuration(rest), "; it must be between 0 and 25 h"));
  }
  return absl::OkStatus();
}

absl::Status CheckRecord(const WorkerRecord& record, uint64_t least_token) {
  LOCUS_RETURN_IF_ERROR(CheckToken(record.worker, record.token, least_token, kMostTokenOfRecord));
  if (record.floor > record.ceiling) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", record.worker, " has the floor ",
                                                   Shown(record.floor), " above its ceiling ",
                                                   Shown(record.ceiling)));
  }
  return record.nonce.empty() ? absl::OkStatus() : CheckHolder(record.nonce, record.holder);
}

absl::Status CheckClock(const WorkerLeaseTerm& term, absl::Time caller_now, absl::Time store_now) {
  const absl::Duration difference = caller_now - store_now;
  if (absl::AbsDuration(difference) <= term.max_skew) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this process's clock shows ", Shown(caller_now), ", the store's ",
                   Shown(store_now), ": they differ by more than max_skew, ",
                   absl::FormatDuration(term.max_skew), "; correct the clock that is wrong"));
}

absl::Duration RestOf(const WorkerSpacePast& past) {
  return past.first_ever ? absl::ZeroDuration() : past.longest_ttl + kMostSkew;
}

bool PlanCreate(Space& space, bool is_new, const WorkerSpacePast& past, absl::Time now) {
  if (past.lost) {
    DeclareLoss(space, RestOf(past), now);
    return true;
  }
  if (is_new && !past.first_ever) {
    space.rest_until = std::max(space.rest_until, Millis(now) + RestOf(past));
  }
  // Without a loss there is a rest only since the space was created: nothing was granted yet.
  const bool ends =
      !is_new && past.first_ever && space.losses == 0 && space.rest_until >= Millis(now);
  if (ends) space.rest_until = absl::InfinitePast();
  return is_new || ends;
}

void DeclareLoss(Space& space, absl::Duration rest, absl::Time now) {
  if (rest == absl::ZeroDuration()) return;
  space.rest_until = std::max(space.rest_until, Millis(now) + rest);
  ++space.losses;
}

WorkerSpaceView ViewOf(const Space& space, absl::Time now) {
  WorkerSpaceView view;
  view.now = Millis(now);
  view.rest_until = space.rest_until;
  view.losses = space.losses;
  return view;
}

void NoteLoss(Space& space, const WorkerLeaseTerm& term, absl::Time now) {
  space.longest = std::max(space.longest, Whole(term));
  space.rest_until = std::max(space.rest_until, Millis(now) + space.longest);
  ++space.losses;
}

void NoteLoss(Space& space, absl::Time now) {
  if (space.longest == absl::ZeroDuration()) return NoteLoss(space, {kMostTtl, kMostSkew}, now);
  space.rest_until = std::max(space.rest_until, Millis(now) + space.longest);
  ++space.losses;
}

bool IsFree(const WorkerRecord* record, const WorkerAcquire& request, absl::Time now) {
  if (record == nullptr) return true;
  return record->ceiling < Millis(now) || record->nonce == request.nonce;
}

absl::StatusOr<FreeWorker> FindFree(const SpaceName& space, const WorkerAcquire& request,
                                    absl::Time now, const Scan& scan) {
  now = Millis(now);
  std::optional<FreeWorker> found;
  uint64_t held = 0;
  absl::Time next_free = absl::InfiniteFuture();
  // The first of first..last that is free.
  auto search = [&](uint64_t first, uint64_t last) -> absl::Status {
    uint64_t next = first;
    auto visit = [&](const WorkerRecord& record) {
      if (record.worker > next) return false;  // `next` was never granted
      if (IsFree(&record, request, now)) {
        found = FreeWorker{record.worker, record};
        return false;
      }
      held += record.nonce.empty() ? 0 : 1;
      next_free = std::min(next_free, record.ceiling);
      ++next;
      return true;
    };
    LOCUS_RETURN_IF_ERROR(scan(first, last, visit));
    if (!found.has_value() && next <= last) found = FreeWorker{next, std::nullopt};
    return absl::OkStatus();
  };
  if (request.preferred.has_value()) {
    LOCUS_RETURN_IF_ERROR(search(*request.preferred, *request.preferred));
    if (found.has_value()) return *std::move(found);
    held = 0;
  }
  LOCUS_RETURN_IF_ERROR(search(request.start, request.range.last));
  if (!found.has_value() && request.start > request.range.first) {
    LOCUS_RETURN_IF_ERROR(search(request.range.first, request.start - 1));
  }
  if (!found.has_value()) return AllTaken(space, request.range, held, next_free, now);
  return *std::move(found);
}

Outcome PlanAcquire(const Space& space, const WorkerRecord* record, uint64_t worker,
                    const WorkerAcquire& request, absl::Time now) {
  now = Millis(now);
  if (record != nullptr && record->nonce == request.nonce && record->ceiling >= now) {
    return Granted(space, space, *record, request.term, now);  // the answer was lost
  }
  if (space.rest_until >= now) {
    return Refused(Resting(space.rest_until, now));
  }
  WorkerRecord next;
  next.worker = worker;
  // Never below the clock, so that tokens rise even if the store has forgotten the last one.
  next.token = static_cast<uint64_t>(absl::ToUnixMillis(now));
  // Forgotten leases have ended by then, so their IDs have no later times.
  next.floor = space.rest_until;
  next.ceiling = absl::InfinitePast();
  if (record != nullptr) {
    next.token = std::max(next.token, record->token + 1);
    next.floor = std::max(next.floor, record->ceiling);
    next.ceiling = record->ceiling;
  }
  next.granted_at = now;
  next.nonce = request.nonce;
  next.holder = request.holder;
  return Granted(space, space, std::move(next), request.term, now);
}

Outcome PlanRenew(const Space* space, const WorkerRecord* record, const WorkerRenew& request,
                  absl::Time now) {
  now = Millis(now);
  const Space before = space == nullptr ? Space() : *space;
  Space after = before;
  if (record != nullptr && record->token > request.token) {
    Outcome lost = Lost(request.worker, request.token, "the ID has another holder");
    if (record->floor < request.ceiling) {
      // The ID was granted to the other holder while this one could still make IDs: the store had
      // forgotten this lease.
      NoteLoss(after, request.term, now);
      lost.space = after;
    }
    return lost;
  }
  const bool known = record != nullptr && record->token == request.token;
  if (known && record->nonce != request.nonce) {
    return Lost(request.worker, request.token, "it was released, or has ended");
  }
  const absl::Time ceiling = known ? std::max(record->ceiling, request.ceiling) : request.ceiling;
  if (ceiling < now) {
    return Lost(request.worker, request.token, "it ended at " + Shown(ceiling));
  }
  WorkerRecord next;
  if (known) {
    next = *record;
  } else {
    next.worker = request.worker;
    next.token = request.token;
    next.granted_at = now;
    next.floor = absl::InfinitePast();
    next.nonce = request.nonce;
  }
  // The store does not know this ceiling or token, so it has lost data. The caller's lease is the
  // later one, so it continues.
  if (!known || record->ceiling < request.ceiling) NoteLoss(after, request.term, now);
  next.ceiling = ceiling;
  next.holder = request.holder;
  return Granted(before, after, std::move(next), request.term, now);
}

Outcome PlanRelease(const WorkerRecord* record, const WorkerRelease& request) {
  Outcome outcome;
  if (record == nullptr || record->token < request.token) return outcome;  // forgotten: it rests
  if (record->token > request.token) {
    return Lost(request.worker, request.token, "the ID has another holder");
  }
  if (record->nonce.empty()) return outcome;
  if (!request.nonce.empty() && record->nonce != request.nonce) {
    return Lost(request.worker, request.token, "it was granted under another nonce");
  }
  outcome.record = *record;
  outcome.record->nonce.clear();
  // Up to the next millisecond, so that no time that was used is above it.
  const absl::Time last = Millis(request.last_used + absl::Milliseconds(1) - absl::Nanoseconds(1));
  outcome.record->ceiling = std::min(record->ceiling, std::max(last, record->floor));
  return outcome;
}

absl::Status AllTaken(const SpaceName& space, const WorkerRange& range, uint64_t held,
                      absl::Time next_free, absl::Time now) {
  return absl::ResourceExhaustedError(
      absl::StrCat("space ", space.str(), ": all ", range.size(), " worker IDs of ", range.first,
                   "..", range.last, " are taken, ", held, " of them held; the next one is free ",
                   absl::FormatDuration(absl::Trunc(next_free - now, absl::Milliseconds(1))),
                   " from now, at ", Shown(next_free), ", unless it is renewed"));
}

std::optional<absl::Duration> RestLeft(const absl::Status& status) {
  const absl::string_view text = status.message();
  const size_t comma = text.find(", "), end = text.find(kFromNow);
  absl::Duration left;
  if (!absl::IsUnavailable(status) || !absl::StartsWith(text, kRests) || comma >= end ||
      !absl::ParseDuration(text.substr(comma + 2, end - comma - 2), &left)) {
    return std::nullopt;
  }
  return left;
}

absl::Status NoSuchSpace(const SpaceName& space) {
  return absl::NotFoundError(absl::StrCat(
      "there is no space ", space.str(),
      " of worker IDs; create it with `locus lease create`, with --first-ever only if there never "
      "was one"));
}

}  // namespace worker

std::string_view ToString(WorkerState state) {
  switch (state) {
    case WorkerState::kHeld:
      return "held";
    case WorkerState::kResting:
      return "resting";
    case WorkerState::kFree:
      return "free";
  }
  return "?";
}

WorkerState WorkerSpaceView::StateOf(const WorkerRecord& record) const {
  if (record.ceiling < now) return WorkerState::kFree;
  return record.nonce.empty() ? WorkerState::kResting : WorkerState::kHeld;
}

}  // namespace locus
