// SPDX-License-Identifier: Apache-2.0
#include "routing/table/json_document.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "routing/table/refusal.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

using nlohmann::json;
using Kind = JsonShape::Kind;

// nlohmann's wording: "[...] parse error at line 1, column 2: syntax error while ... - reason; last
// read: '...'". The token after "last read" may be a secret. Only the printed text depends on this
// wording.
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

bool Separates(char c) {
  switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case ',':
    case ':':
    case '[':
    case ']':
    case '{':
    case '}':
      return true;
    default:
      return false;
  }
}

// The parser keeps each string and number whole, twice, before its events report it. So long ones
// are found before it runs. It also takes a NUL for the end of the text and would not see what
// follows.
absl::Status CheckTokens(std::string_view text) {
  bool in_string = false;
  size_t start = 0;  // of the token, or of what separates tokens
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\0') return SyntaxError(text, i + 1, "there is a NUL byte");
    // `start` is the byte before the token.
    if (i - start > kMaxJsonToken + 1) {
      return SyntaxError(text, start + 1,
                         absl::StrCat("a string or number of more than ", kMaxJsonToken, " bytes"));
    }
    if (in_string && c == '\\') {
      if (i + 1 < text.size() && text[i + 1] != '\0') ++i;
    } else if (c == '"') {
      in_string = !in_string;
      start = i;
    } else if (!in_string && Separates(c)) {
      start = i;
    }
  }
  return absl::OkStatus();
}

json::value_t TypeOf(Kind kind) {
  switch (kind) {
    case Kind::kObject:
    case Kind::kMap:
      return json::value_t::object;
    case Kind::kArray:
      return json::value_t::array;
    case Kind::kString:
      return json::value_t::string;
    case Kind::kInteger:
      return json::value_t::number_unsigned;
    case Kind::kNumber:
      return json::value_t::number_float;
  }
  return json::value_t::null;
}

absl::Status RefuseType(const JsonShape& shape, const json& value, std::string_view pointer) {
  if (shape.kind == Kind::kInteger) {
    // -0 is refused like any other sign; the parser reads it as a signed 0.
    bool minus_zero = value.type() == json::value_t::number_integer && value == 0;
    std::string shown = minus_zero ? "-0" : value.is_number() ? value.dump() : "it";
    return RefusedAt(pointer, absl::StrCat(shown, " is not an integer from 0 to ", shape.most));
  }
  return RefusedAt(pointer, absl::StrCat("it is of type ", value.type_name(), ", not ",
                                         json(TypeOf(shape.kind)).type_name()));
}

// Whether the value is of the shape, as far as its type and size go.
absl::Status CheckValue(const JsonShape& shape, const json& value, std::string_view pointer) {
  bool fits =
      value.type() == TypeOf(shape.kind) || (shape.kind == Kind::kNumber && value.is_number());
  if (shape.kind == Kind::kInteger) fits = fits && value.get<uint64_t>() <= shape.most;
  if (!fits) return RefuseType(shape, value, pointer);
  if (shape.kind != Kind::kString) return absl::OkStatus();
  size_t bytes = value.get_ref<const std::string&>().size();
  if (bytes <= shape.most) return absl::OkStatus();
  return RefusedAt(pointer, absl::StrCat(bytes, " bytes; at most ", shape.most));
}

