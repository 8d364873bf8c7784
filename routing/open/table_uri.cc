// SPDX-License-Identifier: Apache-2.0
#include "routing/open/table_uri.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

constexpr std::string_view kWhat = "place of tables";

absl::Status Refused(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(ToAbsl(kWhat), " ", ShownUri(text), ToAbsl(why)));
}

}  // namespace

bool TableUri::IsMeant(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  if (FindScheme(text.substr(0, colon), kTables).engine != nullptr) return true;
  return text.substr(colon).starts_with("://");
}

absl::StatusOr<TableUri> TableUri::Parse(std::string_view text) {
  const std::string write = absl::StrCat("; write ", TableUriForms());
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Refused(text, " is not a URI" + write);
  const std::string_view scheme = text.substr(0, colon);
  TableUri uri;
  uri.text = text;
  uri.engine = FindScheme(scheme, kTables).engine;
  if (uri.engine == nullptr) {
    return Refused(text, absl::StrCat(": routing tables are not kept in ", Quoted(scheme), write));
  }
  if (uri.IsFile()) {
    LOCUS_ASSIGN_OR_RETURN(uri.path, FilePathOf(text, scheme, kWhat));
  } else if (uri.HasServer()) {
    LOCUS_ASSIGN_OR_RETURN(uri.server, StoreUri::Parse(text, kWhat));
  } else if (MayHavePassword(text)) {
    return Refused(text,
                   " contains a password, which a URI must not have: set LOCUS_TABLE_PASSWORD to a "
                   "token for the command, or LOCUS_TABLE_PASSWORD_FILE to the name of a file with "
                   "permissions 0600");
  }
  return uri;
}

std::string TableUriForms() {
  std::string forms = UriForms(kTablePublishing);
  for (const Engine& engine : Engines()) {
    if (!engine.Has(kTables) || engine.Has(kTablePublishing)) continue;
    for (const UriScheme& scheme : engine.schemes) {
      absl::StrAppend(&forms, &scheme == &engine.schemes.front() ? "; read only: " : " or ",
                      ToAbsl(scheme.form));
    }
  }
  return forms;
}

}  // namespace locus::internal
