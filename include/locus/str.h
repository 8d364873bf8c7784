// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_STR_H_
#define LOCUS_STR_H_

#include <iosfwd>
#include <string>
#include <string_view>

#include "locus/internal/cxx20.h"

namespace locus {

namespace internal {

// The sink that AbslStringify writes into.
class TextSink {
 public:
  explicit TextSink(std::string& text) : text_(text) {}
  void Append(size_t count, char c) { text_.append(count, c); }
  template <typename Text>
  void Append(const Text& text) {
    text_.append(text.data(), text.size());
  }
  void Append(const char* text) { text_.append(text); }

 private:
  std::string& text_;
};

template <typename T>
concept HasText = requires(TextSink& sink, const T& value) {
  AbslStringify(sink, value);
};

}  // namespace internal

// The text of an ID, a gene, a space or an enumerator of locus:
//
//   absl::StrCat("order ", locus::Str(id), ": ", locus::Str(event.kind))
//
// From Abseil 20230125 StrCat, StrFormat ("%v") and LOG take the values themselves. In earlier
// versions, such as Debian 12's, StrCat writes an enumerator's number and does not compile for the
// other types; Str and operator<< work in all versions.
template <internal::HasText T>
std::string Str(const T& value) {
  std::string text;
  internal::TextSink sink(text);
  AbslStringify(sink, value);
  return text;
}

// Found for all values of locus that have a text.
template <typename Traits, internal::HasText T>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const T& value) {
  return out << Str(value);
}

}  // namespace locus

#endif  // LOCUS_STR_H_
