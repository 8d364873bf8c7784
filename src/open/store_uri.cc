// SPDX-License-Identifier: Apache-2.0
#include "src/open/store_uri.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"

namespace locus::internal {

namespace {

using Path = UriScheme::Path;

// Where a password may stand: all between "//" and the last '@', if it has a colon.
std::string_view PossibleSecret(std::string_view text) {
  size_t at = text.rfind('@');
  size_t slashes = text.find("//");
  size_t begin = slashes == std::string_view::npos ? 0 : slashes + 2;
  if (at == std::string_view::npos || at < begin) return {};
  std::string_view part = text.substr(begin, at - begin);
  return part.find(':') == std::string_view::npos ? std::string_view() : part;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view what, const FoundScheme& found)
      : text_(text), what_(what), engine_(*found.engine), scheme_(*found.scheme) {}

  absl::StatusOr<StoreUri> Read(std::string_view rest) {
    StoreUri uri;
    uri.text = text_;
    uri.engine = &engine_;
    if (MayHavePassword(text_)) {
      return Refuse(
          "contains a password, which a URI must not have: put it into LOCUS_PASSWORD, or into a "
          "file with permissions 0600 that LOCUS_PASSWORD_FILE names (for a routing table "
          "LOCUS_TABLE_PASSWORD or LOCUS_TABLE_PASSWORD_FILE; for locusd its key password_file). "
          "An '@' in a name is written %40");
    }
    if (rest.substr(0, 2) != "//") return Refuse("has no \"//\" after the engine");
    rest.remove_prefix(2);
    LOCUS_RETURN_IF_ERROR(ReadSettings(TakeAfter(rest, '?'), uri));
    // A user may have a slash as %2F only, so the first one ends the hosts.
    std::string_view path = TakeAfter(rest, '/');
    LOCUS_RETURN_IF_ERROR(ReadUser(rest, uri));
    LOCUS_RETURN_IF_ERROR(ReadHosts(rest, uri));
    LOCUS_RETURN_IF_ERROR(ReadPath(path, uri));
    return uri;
  }

  absl::Status Refuse(const std::string& what) const {
    // An alias is written like the engine's first scheme.
    std::string form(scheme_.form);
    if (form.empty()) {
      const UriScheme& first = engine_.schemes.front();
      form = absl::StrCat(ToAbsl(scheme_.name), ToAbsl(first.form.substr(first.name.size())));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(what_), " ", ShownUri(text_), " ", what, "; write ", form));
  }

 private:
  absl::StatusOr<std::string> Decode(std::string_view part) const {
    absl::StatusOr<std::string> decoded = DecodePercents(part);
    return decoded.ok() ? decoded : Refuse(std::string(decoded.status().message()));
  }

  // Leaves the hosts in `rest`.
  absl::Status ReadUser(std::string_view& rest, StoreUri& uri) const {
    size_t at = rest.rfind('@');
    if (at == std::string_view::npos) return absl::OkStatus();
    if (!engine_.has_users) {
      return Refuse(absl::StrCat("names a user; ", ToAbsl(engine_.name),
                                 " has none: its password is a token"));
    }
    LOCUS_ASSIGN_OR_RETURN(uri.user, Decode(rest.substr(0, at)));
    rest.remove_prefix(at + 1);
    return absl::OkStatus();
  }

  absl::Status ReadHosts(std::string_view rest, StoreUri& uri) const {
    while (true) {
      size_t comma = rest.find(',');
      LOCUS_ASSIGN_OR_RETURN(StoreUri::Host host, ReadHost(rest.substr(0, comma)));
      uri.hosts.push_back(std::move(host));
      if (comma == std::string_view::npos) return absl::OkStatus();
      rest.remove_prefix(comma + 1);
    }
  }

  absl::StatusOr<StoreUri::Host> ReadHost(std::string_view part) const {
    StoreUri::Host host;
    host.port = scheme_.default_port;
    bool bracketed = !part.empty() && part[0] == '[';
    size_t end = bracketed ? part.find(']') : part.find(':');
    if (bracketed && end == std::string_view::npos) return Refuse("has a '[' without its ']'");
    host.name = part.substr(bracketed, end == std::string_view::npos ? end : end - bracketed);
    std::string_view after = end == std::string_view::npos ? "" : part.substr(end + bracketed);
    if (host.name.empty()) return Refuse("has a host without a name");
    for (char c : host.name) {
      if (!internal::IsOfHost(c, bracketed))
        return Refuse(absl::StrCat("has a host ", Quoted(host.name),
                                   " with a character that host names do not have"));
    }
    if (after.empty()) return host;
    std::optional<uint64_t> number;
    if (after[0] == ':') number = ParseDecimal(after.substr(1), 65535);
    if (!number || *number == 0) {
      return Refuse(absl::StrCat("has a port ", Quoted(after.substr(after[0] == ':')),
                                 " that is not 1..65535"));
    }
    host.port = static_cast<uint16_t>(*number);
    return host;
  }

