// SPDX-License-Identifier: Apache-2.0
#include "routing/engine/http/url.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"

namespace locus::http {

using internal::ParseDecimal;
using internal::Quoted;
using internal::ToAbsl;

namespace {

absl::Status Refuse(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("url ", WithoutSecrets(text), ": ", ToAbsl(why)));
}

bool IsHost(std::string_view host, bool bracketed) {
  return !host.empty() && host.size() <= 255 && std::all_of(host.begin(), host.end(), [&](char c) {
    return internal::IsOfHost(c, bracketed);
  });
}

// Reads host and port. nullopt: they are invalid.
std::optional<Endpoint> ReadAuthority(std::string_view authority, uint16_t default_port) {
  Endpoint endpoint;
  bool bracketed = !authority.empty() && authority[0] == '[';
  size_t end = authority.find(bracketed ? ']' : ':');
  if (bracketed && end == std::string_view::npos) return std::nullopt;
  std::string_view host = authority.substr(bracketed, end - bracketed);
  std::string_view rest = end == std::string_view::npos ? "" : authority.substr(end + bracketed);
  if (!IsHost(host, bracketed)) return std::nullopt;
  endpoint.host = host;
  endpoint.port = default_port;
  endpoint.text = authority.substr(0, authority.size() - rest.size());
  if (rest.empty()) return endpoint;
  std::optional<uint64_t> port = ParseDecimal(rest.substr(1), 65535);
  if (rest[0] != ':' || !port || *port == 0) return std::nullopt;
  endpoint.port = static_cast<uint16_t>(*port);
  if (endpoint.port != default_port) absl::StrAppend(&endpoint.text, ":", *port);
  return endpoint;
}

}  // namespace

std::string WithoutSecrets(std::string_view text) {
  std::string_view shown = text.substr(0, text.find_first_of("?#"));
  size_t at = shown.rfind('@');
  if (at == std::string_view::npos) return Quoted(shown);
  return Quoted("..." + std::string(shown.substr(at)));
}

absl::StatusOr<Url> Url::Parse(std::string_view text) {
  if (text.size() > kLongest) {
    return Refuse(text, absl::StrCat("it is ", text.size(), " bytes long; at most ", kLongest));
  }
  size_t slashes = text.find("://");
  std::string scheme = absl::AsciiStrToLower(ToAbsl(text.substr(0, slashes)));
  if (slashes == std::string_view::npos || (scheme != "http" && scheme != "https")) {
    return Refuse(text, "it must begin with https:// or http://");
  }
  for (char c : text) {
    // Characters that RFC 3986 allows nowhere, and those that could end a line of a request.
    if (c <= ' ' || c > '~' || std::string_view("\"<>\\^`{|}").find(c) != std::string_view::npos) {
      return Refuse(text, "it contains a character that must be written as %XX");
    }
  }
  if (text.find('#') != std::string_view::npos) return Refuse(text, "it has a fragment");
  std::string_view rest = text.substr(slashes + 3);
  size_t end = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, end);
  std::string_view target = end == std::string_view::npos ? "" : rest.substr(end);
  if (authority.find('@') != std::string_view::npos) {
    return Refuse(text, "it contains a user or a password: use a token instead");
  }
  Url url;
  url.tls = scheme == "https";
  std::optional<Endpoint> endpoint = ReadAuthority(authority, url.tls ? 443 : 80);
  if (!endpoint) return Refuse(text, "its host or its port (1..65535) is invalid");
  url.endpoint = *std::move(endpoint);
  url.target = absl::StrCat(target.empty() || target[0] == '?' ? "/" : "", ToAbsl(target));
  std::string_view path = std::string_view(url.target).substr(0, url.target.find('?'));
  url.shown = absl::StrCat(scheme, "://", url.endpoint.text, ToAbsl(path));
  return url;
}

}  // namespace locus::http
