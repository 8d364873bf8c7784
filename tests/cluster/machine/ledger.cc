// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/machine/ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace locus::cluster_machine {
namespace {

using Kind = Fact::Kind;

std::string Wrong(const Fact& fact, const std::string& what) {
  return absl::StrCat(std::string(ToString(fact.kind)), " worker ", fact.worker, " token ",
                      fact.token, " at ", absl::ToUnixMillis(fact.time), ": ", what);
}

}  // namespace

std::string Ledger::Note(const Fact& fact, int64_t proposed) {
  if (fact.time < now_) return Wrong(fact, "the machine's time has fallen");
  now_ = fact.time;
  Lease& lease = leases_[fact.worker];
  const bool current = lease.token == fact.token && lease.held;
  switch (fact.kind) {
    case Kind::kGranted:
      if (current) {  // asked for again, and raised
        if (fact.ceiling < lease.ceiling) return Wrong(fact, "the ceiling has fallen");
      } else {
        if (lease.ceiling >= fact.time) return Wrong(fact, "the ID has another holder, or rests");
        if (fact.token <= lease.token) return Wrong(fact, "the token has not risen");
        if (fact.floor < lease.ceiling) return Wrong(fact, "the floor is below the last ceiling");
        lease = {};
      }
      lease.token = fact.token;
      lease.held = true;
      break;
    case Kind::kRenewed:
      if (!current) return Wrong(fact, "it is not the holder's");
      if (lease.ceiling < fact.time) return Wrong(fact, "it had ended");
      if (lease.unhealthy) return Wrong(fact, "the holder is unhealthy");
      if (fact.ceiling < lease.ceiling) return Wrong(fact, "the ceiling has fallen");
      break;
    case Kind::kReleased:
      if (!current) return Wrong(fact, "it is not the holder's");
      lease.held = false;
      lease.ceiling = fact.ceiling;
      return "";
    case Kind::kExpired:
      return NoteExpiry(fact, proposed, lease);
    case Kind::kUnhealthy:
    case Kind::kHealthy:
      lease.unhealthy = fact.kind == Kind::kUnhealthy;
      return "";
    case Kind::kLossNoticed:
      return Wrong(fact, "nothing was lost");
    case Kind::kSpaceCreated:
    case Kind::kSpaceDeleted:
    case Kind::kTypeChanged:
    case Kind::kRefused:
      return "";
  }
  lease.ceiling = fact.ceiling;
  lease.raised_at = fact.time;
  lease.raised_at_true = proposed;
  return "";
}

std::string Ledger::NoteExpiry(const Fact& fact, int64_t proposed, Lease& lease) {
  if (lease.token != fact.token || !lease.held) return Wrong(fact, "nobody held it");
  if (lease.ceiling >= fact.time) return Wrong(fact, "its ceiling has not passed");
  lease.held = false;
  if (!steady_) return "";
  // WorkerLease's deadline allows for this, and for a millisecond at either end.
  constexpr absl::Duration kLargestStep = absl::Seconds(1);
  const absl::Duration lease_of = lease.ceiling - lease.raised_at - kLargestStep;
  const double least = static_cast<double>(absl::ToInt64Milliseconds(lease_of)) / 1.001 - 2;
  const auto lasted = static_cast<double>(proposed - lease.raised_at_true);
  if (lasted >= least) return "";
  return Wrong(fact, absl::StrCat("after ", lasted, " ms of true time, and ", least, " are least"));
}

std::string Ledger::Use(uint64_t worker, uint64_t token, absl::Time time) {
  auto& spans = uses_[worker];
  const auto own = spans.try_emplace(token).first;
  own->second.first = std::min(own->second.first, time);
  own->second.last = std::max(own->second.last, time);
  auto wrong = [&](uint64_t other) {
    return absl::StrCat("worker ", worker, ": an ID of time ", absl::ToUnixMillis(time),
                        " under token ", token, " is not apart from those of token ", other);
  };
  const auto next = std::next(own);
  if (next != spans.end() && next->second.first <= time) return wrong(next->first);
  if (own != spans.begin() && std::prev(own)->second.last >= time) {
    return wrong(std::prev(own)->first);
  }
  return "";
}

}  // namespace locus::cluster_machine
