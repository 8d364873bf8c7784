// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/clickhouse.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/os/secret_bytes.h"
#include "src/engine/clickhouse/audit_sql.h"
#include "src/http/connection.h"

namespace locus {
namespace {

using http::Endpoint;
using http::HttpAnswer;
using http::HttpConnection;
using http::TlsContext;

constexpr size_t kMostAnswer = 256 << 20;
constexpr size_t kMostLimit = 100'000;

class Audit final : public ClickHouseAudit {
 public:
  Audit(const ClickHouseOptions& options, Endpoint endpoint, std::unique_ptr<TlsContext> tls,
        internal::SecretBytes password)
      : options_(options),
        endpoint_(std::move(endpoint)),
        tls_(std::move(tls)),
        password_(std::move(password)) {
    options_.password.clear();
  }

  absl::Status CreateTable() override {
    return Send(clickhouse::CreateTableStatement(options_), "").status();
  }

  absl::Status Write(std::string_view rows) override {
    return Send(clickhouse::InsertStatement(options_), rows).status();
  }

  absl::StatusOr<std::vector<AuditRow>> Query(const AuditQuery& query) override {
    if (query.limit < 1 || query.limit > kMostLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat("limit is ", query.limit, "; it must be between 1 and ", kMostLimit));
    }
    LOCUS_ASSIGN_OR_RETURN(std::string body,
                           Send(clickhouse::SelectStatement(options_, query), ""));
    std::vector<AuditRow> rows;
    for (std::string_view rest = body; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      LOCUS_ASSIGN_OR_RETURN(AuditRow row, clickhouse::ParseRow(line));
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  static std::string UrlEscaped(std::string_view text) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string escaped;
    for (char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        escaped += c;
      } else {
        escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
      }
    }
    return escaped;
  }

  // Returns the answer's body. The statement goes into the target of the request, so that `body`
  // may hold rows.
  absl::StatusOr<std::string> Send(const std::string& statement, std::string_view body) {
    const http::TimePoint deadline =
        std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.timeout);
    if (connection_ == nullptr || !connection_->StillOpen()) {
      connection_.reset();
      absl::StatusOr<std::unique_ptr<HttpConnection>> connected =
          HttpConnection::Connect(endpoint_, tls_.get(), deadline);
      if (!connected.ok()) return At(connected.status());
      connection_ = *std::move(connected);
    }
    const std::string target = absl::StrCat("/?query=", UrlEscaped(statement));
    http::HttpRequest request{"POST", target, {}, body};
    if (!options_.user.empty()) request.headers.push_back({"X-ClickHouse-User", options_.user});
    if (password_.size() > 0) request.headers.push_back({"X-ClickHouse-Key", password_.view()});
    absl::StatusOr<HttpAnswer> answer = connection_->Send(request, kMostAnswer, deadline);
    if (!answer.ok()) {
      connection_.reset();
      return At(answer.status());
    }
    if (answer->status == 200) return std::move(answer->body);
    return clickhouse::ErrorOf(answer->status, answer->body, endpoint_.text);
  }

  absl::Status At(const absl::Status& status) const {
    return absl::Status(status.code(),
                        absl::StrCat("clickhouse ", endpoint_.text, ": ", status.message()));
  }

  ClickHouseOptions options_;  // without the password
  const Endpoint endpoint_;
  const std::unique_ptr<TlsContext> tls_;
  const internal::SecretBytes password_;
  std::unique_ptr<HttpConnection> connection_;
};

}  // namespace

absl::Status ClickHouseOptions::Check() const {
  LOCUS_ASSIGN_OR_RETURN(Endpoint parsed, Endpoint::Parse(endpoint));
  for (const auto& [what, name] : {std::pair{"database", &database}, std::pair{"table", &table}}) {
    if (!clickhouse::IsName(*name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, " ", *name, " is not 1 to 64 letters, digits and '_', the first no digit"));
    }
  }
  for (const std::string* text : {&user, &password}) {
    if (text->find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return absl::InvalidArgumentError("the user or the password contains a line break");
    }
  }
  if (timeout < absl::Milliseconds(1) || timeout > absl::Hours(1)) {
    return absl::InvalidArgumentError(absl::StrCat("timeout is ", absl::FormatDuration(timeout),
                                                   "; it must be between 1 ms and 1 h"));
  }
  if (!password.empty() && !tls.enabled && !internal::IsLoopback(parsed.host)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the password for clickhouse ", endpoint,
                     " would go over the network in plain text: enable TLS"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ClickHouseAudit>> ClickHouseAudit::Open(
    const ClickHouseOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(Endpoint endpoint, Endpoint::Parse(options.endpoint));
  std::unique_ptr<TlsContext> tls;
  if (options.tls.enabled) {
    LOCUS_ASSIGN_OR_RETURN(tls, TlsContext::Load({options.tls.ca_file, "", ""}));
  }
  internal::SecretBytes password;
  if (!options.password.empty()) {
    LOCUS_ASSIGN_OR_RETURN(password, internal::SecretBytes::Allocate(options.password.size()));
    internal::CopySecret(options.password.data(), password.data(), password.size());
  }
  return std::make_unique<Audit>(options, std::move(endpoint), std::move(tls), std::move(password));
}

}  // namespace locus
