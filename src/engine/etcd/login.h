// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_LOGIN_H_
#define LOCUS_SRC_ENGINE_ETCD_LOGIN_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/base/mutex.h"
#include "src/base/secret_bytes.h"

namespace locus::etcd {

// User and password, and the token that the cluster gave for them.
// Thread safety: all methods may be called from any thread.
class Login {
 public:
  struct Token {
    std::string text;
    uint64_t generation = 0;  // 0: none
  };

  // An empty user: no login is wanted.
  static absl::StatusOr<Login> Make(std::string_view user, std::string_view password);

  bool wanted() const { return request_.size() > 0; }
  // The JSON that asks for a token; in secret memory.
  std::string_view Request() const { return request_.view(); }

  std::optional<Token> Known() const;
  Token Remember(std::string text);
  // A token that is newer stays.
  void Forget(uint64_t generation);

 private:
  SecretBytes request_;
  struct Shared {
    Mutex mutex;
    Token token ABSL_GUARDED_BY(mutex);
    uint64_t generations ABSL_GUARDED_BY(mutex) = 0;
  };
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_LOGIN_H_
