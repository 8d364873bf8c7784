// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_VALUES_H_
#define LOCUS_APPS_LOCUS_LINE_VALUES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace locus::cli {

// Appends the answer to `value`, without a line ending, or refuses it; what it appended before it
// refused is dropped.
using Answer = std::function<absl::Status(std::string_view value, std::string& line)>;

// Answers each of `values`, or where there is none each line of stdin: one line on stdout for
// each, empty for a refused value, which is explained on stderr with its position or line number.
// A line ends with LF and nothing else; it may have 16 MiB. Whatever is answered is written before
// stdin is waited for, so a process at the other end may ask line by line.
// Returns the exit code: kDone, kSomeRefused, or kFailed when stdin or stdout failed.
int AnswerEach(std::string_view verb, const std::vector<std::string>& values, const Answer& answer);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_VALUES_H_