  absl::Status ReadPath(std::string_view path, StoreUri& uri) const {
    LOCUS_ASSIGN_OR_RETURN(uri.path, Decode(path));
    if (uri.path.empty() && scheme_.path == Path::kRequired) {
      return Refuse(absl::StrCat("has no ", scheme_.path_name));
    }
    if (scheme_.path == Path::kNone && !path.empty()) {
      return Refuse(absl::StrCat("has a path ", Quoted(path), ", which ", ToAbsl(engine_.name),
                                 " does not know"));
    }
    if (scheme_.path != Path::kNumber || path.empty()) return absl::OkStatus();
    std::optional<uint64_t> database = ParseDecimal(path, 1'000'000);
    if (!database) {
      return Refuse(absl::StrCat("has a database ", Quoted(path), " that is not 0..1000000"));
    }
    uri.number = static_cast<uint32_t>(*database);
    uri.path.clear();
    return absl::OkStatus();
  }

  absl::Status ReadSettings(std::string_view rest, StoreUri& uri) const {
    while (!rest.empty()) {
      std::string_view setting = rest;
      rest = TakeAfter(setting, '&');
      std::string_view name = setting;
      std::string_view value = TakeAfter(name, '=');
      if (std::ranges::find(engine_.settings, name) == engine_.settings.end()) {
        return Refuse(absl::StrCat("has an unknown setting ", Quoted(name)));
      }
      if (value.empty() || (name == "tls" && value != "on")) {
        return Refuse(absl::StrCat("has a setting ", Quoted(setting), ", which takes ",
                                   name == "tls" ? "only tls=on" : "the name of a file"));
      }
      LOCUS_ASSIGN_OR_RETURN(std::string decoded, Decode(value));
      if (!uri.settings.emplace(name, decoded).second) {
        return Refuse(absl::StrCat("has the setting ", Quoted(name), " twice"));
      }
    }
    if (uri.settings.count("tls_cert") != uri.settings.count("tls_key")) {
      return Refuse("must have tls_cert and tls_key both, or neither");
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  std::string_view what_;
  const Engine& engine_;
  const UriScheme& scheme_;
};

}  // namespace

std::string StoreUri::Setting(const std::string& name) const {
  auto found = settings.find(name);
  return found == settings.end() ? std::string() : found->second;
}

std::vector<std::string> StoreUri::Endpoints() const {
  std::vector<std::string> endpoints;
  for (const Host& host : hosts) {
    const bool bracketed = host.name.find(':') != std::string::npos;
    endpoints.push_back(
        absl::StrCat(bracketed ? absl::StrCat("[", host.name, "]") : host.name, ":", host.port));
  }
  return endpoints;
}

absl::Status CheckBuilt(const StoreUri& uri) {
  return uri.engine->openers == nullptr ? Absent(*uri.engine, uri.text) : absl::OkStatus();
}

std::string ShownUri(std::string_view text) {
  std::string shown(text);
  std::string_view secret = PossibleSecret(text);
  if (!secret.empty()) {
    shown.replace(static_cast<size_t>(secret.data() - text.data()), secret.size(), "...");
  }
  // Values of settings that no engine knows: "token=...", "password=...".
  size_t at = shown.find('?');
  while (at != std::string::npos) {
    const size_t equals = shown.find_first_of("=&", at + 1);
    if (equals == std::string::npos) break;
    const std::string name = shown.substr(at + 1, equals - at - 1);
    const size_t end = std::min(shown.find('&', equals), shown.size());
    if (shown[equals] == '=' && !name.starts_with("tls")) {
      shown.replace(equals + 1, end - equals - 1, "...");
    }
    at = shown.find('&', equals);
  }
  return Quoted(shown);
}

bool MayHavePassword(std::string_view uri) { return !PossibleSecret(uri).empty(); }

absl::StatusOr<std::string> FilePathOf(std::string_view text, std::string_view scheme,
                                       std::string_view what) {
  std::string_view path = text.substr(scheme.size() + 1);
  const auto refuse = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(what), " ", ShownUri(text), why));
  };
  if (path.starts_with("//") && !path.starts_with("///")) {
    return refuse(absl::StrCat(" names a host; write ", ToAbsl(scheme), ":PATH, or ",
                               ToAbsl(scheme), ":///PATH"));
  }
  if (path.starts_with("///")) path.remove_prefix(2);
  if (path.empty()) return refuse(absl::StrCat(" has no path; write ", ToAbsl(scheme), ":PATH"));
  return std::string(path);
}

absl::StatusOr<StoreUri> StoreUri::Parse(std::string_view text, std::string_view what) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(what), " ", Quoted(text),
                     " names no engine; write sqlite:PATH, or the URI of "
                     "one of: ",
                     SchemeNames(kAnyStore)));
  }
  const std::string_view name = text.substr(0, colon);
  const FoundScheme found = FindScheme(name, kAnyStore);
  if (found.engine == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(what), " ", ShownUri(text),
                                                   ": there is no engine ", Quoted(name),
                                                   "; the engines are: ", SchemeNames(kAnyStore),
                                                   name == "mariadb" ? " (MariaDB is mysql)" : ""));
  }
  if (!found.engine->is_file) return Reader(text, what, found).Read(text.substr(colon + 1));
  StoreUri uri;
  uri.text = text;
  uri.engine = found.engine;
  LOCUS_ASSIGN_OR_RETURN(uri.path, FilePathOf(text, name, what));
  return uri;
}

}  // namespace locus::internal
