// SPDX-License-Identifier: Apache-2.0
#include "src/http/answer_text.h"

#include <boost/beast/http/status.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "src/base/text/json_text.h"

namespace locus::http {
namespace {

// Characters that would end the line become blanks, so that no text of a handler can begin another
// field.
void AppendField(std::string& out, std::string_view name, std::string_view value) {
  const size_t begin = out.size();
  out.append(name).append(": ").append(value);
  for (size_t i = begin; i < out.size(); ++i) {
    if (out[i] == '\r' || out[i] == '\n' || out[i] == '\0') out[i] = ' ';
  }
  out.append("\r\n");
}

// RFC 9110, section 5.6.7. Once a second and thread.
std::string_view DateNow() {
  thread_local int64_t second = -1;
  thread_local std::string text;
  const absl::Time now = absl::Now();
  if (const int64_t unix_second = absl::ToUnixSeconds(now); unix_second != second) {
    second = unix_second;
    text = absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", now, absl::UTCTimeZone());
  }
  return text;
}

}  // namespace

void AppendHead(std::string& out, const ServerAnswer& answer, const AnswerForm& form) {
  if (answer.status == 200) {
    out.append("HTTP/1.1 200 OK\r\n");
  } else {
    const auto reason =
        boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(answer.status));
    absl::StrAppend(&out, "HTTP/1.1 ", answer.status, " ",
                    absl::string_view(reason.data(), reason.size()), "\r\n");
  }
  AppendField(out, "Date", DateNow());
  for (const auto& [name, value] : answer.headers) AppendField(out, name, value);
  if (form.chunked) {
    if (form.is_1_1) out.append("Transfer-Encoding: chunked\r\n");
  } else if (answer.status != 204 && answer.status != 304) {
    absl::StrAppend(&out, "Content-Length: ", answer.body.size(), "\r\n");
  }
  if (!form.keep_alive) {
    out.append("Connection: close\r\n");
  } else if (!form.is_1_1) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

ServerAnswer Problem(unsigned status, std::string_view title) {
  ServerAnswer answer;
  answer.status = status;
  answer.headers.emplace_back("Content-Type", "application/problem+json");
  answer.body =
      absl::StrCat("{\"title\":", internal::JsonQuoted(title), ",\"status\":", status, "}\n");
  return answer;
}

}  // namespace locus::http
