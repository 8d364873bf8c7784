// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_STRINGIFIED_H_
#define LOCUS_TESTS_SUPPORT_STRINGIFIED_H_

#include <sstream>
#include <string>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "locus/str.h"

namespace locus {

// The part of a sink that AbslStringify needs. As in Abseil's own, the parameter is an
// absl::string_view, to which a std::string_view does not convert where the two are different
// types.
struct StringSink {
  std::string text;
  void Append(absl::string_view more) { text.append(more.data(), more.size()); }
};

// The text of `value` by AbslStringify, also with an Abseil that does not have it yet.
template <typename T>
std::string Stringified(const T& value) {
  StringSink sink;
  AbslStringify(sink, value);
#if defined(ABSL_LTS_RELEASE_VERSION) && ABSL_LTS_RELEASE_VERSION >= 20230125
  EXPECT_EQ(absl::StrCat(value), sink.text);
#endif
  EXPECT_EQ(Str(value), sink.text);
  std::ostringstream stream;
  stream << value;
  EXPECT_EQ(stream.str(), sink.text);
  return sink.text;
}

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_STRINGIFIED_H_
