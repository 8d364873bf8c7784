// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/engine/shard_error.h"

#include <mysql.h>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "routing/pool/shard_failure.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus {

using internal::kFencedWord;
using internal::kUnboundWord;
using internal::ToAbsl;

namespace {

// Under these names a status carries the server's error number, and its text where a fence refused.
// The text begins with a word that our triggers signal, in every language of the server.
constexpr char kNumberUrl[] = "locus/mysql_error";
constexpr char kFenceUrl[] = "locus/fence_refusal";

bool IsOfConnection(unsigned number) {
  if (number == mysql::kOutOfSync) return false;  // nothing was sent
  return (number >= 2000 && number < 3000) || (number >= 5000 && number < 6000);
}

// The code tells the caller what to do next. A SQLSTATE begins with the class of the error.
absl::StatusCode CodeOf(unsigned number, std::string_view sqlstate, std::string_view text,
                        const mysql::Verdict& verdict) {
  if (text.starts_with(kFencedWord)) return absl::StatusCode::kAborted;
  if (text.starts_with(kUnboundWord)) return absl::StatusCode::kUnavailable;
  if (number == mysql::kDuplicateKey) return absl::StatusCode::kAlreadyExists;
  if (verdict.conflict) return absl::StatusCode::kAborted;
  if (verdict.leave) return verdict.code;
  const std::string_view kind = sqlstate.substr(0, 2);
  if (kind == "22") return absl::StatusCode::kInvalidArgument;
  if (kind == "23" || kind == "42" || kind == "45") return absl::StatusCode::kFailedPrecondition;
  return absl::StatusCode::kUnavailable;
}

unsigned NumberOf(const absl::Status& status) {
  unsigned number = 0;
  if (auto payload = status.GetPayload(kNumberUrl)) {
    static_cast<void>(absl::SimpleAtoi(std::string(*payload), &number));
  }
  return number;
}

absl::Status ErrorOf(ShardConnection& connection, unsigned number, std::string_view sqlstate,
                     std::string_view text) {
  const mysql::Verdict verdict = mysql::Judge(number, sqlstate);
  if (verdict.leave) connection.Spoil();
  return internal::ShardFailure(CodeOf(number, sqlstate, text, verdict), connection.place(), number,
                                text);
}

}  // namespace

namespace internal {

absl::Status ShardFailure(absl::StatusCode code, const std::string& place, unsigned number,
                          std::string_view text) {
  absl::Status status(code, absl::StrCat(place, ": ", Printable(text), " (", number, ")"));
  status.SetPayload(kNumberUrl, absl::Cord(absl::StrCat(number)));
  if (text.starts_with(kFencedWord) || text.starts_with(kUnboundWord)) {
    status.SetPayload(kFenceUrl, absl::Cord(ToAbsl(text)));
  }
  return status;
}

bool IsUnbound(const absl::Status& status) {
  auto payload = status.GetPayload(kFenceUrl);
  return payload && payload->StartsWith(ToAbsl(kUnboundWord));
}

bool IsNoSuchTable(const absl::Status& status) { return NumberOf(status) == mysql::kNoSuchTable; }
bool IsTableDenied(const absl::Status& status) { return NumberOf(status) == mysql::kTableDenied; }

}  // namespace internal

absl::Status ShardErrorOf(ShardConnection& connection) {
  MYSQL* handle = connection.handle();
  return ErrorOf(connection, mysql_errno(handle), mysql_sqlstate(handle), mysql_error(handle));
}

absl::Status ShardErrorOf(ShardConnection& connection, st_mysql_stmt* statement) {
  if (statement == nullptr) return absl::UnavailableError("out of memory");
  return ErrorOf(connection, mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
                 mysql_stmt_error(statement));
}

std::optional<FenceRefusal> FenceRefusalOf(const absl::Status& status) {
  auto payload = status.GetPayload(kFenceUrl);
  if (!payload) return std::nullopt;
  const std::string text(*payload);
  if (!text.starts_with(kFencedWord)) return std::nullopt;
  const size_t space = text.find(' ', kFencedWord.size());
  FenceRefusal refusal;
  const std::string step = text.substr(kFencedWord.size(), space - kFencedWord.size());
  refusal.step = internal::ParseDecimal(step, RoutingTable::kMaxStep).value_or(0);
  if (space != std::string::npos) refusal.other = text.substr(space + 1);
  return refusal;
}

bool LostConflict(const absl::Status& status) {
  const unsigned number = NumberOf(status);
  return absl::IsAborted(status) && number != 0 && mysql::Judge(number, "").conflict;
}

bool AnswerLost(const absl::Status& status) { return IsOfConnection(NumberOf(status)); }

}  // namespace locus
