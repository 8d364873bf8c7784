// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/password.h"

#include <openssl/crypto.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/check.h"
#include "src/secret_bytes.h"

namespace locus {
namespace {

constexpr size_t kLongest = 1024;

absl::Status TooLong(absl::string_view where) {
  return absl::InvalidArgumentError(
      absl::StrCat("the password in ", where, " is longer than ", kLongest, " bytes"));
}

absl::StatusOr<PrivateText> TakeFromEnvironment(char* value) {
  size_t size = std::strlen(value);
  LOCUS_ASSIGN_OR_RETURN(SecretBytes memory, SecretBytes::Allocate(kLongest));
  if (size <= kLongest) CopySecret(value, memory.data(), size);
  OPENSSL_cleanse(value, size);
  unsetenv("LOCUS_PASSWORD");
  if (size > kLongest) return TooLong("LOCUS_PASSWORD");
  return PrivateText{std::move(memory), size};
}

}  // namespace

absl::StatusOr<PrivateText> ReadPassword() {
  char* value = std::getenv("LOCUS_PASSWORD");
  const char* path = std::getenv("LOCUS_PASSWORD_FILE");
  if (value != nullptr && path != nullptr) {
    return absl::InvalidArgumentError(
        "LOCUS_PASSWORD and LOCUS_PASSWORD_FILE are both set; set one of them");
  }
  if (value != nullptr) return TakeFromEnvironment(value);
  if (path == nullptr) return PrivateText{SecretBytes(), 0};
  LOCUS_ASSIGN_OR_RETURN(PrivateText text, ReadPrivateFile(path, kLongest + 2));
  size_t end = text.view().find_first_of("\r\n");
  if (end != std::string_view::npos) text.size = end;
  if (text.size > kLongest) return TooLong(absl::StrCat("file ", path));
  return text;
}

}  // namespace locus
