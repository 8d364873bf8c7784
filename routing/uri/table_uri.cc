// SPDX-License-Identifier: Apache-2.0
#include "routing/uri/table_uri.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

using Kind = TableUri::Kind;

struct Scheme {
  std::string_view name;
  Kind kind;
};

constexpr std::array kSchemes = {Scheme{"file", Kind::kFile}, Scheme{"etcd", Kind::kEtcd},
                                 Scheme{"mysql", Kind::kMysql}, Scheme{"http", Kind::kHttp},
                                 Scheme{"https", Kind::kHttp}};

absl::Status Refused(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("place of tables ", ShownUri(text), ToAbsl(why)));
}

absl::StatusOr<std::string> FilePath(std::string_view text, std::string_view rest) {
  // file:///a/b is a path of its own; a host is not known here.
  if (rest.starts_with("//") && !rest.starts_with("///")) {
    return Refused(text, " names a host; write file:PATH, or file:///PATH");
  }
  if (rest.starts_with("///")) rest.remove_prefix(2);
  if (rest.empty()) return Refused(text, " has no path; write file:PATH");
  return std::string(rest);
}

}  // namespace

bool TableUri::IsMeant(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name == text.substr(0, colon)) return true;
  }
  return text.substr(colon).starts_with("://");
}

absl::StatusOr<TableUri> TableUri::Parse(std::string_view text) {
  constexpr std::string_view kWrite =
      "; write file:PATH, or the URI of one of: etcd, mysql, http, https";
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return Refused(text, absl::StrCat(" is not a URI", ToAbsl(kWrite)));
  }
  TableUri uri;
  const Scheme* found = nullptr;
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name == text.substr(0, colon)) found = &scheme;
  }
  if (found == nullptr) {
    return Refused(text, absl::StrCat(": routing tables are not kept in ",
                                      Quoted(text.substr(0, colon)), ToAbsl(kWrite)));
  }
  uri.kind = found->kind;
  uri.text = text;
  switch (uri.kind) {
    case Kind::kFile: {
      LOCUS_ASSIGN_OR_RETURN(uri.path, FilePath(text, text.substr(colon + 1)));
      return uri;
    }
    case Kind::kEtcd:
    case Kind::kMysql: {
      LOCUS_ASSIGN_OR_RETURN(uri.server, StoreUri::Parse(text, "place of tables"));
      return uri;
    }
    case Kind::kHttp:
      if (MayHavePassword(text)) {
        return Refused(
            text,
            " contains a password, which a URI must not have: set LOCUS_TABLE_PASSWORD to a "
            "token for the command, or LOCUS_TABLE_PASSWORD_FILE to the name of a file with "
            "permissions 0600");
      }
      return uri;
  }
  LOCUS_UNREACHABLE();
}

}  // namespace locus::internal
