// SPDX-License-Identifier: Apache-2.0
#include "src/http/head_rules.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"

namespace locus::http {
namespace {

constexpr std::string_view kNoFragment = "a target has no fragment";
constexpr std::string_view kNoHttp = "this is no HTTP request";

// RFC 9110, section 5.6.2.
bool IsTokenChar(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || kOthers.find(c) != kOthers.npos;
}
bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}
bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool Is(std::string_view text, std::string_view name) {
  return text.size() == name.size() &&
         absl::EqualsIgnoreCase(internal::ToAbsl(text), internal::ToAbsl(name));
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Up to the next CR LF, which is removed as well.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 2));
  return line;
}

// A character of a path, with %XX read.
struct PathChar {
  char value;
  size_t size;  // as it is written
};
std::optional<PathChar> TakeChar(std::string_view path) {
  if (path[0] != '%') return PathChar{path[0], 1};
  const std::optional<char> byte = internal::PercentByte(path);
  return byte ? std::optional(PathChar{*byte, 3}) : std::nullopt;
}

std::string_view FlawOfPath(std::string_view path) {
  size_t dots = 0, others = 0;  // of the segment
  bool is_first = true, is_raw_end = true;
  // A segment that is written with %2F ends there for some, and must be none of these, either.
  auto ends = [&]() -> std::string_view {
    if (others == 0 && (dots == 1 || dots == 2)) return "a path has no segment . or ..";
    if (others == 0 && dots == 0 && !is_first && is_raw_end) return "a path has no empty segment";
    return {};
  };
  while (!path.empty()) {
    const std::optional<PathChar> c = TakeChar(path);
    if (!c) return "a % of a path has two hex digits behind it";
    if (IsControl(c->value) || c->value == '\\' || path[0] == ';' || path[0] == '#') {
      return "a path has no control character, ';', '#' or '\\'";
    }
    if (c->value == '/') {
      is_raw_end = c->size == 1;
      if (const std::string_view flaw = ends(); !flaw.empty()) return flaw;
      is_first = false;
      dots = others = 0;
    } else {
      ++(c->value == '.' ? dots : others);
    }
    path.remove_prefix(c->size);
  }
  if (others == 0 && (dots == 1 || dots == 2)) return "a path has no segment . or ..";
  return {};
}

bool IsHost(std::string_view text) { return text.find_first_of(" \t,/\\@?#") == text.npos; }

// The fields that say where a request ends, and for whom it is.
struct Framing {
  size_t hosts = 0;
  size_t lengths = 0;
  size_t encodings = 0;

  std::string_view Add(std::string_view name, std::string_view value) {
    if (Is(name, "Host")) {
      ++hosts;
      if (!IsHost(value)) return "Host is no host";
    } else if (Is(name, "Content-Length")) {
      ++lengths;
      const bool digits = std::all_of(value.begin(), value.end(),
                                      [](unsigned char c) { return absl::ascii_isdigit(c); });
      if (value.empty() || !digits) return "Content-Length is no number";
    } else if (Is(name, "Transfer-Encoding")) {
      ++encodings;
      if (!Is(value, "chunked")) return "the only Transfer-Encoding that is understood is chunked";
    }
    return {};
  }
  std::string_view Finish(bool is_1_1) const {
    if (hosts > 1 || (hosts == 0 && is_1_1)) return "a request of HTTP/1.1 has one Host";
    if (lengths > 1) return "a request has one Content-Length at most";
    if (encodings > 1) return "a request has one Transfer-Encoding at most";
    if (encodings == 1 && lengths == 1) {
      return "a request has a Content-Length or a Transfer-Encoding, not both";
    }
    if (encodings == 1 && !is_1_1) return "HTTP/1.0 has no Transfer-Encoding";
    return {};
  }
};

}  // namespace

HeadScan ScanHead(std::string_view bytes, size_t seen) {
  // The end may have begun in the earlier bytes.
  for (size_t i = seen < 3 ? 0 : seen - 3; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (!IsControl(c) || c == '\t') {
      if ((c == ' ' || c == '\t') && i > 0 && bytes[i - 1] == '\n') {
        return {0, "a line of a header must not continue in the next one"};
      }
      if (i > 0 && bytes[i - 1] == '\r') return {0, "a line ends with CR LF"};
      continue;
    }
    if (c == '\r' && (i == 0 || bytes[i - 1] != '\r')) continue;
    if (c != '\n' || i == 0 || bytes[i - 1] != '\r') {
      return {0, c == '\n' || c == '\r' ? "a line ends with CR LF" : kNoHttp};
    }
    if (i == 1) return {0, kNoHttp};
    if (i >= 3 && bytes[i - 2] == '\n') return {i + 1, {}};
  }
  return {};
}

std::string_view FlawOfHead(std::string_view head) {
  const std::string_view line = TakeLine(head);
  const size_t first = line.find(' '), second = line.rfind(' ');
  if (first == line.npos || first == second) return kNoHttp;
  const std::string_view method = line.substr(0, first), version = line.substr(second + 1);
  if (!IsToken(method) || (version != "HTTP/1.1" && version != "HTTP/1.0")) return kNoHttp;
  const std::string_view target = line.substr(first + 1, second - first - 1);
  if (const std::string_view flaw = FlawOfTarget(method, target); !flaw.empty()) return flaw;
  Framing framing;
  while (true) {
    const std::string_view field = TakeLine(head);
    if (field.empty()) break;
    const size_t colon = field.find(':');
    if (colon == field.npos || !IsToken(field.substr(0, colon))) {
      return "a field of a header is a name, a colon and a value";
    }
    const std::string_view flaw =
        framing.Add(field.substr(0, colon), Trimmed(field.substr(colon + 1)));
    if (!flaw.empty()) return flaw;
  }
  return framing.Finish(version == "HTTP/1.1");
}

TargetParts SplitTarget(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!Is(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t end = std::min(target.find_first_of("/?#"), target.size());
    return {target.substr(0, end), target.substr(end)};
  }
  return {{}, target};
}

std::string_view FlawOfTarget(std::string_view method, std::string_view target) {
  if (target == "*") return method == "OPTIONS" ? "" : "only OPTIONS has the target *";
  for (const char c : target) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      return "a target has ASCII characters only, and no blanks";
    }
  }
  const auto [authority, rest] = SplitTarget(target);
  if (!authority.empty()) {
    if (!IsHost(authority)) return "a target names no host";
    if (rest.empty()) return {};
    if (rest[0] == '?') return rest.find('#') == rest.npos ? "" : kNoFragment;
    target = rest;
  }
  if (target.empty() || target[0] != '/')
    return "a target begins with /, or with http:// and a host";
  const std::string_view path = target.substr(0, target.find('?'));
  if (target.find('#', path.size()) != target.npos) return kNoFragment;
  return FlawOfPath(path);
}

}  // namespace locus::http
