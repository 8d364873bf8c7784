// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/locusd/config/config_sections.h"
#include "apps/locusd/config/config_values.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"
#include "src/base/text/text.h"

namespace locus::locusd {

using apps::TomlSection;
using internal::PrivateText;
using internal::Quoted;

namespace {

constexpr size_t kLeastTokenBytes = 16;
constexpr size_t kMostTokenBytes = 1024;
constexpr size_t kMostNameBytes = 64;

constexpr Scopes kOfClients = {Scope::kIds, Scope::kRoute, Scope::kLeases, Scope::kStore,
                               Scope::kRead};
constexpr Scopes kOfOperators = {Scope::kIds,     Scope::kRoute,   Scope::kLeases, Scope::kStore,
                                 Scope::kOperate, Scope::kPublish, Scope::kStrict, Scope::kRead};

absl::StatusOr<std::string> ReadTokenName(const std::string& text) {
  bool fits = !text.empty() && text.size() <= kMostNameBytes;
  for (const char c : text) {
    fits = fits && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-' || c == '.');
  }
  if (fits) return text;
  return absl::InvalidArgumentError(
      absl::StrCat("1 to ", kMostNameBytes, " letters, digits and ._-"));
}

absl::StatusOr<Scope> ReadScope(const std::string& text) {
  if (const std::optional<Scope> scope = ParseScope(text)) return *scope;
  return absl::InvalidArgumentError(absl::StrCat("one of ", Scopes::All().ToString()));
}

absl::StatusOr<absl::Time> ReadTime(const std::string& text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  return absl::InvalidArgumentError("a time such as \"2027-01-31T00:00:00Z\"");
}

absl::StatusOr<PrivateText> ReadTokenFile(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(PrivateText text, internal::ReadPrivateFile(path, kMostTokenBytes + 2));
  std::string_view token = text.view();
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.remove_suffix(1);
  bool fits = token.size() >= kLeastTokenBytes && token.size() <= kMostTokenBytes;
  for (char c : token) fits = fits && c > ' ' && c <= '~';
  if (!fits) {
    return absl::FailedPreconditionError(absl::StrCat(Quoted(path), " does not hold one token of ",
                                                      kLeastTokenBytes, " to ", kMostTokenBytes,
                                                      " printable ASCII characters, no blanks"));
  }
  text.size = token.size();
  return text;
}

// Of the file that `key` names.
absl::StatusOr<PrivateText> TokenOf(const Config& config, const std::string& key,
                                    const std::string& path) {
  absl::StatusOr<PrivateText> token = ReadTokenFile(path);
  if (token.ok()) return token;
  return config.At(key, token.status());
}

// Of files without a [[token]]. One that is there already goes on as it is.
absl::Status AddFiles(const Config& config, const std::vector<std::string>& paths,
                      std::string_view key, Scopes scopes, std::vector<TokenRule>& rules) {
  for (size_t i = 0; i < paths.size(); ++i) {
    TokenRule rule;
    rule.name = absl::StrCat(internal::ToAbsl(key), ".", i + 1);
    rule.scopes = scopes;
    LOCUS_ASSIGN_OR_RETURN(
        rule.token,
        TokenOf(config, absl::StrCat("api.", internal::ToAbsl(key), "[", i, "]"), paths[i]));
    bool is_there = false;
    for (const TokenRule& other : rules) is_there |= other.token.view() == rule.token.view();
    if (!is_there) rules.push_back(std::move(rule));
  }
  return absl::OkStatus();
}

}  // namespace

void TokenKeys(KeySection& section, TokenSettings& token) {
  section.Text("name", &token.name, ReadTokenName,
               {.help = "for logs and metrics",
                .sample = R"("shop")",
                .required = true,
                .reload = Reload::kYes});
  section.Text("file", &token.file, ReadPath,
               {.help = "mode 0600",
                .sample = R"("/etc/locusd/shop.token")",
                .required = true,
                .reload = Reload::kYes});
  const KeySection::About about = {
      .help = "and decode, leases, store, operate, publish, strict, read",
      .sample = R"(["ids", "route"])",
      .required = true,
      .reload = Reload::kYes};
  if (section.reads()) {
    std::vector<Scope> scopes;
    section.toml().Texts("scopes", &scopes, ReadScope, TomlSection::kRequired);
    for (const Scope scope : scopes) token.scopes.Add(scope);
  }
  section.Listed("scopes", "texts", "", about);
  if (section.reads()) section.toml().Text("expires", &token.expires, ReadTime);
  section.Listed("expires", "text", "",
                 {.help = "without the line, never",
                  .sample = R"("2099-12-31T00:00:00Z")",
                  .reload = Reload::kYes});
  section.Whole("rate", &token.rate, Within(token.rate, 0, 1'000'000),
                {.help = "requests a second; 0: no limit", .reload = Reload::kYes});
  section.Whole("burst", &token.burst, Within(token.burst, 1, 1'000'000),
                {.help = "requests at once, after a pause", .reload = Reload::kYes});
}

void ReadToken(TomlSection toml, Config& config) {
  TokenSettings token;
  KeySection section(toml);
  TokenKeys(section, token);
  toml.End();
  for (const TokenSettings& other : config.tokens) {
    if (!token.name.empty() && other.name == token.name) {
      toml.RefuseKey("name", absl::StrCat("is ", Quoted(token.name), ", as of a [[token]] before"));
    }
  }
  config.tokens.push_back(std::move(token));
}

absl::StatusOr<std::vector<TokenRule>> ReadTokens(const Config& config) {
  std::vector<TokenRule> rules;
  for (size_t i = 0; i < config.tokens.size(); ++i) {
    const TokenSettings& token = config.tokens[i];
    TokenRule rule;
    rule.name = token.name;
    rule.scopes = token.scopes;
    rule.expires = token.expires;
    rule.per_second = static_cast<double>(token.rate);
    rule.burst = static_cast<double>(token.burst);
    LOCUS_ASSIGN_OR_RETURN(rule.token,
                           TokenOf(config, absl::StrCat("token[", i, "].file"), token.file));
    rules.push_back(std::move(rule));
  }
  const Config::Api& api = config.api;
  LOCUS_RETURN_IF_ERROR(
      AddFiles(config, api.operator_token_files, "operator_token_files", kOfOperators, rules));
  LOCUS_RETURN_IF_ERROR(AddFiles(config, api.token_files, "token_files",
                                 api.operator_token_files.empty() ? kOfOperators : kOfClients,
                                 rules));
  return rules;
}

absl::StatusOr<std::shared_ptr<AccessControl>> MakeAccess(const Config& config) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<TokenRule> rules, ReadTokens(config));
  auto access =
      AccessControl::Make(std::move(rules), config.AsksForTokens() ? Scopes() : kOfClients);
  if (access.ok()) return access;
  return absl::FailedPreconditionError(absl::StrCat("tokens: ", access.status().message()));
}

}  // namespace locus::locusd
