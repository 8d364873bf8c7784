// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mariadb/errors.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/text.h"

namespace locus::mariadb {

using internal::Printable;
using internal::ToAbsl;

namespace {

using absl::StatusCode;

constexpr unsigned kFirstOfClient = 2000, kLastOfClient = 2999;
constexpr unsigned kFirstOfConnector = 5000, kLastOfConnector = 5999;

Verdict JudgeClientError(unsigned number, std::string_view text) {
  constexpr unsigned kNoPlugin = 2058, kPluginFailed = 2059;
  Verdict verdict{StatusCode::kUnavailable, false, true};
  if (number == kNoPlugin || number == kPluginFailed) {
    verdict.code = StatusCode::kFailedPrecondition;
  }
  // The same error number means a certificate that does not verify and a handshake that was
  // interrupted; only the text differs.
  std::string lower = absl::AsciiStrToLower(ToAbsl(text));
  bool cut_off = false;
  for (absl::string_view sign : {"connection reset", "broken pipe", "timed out", "timeout",
                                 "unexpected eof", "success", "before completion of tls"}) {
    cut_off = cut_off || absl::StrContains(lower, sign);
  }
  if (number == kTlsFailed && !cut_off) verdict.code = StatusCode::kFailedPrecondition;
  return verdict;
}

}  // namespace

Verdict Judge(unsigned number, std::string_view sqlstate, std::string_view text) {
  if (number >= kFirstOfClient && number <= kLastOfClient) return JudgeClientError(number, text);
  if (number >= kFirstOfConnector && number <= kLastOfConnector) {
    return {StatusCode::kUnavailable, false, true};
  }
  switch (number) {
    case kDeadlock:
    case kLockWaitTimeout:
    case kDuplicateKey:
    case 1020:  // the row changed since it was read (innodb_snapshot_isolation)
      return {StatusCode::kUnavailable, true, false};
    case kNoSuchTable:
      return {StatusCode::kNotFound, false, false};
    case kOutOfRange:
      return {StatusCode::kOutOfRange, false, false};
    case kNotReadyForQueries:
    case 1040:  // too many connections
    case 1053:  // the server is shutting down
    case 1077:
    case 1079:
    case 1129:  // host blocked after many failed connections
    case 1152:
    case 1158:
    case 1159:
    case 1160:
    case 1161:
    case 1184:
    case 1203:  // max_user_connections of the account
    case 1226:  // a limit of the account: MAX_USER_CONNECTIONS and the like
    case 1927:  // connection killed
    // It became read-only under an open session. Connecting again finds the host that writes now.
    case kReadOnlyServer:
      return {StatusCode::kUnavailable, false, true};
    case 1044:  // access denied
    case 1045:
    case 1049:  // unknown database
    case 1130:  // host not allowed
    case 1698:
    case 1792:  // read-only transaction
    case 1836:  // running in read-only mode
    case 1862:  // the password has expired
    case 4151:  // the account is locked
      return {StatusCode::kFailedPrecondition, false, true};
    case 1665:  // binlog_format=STATEMENT
      return {StatusCode::kFailedPrecondition, false, false};
    case 4025:  // a CHECK of ours
      return {StatusCode::kDataLoss, false, false};
    default:
      break;
  }
  // 42: access rights, unknown tables and columns, syntax.
  if (absl::StartsWith(ToAbsl(sqlstate), "42")) {
    return {StatusCode::kFailedPrecondition, false, false};
  }
  if (absl::StartsWith(ToAbsl(sqlstate), "08")) return {StatusCode::kUnavailable, false, true};
  return {StatusCode::kUnavailable, false, false};
}

absl::Status StatusOf(const Verdict& verdict, std::string_view place, unsigned number,
                      std::string_view text) {
  return absl::Status(verdict.code, absl::StrCat("mariadb ", ToAbsl(place), ": ", Printable(text),
                                                 " (", number, ")"));
}

}  // namespace locus::mariadb
