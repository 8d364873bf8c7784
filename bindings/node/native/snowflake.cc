// SPDX-License-Identifier: Apache-2.0
// Snowflake IDs under a leased worker ID.
#include <memory>
#include <vector>

#include "call.h"
#include "objects.h"
#include "values.h"

namespace locus_node {
namespace {

constexpr char kKind[] = "snowflake";

locus_snowflake* SnowflakeOf(void* object) { return static_cast<locus_snowflake*>(object); }

}  // namespace

napi_value SnowflakeOpen(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  std::string uri, space, password;
  uint32_t ttl_ms = 0, patience_ms = 0, first_worker = 0, last_worker = 0;
  bool reacquire = false;
  if (!arguments.Read(0, uri) || !arguments.Read(1, space) || !arguments.Read(2, password) ||
      !arguments.Read(3, ttl_ms) || !arguments.Read(4, patience_ms) ||
      !arguments.Read(5, first_worker) || !arguments.Read(6, last_worker) ||
      !arguments.Read(7, reacquire)) {
    return nullptr;
  }
  auto open = [uri, space, secret = Secret(password), ttl_ms, patience_ms, first_worker,
               last_worker, reacquire](void** object, locus_error* error) {
    locus_snowflake_options options = LOCUS_SNOWFLAKE_OPTIONS_INIT;
    options.space = space.c_str();
    options.password = secret.c_str();
    options.ttl_ms = ttl_ms;
    options.patience_ms = patience_ms;
    options.first_worker = first_worker;
    options.last_worker = last_worker;
    options.reacquire = reacquire;
    locus_snowflake* snowflake = nullptr;
    const locus_code code = locus_snowflake_open(uri.c_str(), &options, &snowflake, error);
    *object = snowflake;
    return code;
  };
  return OpenLater(env, kKind, std::move(open),
                   [](void* object) { locus_snowflake_close(SnowflakeOf(object)); });
}

napi_value SnowflakeNextBatch(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  uint32_t count = 0;
  if (!handle || !arguments.Read(1, count)) return nullptr;
  auto ids = std::make_shared<std::vector<int64_t>>(count);
  return CallLater(
      env, "locus snowflake next batch", handle,
      [ids](void* object, locus_error* error) {
        size_t made = 0;
        const locus_code code =
            locus_snowflake_next_batch(SnowflakeOf(object), ids->data(), ids->size(), &made, error);
        ids->resize(made);
        return code;
      },
      [ids](napi_env env) { return ToValue(env, *ids); });
}

napi_value SnowflakeWorker(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  if (!handle) return nullptr;
  uint64_t worker = 0;
  auto ask = [&worker](void* object, locus_error* error) {
    return locus_snowflake_worker(SnowflakeOf(object), &worker, error);
  };
  return CallNow(env, *handle, ask) ? ToValue(env, worker) : nullptr;
}

}  // namespace locus_node
