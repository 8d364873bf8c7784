// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/password.h"

#include <openssl/crypto.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"
#include "src/base/os/secret_bytes.h"

namespace locus::cli {

using internal::CopySecret;
using internal::PrivateText;
using internal::ReadPrivateFile;
using internal::SecretBytes;

namespace {

constexpr size_t kLongest = 1024;

absl::Status TooLong(absl::string_view where) {
  return absl::InvalidArgumentError(
      absl::StrCat("the password in ", where, " is longer than ", kLongest, " bytes"));
}

absl::StatusOr<PrivateText> TakeFromEnvironment(const char* name, char* value) {
  size_t size = std::strlen(value);
  LOCUS_ASSIGN_OR_RETURN(SecretBytes memory, SecretBytes::Allocate(kLongest));
  if (size <= kLongest) CopySecret(value, memory.data(), size);
  OPENSSL_cleanse(value, size);
  unsetenv(name);
  if (size > kLongest) return TooLong(name);
  return PrivateText{std::move(memory), size};
}

absl::StatusOr<PrivateText> Read(const PasswordVariable& variable) {
  const auto& [whose, name, file_name, help] = variable;
  char* value = std::getenv(name);
  const char* path = std::getenv(file_name);
  if (value != nullptr && path != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " and ", file_name, " are both set; set one of them"));
  }
  if (value != nullptr) return TakeFromEnvironment(name, value);
  if (path == nullptr) return PrivateText{SecretBytes(), 0};
  LOCUS_ASSIGN_OR_RETURN(PrivateText text, ReadPrivateFile(path, kLongest + 2));
  size_t end = text.view().find_first_of("\r\n");
  if (end != std::string_view::npos) text.size = end;
  if (text.size > kLongest) return TooLong(absl::StrCat("file ", path));
  // Taken for "no password", it would be an attempt to log in without one.
  if (text.size == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the password file ", path, " (", file_name,
                     ") has an empty first line: write the password there, or unset ", file_name));
  }
  return text;
}

absl::StatusOr<std::string_view> ViewOf(const absl::StatusOr<PrivateText>& text) {
  if (!text.ok()) return text.status();
  return text->view();
}

}  // namespace

absl::StatusOr<std::string_view> Password(PasswordFor whose) {
  static std::array<std::optional<absl::StatusOr<PrivateText>>, kPasswordVariables.size()> read;
  for (size_t i = 0; i < read.size(); ++i) {
    if (kPasswordVariables[i].whose != whose) continue;
    if (!read[i]) read[i].emplace(Read(kPasswordVariables[i]));
    return ViewOf(*read[i]);
  }
  LOCUS_UNREACHABLE();
}

}  // namespace locus::cli
