// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/members.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::cluster_api {

namespace json = boost::json;

using internal::ParseDecimal;
using internal::Printable;
using internal::Quoted;
using internal::ToAbsl;

namespace {

// The end of 9999, and the longest duration that a body may name.
constexpr uint64_t kMostMillis = 253402300799999;
constexpr int64_t kMostDuration = int64_t{1} << 40;

// Of all objects in it; the text is JSON.
size_t MembersIn(std::string_view text) {
  size_t members = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == ':') {
      ++members;
    }
  }
  return members;
}

// Likewise. The parser has bounded the depth.
size_t MembersOf(const json::value& value) {
  size_t members = 0;
  if (const json::array* const array = value.if_array()) {
    for (const json::value& element : *array) members += MembersOf(element);
  } else if (const json::object* const object = value.if_object()) {
    members = object->size();
    for (const auto& member : *object) members += MembersOf(member.value());
  }
  return members;
}

}  // namespace

bool NamesAMemberTwice(std::string_view text, const json::value& value) {
  return MembersIn(text) != MembersOf(value);
}

Members::Members(std::string_view body) {
  json::error_code error;
  value_ = json::parse({body.data(), body.size()}, error);
  if (error || !value_.is_object()) {
    Fail(absl::StrCat("the body is no JSON object: ", Printable(body, 64)));
    return;
  }
  object_ = &value_.get_object();
  if (NamesAMemberTwice(body, value_)) {
    Fail(absl::StrCat("the body has a member twice: ", Printable(body, 64)));
  }
}

Members::Members(const json::value& value, std::string_view what) {
  if (!value.is_object()) {
    Fail(absl::StrCat(ToAbsl(what), " is no object"));
  } else {
    object_ = &value.get_object();
  }
}

uint64_t Members::Number(const char* name, uint64_t most) {
  const json::value* value = Take(name);
  if (value == nullptr) return 0;
  json::error_code error;
  uint64_t number = 0;
  if (value->is_int64() || value->is_uint64()) number = value->to_number<uint64_t>(error);
  if (error || !(value->is_int64() || value->is_uint64()) || number > most) {
    Fail(absl::StrCat("\"", name, "\" is ", Printable(json::serialize(*value), 64),
                      "; it must be a whole number of at most ", most));
    return 0;
  }
  return number;
}

std::optional<uint64_t> Members::NumberOrNull(const char* name, uint64_t most) {
  if (TakeNull(name)) return std::nullopt;
  return Number(name, most);
}

std::string Members::Text(const char* name, size_t most) {
  const json::value* value = Take(name);
  if (value == nullptr) return {};
  if (!value->is_string() || value->get_string().size() > most) {
    Fail(absl::StrCat("\"", name, "\" is no text of at most ", most, " bytes"));
    return {};
  }
  return std::string(value->get_string().data(), value->get_string().size());
}

std::string Members::TextOrNothing(const char* name, size_t most) {
  const bool is_there = object_ != nullptr && object_->contains(name);
  return is_there ? Text(name, most) : "";
}

uint64_t Members::Token(const char* name, uint64_t most) {
  const std::string text = Text(name, 20);
  const std::optional<uint64_t> token = ParseDecimal(text, most);
  if (!token) Fail(absl::StrCat("\"", name, "\" is ", Quoted(text), ", which is no token"));
  return token.value_or(0);
}

std::string Members::Bytes(const char* name, size_t most) {
  const std::string hex = Text(name, 2 * most);
  if (hex.size() % 2 == 0 && hex.find_first_not_of("0123456789abcdef") == hex.npos) {
    return absl::HexStringToBytes(hex);
  }
  Fail(absl::StrCat("\"", name, "\" is no even number of digits 0-9a-f"));
  return "";
}

std::optional<uint64_t> Members::TokenOrNull(const char* name, uint64_t most) {
  if (TakeNull(name)) return std::nullopt;
  return Token(name, most);
}

const json::value* Members::ObjectOrNull(const char* name) {
  return TakeNull(name) ? nullptr : Take(name);
}

bool Members::Bool(const char* name) {
  const json::value* value = Take(name);
  if (value != nullptr && !value->is_bool()) Fail(absl::StrCat("\"", name, "\" is no bool"));
  return value != nullptr && value->is_bool() && value->get_bool();
}

bool Members::BoolOrFalse(const char* name) {
  return object_ != nullptr && object_->contains(name) && Bool(name);
}

absl::Time Members::Time(const char* name) {
  return absl::FromUnixMillis(static_cast<int64_t>(Number(name, kMostMillis)));
}

absl::Time Members::TimeOr(const char* name, absl::Time infinite) {
  const std::optional<uint64_t> millis = NumberOrNull(name, kMostMillis);
  return millis ? absl::FromUnixMillis(static_cast<int64_t>(*millis)) : infinite;
}

absl::Duration Members::Duration(const char* name) {
  return absl::Milliseconds(static_cast<int64_t>(Number(name, kMostDuration)));
}

std::optional<absl::Duration> Members::DurationOrNull(const char* name) {
  if (TakeNull(name)) return std::nullopt;
  return Duration(name);
}

absl::Duration Members::SignedDuration(const char* name) {
  const json::value* value = Take(name);
  if (value == nullptr) return absl::ZeroDuration();
  const int64_t* millis = value->if_int64();
  if (millis != nullptr && *millis <= kMostDuration && *millis >= -kMostDuration) {
    return absl::Milliseconds(*millis);
  }
  Fail(absl::StrCat("\"", name, "\" is ", Printable(json::serialize(*value), 64),
                    "; it must be a whole number of at most ", kMostDuration, " either way"));
  return absl::ZeroDuration();
}

SpaceName Members::Space(const char* name) {
  absl::StatusOr<SpaceName> space = SpaceName::Parse(Text(name, 64));
  if (!space.ok()) {
    const absl::string_view why = space.status().message();
    Fail({why.data(), why.size()});
    return SpaceName();
  }
  return *space;
}

const json::array* Members::Array(const char* name, size_t most) {
  const json::value* value = Take(name);
  if (value != nullptr && value->is_array() && value->get_array().size() <= most) {
    return &value->get_array();
  }
  Fail(absl::StrCat("\"", name, "\" is no array of at most ", most, " values"));
  return nullptr;
}

absl::Status Members::Finish() {
  if (!error_.ok() || others_) return error_;
  for (const auto& member : *object_) {
    const std::string name(member.key().data(), member.key().size());
    if (taken_.count(name) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("the member ", Quoted(name), " is not known"));
    }
  }
  return absl::OkStatus();
}

const json::value* Members::Take(const char* name) {
  if (object_ == nullptr) return nullptr;
  const json::value* value = object_->if_contains(name);
  if (value == nullptr) Fail(absl::StrCat("the member \"", name, "\" is missing"));
  taken_.insert(name);
  return value;
}

bool Members::TakeNull(const char* name) {
  const json::value* value = object_ == nullptr ? nullptr : object_->if_contains(name);
  if (value == nullptr || !value->is_null()) return false;
  taken_.insert(name);
  return true;
}

void Members::Fail(std::string_view why) {
  if (error_.ok()) error_ = absl::InvalidArgumentError(ToAbsl(why));
}

}  // namespace locus::cluster_api
