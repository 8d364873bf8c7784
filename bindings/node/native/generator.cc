// SPDX-License-Identifier: Apache-2.0
// Generators of order IDs.
#include <memory>
#include <vector>

#include "call.h"
#include "objects.h"
#include "values.h"

namespace locus_node {
namespace {

constexpr char kKind[] = "generator";

locus_generator* GeneratorOf(void* object) { return static_cast<locus_generator*>(object); }

// No ID is at hand; one may come.
bool MayCome(locus_code code) {
  return code == LOCUS_DEADLINE_EXCEEDED || code == LOCUS_UNAVAILABLE;
}

}  // namespace

napi_value GeneratorOpen(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  std::string uri, space, password;
  bool create = false, wide = false;
  uint32_t horizon_ms = 0;
  if (!arguments.Read(0, uri) || !arguments.Read(1, space) || !arguments.Read(2, password) ||
      !arguments.Read(3, create) || !arguments.Read(4, wide) || !arguments.Read(5, horizon_ms)) {
    return nullptr;
  }
  auto open = [uri, space, secret = Secret(password), create, wide, horizon_ms](
                  void** object, locus_error* error) {
    locus_generator_options options = LOCUS_GENERATOR_OPTIONS_INIT;
    options.space = space.c_str();
    options.password = secret.c_str();
    options.create = create;
    options.wide = wide;
    options.horizon_ms = horizon_ms;
    locus_generator* generator = nullptr;
    const locus_code code = locus_generator_open(uri.c_str(), &options, &generator, error);
    *object = generator;
    return code;
  };
  return OpenLater(env, kKind, std::move(open),
                   [](void* object) { locus_generator_close(GeneratorOf(object)); });
}

napi_value GeneratorTake(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  uint16_t gene = 0;
  if (!handle || !arguments.Read(1, gene)) return nullptr;
  locus_order_id id = {};
  bool at_hand = true;
  auto take = [&](void* object, locus_error* error) {
    const locus_code code = locus_generator_next(GeneratorOf(object), gene, 0, &id, error);
    at_hand = !MayCome(code);
    return at_hand ? code : LOCUS_OK;
  };
  return CallNow(env, *handle, take) && at_hand ? ToValue(env, id) : nullptr;
}

napi_value GeneratorNext(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  uint16_t gene = 0;
  uint32_t timeout_ms = 0;
  if (!handle || !arguments.Read(1, gene) || !arguments.Read(2, timeout_ms)) {
    return nullptr;
  }
  auto id = std::make_shared<locus_order_id>();
  return CallLater(
      env, "locus generator next", handle,
      [gene, timeout_ms, id](void* object, locus_error* error) {
        return locus_generator_next(GeneratorOf(object), gene, timeout_ms, id.get(), error);
      },
      [id](napi_env env) { return ToValue(env, *id); });
}

napi_value GeneratorNextBatch(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  std::vector<uint16_t> genes;
  uint32_t timeout_ms = 0;
  if (!handle || !arguments.Read(1, genes) || !arguments.Read(2, timeout_ms)) {
    return nullptr;
  }
  auto ids = std::make_shared<std::vector<locus_order_id>>(genes.size());
  return CallLater(
      env, "locus generator next batch", handle,
      [genes = std::move(genes), timeout_ms, ids](void* object, locus_error* error) {
        size_t made = 0;
        const locus_code code = locus_generator_next_batch(
            GeneratorOf(object), genes.data(), genes.size(), timeout_ms, ids->data(), &made, error);
        ids->resize(made);
        return code;
      },
      [ids](napi_env env) { return ToValue(env, *ids); });
}

napi_value GeneratorWarm(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  uint32_t timeout_ms = 0;
  if (!handle || !arguments.Read(1, timeout_ms)) return nullptr;
  return CallLater(
      env, "locus generator warm", handle,
      [timeout_ms](void* object, locus_error* error) {
        return locus_generator_warm(GeneratorOf(object), timeout_ms, error);
      },
      nullptr);
}

}  // namespace locus_node
