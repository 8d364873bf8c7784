// SPDX-License-Identifier: Apache-2.0
// In place of change_audit.cc where ClickHouse is left out of the build.
#include <optional>
#include <string>

#include "apps/locus/audit/change_audit.h"

namespace locus::cli {

struct ChangeAudit::Rep {
  std::optional<std::string> server;
};

ChangeAudit::ChangeAudit() : rep_(std::make_unique<Rep>()) {}
ChangeAudit::~ChangeAudit() = default;

void ChangeAudit::DeclareOn(VerbLine& line, std::string_view) {
  line.Text("--audit HOST:PORT", &rep_->server,
            "Not in this locus: it was built without ClickHouse");
}

absl::Status ChangeAudit::Open(const StoreUri& store) {
  return store.engine->Has(internal::kMembers) ? absl::OkStatus() : Open(store.text);
}

absl::Status ChangeAudit::Open(const std::string&) {
  if (!rep_->server) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "--audit: this locus was built without ClickHouse; build it with -DLOCUS_CLICKHOUSE=ON");
}

void ChangeAudit::Follow(SequenceTypeStore&) {}

void ChangeAudit::Record(AuditRecord) {}

absl::Status ChangeAudit::Finish(std::string_view) { return absl::OkStatus(); }

}  // namespace locus::cli
