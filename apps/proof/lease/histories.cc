// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/lease/histories.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace locus::proof {
namespace {

using linear::Call;
using linear::LeaseHistory;
using linear::LeaseModel;
using linear::LeaseOperation;
using Kind = LeaseOperation::Kind;

constexpr uint64_t kMostSteps = 2'000'000;

// Each node that took the request refused it. A request that an attempt before had left with a
// node, which gave no answer, may be carried out after the refusal: nothing is remembered of one
// that changed nothing.
bool RefusedForGood(const RecordedAnswer& answer) {
  if (answer.lost > 0) return false;
  switch (answer.code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kNotFound:
      return true;
    default:
      return false;
  }
}

// Each node that was asked named another one.
bool NobodyTookIt(const RecordedAnswer& answer) {
  return answer.code == absl::StatusCode::kUnavailable && answer.lost == 0;
}

// Whether the store has said what became of the call.
bool IsAnswer(absl::StatusCode code) {
  return code == absl::StatusCode::kOk || code == absl::StatusCode::kAborted;
}

LeaseOperation Asked(const RecordedCall& call) {
  LeaseOperation one;
  one.kind = call.kind;
  one.nonce = call.nonce;
  one.token = call.token;
  one.last_used = call.last_used;
  return one;
}

// Replaces all nonces that no client saw.
constexpr char kUnseen[] = "unseen";

// All that clients saw of one worker ID.
struct Seen {
  std::set<std::string> nonces;
  std::set<uint64_t> granted;  // tokens, to a caller that got the answer, or known by its nonce
  std::map<uint64_t, int64_t> of_nobody;  // other tokens, and when a client first saw them
  int64_t unseen_until = INT64_MIN;       // an acquire that no client saw was called before
};
using SeenOf = std::map<uint64_t, Seen>;

void Note(const RecordedCall& call, SeenOf& seen) {
  const int64_t returned = call.answer->returned;
  if (call.answer->grant) {
    Seen& worker = seen[call.answer->grant->worker];
    worker.nonces.insert(call.nonce);
    worker.granted.insert(call.answer->grant->token);
  }
  if (call.kind == Kind::kRelease && call.answer->code == absl::StatusCode::kAborted) {
    seen[call.worker].unseen_until = std::max(seen[call.worker].unseen_until, returned);
  }
  if (!call.answer->view) return;
  for (const WorkerRecord& record : call.answer->view->workers) {
    Seen& worker = seen[record.worker];
    if (!record.nonce.empty()) {
      worker.nonces.insert(record.nonce);
      worker.granted.insert(record.token);
      continue;
    }
    int64_t& first = worker.of_nobody.try_emplace(record.token, returned).first->second;
    first = std::min(first, returned);
  }
}

SeenOf WhatWasSeen(const std::vector<const RecordedCall*>& calls) {
  SeenOf seen;
  for (const RecordedCall* call : calls) {
    if (call->kind == Kind::kRenew || call->kind == Kind::kRelease) seen[call->worker];
    if (call->kind == Kind::kAcquire) {
      for (uint64_t i = call->range.first; i <= call->range.last; ++i) seen[i];
    }
    if (call->answer) Note(*call, seen);
  }
  for (auto& [number, worker] : seen) {
    for (const auto& [token, first] : worker.of_nobody) {
      if (worker.granted.count(token) > 0) continue;
      worker.unseen_until = std::max(worker.unseen_until, first);
    }
  }
  return seen;
}

void AddView(const RecordedCall& call, const SeenOf& workers, Histories& histories) {
  const WorkerSpaceView& view = *call.answer->view;
  for (const auto& [worker, seen] : workers) {
    LeaseOperation one = Asked(call);
    one.now = view.now;
    for (const WorkerRecord& record : view.workers) {
      if (record.worker == worker) one.record = record;
    }
    histories[worker].push_back({call.called, call.answer->returned, one});
  }
}

void AddUnanswered(const RecordedCall& call, const SeenOf& workers, Histories& histories) {
  if (call.kind != Kind::kAcquire) {
    histories[call.worker].push_back({call.called, std::nullopt, Asked(call)});
    return;
  }
  for (const auto& [worker, seen] : workers) {
    if (worker < call.range.first || worker > call.range.last) continue;
    LeaseOperation one = Asked(call);
    if (seen.nonces.count(call.nonce) == 0) {
      if (call.called >= seen.unseen_until) continue;
      one.nonce = kUnseen;
    }
    histories[worker].push_back({call.called, std::nullopt, one});
  }
}

void AddCall(const RecordedCall& call, const SeenOf& workers, Histories& histories) {
  const auto& answer = call.answer;
  const uint64_t lost = answer && call.kind == Kind::kRenew ? answer->lost : 0;
  for (uint64_t i = 0; i < lost; ++i) AddUnanswered(call, workers, histories);
  if (answer && IsAnswer(answer->code)) {
    LeaseOperation one = Asked(call);
    one.code = answer->code;
    if (answer->grant) one.grant = *answer->grant;
    const uint64_t worker = call.kind == Kind::kAcquire ? one.grant.worker : call.worker;
    histories[worker].push_back({call.called, answer->returned, one});
  } else if (!answer || !(RefusedForGood(*answer) || NobodyTookIt(*answer))) {
    AddUnanswered(call, workers, histories);
  }
}

}  // namespace

Histories HistoriesOf(const std::vector<RecordedCall>& calls, const std::string& space) {
  std::vector<const RecordedCall*> of_space;
  for (const RecordedCall& call : calls) {
    if (call.space == space) of_space.push_back(&call);
  }
  const SeenOf seen = WhatWasSeen(of_space);
  Histories histories;
  for (const RecordedCall* call : of_space) {
    if (call->kind != Kind::kShow) {
      AddCall(*call, seen, histories);
    } else if (call->answer && call->answer->view) {
      AddView(*call, seen, histories);
    }
  }
  return histories;
}

std::vector<std::string> NotLinearizable(const Histories& histories) {
  std::vector<std::string> wrong;
  for (const auto& [worker, history] : histories) {
    const linear::Report report = linear::Check<LeaseModel>(history, kMostSteps);
    if (report.verdict == linear::Verdict::kLinearizable) continue;
    wrong.push_back(absl::StrCat("worker ", worker, ": ", linear::Told(history, report)));
  }
  return wrong;
}

std::optional<LeaseHistory> WithStaleRead(const LeaseHistory& history, uint64_t choice) {
  std::vector<size_t> views;
  for (size_t i = 0; i < history.size(); ++i) {
    if (history[i].operation.kind == Kind::kShow) views.push_back(i);
  }
  for (size_t k = 0; k < views.size(); ++k) {
    const size_t old = views[(choice + k) % views.size()];
    const auto& record = history[old].operation.record;
    // The first later token in an answer to an acquire that began after the view.
    int64_t changed = INT64_MAX;
    for (const auto& grant : history) {
      if (grant.operation.kind != Kind::kAcquire || !grant.returned) continue;
      if (grant.operation.grant.token > (record ? record->token : 0) &&
          grant.called > *history[old].returned) {
        changed = std::min(changed, *grant.returned);
      }
    }
    std::vector<size_t> later;
    for (const size_t view : views) {
      if (history[view].called > changed) later.push_back(view);
    }
    if (later.empty()) continue;
    LeaseHistory stale = history;
    // The node answers with its own time, which is current: only the leases are old.
    stale[later[choice % later.size()]].operation.record = record;
    return stale;
  }
  return std::nullopt;
}

}  // namespace locus::proof
