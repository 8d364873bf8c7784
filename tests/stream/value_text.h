// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STREAM_VALUE_TEXT_H_
#define LOCUS_TESTS_STREAM_VALUE_TEXT_H_

#include <optional>
#include <string>

#include "migration/stream/change.h"

// Values as text, in the two forms that the tests compare with: a SELECT, and mariadb-binlog -v.

namespace locus {

// The expression to select so that the server's text has all of a value, whatever the session's
// time zone and character set; `name` is quoted by this.
std::string Selected(const stream::Column& column);
// The same text made from the value; nullopt: NULL.
std::optional<std::string> AsSelected(const stream::Column& column, const stream::Value& value);
// The server's answer, in the form of AsSelected.
std::optional<std::string> Normalized(const stream::Column& column,
                                      const std::optional<std::string>& answer);

// The output of mariadb-binlog -v that is expected for the value; and its real output in the same
// form.
std::string AsPrinted(const stream::Column& column, const stream::Value& value);
std::string NormalizedPrint(const stream::Column& column, const std::string& printed);

}  // namespace locus

#endif  // LOCUS_TESTS_STREAM_VALUE_TEXT_H_
