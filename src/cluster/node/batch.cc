// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/node/batch.h"

#include <algorithm>
#include <cstddef>
#include <variant>

namespace locus::cluster_node {

using cluster_machine::Answer;
using cluster_machine::Machine;
using cluster_machine::Request;

namespace {

// Keeps commands and answers to some megabytes.
constexpr size_t kMostSectionsOfCommand = 1 << 16;

}  // namespace

Batch NextBatch(std::deque<Waiting>& waiting, const Machine& machine) {
  Batch batch;
  size_t sections = 0;
  // One may bring another before it.
  while (!waiting.empty() && !batch.deletes &&
         batch.requests.size() + 1 < cluster_machine::kMostRequests) {
    const size_t more = SectionsAskedBy(waiting.front().request.action);
    if (!batch.requests.empty() && sections + more > kMostSectionsOfCommand) break;
    sections += more;
    Waiting next = std::move(waiting.front());
    waiting.pop_front();
    Machine::Screened screened = machine.Screen(next.request);
    if (screened.answer) {
      batch.known.emplace_back(std::move(next.answered), *std::move(screened.answer));
      continue;
    }
    if (screened.mend_before) {
      batch.requests.push_back({std::nullopt, next.request.space, *screened.mend_before, {}});
      batch.answered.push_back([](const Answer&) {});
    }
    if (screened.refusal) {
      next.answered = [answered = std::move(next.answered),
                       refusal = *std::move(screened.refusal)](Answer answer) {
        // It may not have been applied.
        if (!absl::IsUnavailable(answer.status)) answer = {refusal, std::nullopt, {}};
        answered(std::move(answer));
      };
    }
    batch.deletes = std::holds_alternative<cluster_machine::Delete>(next.request.action);
    batch.requests.push_back(std::move(next.request));
    batch.answered.push_back(std::move(next.answered));
  }
  return batch;
}

bool TtlsUnderWay::Add(const std::vector<Request>& requests, const Machine& machine,
                       absl::Time now) {
  bool mixes = false;
  for (const Request& request : requests) {
    const auto* call = std::get_if<counter_machine::Call>(&request.action);
    if (call == nullptr) continue;
    const bool keeps = call->ttl == absl::ZeroDuration();
    if (keeps && call->kind == counter_machine::Call::Kind::kLoad) continue;
    const absl::Duration ttl = keeps ? absl::InfiniteDuration() : call->ttl;
    absl::Duration& longest = longest_[call->name];
    mixes = mixes || ttl < longest || machine.counters().ForgetsEarlier(*call, now);
    longest = std::max(longest, ttl);
  }
  return mixes;
}

}  // namespace locus::cluster_node
