// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_LIST_TEXT_H_
#define LOCUS_APPS_LOCUSD_IDS_LIST_TEXT_H_

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "locus/order_id.h"
#include "locus/order_no.h"

namespace locus::locusd {

// Writes an answer that lists: a JSON object with one member, the array; or a line for each
// element.
class ListText {
 public:
  // `members`: what stands before the array, with a comma behind: "\"epoch\":\"7\",".
  ListText(bool lines, std::string_view name, std::string_view members = {}) : lines_(lines) {
    if (!lines_) text_.append("{").append(members).append("\"").append(name).append("\":[");
  }

  // Makes room for elements of about so many bytes; more is no error.
  void Expect(size_t elements, size_t bytes) { text_.reserve(text_.size() + elements * bytes + 8); }

  // Begins an element.
  ListText& Element() {
    if (!first_) text_ += lines_ ? '\n' : ',';
    first_ = false;
    return *this;
  }
  ListText& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  // As JSON text. What it writes must be UTF-8 without control characters.
  ListText& Quote(std::string_view text) {
    if (text.find_first_of("\"\\") == text.npos) return QuotePlain(text);
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
    return *this;
  }
  ListText& Quote(int64_t number) {
    char digits[20];
    const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return QuotePlain(std::string_view(digits, static_cast<size_t>(end - digits)));
  }
  ListText& Quote(const OrderId& id) {
    return id.is_wide() ? QuotePlain(id.ToString()) : Quote(static_cast<int64_t>(id.first_word()));
  }
  ListText& Quote(const OrderNo& number) {
    char text[OrderNo::kTextLength];
    number.Format(text);
    return QuotePlain(std::string_view(text, sizeof text));
  }

  // The whole; call it once.
  std::string Take() {
    if (!lines_) text_ += "]}";
    if (!lines_ || !first_) text_ += '\n';
    return std::move(text_);
  }

 private:
  // Without a character that JSON escapes.
  ListText& QuotePlain(std::string_view text) {
    text_ += '"';
    text_ += text;
    text_ += '"';
    return *this;
  }

  const bool lines_;
  bool first_ = true;
  std::string text_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_LIST_TEXT_H_
