// SPDX-License-Identifier: Apache-2.0
// Sequences.
#include <memory>
#include <vector>

#include "call.h"
#include "objects.h"
#include "values.h"

namespace locus_node {
namespace {

constexpr char kKind[] = "sequence";

locus_sequence* SequenceOf(void* object) { return static_cast<locus_sequence*>(object); }

}  // namespace

napi_value SequenceOpen(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  std::string uri, key, password, key_prefix;
  int64_t increment = 0, max_value = 0;
  bool wrap = false;
  uint32_t horizon_ms = 0;
  if (!arguments.Read(0, uri) || !arguments.Read(1, key) || !arguments.Read(2, password) ||
      !arguments.Read(3, key_prefix) || !arguments.Read(4, increment) ||
      !arguments.Read(5, max_value) || !arguments.Read(6, wrap) || !arguments.Read(7, horizon_ms)) {
    return nullptr;
  }
  auto open = [uri, key, secret = Secret(password), key_prefix, increment, max_value, wrap,
               horizon_ms](void** object, locus_error* error) {
    locus_sequence_options options = LOCUS_SEQUENCE_OPTIONS_INIT;
    options.password = secret.c_str();
    options.key_prefix = key_prefix.c_str();
    options.increment = increment;
    options.max_value = max_value;
    options.wrap = wrap;
    options.horizon_ms = horizon_ms;
    locus_sequence* sequence = nullptr;
    const locus_code code =
        locus_sequence_open(uri.c_str(), key.c_str(), &options, &sequence, error);
    *object = sequence;
    return code;
  };
  return OpenLater(env, kKind, std::move(open),
                   [](void* object) { locus_sequence_close(SequenceOf(object)); });
}

napi_value SequenceTake(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  if (!handle) return nullptr;
  int64_t number = 0;
  bool at_hand = true;
  auto take = [&](void* object, locus_error* error) {
    const locus_code code = locus_sequence_next(SequenceOf(object), 0, &number, error);
    at_hand = code != LOCUS_DEADLINE_EXCEEDED && code != LOCUS_UNAVAILABLE;
    return at_hand ? code : LOCUS_OK;
  };
  return CallNow(env, *handle, take) && at_hand ? ToValue(env, number) : nullptr;
}

napi_value SequenceNext(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  uint32_t timeout_ms = 0;
  if (!handle || !arguments.Read(1, timeout_ms)) return nullptr;
  auto number = std::make_shared<int64_t>();
  return CallLater(
      env, "locus sequence next", handle,
      [timeout_ms, number](void* object, locus_error* error) {
        return locus_sequence_next(SequenceOf(object), timeout_ms, number.get(), error);
      },
      [number](napi_env env) { return ToValue(env, *number); });
}

napi_value SequenceNextBlock(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  int64_t count = 0;
  uint32_t timeout_ms = 0;
  if (!handle || !arguments.Read(1, count) || !arguments.Read(2, timeout_ms)) {
    return nullptr;
  }
  auto block = std::make_shared<std::vector<int64_t>>(2);  // first, count
  return CallLater(
      env, "locus sequence next block", handle,
      [count, timeout_ms, block](void* object, locus_error* error) {
        (*block)[1] = count;
        return locus_sequence_next_block(SequenceOf(object), timeout_ms, &(*block)[0], &(*block)[1],
                                         error);
      },
      [block](napi_env env) { return ToValue(env, *block); });
}

}  // namespace locus_node
