// SPDX-License-Identifier: Apache-2.0
#include "src/strict_machine/sets.h"

namespace locus::strict_machine {

absl::Status Check(const Call& call) {
  struct {
    absl::Status operator()(const Create& one) const { return one.options.Check(); }
    absl::Status operator()(const DeclareRestored&) const { return absl::OkStatus(); }
    absl::Status operator()(const Take& one) const {
      return strict::Check(one.options, one.request);
    }
    absl::Status operator()(const Extend& one) const {
      return strict::Check(one.options, one.request);
    }
    absl::Status operator()(const Release& one) const {
      return strict::Check(one.options, one.request);
    }
  } check;
  return std::visit(check, call);
}

}  // namespace locus::strict_machine
