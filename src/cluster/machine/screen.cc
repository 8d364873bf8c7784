// SPDX-License-Identifier: Apache-2.0
// Checks claims about the past. The rules of src/worker believe their callers, because a database's
// users are trusted. Here any client with a token can make a claim.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/flaw.h"
#include "src/cluster/machine/machine.h"

namespace locus::cluster_machine {
namespace {

// Above every ceiling that was granted: the longest ttl, max_skew, and once more that for the
// clock.
const absl::Duration kMostCeilingAhead = absl::Hours(24) + absl::Seconds(120);
// Tokens run ahead of the clock by one for each grant in a millisecond. Only forged ones do by so
// much.
constexpr uint64_t kMostTokenAhead = 3'600'000;
constexpr uint64_t kMostToken = uint64_t{1} << 62;

uint64_t MillisOf(absl::Time time) { return static_cast<uint64_t>(absl::ToUnixMillis(time)); }

std::string Named(uint64_t worker, uint64_t token) {
  return absl::StrCat("worker ", worker, ", token ", token, ": ");
}

// Refused whatever the machine knows by then: no holder has just got this token and is unhealthy.
Verdict NoSuchHolder(const WorkerRenew& renew) { return {renew.worker, renew.token, true, ""}; }

}  // namespace

const WorkerRecord* Machine::RecordOf(const SpaceName& space, uint64_t worker) const {
  const auto of = spaces_.find(space);
  if (of == spaces_.end()) return nullptr;
  const auto lease = of->second.leases.find(worker);
  return lease == of->second.leases.end() ? nullptr : &lease->second.record;
}

Machine::Screened Machine::Screen(Request& request) const {
  Screened screened;
  if (Has(Flaw::kBelievesEveryClaim)) return screened;
  if (std::holds_alternative<WorkerRenew>(request.action)) {
    ScreenRenewal(request, screened);
  } else if (std::holds_alternative<WorkerRelease>(request.action)) {
    ScreenRelease(request, screened);
  } else if (std::holds_alternative<Delete>(request.action)) {
    // Such a token would keep the space from ever being deleted.
    const uint64_t from = MillisOf(now_) + kMostTokenAhead;
    const auto space = spaces_.find(request.space);
    if (space == spaces_.end()) return screened;
    bool forged = false;
    for (const auto& [worker, lease] : space->second.leases) {
      if (!lease.record.nonce.empty() || lease.record.ceiling >= now_) return screened;
      forged = forged || lease.record.token >= from;
    }
    if (forged) screened.mend_before = Mend{from};
  }
  return screened;
}

std::vector<HeldLease> Machine::HoldersWith(std::string_view part) const {
  std::vector<HeldLease> found;
  for (const auto& [end, name, worker] : queue_) {
    const Lease& lease = spaces_.at(name).leases.at(worker);
    if (lease.record.holder.find(part) == std::string::npos) continue;
    found.push_back({name, worker, lease.record.token, lease.record.holder, lease.unhealthy});
  }
  return found;
}

size_t Machine::EndingBetween(absl::Time from, absl::Time until) const {
  size_t ending = 0;
  for (const auto& [name, space] : spaces_) {
    for (const auto& [nonce, worker] : space.holders) {
      const absl::Time ceiling = space.leases.at(worker).record.ceiling;
      ending += ceiling >= from && ceiling < until;
    }
  }
  return ending;
}

void Machine::ScreenRenewal(Request& request, Screened& screened) const {
  auto& renew = std::get<WorkerRenew>(request.action);
  auto refuse = [&](absl::Status why) {
    request.action = NoSuchHolder(renew);
    screened.refusal = std::move(why);
  };
  if (!spaces_.contains(request.space)) return refuse(worker::NoSuchSpace(request.space));
  const WorkerRecord* record = RecordOf(request.space, renew.worker);
  const bool known = record != nullptr && record->token == renew.token;
  const std::string named = Named(renew.worker, renew.token);
  if (renew.ceiling > now_ + kMostCeilingAhead && !(known && renew.ceiling <= record->ceiling)) {
    screened.refusal = absl::InvalidArgumentError(
        absl::StrCat(named, "the ceiling is further ahead of the cluster's clock than any is"));
    renew.nonce.clear();  // no renewal has none
    return;
  }
  if (known || (record != nullptr && record->token > renew.token)) return;
  // A lease that was forgotten is older than the clock. So is none that is granted meanwhile: its
  // token is at least the time of a command that comes later.
  if (renew.token > MillisOf(now_)) {
    return refuse(absl::FailedPreconditionError(
        absl::StrCat(named, "the cluster knows no such lease, and its clock, ", MillisOf(now_),
                     ", has not reached the token: it granted none")));
  }
  if (record != nullptr && !record->nonce.empty() && record->ceiling >= now_) {
    // The claimed lease is treated as older than the holder's, which stays. The ID gets no other
    // holder until neither of the two can make higher numbers.
    screened.refusal = absl::AbortedError(named + "the ID has another holder");
    renew.token = std::max<uint64_t>(record->token, 2) - 1;
  }
}

void Machine::ScreenRelease(Request& request, Screened& screened) const {
  auto& release = std::get<WorkerRelease>(request.action);
  if (request.id) {
    // Sent again; what follows may turn it into another one than it was then.
    if (const auto* known = requests_.Find(*request.id); known != nullptr) {
      screened.answer = known->answer;
      return;
    }
  }
  const WorkerRecord* record = RecordOf(request.space, release.worker);
  if (record == nullptr || record->token < release.token) {
    // There is nothing to free; nor is there if the token is granted meanwhile, which was guessed.
    release.token = kMostToken;
    return;
  }
  if (record->token > release.token || record->nonce.empty()) return;
  if (record->nonce == release.nonce) {
    release.last_used = std::max(release.last_used, record->renewed_at);
    return;
  }
  const std::string named = Named(release.worker, release.token);
  screened.refusal =
      release.nonce.empty()
          ? absl::InvalidArgumentError(named +
                                       "a release needs the nonce of its acquire; without "
                                       "one the ID rests until its ceiling")
          : absl::AbortedError(named + "the nonce is not that of the holder");
  // A renewal that is refused for its nonce, and shows no loss.
  request.action = WorkerRenew{release.worker,
                               release.token,
                               absl::InfinitePast(),
                               WorkerLeaseTerm(),
                               release.nonce,
                               "",
                               now_};
}

std::vector<Request> Machine::Mends() const {
  std::vector<Request> mends;
  for (const auto& [name, space] : spaces_) {
    const bool forged = std::any_of(space.leases.begin(), space.leases.end(), [](const auto& one) {
      return one.second.record.token >= kLeastForgedToken;
    });
    if (forged) mends.push_back({std::nullopt, name, Mend{kLeastForgedToken}, {}});
  }
  return mends;
}

}  // namespace locus::cluster_machine
