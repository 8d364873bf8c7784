// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_SERVER_OPTIONS_H_
#define LOCUS_APPS_LOCUS_PLACE_SERVER_OPTIONS_H_

#include <openssl/crypto.h>

#include "absl/status/status.h"
#include "apps/locus/place/password.h"
#include "apps/locus/place/store_uri.h"
#include "locus/engine/etcd.h"
#include "locus/engine/mariadb.h"
#include "locus/engine/redis.h"
#include "src/base/check.h"

// How to reach the server that a URI names: what it says, and the password from elsewhere.
namespace locus {

// Options with a password in them; wiped with the object.
template <typename Options>
class Secretive {
 public:
  Secretive() = default;
  ~Secretive() { OPENSSL_cleanse(options.password.data(), options.password.size()); }
  Secretive(const Secretive&) = delete;
  Secretive& operator=(const Secretive&) = delete;

  absl::Status TakePassword(PasswordFor whose = PasswordFor::kStore) {
    LOCUS_ASSIGN_OR_RETURN(std::string_view password, Password(whose));
    options.password = password;
    return absl::OkStatus();
  }

  Options options;
};

// Errors of Password. INVALID_ARGUMENT also: a password for an etcd without a user.
absl::Status Fill(const StoreUri& uri, Secretive<MariadbOptions>& server,
                  PasswordFor whose = PasswordFor::kStore);
absl::Status Fill(const StoreUri& uri, Secretive<RedisOptions>& server);
absl::Status Fill(const StoreUri& uri, Secretive<EtcdOptions>& server);

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_PLACE_SERVER_OPTIONS_H_
