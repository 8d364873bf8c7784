// SPDX-License-Identifier: Apache-2.0
// In place of rule_audit.cc where ClickHouse is left out of the build.
#include <optional>
#include <string>

#include "apps/locus/audit/rule_audit.h"

namespace locus::cli {

struct RuleAudit::Rep {
  std::optional<std::string> server;
};

RuleAudit::RuleAudit() : rep_(std::make_unique<Rep>()) {}
RuleAudit::~RuleAudit() = default;

void RuleAudit::DeclareOn(VerbLine& line) {
  line.Text("--audit HOST:PORT", &rep_->server,
            "Not in this locus: it was built without ClickHouse");
}

absl::Status RuleAudit::Open(const StoreUri& uri) {
  if (!rep_->server || uri.engine == StoreUri::Engine::kLocusd) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "--audit: this locus was built without ClickHouse; build it with -DLOCUS_CLICKHOUSE=ON");
}

void RuleAudit::Follow(SequenceTypeStore&) {}

absl::Status RuleAudit::Finish() { return absl::OkStatus(); }

}  // namespace locus::cli
