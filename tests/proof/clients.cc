// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/clients.h"

#include <signal.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/proof/histories.h"
#include "tests/proof/invariant.h"
#include "tests/proof/places.h"
#include "tests/proof/spaces.h"

namespace locus::proof {

Clients::Clients(Network& network, std::string directory, const Secrets& secrets, Options options)
    : network_(network),
      directory_(std::move(directory)),
      secrets_(secrets),
      options_(std::move(options)) {
  for (int i = 0; i < options_.count; ++i) {
    places_.push_back(std::make_unique<Place>(absl::StrCat(directory_, "/client-", i, ".page")));
  }
}

Command Clients::CommandOf(const std::string& out, uint64_t seed, uint64_t rate) const {
  Command command;
  command.words = {LeaseClientProgram(),
                   out,
                   absl::StrCat(seed),
                   absl::StrCat(rate),
                   absl::StrCat(options_.first_worker),
                   absl::StrCat(options_.workers),
                   secrets_.authority,
                   secrets_.token_file};
  command.words.insert(command.words.end(), options_.endpoints.begin(), options_.endpoints.end());
  command.log = out + ".log";
  return command;
}

void Clients::Launch(int client) {
  Place& place = *places_[client];
  place.out = absl::StrCat(directory_, "/client-", client, "-", outs_.size());
  Command command = CommandOf(place.out, options_.steady ? 0 : options_.seed * 1000 + outs_.size(),
                              options_.rate);
  command.page = place.page.path();
  network_.Put(HostOf(client), command);
  outs_.push_back(place.out);
  place.process.Start(command);
}

void Clients::LaunchProber() {
  outs_.push_back(directory_ + "/client-prober");
  Command command = CommandOf(outs_.back(), options_.seed * 1000 + 500, 0);
  network_.Put(-1, command);
  prober_.Start(command);
}

void Clients::StartAll() {
  for (int i = 0; i < count(); ++i) Launch(i);
  LaunchProber();
}

void Clients::Replace(int client) {
  places_[client]->process.Kill();
  places_[client]->stalled = false;
  Launch(client);
}

void Clients::Stall(int client) {
  places_[client]->process.Signal(SIGSTOP);
  places_[client]->stalled = true;
}

void Clients::Resume(int client) {
  places_[client]->process.Signal(SIGCONT);
  places_[client]->stalled = false;
}

void Clients::KillAll() {
  prober_.Kill();
  for (auto& place : places_) place->process.Kill();
}

void Clients::Supervise() {
  if (const auto how = prober_.Ended()) {
    wrong_.push_back(absl::StrCat("the prober ended with ", *how));
  }
  for (int i = 0; i < count(); ++i) {
    Place& place = *places_[i];
    if (const auto how = place.process.Ended()) {
      wrong_.push_back(absl::StrCat("client ", i, " ended with ", *how, "; its log ends:\n",
                                    TailOf(place.out + ".log")));
    }
  }
}

uint64_t Clients::Written(int client) const {
  std::error_code none;
  const uintmax_t size = std::filesystem::file_size(places_[client]->out + ".ids", none);
  return none ? 0 : size;
}

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
