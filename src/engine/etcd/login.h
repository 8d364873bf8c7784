// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_LOGIN_H_
#define LOCUS_SRC_ENGINE_ETCD_LOGIN_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/run/mutex.h"

namespace locus::etcd {

// A user and password, and the token that the cluster issued for them.
// Thread safety: all methods may be called from any thread.
class Login {
 public:
  struct Token {
    std::string text;
    uint64_t generation = 0;  // 0: none
  };

  // With an empty user there is no login.
  static absl::StatusOr<Login> Make(std::string_view user, std::string_view password);

  bool wanted() const { return request_.size() > 0; }
  // The JSON that requests a token, in secret memory.
  std::string_view Request() const { return request_.view(); }

  std::optional<Token> Known() const;
  Token Remember(std::string text);
  // Forgets the token of `generation`; a newer one stays.
  void Forget(uint64_t generation);

 private:
  internal::SecretBytes request_;
  struct Shared {
    internal::Mutex mutex;
    Token token ABSL_GUARDED_BY(mutex);
    uint64_t generations ABSL_GUARDED_BY(mutex) = 0;
  };
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_LOGIN_H_
