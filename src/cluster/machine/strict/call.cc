// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/base/os/check.h"
#include "src/cluster/machine/strict/sets.h"

namespace locus::strict_machine {

namespace {

// Of builds before kMostStrictStep.
constexpr uint64_t kMostStepOfLogs = uint64_t{1} << 32;

StrictSetOptions WithoutALargeStep(StrictSetOptions options) {
  if (options.step <= kMostStepOfLogs) options.step = std::min(options.step, kMostStrictStep);
  return options;
}

}  // namespace

absl::Status CheckLogged(const StrictSetOptions& options) {
  return WithoutALargeStep(options).Check();
}

absl::Status CheckLogged(const Call& call) {
  struct {
    absl::Status operator()(const Create& one) const { return CheckLogged(one.options); }
    absl::Status operator()(const DeclareRestored&) const { return absl::OkStatus(); }
    absl::Status operator()(const Take& one) const {
      return strict::Check(WithoutALargeStep(one.options), one.request);
    }
    absl::Status operator()(const Extend& one) const {
      return strict::Check(WithoutALargeStep(one.options), one.request);
    }
    absl::Status operator()(const Release& one) const {
      return strict::Check(WithoutALargeStep(one.options), one.request);
    }
  } check;
  return std::visit(check, call);
}

absl::Status Check(const Call& call) {
  LOCUS_RETURN_IF_ERROR(CheckLogged(call));
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.options; }) return one.options.Check();
        return absl::OkStatus();
      },
      call);
}

}  // namespace locus::strict_machine
