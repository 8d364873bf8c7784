// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/routing/engine/http.h"
#include "routing/engine/http/url.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"

namespace locus {

using internal::IsLoopback;

namespace {

absl::Status Refuse(const std::string& what) {
  return absl::InvalidArgumentError("http table option " + what);
}

absl::Status CheckSpan(const char* name, absl::Duration span, absl::Duration least) {
  if (span >= least && span <= absl::Hours(1)) return absl::OkStatus();
  return Refuse(absl::StrCat(name, " is ", absl::FormatDuration(span), "; it must be ",
                             absl::FormatDuration(least), " to 1h"));
}

}  // namespace

absl::Status HttpTableOptions::Check() const {
  absl::StatusOr<http::Url> parsed = http::Url::Parse(url);
  if (!parsed.ok()) return Refuse(std::string(parsed.status().message()));
  LOCUS_RETURN_IF_ERROR(CheckSpan("request_timeout", request_timeout, absl::Milliseconds(1)));
  LOCUS_RETURN_IF_ERROR(CheckSpan("wait", wait, absl::ZeroDuration()));
  LOCUS_RETURN_IF_ERROR(CheckSpan("poll_every", poll_every, absl::Milliseconds(10)));
  if (!token.empty() && !token_file.empty()) {
    return Refuse("token and token_file are both set; set one of them");
  }
  bool has_token = !token.empty() || !token_file.empty();
  if (has_token && !parsed->tls && !token_in_plain_text && !IsLoopback(parsed->endpoint.host)) {
    return Refuse(absl::StrCat("url ", parsed->shown,
                               " is not on this host and not https, and a token is given: use "
                               "https, or set token_in_plain_text"));
  }
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    return Refuse("tls.certificate_file and tls.key_file need each other");
  }
  if (!parsed->tls && (!tls.ca_file.empty() || !tls.certificate_file.empty())) {
    return Refuse(absl::StrCat("url ", parsed->shown, " is not https, but TLS files are set"));
  }
  return absl::OkStatus();
}

}  // namespace locus