// Builds the value that the parser's events describe, and checks each of them against the shape.
class Builder : public json::json_sax_t {
 public:
  Builder(std::string_view text, const JsonShape& shape, const JsonElementReader& reader)
      : text_(text), shape_(shape), reader_(reader) {}

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
  bool end_object() override { return Check(CheckComplete()) && Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override { return Check(TakeName(name)); }
  bool parse_error(size_t position, const std::string&, const json::exception& error) override {
    status_ = SyntaxError(text_, position, ReasonOf(error.what()));
    return false;
  }

 private:
  struct Container {
    const JsonShape* shape;
    json* value;
    std::string member;                   // of an object: the name of the member being read
    const JsonShape* expected = nullptr;  // of that member
    size_t elements = 0;                  // of an array, those handed to the reader included
  };

  bool Check(absl::Status status) {
    status_ = std::move(status);
    return status_.ok();
  }

  bool Add(json value) {
    absl::StatusOr<json*> placed = Place(std::move(value));
    return Check(placed.status()) && Check(TakenByReader());
  }
  bool Open(json container) {
    const JsonShape* shape = ExpectedShape();
    absl::StatusOr<json*> placed = Place(std::move(container));
    if (!Check(placed.status())) return false;
    open_.push_back({shape, *placed, "", nullptr, 0});
    return true;
  }
  bool Close() {
    open_.pop_back();
    return Check(TakenByReader());
  }

  const JsonShape* ExpectedShape() const {
    if (open_.empty()) return &shape_;
    const Container& parent = open_.back();
    return parent.shape->kind == Kind::kObject ? parent.expected : parent.shape->element;
  }

  absl::StatusOr<json*> Place(json value);
  absl::Status TakeName(string_t& name);
  absl::Status CheckComplete() const;
  absl::Status TakenByReader();
  // The pointer of the innermost container that is open.
  std::string Here() const;
  std::string PointerToNext() const;

  const std::string_view text_;
  const JsonShape& shape_;
  const JsonElementReader& reader_;
  json root_;
  std::vector<Container> open_;
  absl::Status status_;
};

absl::StatusOr<json*> Builder::Place(json value) {
  absl::Status fits = CheckValue(*ExpectedShape(), value, "");
  if (!fits.ok()) return CheckValue(*ExpectedShape(), value, PointerToNext());
  if (open_.empty()) {
    root_ = std::move(value);
    return &root_;
  }
  Container& parent = open_.back();
  if (!parent.value->is_array()) return &((*parent.value)[parent.member] = std::move(value));
  if (++parent.elements > parent.shape->most) {
    return RefusedAt(Here(), absl::StrCat("more than ", parent.shape->most, " elements"));
  }
  parent.value->push_back(std::move(value));
  return &parent.value->back();
}

absl::Status Builder::TakeName(string_t& name) {
  Container& object = open_.back();
  if (object.shape->kind == Kind::kMap) {
    if (name.size() > object.shape->name_bytes) {
      return RefusedAt(Here(), absl::StrCat("a member name of ", name.size(), " bytes; at most ",
                                            object.shape->name_bytes));
    }
    if (object.value->size() >= object.shape->most) {
      return RefusedAt(Here(), absl::StrCat("more than ", object.shape->most, " members"));
    }
  } else {
    auto member =
        std::ranges::find(object.shape->members, std::string_view(name), &JsonMember::name);
    if (member == object.shape->members.end()) {
      constexpr size_t kMostShown = 64;
      if (name.size() <= kMostShown) {
        return RefusedAt(PointerTo(Here(), std::string_view(name)), "unknown member");
      }
      return RefusedAt(Here(),
                       absl::StrCat("unknown member with a name of ", name.size(), " bytes"));
    }
    object.expected = member->shape;
  }
  if (object.value->contains(name)) {
    return RefusedAt(PointerTo(Here(), std::string_view(name)), "the member occurs twice");
  }
  object.member = std::move(name);
  return absl::OkStatus();
}

absl::Status Builder::CheckComplete() const {
  const Container& object = open_.back();
  for (const JsonMember& member : object.shape->members) {
    if (!member.required || object.value->contains(member.name)) continue;
    return RefusedAt(Here(), absl::StrCat("member ", Quoted(member.name), " is missing"));
  }
  return absl::OkStatus();
}

// After a value is complete: an element of one of the document's own arrays goes to the reader.
absl::Status Builder::TakenByReader() {
  if (!reader_ || open_.size() != 2 || !open_[1].value->is_array()) return absl::OkStatus();
  json element = std::move(open_[1].value->back());
  open_[1].value->get_ref<json::array_t&>().pop_back();
  return reader_(open_[0].member, JsonValue{element, PointerTo(Here(), open_[1].elements - 1)});
}

std::string Builder::Here() const {
  std::string pointer;
  for (size_t depth = 0; depth + 1 < open_.size(); ++depth) {
    const Container& container = open_[depth];
    pointer = container.value->is_array() ? PointerTo(pointer, container.elements - 1)
                                          : PointerTo(pointer, std::string_view(container.member));
  }
  return pointer;
}

std::string Builder::PointerToNext() const {
  if (open_.empty()) return "";
  const Container& parent = open_.back();
  return parent.value->is_array() ? PointerTo(Here(), parent.elements)
                                  : PointerTo(Here(), std::string_view(parent.member));
}

}  // namespace

absl::StatusOr<json> ParseJson(std::string_view text, const JsonShape& shape,
                               const JsonElementReader& reader) {
  LOCUS_RETURN_IF_ERROR(CheckTokens(text));
  Builder builder(text, shape, reader);
  json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).Finish();
}

}  // namespace locus::internal
