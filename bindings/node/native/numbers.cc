// SPDX-License-Identifier: Apache-2.0
// Numbers by sequence types.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call.h"
#include "objects.h"
#include "values.h"

namespace locus_node {
namespace {

constexpr char kKind[] = "numbers";

locus_numbers* NumbersOf(void* object) { return static_cast<locus_numbers*>(object); }

// The values of fields, as they are handed over: "NAME\0TEXT\0" for each.
class Fields {
 public:
  explicit Fields(std::string bytes) : bytes_(std::move(bytes)) {
    std::vector<const char*> texts;
    for (size_t at = 0; at < bytes_.size(); at = bytes_.find('\0', at) + 1) {
      if (bytes_.find('\0', at) == std::string::npos) break;
      texts.push_back(bytes_.data() + at);
    }
    for (size_t i = 0; i + 1 < texts.size(); i += 2) values_.push_back({texts[i], texts[i + 1]});
  }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  locus_code Next(void* object, uint32_t timeout_ms, char* text, locus_error* error) const {
    return locus_numbers_next(NumbersOf(object), timeout_ms, values_.data(), values_.size(), text,
                              error);
  }

 private:
  const std::string bytes_;
  std::vector<locus_named_value> values_;
};

struct Text {
  char bytes[LOCUS_NUMBER_TEXT_BYTES] = "";
};

// [first, step, count, group]
napi_value ToValue(napi_env env, const locus_number_block& block) {
  napi_value array = nullptr;
  if (napi_create_array_with_length(env, 4, &array) != napi_ok) return nullptr;
  uint32_t place = 0;
  for (const int64_t number : {block.first, block.step, block.count}) {
    napi_set_element(env, array, place++, locus_node::ToValue(env, number));
  }
  napi_set_element(env, array, place, locus_node::ToValue(env, block.group));
  return array;
}

}  // namespace

napi_value NumbersOpen(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  std::string uri, type, key, password;
  uint32_t horizon_ms = 0;
  if (!arguments.Read(0, uri) || !arguments.Read(1, type) || !arguments.Read(2, key) ||
      !arguments.Read(3, password) || !arguments.Read(4, horizon_ms)) {
    return nullptr;
  }
  auto open = [uri, type, key, secret = Secret(password), horizon_ms](void** object,
                                                                      locus_error* error) {
    locus_numbers_options options = LOCUS_NUMBERS_OPTIONS_INIT;
    options.password = secret.c_str();
    options.horizon_ms = horizon_ms;
    locus_numbers* numbers = nullptr;
    const locus_code code =
        locus_numbers_open(uri.c_str(), type.c_str(), key.c_str(), &options, &numbers, error);
    *object = numbers;
    return code;
  };
  return OpenLater(env, kKind, std::move(open),
                   [](void* object) { locus_numbers_close(NumbersOf(object)); });
}

napi_value NumbersTake(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  std::string bytes;
  if (!handle || !arguments.ReadBytes(1, bytes)) return nullptr;
  const Fields fields(std::move(bytes));
  Text text;
  bool at_hand = true;
  auto take = [&](void* object, locus_error* error) {
    const locus_code code = fields.Next(object, 0, text.bytes, error);
    at_hand = code != LOCUS_DEADLINE_EXCEEDED && code != LOCUS_UNAVAILABLE;
    return at_hand ? code : LOCUS_OK;
  };
  return CallNow(env, *handle, take) && at_hand ? locus_node::ToValue(env, text.bytes) : nullptr;
}

napi_value NumbersNext(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  std::string bytes;
  uint32_t timeout_ms = 0;
  if (!handle || !arguments.ReadBytes(1, bytes) || !arguments.Read(2, timeout_ms)) return nullptr;
  auto fields = std::make_shared<const Fields>(std::move(bytes));
  auto text = std::make_shared<Text>();
  return CallLater(
      env, "locus numbers next", handle,
      [timeout_ms, fields, text](void* object, locus_error* error) {
        return fields->Next(object, timeout_ms, text->bytes, error);
      },
      [text](napi_env env) { return locus_node::ToValue(env, text->bytes); });
}

napi_value NumbersNextBlock(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  int64_t count = 0;
  uint32_t timeout_ms = 0;
  if (!handle || !arguments.Read(1, count) || !arguments.Read(2, timeout_ms)) return nullptr;
  auto block = std::make_shared<locus_number_block>();
  return CallLater(
      env, "locus numbers next block", handle,
      [count, timeout_ms, block](void* object, locus_error* error) {
        return locus_numbers_next_block(NumbersOf(object), timeout_ms, count, block.get(), error);
      },
      [block](napi_env env) { return ToValue(env, *block); });
}

}  // namespace locus_node
