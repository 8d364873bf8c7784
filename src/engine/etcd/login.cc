// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/login.h"

#include <utility>

#include "src/base/os/check.h"

namespace locus::etcd {

using internal::MutexLock;
using internal::SecretBytes;

namespace {

// A JSON string takes up to six bytes for each of its own.
constexpr size_t kMostEscaped = 6;

// Writes the password to its own memory only; a JSON library would leave copies.
class SecretWriter {
 public:
  explicit SecretWriter(char* out) : begin_(out), out_(out) {}

  void Plain(std::string_view text) {
    for (char c : text) *out_++ = c;
  }
  void Escaped(std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    for (char c : text) {
      auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20) {
        Plain("\\u00");
        *out_++ = kHex[byte >> 4];
        *out_++ = kHex[byte & 15];
      } else {
        if (c == '"' || c == '\\') *out_++ = '\\';
        *out_++ = c;
      }
    }
  }
  size_t size() const { return static_cast<size_t>(out_ - begin_); }

 private:
  char* const begin_;
  char* out_;
};

void Write(SecretWriter& out, std::string_view user, std::string_view password) {
  out.Plain(R"({"name":")");
  out.Escaped(user);
  out.Plain(R"(","password":")");
  out.Escaped(password);
  out.Plain("\"}");
}

}  // namespace

absl::StatusOr<Login> Login::Make(std::string_view user, std::string_view password) {
  Login login;
  if (user.empty()) return login;
  LOCUS_ASSIGN_OR_RETURN(
      SecretBytes draft,
      SecretBytes::Allocate(kMostEscaped * (user.size() + password.size()) + 64));
  SecretWriter measured(draft.data());
  Write(measured, user, password);
  LOCUS_ASSIGN_OR_RETURN(login.request_, SecretBytes::Allocate(measured.size()));
  SecretWriter kept(login.request_.data());
  Write(kept, user, password);
  return login;
}

std::optional<Login::Token> Login::Known() const {
  MutexLock lock(shared_->mutex);
  if (shared_->token.generation == 0) return std::nullopt;
  return shared_->token;
}

Login::Token Login::Remember(std::string text) {
  MutexLock lock(shared_->mutex);
  shared_->token = {std::move(text), ++shared_->generations};
  return shared_->token;
}

void Login::Forget(uint64_t generation) {
  MutexLock lock(shared_->mutex);
  if (shared_->token.generation == generation) shared_->token = Token();
}

}  // namespace locus::etcd
