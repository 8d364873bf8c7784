// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/linear/lease_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace locus::linear {
namespace {

using State = LeaseModel::State;
using Kind = LeaseOperation::Kind;

constexpr absl::Duration kTick = absl::Milliseconds(1);

bool TokenIs(const State& state, uint64_t token) {
  return state.token_known ? state.token == token : state.token <= token;
}

// The store's time was this; false: it had been later.
bool At(State& state, absl::Time now) {
  if (now < state.now) return false;
  state.now = now;
  return true;
}

// A client saw the lease.
void See(State& state, uint64_t token, absl::Time floor, absl::Time ceiling) {
  state.token = token;
  state.floor = floor;
  state.ceiling = ceiling;
  state.token_known = state.ceiling_known = true;
}

bool Extend(State& state, const WorkerGrant& grant) {
  if (!TokenIs(state, grant.token) || grant.ceiling < state.ceiling) return false;
  if (state.token_known && grant.floor != state.floor) return false;
  if (state.ceiling_known && grant.granted_at > state.ceiling) return false;  // it had ended
  See(state, grant.token, grant.floor, grant.ceiling);
  return true;
}

bool Acquire(State& state, const LeaseOperation& one, bool answered) {
  if (!answered && state.nonce == one.nonce) {
    // Its own lease was extended; or had ended, and it got another one.
    state.token_known = state.ceiling_known = false;
    return true;
  }
  if (!answered) {
    // It gets the ID once the ceiling has passed.
    state.now = std::max(state.now, state.ceiling + kTick);
    state.nonce = one.nonce;
    ++state.token;
    state.token_known = state.ceiling_known = false;
    return true;
  }
  const WorkerGrant& grant = one.grant;
  if (!At(state, grant.granted_at)) return false;
  if (state.nonce == one.nonce && TokenIs(state, grant.token)) return Extend(state, grant);
  if (grant.granted_at <= state.ceiling || grant.floor < state.ceiling) return false;
  if (grant.token <= state.token) return false;
  state.nonce = one.nonce;
  See(state, grant.token, grant.floor, grant.ceiling);
  return true;
}

bool Renew(State& state, const LeaseOperation& one, bool answered) {
  const bool own = state.nonce == one.nonce && TokenIs(state, one.token);
  if (!answered) {
    state.ceiling_known = false;
    return own;
  }
  if (one.code == absl::StatusCode::kOk) {
    return own && At(state, one.grant.granted_at) && Extend(state, one.grant);
  }
  // Only a lease that has ended is refused to its holder.
  if (own && state.token_known) state.now = std::max(state.now, state.ceiling + kTick);
  return true;
}

bool Release(State& state, const LeaseOperation& one, bool answered) {
  if (answered && one.code != absl::StatusCode::kOk) {
    return state.token_known ? state.token > one.token : true;
  }
  if (!TokenIs(state, one.token)) return false;
  if (state.nonce.empty()) return answered;  // it had been released
  state.nonce.clear();
  const absl::Time lowered = std::min(state.ceiling, std::max(one.last_used, state.floor));
  if (lowered < state.ceiling) state.ceiling_known = false;  // not lowered, if it had ended before
  state.ceiling = lowered;
  return true;
}

bool Show(State& state, const LeaseOperation& one, bool answered) {
  if (!answered) return false;
  if (!At(state, one.now)) return false;
  if (!one.record) return state.token == 0;
  const WorkerRecord& record = *one.record;
  if (!TokenIs(state, record.token) || state.token == 0) return false;
  const bool same =
      state.ceiling_known ? record.ceiling == state.ceiling : record.ceiling >= state.ceiling;
  if (!same) return false;
  const bool ended = record.nonce.empty() && record.ceiling < one.now;
  if (record.nonce != state.nonce && !ended) return false;
  See(state, record.token, record.floor, record.ceiling);
  return true;
}

std::string TextOf(const Call<LeaseOperation>& call) {
  constexpr const char* kNames[] = {"acquire", "renew", "release", "show"};
  const LeaseOperation& one = call.operation;
  std::string text =
      absl::StrCat("[", call.called, ", ", call.returned ? absl::StrCat(*call.returned) : "never",
                   "] ", kNames[static_cast<size_t>(one.kind)], " ", one.nonce, " ", one.token, " ",
                   absl::StatusCodeToString(one.code));
  if (one.kind == Kind::kShow && one.record) {
    absl::StrAppend(&text, " token ", one.record->token, " nonce ", one.record->nonce, " ceiling ",
                    absl::ToUnixMillis(one.record->ceiling), " at ", absl::ToUnixMillis(one.now));
  } else if (one.grant.token != 0) {
    absl::StrAppend(&text, " token ", one.grant.token, " ceiling ",
                    absl::ToUnixMillis(one.grant.ceiling), " at ",
                    absl::ToUnixMillis(one.grant.granted_at));
  }
  return text;
}

}  // namespace

bool LeaseModel::Step(State& state, const Operation& operation, bool answered) {
  switch (operation.kind) {
    case Kind::kAcquire:
      return Acquire(state, operation, answered);
    case Kind::kRenew:
      return Renew(state, operation, answered);
    case Kind::kRelease:
      return Release(state, operation, answered);
    case Kind::kShow:
      return Show(state, operation, answered);
  }
  return false;
}

std::string LeaseModel::Key(const State& state) {
  return absl::StrCat(state.nonce, "/", state.token, "/", absl::ToUnixMillis(state.floor), "/",
                      absl::ToUnixMillis(state.ceiling), "/", absl::ToUnixMillis(state.now), "/",
                      state.token_known, state.ceiling_known);
}

bool LeaseModel::Same(const Operation& one, const Operation& other) {
  return one.kind == other.kind && one.nonce == other.nonce && one.token == other.token &&
         one.last_used == other.last_used;
}

std::string Told(const LeaseHistory& history, const Report& report) {
  if (report.verdict == Verdict::kLinearizable) return "";
  if (report.verdict == Verdict::kGaveUp) {
    return absl::StrCat("gave up after ", report.steps, " steps");
  }
  std::string text = "not linearizable; in the longest order the last ones are";
  const size_t from = report.order.size() < 6 ? 0 : report.order.size() - 6;
  for (size_t i = from; i < report.order.size(); ++i) {
    absl::StrAppend(&text, "\n  ", TextOf(history[report.order[i]]));
  }
  return absl::StrCat(text, "\nand this one does not fit:\n  ", TextOf(history[report.stuck]));
}

}  // namespace locus::linear
