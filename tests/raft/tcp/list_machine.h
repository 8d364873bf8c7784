// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RAFT_TCP_LIST_MACHINE_H_
#define LOCUS_TESTS_RAFT_TCP_LIST_MACHINE_H_

#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/raft/node/state_machine.h"

namespace locus::raft {

// A list of lines; a command appends one, and is answered with its place, from 1 on. It does not
// understand commands that begin with '?'.
// Thread safety: lines() may be called from any thread.
class ListMachine : public StateMachine {
 public:
  absl::Status Check(std::string_view command) const override {
    if (!command.starts_with('?')) return absl::OkStatus();
    return absl::InvalidArgumentError("a command that begins with '?'");
  }
  absl::StatusOr<std::string> Apply(Index, Term, std::string_view command) override {
    if (absl::Status status = Check(command); !status.ok()) return status;
    std::lock_guard lock(mutex_);
    lines_.emplace_back(command);
    return absl::StrCat(lines_.size());
  }
  absl::StatusOr<std::string> Fold(std::string_view state,
                                   const std::vector<std::string>& commands) const override {
    std::vector<std::string> lines = commands;
    if (!state.empty()) lines.insert(lines.begin(), std::string(state));
    return absl::StrJoin(lines, "\n");
  }
  absl::Status Restore(Term, std::string_view state) override {
    std::lock_guard lock(mutex_);
    lines_.clear();
    if (state.empty()) return absl::OkStatus();
    lines_ = absl::StrSplit(absl::string_view(state.data(), state.size()), '\n');
    return absl::OkStatus();
  }
  std::vector<std::string> lines() const {
    std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace locus::raft

#endif  // LOCUS_TESTS_RAFT_TCP_LIST_MACHINE_H_
