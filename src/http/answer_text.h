// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_ANSWER_TEXT_H_
#define LOCUS_SRC_HTTP_ANSWER_TEXT_H_

#include <string>
#include <string_view>

#include "src/http/server.h"

namespace locus::http {

// How an answer is written: what its request asked for.
struct AnswerForm {
  bool is_1_1 = true;      // the request's version
  bool keep_alive = true;  // the connection stays
  bool chunked = false;    // the length is not known: Transfer-Encoding, or the connection's end
};

// Appends the status line, the fields and the empty line. The length is that of `answer.body`.
void AppendHead(std::string& out, const ServerAnswer& answer, const AnswerForm& form);

// Problem details (RFC 9457) of the server itself.
ServerAnswer Problem(unsigned status, std::string_view title);

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_ANSWER_TEXT_H_
