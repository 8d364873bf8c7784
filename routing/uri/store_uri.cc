// SPDX-License-Identifier: Apache-2.0
#include "routing/uri/store_uri.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"

namespace locus::internal {

namespace {

using Engine = StoreUri::Engine;

struct EngineForm {
  std::string_view name;
  Engine engine;
  uint16_t default_port;
  const char* path;  // what stands after the hosts; must not be empty where it is named
  const char* form;
};

constexpr std::array kForms = {
    EngineForm{"sqlite", Engine::kSqlite, 0, "path", "sqlite:PATH"},
    EngineForm{"mysql", Engine::kMysql, 3306, "database", "mysql://USER@HOST:PORT/DB"},
    EngineForm{"redis", Engine::kRedis, 6379, nullptr, "redis://HOST:PORT/DB"},
    EngineForm{"redis+sentinel", Engine::kRedisSentinel, 26379, "master name",
               "redis+sentinel://H1:P1,H2:P2/MASTER"},
    EngineForm{"etcd", Engine::kEtcd, 2379, nullptr, "etcd://H1:P1,H2:P2/PREFIX"},
    EngineForm{"zookeeper", Engine::kZookeeper, 2181, nullptr, "zookeeper://H1:P1,H2:P2/PREFIX"},
    EngineForm{"locusd", Engine::kLocusd, 7070, nullptr, "locusd://H1:P1,H2:P2"},
    EngineForm{"raft", Engine::kLocusd, 7070, nullptr, "raft://H1:P1,H2:P2"}};

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
  Reader(std::string_view text, std::string_view what, const EngineForm& form)
      : text_(text), what_(what), form_(form) {}

  absl::StatusOr<StoreUri> Read(std::string_view rest) {
    StoreUri uri;
    uri.text = text_;
    uri.engine = form_.engine;
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
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(what_), " ", ShownUri(text_), " ", what, "; write ", form_.form));
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
    if (form_.engine == Engine::kLocusd) {
      return Refuse("names a user; locusd has none: its password is a token");
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
    host.port = form_.default_port;
    bool bracketed = !part.empty() && part[0] == '[';
    size_t end = bracketed ? part.find(']') : part.find(':');
    if (bracketed && end == std::string_view::npos) return Refuse("has a '[' without its ']'");
    host.name = part.substr(bracketed, end == std::string_view::npos ? end : end - bracketed);
    std::string_view after = end == std::string_view::npos ? "" : part.substr(end + bracketed);
    if (host.name.empty()) return Refuse("has a host without a name");
    for (char c : host.name) {
      bool fits = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ||
                  c == '_' || (bracketed && (c == ':' || c == '%'));
      if (!fits)
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
    if (uri.path.empty() && form_.path != nullptr) {
      return Refuse(absl::StrCat("has no ", form_.path));
    }
    if (form_.engine == Engine::kLocusd && !path.empty()) {
      return Refuse(absl::StrCat("has a path ", Quoted(path), ", which locusd does not know"));
    }
    if (form_.engine != Engine::kRedis || path.empty()) return absl::OkStatus();
    std::optional<uint64_t> database = ParseDecimal(path, 1'000'000);
    if (!database) {
      return Refuse(absl::StrCat("has a database ", Quoted(path), " that is not 0..1000000"));
    }
    uri.redis_database = static_cast<uint32_t>(*database);
    uri.path.clear();
    return absl::OkStatus();
  }

  absl::Status ReadSettings(std::string_view rest, StoreUri& uri) const {
    bool takes_tls = form_.engine == Engine::kMysql || form_.engine == Engine::kEtcd ||
                     form_.engine == Engine::kLocusd;
    while (!rest.empty()) {
      std::string_view setting = rest;
      rest = TakeAfter(setting, '&');
      std::string_view name = setting;
      std::string_view value = TakeAfter(name, '=');
      bool known = takes_tls && (name == "tls" || name == "tls_ca");
      if (form_.engine == Engine::kEtcd) known |= name == "tls_cert" || name == "tls_key";
      if (!known) {
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
  const EngineForm& form_;
};

std::string Engines() {
  std::string names;
  for (const EngineForm& form : kForms) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", ToAbsl(form.name));
  }
  return names;
}

}  // namespace

std::string StoreUri::Setting(const std::string& name) const {
  auto found = settings.find(name);
  return found == settings.end() ? std::string() : found->second;
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

absl::StatusOr<StoreUri> StoreUri::Parse(std::string_view text, std::string_view what) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(what), " ", Quoted(text),
                     " names no engine; write sqlite:PATH, or the URI of "
                     "one of: ",
                     Engines()));
  }
  std::string_view engine = text.substr(0, colon);
  for (const EngineForm& form : kForms) {
    if (form.name != engine) continue;
    Reader reader(text, what, form);
    if (form.engine != Engine::kSqlite) return reader.Read(text.substr(colon + 1));
    StoreUri uri;
    uri.text = text;
    std::string_view path = text.substr(colon + 1);
    // sqlite:///a/b is a path of its own, as with file:. What stands after "//" is a host: taken
    // for a path, sqlite://x.db would be a file of the root directory.
    if (path.starts_with("//") && !path.starts_with("///")) {
      return absl::InvalidArgumentError(absl::StrCat(
          ToAbsl(what), " ", Quoted(text), " names a host; write sqlite:PATH, or sqlite:///PATH"));
    }
    if (path.starts_with("///")) path.remove_prefix(2);
    if (path.empty()) return reader.Refuse("has no path");
    uri.path = path;
    return uri;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      ToAbsl(what), " ", ShownUri(text), ": there is no engine ", Quoted(engine),
      "; the engines are: ", Engines(), engine == "mariadb" ? " (MariaDB is mysql)" : ""));
}

}  // namespace locus::internal
