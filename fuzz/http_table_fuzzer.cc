// SPDX-License-Identifier: Apache-2.0
// A URL, or what a server says of a table. The first byte picks: 'u' a URL, anything else the head
// of an answer: a line with the status, then header lines.
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "routing/engine/http/answer.h"
#include "routing/engine/http/url.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace {

using locus::http::HttpAnswer;
using locus::http::Url;

bool IsPrintable(std::string_view text) {
  for (char c : text) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

// What is read makes a request of one line, and is shown without its query; what is shown is read
// as the same place.
void CheckUrl(std::string_view text) {
  auto url = Url::Parse(text);
  if (!url.ok()) {
    LOCUS_CHECK(absl::IsInvalidArgument(url.status()));
    std::string message(url.status().message());
    LOCUS_CHECK(IsPrintable(message) && message.size() < 1024);
    return;
  }
  LOCUS_CHECK(!url->endpoint.host.empty() && url->endpoint.port > 0);
  LOCUS_CHECK(IsPrintable(url->target) && url->target[0] == '/');
  LOCUS_CHECK(url->target.find(' ') == std::string::npos);
  LOCUS_CHECK(url->shown.find('?') == std::string::npos);
  auto shown = Url::Parse(url->shown);
  LOCUS_CHECK(shown.ok() || url->shown.size() > Url::kLongest);
  if (!shown.ok()) return;
  LOCUS_CHECK(shown->shown == url->shown && shown->tls == url->tls);
  LOCUS_CHECK(shown->endpoint.host == url->endpoint.host);
  LOCUS_CHECK(shown->endpoint.port == url->endpoint.port);
}

std::string_view TakeLine(std::string_view& text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

void CheckAnswer(std::string_view text) {
  HttpAnswer head;
  head.status =
      static_cast<unsigned>(locus::internal::ParseDecimal(TakeLine(text), 999).value_or(200));
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    head.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  for (bool conditional : {false, true}) {
    absl::Status status = locus::http::CheckHead(head, conditional);
    bool expected = head.status == 200 || (head.status == 304 && conditional);
    LOCUS_CHECK(!status.ok() || expected);
    LOCUS_CHECK(IsPrintable({status.message().data(), status.message().size()}));
  }
  locus::http::Validators validators = locus::http::ValidatorsOf(head);
  LOCUS_CHECK(validators.etag.empty() || validators.etag == head.Header("ETag"));
  LOCUS_CHECK(validators.etag.size() <= 2048);
  LOCUS_CHECK(validators.etag.find('\r') == std::string::npos);
  LOCUS_CHECK(validators.last_modified.find('\r') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  bytes[0] == 'u' ? CheckUrl(text) : CheckAnswer(text);
  return 0;
}
