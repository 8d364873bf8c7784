// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/audit/change_audit.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locus/place/password.h"
#include "locus/audit_hooks.h"
#include "locus/engine/clickhouse.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {
namespace {

// How long a server that does not answer is waited for, and how often one that refuses is asked.
constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr uint64_t kTries = 2;

}  // namespace

struct ChangeAudit::Rep {
  std::optional<std::string> server;
  ClickHouseOptions options;
  bool tls = false;
  std::optional<std::string> tls_ca;
  std::unique_ptr<AuditSink> sink;
  std::string place;
};

ChangeAudit::ChangeAudit() : rep_(std::make_unique<Rep>()) {}
ChangeAudit::~ChangeAudit() = default;

void ChangeAudit::DeclareOn(VerbLine& line, std::string_view besides) {
  line.Text("--audit HOST:PORT", &rep_->server,
            absl::StrCat(
                "The ClickHouse server, its HTTP port, in whose table the change is recorded",
                internal::ToAbsl(besides)))
      .Else("LOCUS_AUDIT");
  line.Text("--audit-database D", &rep_->options.database, "The database");
  line.Text("--audit-table T", &rep_->options.table, "The table (locus audit create)");
  line.Text("--audit-user U", &rep_->options.user,
            "Its password: LOCUS_AUDIT_PASSWORD or LOCUS_AUDIT_PASSWORD_FILE");
  line.Flag("--audit-tls", &rep_->tls, "By HTTPS");
  line.File("--audit-tls-ca FILE", &rep_->tls_ca, FileUse::kRead, "The authorities, PEM")
      .Needs("--audit-tls");
}

absl::Status ChangeAudit::Open(const StoreUri& store) {
  return store.engine->Has(internal::kMembers) ? absl::OkStatus() : Open(store.text);
}

absl::Status ChangeAudit::Open(const std::string& place) {
  if (!rep_->server) return absl::OkStatus();
  rep_->options.endpoint = *rep_->server;
  rep_->options.tls.enabled = rep_->tls;
  rep_->options.tls.ca_file = rep_->tls_ca.value_or("");
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, Password(PasswordFor::kAudit));
  rep_->options.password = password;
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<AuditWriter> writer, ClickHouseAudit::Open(rep_->options));
  AuditSinkOptions of_sink;
  of_sink.linger = absl::ZeroDuration();
  LOCUS_ASSIGN_OR_RETURN(rep_->sink, AuditSink::Open(std::move(writer), of_sink));
  rep_->place = place;
  return absl::OkStatus();
}

void ChangeAudit::Follow(SequenceTypeStore& types) {
  if (rep_->sink != nullptr)
    types.set_on_event(AuditSequenceTypes(*rep_->sink, {.place = rep_->place}));
}

void ChangeAudit::Record(AuditRecord record) {
  if (rep_->sink == nullptr) return;
  record.place = rep_->place;
  rep_->sink->Record(std::move(record));
}

absl::Status ChangeAudit::Finish(std::string_view done) {
  if (rep_->sink == nullptr) return absl::OkStatus();
  const absl::Time until = absl::Now() + kPatience;
  absl::Status written;
  AuditSinkStats stats;
  do {
    written = rep_->sink->Flush(absl::Milliseconds(200));
    stats = rep_->sink->Stats();
  } while (!written.ok() && stats.failures < kTries && absl::Now() < until);
  if (written.ok() && stats.dropped == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(internal::ToAbsl(done), ", and that is not recorded: ",
                   stats.last_failure.ok() ? written.message() : stats.last_failure.message()));
}

}  // namespace locus::cli
