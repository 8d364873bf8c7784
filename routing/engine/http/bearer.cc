// SPDX-License-Identifier: Apache-2.0
#include "routing/engine/http/bearer.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"

namespace locus::http {

using internal::CopySecret;
using internal::PrivateText;
using internal::ReadPrivateFile;
using internal::SecretBytes;

absl::StatusOr<Bearer> Bearer::Of(std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (token.empty() || token.size() > kLongestToken) {
    return absl::InvalidArgumentError(absl::StrCat("the token is ", token.size(),
                                                   " bytes long; it must be 1 to ", kLongestToken));
  }
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] > ' ' && token[i] <= '~') continue;
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", i + 1, " of the token is not visible ASCII"));
  }
  Bearer bearer;
  bearer.size = kScheme.size() + token.size();
  LOCUS_ASSIGN_OR_RETURN(bearer.memory, SecretBytes::Allocate(bearer.size));
  kScheme.copy(bearer.memory.data(), kScheme.size());
  CopySecret(token.data(), bearer.memory.data() + kScheme.size(), token.size());
  return bearer;
}

absl::StatusOr<Bearer> Bearer::Read(const std::string& file) {
  auto refuse = [&](const absl::Status& status) {
    return absl::FailedPreconditionError(absl::StrCat("token_file ", file, ": ", status.message()));
  };
  absl::StatusOr<PrivateText> text = ReadPrivateFile(file, kLongestToken + 2);
  if (!text.ok()) return refuse(text.status());
  std::string_view token = text->view();
  if (!token.empty() && token.back() == '\n') token.remove_suffix(1);
  if (!token.empty() && token.back() == '\r') token.remove_suffix(1);
  absl::StatusOr<Bearer> bearer = Of(token);
  if (!bearer.ok() && absl::IsInvalidArgument(bearer.status())) return refuse(bearer.status());
  return bearer;
}

}  // namespace locus::http
