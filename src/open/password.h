// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_OPEN_PASSWORD_H_
#define LOCUS_SRC_OPEN_PASSWORD_H_

#include <openssl/crypto.h>

#include <memory>
#include <string>
#include <utility>

#include "locus/open.h"

namespace locus::internal {

// The password; "" without a callback.
inline absl::StatusOr<std::string_view> Ask(const AskPassword& ask) {
  if (ask == nullptr) return std::string_view();
  return ask();
}

// Asks once, when it is first called, and then answers from a copy, which is wiped at the end: for
// a place that is opened again, or beside another, after `ask` is gone. The first call must be over
// before others begin.
inline AskPassword Kept(const AskPassword& ask) {
  if (ask == nullptr) return nullptr;
  struct Text {
    ~Text() { OPENSSL_cleanse(text.data(), text.size()); }
    std::string text;
    bool is_known = false;
  };
  return [ask, kept = std::make_shared<Text>()]() -> absl::StatusOr<std::string_view> {
    if (!kept->is_known) {
      absl::StatusOr<std::string_view> password = ask();
      if (!password.ok()) return password;
      kept->text = *password;
      kept->is_known = true;
    }
    return kept->text;
  };
}

}  // namespace locus::internal

#endif  // LOCUS_SRC_OPEN_PASSWORD_H_
