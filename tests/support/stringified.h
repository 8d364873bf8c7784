// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_STRINGIFIED_H_
#define LOCUS_TESTS_SUPPORT_STRINGIFIED_H_

#include <string>
#include <string_view>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus {

// What AbslStringify needs of a sink.
struct StringSink {
  std::string text;
  void Append(std::string_view more) { text += more; }
};

// The text of `value` by AbslStringify, also with an Abseil that does not have it yet.
template <typename T>
std::string Stringified(const T& value) {
  StringSink sink;
  AbslStringify(sink, value);
#if defined(ABSL_LTS_RELEASE_VERSION) && ABSL_LTS_RELEASE_VERSION >= 20230125
  EXPECT_EQ(absl::StrCat(value), sink.text);
#endif
  return sink.text;
}

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_STRINGIFIED_H_
