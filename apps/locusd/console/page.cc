// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/page.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/text/text.h"

namespace locus::locusd {

using http::ServerAnswer;
using http::ServerRequest;
using internal::ToAbsl;

namespace {

constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

bool HasAlready(const ServerRequest& request, const std::string& etag) {
  for (absl::string_view each : absl::StrSplit(ToAbsl(request.Header("If-None-Match")), ',')) {
    each = absl::StripAsciiWhitespace(each);
    if (absl::StartsWith(each, "W/")) each.remove_prefix(2);
    if (each == etag || each == "*") return true;
  }
  return false;
}

}  // namespace

const PageFile* FindPageFile(std::string_view path) {
  if (path == "/") path = "/index.html";
  const std::span<const PageFile> files = PageFiles();
  const auto at = std::ranges::find(files, path, &PageFile::path);
  return at == files.end() ? nullptr : &*at;
}

void AddSecurityHeaders(ServerAnswer& answer) {
  answer.headers.emplace_back("Content-Security-Policy", kPolicy);
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
  answer.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  answer.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

ServerAnswer AnswerWithPage(const PageFile& file, const ServerRequest& request) {
  const std::string etag = absl::StrCat("\"", ToAbsl(file.digest.substr(0, 32)), "\"");
  ServerAnswer answer;
  AddSecurityHeaders(answer);
  answer.headers.emplace_back("ETag", etag);
  // No name has a hash of its file (vite.config.ts): browsers ask whether theirs is still right.
  answer.headers.emplace_back("Cache-Control", "no-cache");
  if (HasAlready(request, etag)) {
    answer.status = 304;
    return answer;
  }
  answer.headers.emplace_back("Content-Type", std::string(file.type));
  answer.body = std::string(file.body);
  return answer;
}

}  // namespace locus::locusd
