// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_PASSWORD_H_
#define LOCUS_APPS_LOCUS_PLACE_PASSWORD_H_

#include <array>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/open.h"

namespace locus::cli {

// Servers of different owners: no password is sent to a place of another kind.
enum class PasswordFor { kStore, kTable, kShard, kCeiling, kAudit };

struct PasswordVariable {
  PasswordFor whose;
  const char* name;
  const char* file_name;
  const char* help;
};
inline constexpr std::array<PasswordVariable, 5> kPasswordVariables = {{
    {PasswordFor::kStore, "LOCUS_PASSWORD", "LOCUS_PASSWORD_FILE",
     "The password of the store, or the token of a cluster; URIs carry none"},
    {PasswordFor::kTable, "LOCUS_TABLE_PASSWORD", "LOCUS_TABLE_PASSWORD_FILE",
     "That of the routing table's place"},
    {PasswordFor::kShard, "LOCUS_SHARD_PASSWORD", "LOCUS_SHARD_PASSWORD_FILE",
     "That of the shards, for verify and load"},
    {PasswordFor::kCeiling, "LOCUS_CEILING_PASSWORD", "LOCUS_CEILING_PASSWORD_FILE",
     "That of --ceiling"},
    {PasswordFor::kAudit, "LOCUS_AUDIT_PASSWORD", "LOCUS_AUDIT_PASSWORD_FILE",
     "That of the ClickHouse server"},
}};

// The password of a place: the variable `name`, which is wiped from this process's environment when
// it is read, or the first line of the file (permissions 0600) that `file_name` names. Empty:
// neither is set. Each is read once; the answer lives as long as the process, in memory that core
// dumps leave out.
// INVALID_ARGUMENT: both of a pair are set, or it is longer than 1,024 bytes; otherwise the errors
// of ReadPrivateFile.
// Thread safety: none.
absl::StatusOr<std::string_view> Password(PasswordFor whose);

// The same for locus/open.h.
inline AskPassword AskFor(PasswordFor whose) {
  return [whose] { return Password(whose); };
}

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_PLACE_PASSWORD_H_
