// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/lease/verdict.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/proof/lease/histories.h"
#include "apps/proof/lease/invariant.h"
#include "apps/proof/lease/records.h"
#include "apps/proof/lease/spaces.h"

namespace locus::proof {
namespace {

// Of a file that a client may have been killed before it made.
std::vector<RecordedCall> CallsIn(const std::string& path, Verdict& verdict) {
  if (!std::filesystem::exists(path)) return {};
  auto calls = ReadCalls(path);
  if (!calls.ok()) {
    verdict.wrong.push_back(calls.status().ToString());
    return {};
  }
  for (const RecordedCall& call : *calls) {
    if (call.answer && (call.answer->code == absl::StatusCode::kDataLoss ||
                        call.answer->code == absl::StatusCode::kInternal)) {
      verdict.wrong.push_back(absl::StrCat(path, ": a call was answered with ",
                                           absl::StatusCodeToString(call.answer->code)));
    }
  }
  return *std::move(calls);
}

}  // namespace

void JudgeHistories(const std::vector<std::string>& outs, uint64_t seed, Verdict& verdict) {
  std::vector<RecordedCall> calls;
  for (const std::string& out : outs) {
    const std::vector<RecordedCall> more = CallsIn(out + ".history", verdict);
    calls.insert(calls.end(), more.begin(), more.end());
  }
  const Histories histories = HistoriesOf(calls, kHistorySpace);
  for (std::string& each : NotLinearizable(histories)) verdict.wrong.push_back(std::move(each));
  for (const auto& [worker, history] : histories) {
    verdict.calls += history.size();
    // Would it be found, if one read had been stale?
    const auto stale = WithStaleRead(history, seed);
    if (!stale) continue;
    if (NotLinearizable({{worker, *stale}}).empty()) {
      verdict.wrong.push_back(absl::StrCat("a stale read of worker ", worker, " was not found"));
    }
    ++verdict.stale_reads;
  }
}

void JudgeIds(const std::vector<std::string>& outs, Verdict& verdict) {
  Invariant invariant;
  for (uint32_t client = 0; client < outs.size(); ++client) {
    const std::string& out = outs[client];
    invariant.Add(client, CallsIn(out + ".calls", verdict), kIdSpace);
    if (!std::filesystem::exists(out + ".ids")) continue;
    auto runs = ReadIds(out + ".ids");
    if (runs.ok()) {
      invariant.Add(client, *runs);
    } else {
      verdict.wrong.push_back(runs.status().ToString());
    }
  }
  verdict.ids = invariant.ids();
  verdict.leases = invariant.leases();
  for (std::string& each : invariant.Violations()) verdict.wrong.push_back(std::move(each));
}

}  // namespace locus::proof
