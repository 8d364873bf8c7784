// SPDX-License-Identifier: Apache-2.0
#include "src/order/aes.h"

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <optional>
#include <string_view>

#include "src/base/os/check.h"
#include "src/base/os/secret_bytes.h"

namespace locus::internal {

// AES-256-ECB as its provider offers it. An EVP_CIPHER_CTX would hide where the key schedule lies;
// the provider's own context is the block that holds it.
struct AesFunctions {
  OSSL_FUNC_cipher_newctx_fn* new_context = nullptr;
  OSSL_FUNC_cipher_freectx_fn* free_context = nullptr;
  OSSL_FUNC_cipher_encrypt_init_fn* encrypt_init = nullptr;
  OSSL_FUNC_cipher_update_fn* update = nullptr;
  EVP_CIPHER* fetched = nullptr;  // never freed: keeps the provider loaded
  void* provider_context = nullptr;
};

namespace {

// At least the size of a context of OpenSSL, which is about 450 bytes.
constexpr size_t kContextBytes = 1024;

bool HasName(std::string_view colon_separated, std::string_view name) {
  while (!colon_separated.empty()) {
    size_t length = colon_separated.find(':');
    if (colon_separated.substr(0, length) == name) return true;
    if (length == std::string_view::npos) return false;
    colon_separated.remove_prefix(length + 1);
  }
  return false;
}

AesFunctions FunctionsOf(const OSSL_DISPATCH* entry) {
  AesFunctions functions;
  for (; entry->function_id != 0; ++entry) {
    switch (entry->function_id) {
      case OSSL_FUNC_CIPHER_NEWCTX:
        functions.new_context = OSSL_FUNC_cipher_newctx(entry);
        break;
      case OSSL_FUNC_CIPHER_FREECTX:
        functions.free_context = OSSL_FUNC_cipher_freectx(entry);
        break;
      case OSSL_FUNC_CIPHER_ENCRYPT_INIT:
        functions.encrypt_init = OSSL_FUNC_cipher_encrypt_init(entry);
        break;
      case OSSL_FUNC_CIPHER_UPDATE:
        functions.update = OSSL_FUNC_cipher_update(entry);
        break;
      default:
        break;
    }
  }
  return functions;
}

std::optional<AesFunctions> FindFunctions() {
  EVP_CIPHER* fetched = EVP_CIPHER_fetch(nullptr, "AES-256-ECB", nullptr);
  if (fetched == nullptr) return std::nullopt;
  const OSSL_PROVIDER* provider = EVP_CIPHER_get0_provider(fetched);
  int no_cache = 0;
  const OSSL_ALGORITHM* algorithm =
      OSSL_PROVIDER_query_operation(provider, OSSL_OP_CIPHER, &no_cache);
  for (; algorithm != nullptr && algorithm->algorithm_names != nullptr; ++algorithm) {
    if (!HasName(algorithm->algorithm_names, "AES-256-ECB")) continue;
    AesFunctions functions = FunctionsOf(algorithm->implementation);
    if (functions.new_context == nullptr || functions.free_context == nullptr ||
        functions.encrypt_init == nullptr || functions.update == nullptr) {
      break;
    }
    functions.fetched = fetched;
    functions.provider_context = OSSL_PROVIDER_get0_provider_ctx(provider);
    return functions;
  }
  EVP_CIPHER_free(fetched);
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Aes256> Aes256::Create(const unsigned char* key) {
  static const std::optional<AesFunctions> functions = FindFunctions();
  if (!functions) return absl::UnavailableError("OpenSSL offers no AES-256-ECB");
  Aes256 aes(&*functions, functions->new_context(functions->provider_context));
  if (aes.context_ == nullptr) return absl::UnavailableError("OpenSSL could not set up AES-256");
  // Before it holds the key.
  ExcludeFromCoreDumps(aes.context_, kContextBytes);
  unsigned int no_padding = 0;
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_PADDING, &no_padding),
                               OSSL_PARAM_construct_end()};
  int set_up = functions->encrypt_init(aes.context_, key, kKeyBytes, nullptr, 0, params);
  // The set-up may have left parts of the key there.
  WipeDeadStack();
  if (set_up != 1) return absl::UnavailableError("OpenSSL could not set up AES-256");
  return aes;
}

Aes256::~Aes256() {
  if (context_ != nullptr) functions_->free_context(context_);
}

void Aes256::Encrypt(const AesBlock* in, AesBlock* out, size_t count) const {
  size_t bytes = count * sizeof(AesBlock);
  size_t written = 0;
  int encrypted = functions_->update(context_, reinterpret_cast<unsigned char*>(out), &written,
                                     bytes, reinterpret_cast<const unsigned char*>(in), bytes);
  LOCUS_CHECK(encrypted == 1 && written == bytes);
}

}  // namespace locus::internal
