// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/errors.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::Printable;
using internal::ToAbsl;

namespace {

using absl::StatusCode;

constexpr unsigned kFirstOfClient = 2000, kLastOfClient = 2999;
constexpr unsigned kFirstOfConnector = 5000, kLastOfConnector = 5999;

enum class Means : uint8_t {
  kTransient,  // may go away by itself; the connection stays usable
  kReconnect,  // may go away on another connection
  kConflict,   // with another transaction
  kPermanent,  // until the statement, the rows or the server are changed
  kRefused,    // likewise, and the connection is of no use
  kMissing,    // a table
  kRange,      // a sequence has ended
  kWrongRow,   // a CHECK of ours
};

struct ErrorRule {
  unsigned number;
  Means means;
};

// Ascending. What the SQLSTATE says rightly is not repeated here.
constexpr ErrorRule kRules[] = {
    {1020, Means::kConflict},   // the row changed since it was read (innodb_snapshot_isolation)
    {1034, Means::kPermanent},  // an index is corrupt
    {1040, Means::kReconnect},  // too many connections
    {1044, Means::kRefused},    // access denied
    {1045, Means::kRefused},
    {1047, Means::kReconnect},  // Galera: not in the primary component
    {1049, Means::kRefused},    // unknown database
    {1053, Means::kReconnect},  // the server is shutting down
    {1062, Means::kConflict},   // duplicate key
    {1077, Means::kReconnect},
    {1079, Means::kReconnect},
    {1129, Means::kReconnect},  // host blocked after many failed connections
    {1130, Means::kRefused},    // host not allowed
    {1146, Means::kMissing},    // no such table
    {1152, Means::kReconnect},
    {1153, Means::kRefused},  // larger than max_allowed_packet
    {1158, Means::kReconnect},
    {1159, Means::kReconnect},
    {1160, Means::kReconnect},
    {1161, Means::kReconnect},
    {1184, Means::kReconnect},
    {1193, Means::kPermanent},  // unknown system variable: another kind of server
    {1194, Means::kPermanent},  // a table is marked as crashed
    {1195, Means::kPermanent},
    {1203, Means::kReconnect},  // max_user_connections of the account
    {1205, Means::kConflict},   // lock wait timeout
    {1213, Means::kConflict},   // deadlock
    {1226, Means::kReconnect},  // a limit of the account: MAX_USER_CONNECTIONS and the like
    {1238, Means::kPermanent},  // a variable is read-only
    {1265, Means::kPermanent},  // a value does not fit its column
    {1267, Means::kPermanent},  // mix of collations
    {1273, Means::kPermanent},  // unknown collation
    {1289, Means::kPermanent},  // the feature is disabled
    {1290, Means::kReconnect},  // read_only: connecting again finds the host that writes now
    {1298, Means::kPermanent},  // unknown time zone
    {1356, Means::kPermanent},  // a view names what is not there
    {1364, Means::kPermanent},  // a column has no default
    {1366, Means::kPermanent},  // a value is wrong for its column
    {1411, Means::kPermanent},  // a value is wrong for a function
    {1419, Means::kPermanent},  // SUPER is needed for triggers while the log is on
    {1436, Means::kPermanent},  // thread stack
    {1442, Means::kPermanent},  // a trigger changes its own table
    {1449, Means::kPermanent},  // the definer is not there
    {1461, Means::kTransient},  // max_prepared_stmt_count
    {1525, Means::kPermanent},  // a value is wrong for its type
    {1526, Means::kPermanent},  // no partition for a value
    {1665, Means::kPermanent},  // binlog_format=STATEMENT
    {1690, Means::kRange},
    {1698, Means::kRefused},
    {1748, Means::kPermanent},  // a row is not of the given partition
    {1792, Means::kRefused},    // read-only transaction
    {1836, Means::kRefused},    // running in read-only mode
    {1862, Means::kRefused},    // the password has expired
    {1927, Means::kReconnect},  // connection killed
    {2014, Means::kRefused},    // a result was left unread
    {2020, Means::kRefused},    // a row is larger than the client's limit
    // TLS was cut off, or the certificate does not verify: only texts of libraries differ. So it is
    // tried again, and the message says which.
    {kTlsFailed, Means::kReconnect},
    {2058, Means::kRefused},  // the client has no such plugin
    {2059, Means::kRefused},  // the plugin failed
    {4025, Means::kWrongRow},
    {4151, Means::kRefused},  // the account is locked
};
static_assert(std::is_sorted(std::begin(kRules), std::end(kRules),
                             [](const ErrorRule& a, const ErrorRule& b) {
                               return a.number < b.number;
                             }),
              "Judge looks for them by halves");

Verdict VerdictOf(Means means) {
  switch (means) {
    case Means::kTransient:
      return {StatusCode::kUnavailable, false, false};
    case Means::kReconnect:
      return {StatusCode::kUnavailable, false, true};
    case Means::kConflict:
      return {StatusCode::kUnavailable, true, false};
    case Means::kPermanent:
      return {StatusCode::kFailedPrecondition, false, false};
    case Means::kRefused:
      return {StatusCode::kFailedPrecondition, false, true};
    case Means::kMissing:
      return {StatusCode::kNotFound, false, false};
    case Means::kRange:
      return {StatusCode::kOutOfRange, false, false};
    case Means::kWrongRow:
      return {StatusCode::kDataLoss, false, false};
  }
  return {};
}

}  // namespace

Verdict Judge(unsigned number, std::string_view sqlstate) {
  const auto rule =
      std::lower_bound(std::begin(kRules), std::end(kRules), number,
                       [](const ErrorRule& one, unsigned wanted) { return one.number < wanted; });
  if (rule != std::end(kRules) && rule->number == number) return VerdictOf(rule->means);
  const bool of_client = (number >= kFirstOfClient && number <= kLastOfClient) ||
                         (number >= kFirstOfConnector && number <= kLastOfConnector);
  if (of_client) return VerdictOf(Means::kReconnect);
  const std::string_view kind = sqlstate.substr(0, 2);
  if (kind == "08") return VerdictOf(Means::kReconnect);
  // Numbers of columns or rows, what the server cannot do, values, constraints, rights and names.
  // A warning (01) is an error where the session is strict.
  for (std::string_view permanent : {"01", "07", "0A", "21", "22", "23", "28", "3D", "42", "44"}) {
    if (kind == permanent) return VerdictOf(Means::kPermanent);
  }
  return VerdictOf(Means::kTransient);
}

std::string TextWithoutValues(unsigned number, const std::string& text) {
  switch (number) {
    case kDuplicateKey: {
      // In every language the key's name is quoted last.
      const size_t end = text.rfind('\'');
      const size_t begin = end == 0 || end == text.npos ? text.npos : text.rfind('\'', end - 1);
      const std::string key = begin == text.npos ? "" : text.substr(begin, end + 1 - begin);
      return absl::StrCat("Duplicate entry for key ", key);
    }
    case 1292:
    case 1366:
    case 1411:
    case 1525:
      return "A value is wrong for its column";
    case 1526:
      return "The table has no partition for a value";
    default:
      return text;
  }
}

absl::Status StatusOf(const Verdict& verdict, std::string_view place, unsigned number,
                      std::string_view text) {
  return absl::Status(verdict.code, absl::StrCat("mariadb ", ToAbsl(place), ": ", Printable(text),
                                                 " (", number, ")"));
}

}  // namespace locus::mysql
