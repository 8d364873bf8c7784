// SPDX-License-Identifier: Apache-2.0
#include "apps/c_api/call.h"

#include <array>

#include "locus/version.h"
#include "src/base/os/private_file.h"
#include "src/base/text/text.h"

namespace locus::c_api {
namespace {

constexpr std::array<const char*, 17> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// How many bytes of `text`, at most `most`, end between two characters of UTF-8.
size_t WholeCharacters(absl::string_view text, size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return most;
}

void AppendWord(uint64_t word, std::string& bytes) {
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(word >> shift));
}

}  // namespace

locus_code Report(const absl::Status& status, locus_error* error) noexcept {
  // The codes of absl are those of the header.
  const auto code = static_cast<locus_code>(status.raw_code());
  if (error == nullptr) return code;
  error->code = code;
  const absl::string_view message = status.message();
  const size_t length = WholeCharacters(message, LOCUS_MESSAGE_BYTES - 1);
  std::copy_n(message.data(), length, error->message);
  error->message[length] = '\0';
  return code;
}

absl::StatusOr<AskPassword> PasswordOf(const char* password, const char* password_file) {
  constexpr size_t kLongest = 1024;
  const bool has_text = !TextOr(password, "").empty();
  const std::string path(TextOr(password_file, ""));
  if (has_text && !path.empty()) {
    return absl::InvalidArgumentError("options: password and password_file are both set");
  }
  if (has_text) {
    return [password]() -> absl::StatusOr<std::string_view> { return password; };
  }
  if (path.empty()) return nullptr;
  LOCUS_ASSIGN_OR_RETURN(internal::PrivateText read, internal::ReadPrivateFile(path, kLongest + 2));
  read.size = std::min(read.size, read.view().find_first_of("\r\n"));
  if (read.size == 0 || read.size > kLongest) {
    return absl::InvalidArgumentError(absl::StrCat("the first line of ", internal::Quoted(path),
                                                   " is no password: it has ", read.size,
                                                   " bytes, of 1 to ", kLongest));
  }
  // Shared, as a function can be copied.
  return [text = std::make_shared<internal::PrivateText>(
              std::move(read))]() -> absl::StatusOr<std::string_view> { return text->view(); };
}

absl::StatusOr<OrderId> IdOf(const locus_order_id& id) {
  std::string bytes;
  AppendWord(id.first, bytes);
  if (id.rest != 0) AppendWord(id.rest, bytes);
  return OrderId::FromBytes(bytes);
}

absl::StatusOr<OrderNo> NumberOf(const locus_order_no& number) {
  std::string bytes;
  AppendWord(number.high, bytes);
  AppendWord(number.low, bytes);
  return OrderNo::FromBytes(bytes);
}

}  // namespace locus::c_api

const char* locus_version(void) { return locus::Version(); }

const char* locus_code_name(int32_t code) {
  using locus::c_api::kCodeNames;
  const auto number = static_cast<size_t>(code);
  return number < kCodeNames.size() ? kCodeNames[number] : kCodeNames[LOCUS_UNKNOWN];
}
