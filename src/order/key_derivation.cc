// SPDX-License-Identifier: Apache-2.0
#include "src/order/key_derivation.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>

#include "src/base/os/secret_bytes.h"

namespace locus::internal {
namespace {

OSSL_PARAM OctetString(const char* name, std::string_view value) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(value.data()), value.size());
}

bool Hkdf(std::string_view master, std::string_view salt, std::string_view purpose,
          unsigned char* out) {
  std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                        &EVP_KDF_free);
  if (kdf == nullptr) return false;
  std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                    &EVP_KDF_CTX_free);
  if (context == nullptr) return false;
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OctetString(OSSL_KDF_PARAM_KEY, master), OctetString(OSSL_KDF_PARAM_SALT, salt),
      OctetString(OSSL_KDF_PARAM_INFO, purpose), OSSL_PARAM_construct_end()};
  return EVP_KDF_derive(context.get(), out, kDerivedKeyBytes, params) == 1;
}

}  // namespace

absl::Status DeriveKey(std::string_view master, std::string_view salt, std::string_view purpose,
                       unsigned char* out) {
  bool derived = Hkdf(master, salt, purpose, out);
  WipeDeadStack();
  if (!derived) return absl::UnavailableError("OpenSSL could not derive a key");
  return absl::OkStatus();
}

}  // namespace locus::internal
