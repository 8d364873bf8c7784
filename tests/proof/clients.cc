// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/clients.h"

#include <signal.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/proof/places.h"

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

}  // namespace locus::proof
