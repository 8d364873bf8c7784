// SPDX-License-Identifier: Apache-2.0
// order_nos.
#include <memory>
#include <vector>

#include "call.h"
#include "objects.h"
#include "values.h"

namespace locus_node {
namespace {

constexpr char kKind[] = "codec";

locus_codec* CodecOf(void* object) { return static_cast<locus_codec*>(object); }

}  // namespace

napi_value CodecOpen(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  std::string key_file, space;
  if (!arguments.Read(0, key_file) || !arguments.Read(1, space)) return nullptr;
  auto open = [key_file, space](void** object, locus_error* error) {
    locus_codec* codec = nullptr;
    const locus_code code = locus_codec_open(key_file.c_str(), space.c_str(), &codec, error);
    *object = codec;
    return code;
  };
  return OpenLater(env, kKind, std::move(open),
                   [](void* object) { locus_codec_close(CodecOf(object)); });
}

napi_value CodecEncode(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  std::vector<locus_order_id> ids;
  if (!handle || !arguments.Read(1, ids)) return nullptr;
  std::vector<locus_order_no> numbers(ids.size());
  auto encode = [&](void* object, locus_error* error) {
    if (ids.empty()) return LOCUS_OK;  // NULL is no array for liblocus
    return locus_codec_encode(CodecOf(object), ids.data(), ids.size(), numbers.data(), error);
  };
  return CallNow(env, *handle, encode) ? ToValue(env, numbers) : nullptr;
}

napi_value CodecDecode(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  locus_order_no number = {};
  if (!handle || !arguments.Read(1, number)) return nullptr;
  locus_order_id id = {};
  auto decode = [&](void* object, locus_error* error) {
    return locus_codec_decode(CodecOf(object), &number, &id, error);
  };
  return CallNow(env, *handle, decode) ? ToValue(env, id) : nullptr;
}

}  // namespace locus_node
