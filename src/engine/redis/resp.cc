// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/resp.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::redis {

using internal::Quoted;
using internal::ToAbsl;

namespace {

// The shortest element, "+\r\n": an array of n elements takes at least 3 n bytes.
constexpr size_t kShortestElement = 3;

void AppendNumber(std::string& out, char kind, size_t number) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out += kind;
  out.append(digits, end);
  out += "\r\n";
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

void AppendHead(std::string& out, size_t count) { AppendNumber(out, '*', count); }

void AppendWord(std::string& out, std::string_view word) {
  AppendNumber(out, '$', word.size());
  out += word;
  out += "\r\n";
}

void AppendCommand(std::string& out, std::span<const std::string_view> words) {
  AppendHead(out, words.size());
  for (std::string_view word : words) AppendWord(out, word);
}

void ReplyReader::Feed(std::string_view bytes) {
  // Bytes that were read are dropped only once they are the larger part, so that each byte is moved
  // at most once.
  if (read_ > buffer_.size() / 2) {
    buffer_.erase(0, read_);
    searched_ = searched_ > read_ ? searched_ - read_ : 0;
    read_ = 0;
  }
  if (lost_.ok()) buffer_ += bytes;
}

absl::Status ReplyReader::Refuse(std::string_view why) {
  lost_ = absl::UnavailableError(absl::StrCat("the answer is not RESP2: ", ToAbsl(why)));
  buffer_.clear();
  open_.clear();
  read_ = searched_ = 0;
  return lost_;
}

absl::StatusOr<bool> ReplyReader::Next(Reply& reply) {
  LOCUS_RETURN_IF_ERROR(lost_);
  while (true) {
    Reply value;
    std::optional<size_t> elements;
    LOCUS_ASSIGN_OR_RETURN(bool whole, ReadValue(value, elements));
    if (!whole) return false;
    if (elements.value_or(0) > 0) {
      open_.push_back({std::move(value), *elements});
      continue;
    }
    if (!Place(value)) continue;
    reply = std::move(value);
    last_cost_ = bytes_ + sizeof(Reply) * (1 + elements_);
    bytes_ = elements_ = 0;
    return true;
  }
}

bool ReplyReader::Place(Reply& value) {
  while (!open_.empty()) {
    OpenArray& parent = open_.back();
    parent.array.elements.push_back(std::move(value));
    if (--parent.missing > 0) return false;
    value = std::move(parent.array);
    open_.pop_back();
  }
  return true;
}

absl::StatusOr<bool> ReplyReader::ReadValue(Reply& value, std::optional<size_t>& elements) {
  if (text_size_) return ReadText(value);
  std::string_view line;
  LOCUS_ASSIGN_OR_RETURN(bool whole, ReadLine(line));
  if (!whole) return false;
  if (line.empty()) return Refuse("a line is empty");
  char kind = line[0];
  line.remove_prefix(1);
  if (kind == '+' || kind == '-') {
    value.kind = kind == '+' ? Reply::Kind::kText : Reply::Kind::kError;
    value.text = std::string(line);
    return true;
  }
  std::optional<int64_t> number = ParseNumber(line);
  if (!number || (kind != ':' && kind != '$' && kind != '*')) {
    return Refuse(absl::StrCat("a line begins ", Quoted(std::string(1, kind) + std::string(line))));
  }
  if (kind == ':') {
    value.kind = Reply::Kind::kInteger;
    value.integer = *number;
    return true;
  }
  if (*number == -1) return true;  // nil
  if (kind == '$') {
    LOCUS_RETURN_IF_ERROR(BeginText(*number));
    return ReadText(value);
  }
  LOCUS_RETURN_IF_ERROR(BeginArray(*number));
  value.kind = Reply::Kind::kArray;
  elements = static_cast<size_t>(*number);
  return true;
}

absl::StatusOr<bool> ReplyReader::ReadLine(std::string_view& line) {
  size_t from = std::max(searched_, read_);
  size_t end = buffer_.find('\n', from);
  searched_ = buffer_.size();
  size_t size = (end == std::string::npos ? buffer_.size() : end) - read_;
  if (size > limits_.line_bytes) {
    return Refuse(absl::StrCat("a line is longer than ", limits_.line_bytes, " bytes"));
  }
  if (end == std::string::npos) return false;
  if (size == 0 || buffer_[end - 1] != '\r') return Refuse("a line does not end with CR LF");
  line = std::string_view(buffer_).substr(read_, size - 1);
  read_ = searched_ = end + 1;
  bytes_ += size + 1;
  if (bytes_ > limits_.bytes) {
    return Refuse(absl::StrCat("it is longer than ", limits_.bytes, " bytes"));
  }
  return true;
}

absl::Status ReplyReader::BeginText(int64_t size) {
  if (size < 0 || static_cast<uint64_t>(size) > limits_.bytes - bytes_) {
    return Refuse(absl::StrCat("it announces a text of ", size,
                               " bytes; a whole answer has at most ", limits_.bytes));
  }
  text_size_ = static_cast<size_t>(size);
  bytes_ += *text_size_;
  return absl::OkStatus();
}

absl::Status ReplyReader::BeginArray(int64_t size) {
  size_t room = std::min(limits_.elements - elements_, (limits_.bytes - bytes_) / kShortestElement);
  if (size < 0 || static_cast<uint64_t>(size) > room) {
    return Refuse(absl::StrCat("it announces an array of ", size,
                               " elements; a whole answer has at most ", limits_.elements, " in ",
                               limits_.bytes, " bytes"));
  }
  if (open_.size() >= limits_.depth) {
    return Refuse(absl::StrCat("its arrays are nested deeper than ", limits_.depth));
  }
  elements_ += static_cast<size_t>(size);
  return absl::OkStatus();
}

absl::StatusOr<bool> ReplyReader::ReadText(Reply& value) {
  if (buffer_.size() - read_ < *text_size_ + 2) return false;
  if (buffer_.compare(read_ + *text_size_, 2, "\r\n") != 0) {
    return Refuse("a text is not as long as announced");
  }
  value.kind = Reply::Kind::kText;
  value.text = buffer_.substr(read_, *text_size_);
  read_ += *text_size_ + 2;
  searched_ = read_;
  text_size_.reset();
  return true;
}

}  // namespace locus::redis
