// SPDX-License-Identifier: Apache-2.0
#include "routing/engine/http/answer.h"

#include <openssl/evp.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "routing/engine/http/url.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::http {

using internal::HexOf;
using internal::Quoted;
using internal::ToAbsl;

namespace {

// RFC 9110: entity-tag = [ "W/" ] DQUOTE *etagc DQUOTE.
bool IsETag(std::string_view text) {
  constexpr size_t kLongest = 1024;
  if (text.substr(0, 2) == "W/") text.remove_prefix(2);
  if (text.size() < 2 || text.size() > kLongest || text.front() != '"' || text.back() != '"') {
    return false;
  }
  for (char c : text.substr(1, text.size() - 2)) {
    bool fits = static_cast<unsigned char>(c) > ' ' && c != '"' && c != '\x7F';
    if (!fits) return false;
  }
  return true;
}

// Exactly in the form of RFC 9110: ParseTime takes any white space, and a date is sent back.
bool ParseDate(std::string_view text, absl::Time& time) {
  constexpr char kForm[] = "%a, %d %b %Y %H:%M:%S GMT";
  return absl::ParseTime(kForm, ToAbsl(text), &time, nullptr) &&
         absl::FormatTime(kForm, time, absl::UTCTimeZone()) == ToAbsl(text);
}

// Where a redirect leads, as far as it can be shown.
std::string Destination(const HttpAnswer& head) {
  std::string_view location = head.Header("Location");
  if (location.empty()) return "nowhere";
  absl::StatusOr<Url> url = Url::Parse(location);
  return url.ok() ? url->shown : WithoutSecrets(location);
}

std::string WithRetryAfter(const HttpAnswer& head) {
  std::string_view after = head.Header("Retry-After");
  if (after.empty()) return "";
  return absl::StrCat("; retry after ", Quoted(after));
}

}  // namespace

Validators ValidatorsOf(const HttpAnswer& head) {
  Validators validators;
  std::string_view etag = head.Header("ETag");
  if (IsETag(etag)) validators.etag = etag;
  absl::Time modified, now;
  std::string_view last_modified = head.Header("Last-Modified");
  if (ParseDate(last_modified, modified) && ParseDate(head.Header("Date"), now) &&
      now - modified >= absl::Seconds(2)) {
    validators.last_modified = last_modified;
  }
  return validators;
}

absl::Status CheckHead(const HttpAnswer& head, bool conditional) {
  unsigned status = head.status;
  std::string answers = absl::StrCat("it answers ", status);
  if (status == 304) {
    return conditional ? absl::OkStatus()
                       : absl::UnavailableError(answers + " to an unconditional request");
  }
  if (status == 404 || status == 410) return absl::NotFoundError(answers + ": there is no table");
  if (status == 408 || status == 425 || status == 429 || (status >= 500 && status <= 599)) {
    return absl::UnavailableError(answers + WithRetryAfter(head));
  }
  if (status == 401 || status == 403) {
    return absl::FailedPreconditionError(
        answers +
        ": the token (of the command: LOCUS_TABLE_PASSWORD) or client certificate is missing or "
        "not accepted");
  }
  if (status >= 300 && status <= 399) {
    return absl::FailedPreconditionError(
        absl::StrCat(answers, ", a redirect to ", Destination(head),
                     ": redirects are not followed; use that url"));
  }
  if (status != 200) return absl::FailedPreconditionError(answers + " instead of 200");
  std::string_view coding = head.Header("Content-Encoding");
  if (!coding.empty() && !absl::EqualsIgnoreCase(ToAbsl(coding), "identity")) {
    return absl::FailedPreconditionError(absl::StrCat("its document has the encoding ",
                                                      Quoted(coding), ", which was not requested"));
  }
  // Any other transfer coding ends where the connection does.
  bool chunked = absl::EqualsIgnoreCase(ToAbsl(head.Header("Transfer-Encoding")), "chunked");
  if (head.Header("Content-Length").empty() && !chunked) {
    return absl::FailedPreconditionError(
        "its document has neither Content-Length nor chunked encoding: a truncated one would go "
        "unnoticed");
  }
  return absl::OkStatus();
}

std::string VersionOf(std::string_view document) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  LOCUS_CHECK(EVP_Digest(document.data(), document.size(), hash, &size, EVP_sha256(), nullptr) ==
              1);
  return HexOf({reinterpret_cast<const char*>(hash), 16});
}

}  // namespace locus::http
