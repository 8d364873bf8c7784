// SPDX-License-Identifier: Apache-2.0
#include "routing/table/json_document.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "routing/table/refusal.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 8;
constexpr size_t kMaxMemberName = 255;

// nlohmann's wording: "[...] parse error at line 1, column 2: syntax error while ... - reason;
// last read: '...'". What was last read may be a secret.
std::string ReasonOf(std::string_view what) {
  size_t start = what.find("syntax error");
  if (start == std::string_view::npos) return "a number is out of range";
  what.remove_prefix(start);
  return std::string(what.substr(0, what.find("; last read: ")));
}

absl::Status SyntaxError(std::string_view text, size_t byte, std::string_view reason) {
  byte = std::clamp<size_t>(byte, 1, text.size() + 1);
  std::string_view before = text.substr(0, byte - 1);
  size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  size_t newline = before.rfind('\n');
  size_t column = newline == std::string_view::npos ? byte : byte - newline - 1;
  return RefusedAt(
      "", absl::StrCat("line ", line, ", column ", column, " (byte ", byte, "): ", ToAbsl(reason)));
}

// Builds the value that the parser's events describe.
class Builder : public json::json_sax_t {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  absl::StatusOr<json> Finish() && {
    LOCUS_RETURN_IF_ERROR(status_);
    return std::move(root_);
  }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(json::object()); }
  bool start_array(size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override;
  bool parse_error(size_t position, const std::string&, const json::exception& error) override {
    status_ = SyntaxError(text_, position, ReasonOf(error.what()));
    return false;
  }

 private:
  struct Container {
    json* value;
    std::string member;  // of an object: the one being read
  };

  json* Place(json value);
  bool Add(json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(json container);
  bool Close() {
    open_.pop_back();
    return true;
  }
  // Of the innermost container that is open.
  std::string Here() const;

  std::string_view text_;
  json root_;
  std::vector<Container> open_;
  absl::Status status_;
};

json* Builder::Place(json value) {
  if (open_.empty()) {
    root_ = std::move(value);
    return &root_;
  }
  Container& parent = open_.back();
  if (parent.value->is_array()) {
    parent.value->push_back(std::move(value));
    return &parent.value->back();
  }
  json& member = (*parent.value)[parent.member];
  member = std::move(value);
  return &member;
}

bool Builder::Open(json container) {
  json* placed = Place(std::move(container));
  open_.push_back({placed, ""});
  if (open_.size() <= kMaxDepth) return true;
  status_ = RefusedAt(Here(), absl::StrCat("it is nested more than ", kMaxDepth, " deep"));
  return false;
}

bool Builder::key(string_t& name) {
  Container& object = open_.back();
  if (name.size() > kMaxMemberName) {
    status_ = RefusedAt(
        Here(), absl::StrCat("a member name of ", name.size(), " bytes; at most ", kMaxMemberName));
    return false;
  }
  if (object.value->contains(name)) {
    status_ = RefusedAt(PointerTo(Here(), std::string_view(name)), "the member is there twice");
    return false;
  }
  object.member = std::move(name);
  return true;
}

std::string Builder::Here() const {
  std::string pointer;
  for (size_t depth = 0; depth + 1 < open_.size(); ++depth) {
    const Container& container = open_[depth];
    pointer = container.value->is_array() ? PointerTo(pointer, container.value->size() - 1)
                                          : PointerTo(pointer, std::string_view(container.member));
  }
  return pointer;
}

}  // namespace

absl::StatusOr<json> ParseJson(std::string_view text) {
  // The parser takes a NUL for the end of the text and would not see what follows.
  size_t nul = text.find('\0');
  if (nul != std::string_view::npos) return SyntaxError(text, nul + 1, "there is a NUL byte");
  Builder builder(text);
  json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).Finish();
}

}  // namespace locus
