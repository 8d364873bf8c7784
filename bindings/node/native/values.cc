// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <limits>

namespace locus_node {
namespace {

constexpr size_t kWords = 2;

// The words of a bigint, the lowest first; false: it is none, is negative, or has more than 128
// bits.
bool ReadWords(napi_env env, napi_value value, std::array<uint64_t, kWords>& words) {
  int sign = 0;
  size_t count = kWords;
  words = {};
  // With room for two words `count` becomes how many there are, also where that is more.
  return napi_get_value_bigint_words(env, value, &sign, &count, words.data()) == napi_ok &&
         sign == 0 && count <= kWords;
}

napi_value FromWords(napi_env env, uint64_t high, uint64_t low) {
  const std::array<uint64_t, kWords> words = {low, high};
  napi_value value = nullptr;
  napi_create_bigint_words(env, 0, high == 0 ? 1 : kWords, words.data(), &value);
  return value;
}

bool ReadOrderId(napi_env env, napi_value value, locus_order_id& out) {
  std::array<uint64_t, kWords> words;
  if (!ReadWords(env, value, words)) return false;
  out = words[1] == 0 ? locus_order_id{words[0], 0} : locus_order_id{words[1], words[0]};
  return true;
}

bool ReadString(napi_env env, napi_value value, std::string& out) {
  size_t size = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &size) != napi_ok) return false;
  out.resize(size + 1);  // with a NUL
  if (napi_get_value_string_utf8(env, value, out.data(), size + 1, &size) != napi_ok) return false;
  out.resize(size);
  return true;
}

// False: the value is no typed array of this type.
template <typename Element>
bool ReadTypedArray(napi_env env, napi_value value, napi_typedarray_type type,
                    const Element** elements, size_t* count) {
  bool is_typed_array = false;
  if (napi_is_typedarray(env, value, &is_typed_array) != napi_ok || !is_typed_array) return false;
  napi_typedarray_type found;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, &found, count, &data, nullptr, nullptr) != napi_ok) {
    return false;
  }
  *elements = static_cast<const Element*>(data);
  return found == type;
}

}  // namespace

Arguments::Arguments(napi_env env, napi_callback_info info) : env_(env) {
  values_.fill(nullptr);
  size_t count = values_.size();
  napi_get_cb_info(env, info, &count, values_.data(), nullptr, nullptr);
}

bool Arguments::Refuse(const char* wanted) const {
  napi_throw_type_error(env_, nullptr, (std::string("an argument is not ") + wanted).c_str());
  return false;
}

bool Arguments::Read(size_t i, bool& out) const {
  return napi_get_value_bool(env_, values_[i], &out) == napi_ok || Refuse("a boolean");
}

bool Arguments::Read(size_t i, uint16_t& out) const {
  uint32_t number = 0;
  if (!Read(i, number)) return false;
  out = static_cast<uint16_t>(number);
  return number <= std::numeric_limits<uint16_t>::max() || Refuse("a gene");
}

bool Arguments::Read(size_t i, uint32_t& out) const {
  double number = 0;
  if (napi_get_value_double(env_, values_[i], &number) != napi_ok || !(number >= 0) ||
      number > std::numeric_limits<uint32_t>::max()) {
    return Refuse("a number from 0 to 2^32 - 1");
  }
  out = static_cast<uint32_t>(number);
  return true;
}

bool Arguments::Read(size_t i, int64_t& out) const {
  bool lossless = false;
  return (napi_get_value_bigint_int64(env_, values_[i], &out, &lossless) == napi_ok && lossless) ||
         Refuse("a bigint of 64 bits");
}

bool Arguments::Read(size_t i, uint64_t& out) const {
  bool lossless = false;
  return (napi_get_value_bigint_uint64(env_, values_[i], &out, &lossless) == napi_ok && lossless) ||
         Refuse("a bigint of 64 bits");
}

bool Arguments::Read(size_t i, locus_order_id& out) const {
  return ReadOrderId(env_, values_[i], out) || Refuse("a bigint of 128 bits");
}

bool Arguments::Read(size_t i, locus_order_no& out) const {
  std::array<uint64_t, kWords> words;
  if (!ReadWords(env_, values_[i], words)) return Refuse("a bigint of 128 bits");
  out = {words[1], words[0]};
  return true;
}

bool Arguments::Read(size_t i, std::string& out) const {
  napi_valuetype type = napi_undefined;
  out.clear();
  if (values_[i] == nullptr || napi_typeof(env_, values_[i], &type) != napi_ok) {
    return Refuse("a string");
  }
  if (type == napi_undefined) return true;
  if (!ReadString(env_, values_[i], out)) return Refuse("a string");
  return out.find('\0') == std::string::npos || Refuse("a string without NUL");
}

bool Arguments::ReadBytes(size_t i, std::string& out) const {
  if (ReadString(env_, values_[i], out)) return true;
  const char* bytes = nullptr;
  size_t size = 0;
  if (!ReadTypedArray(env_, values_[i], napi_uint8_array, &bytes, &size)) {
    return Refuse("a string or a Uint8Array");
  }
  out.assign(size == 0 ? "" : bytes, size);
  return true;
}

bool Arguments::Read(size_t i, std::vector<uint16_t>& out) const {
  const uint16_t* genes = nullptr;
  size_t count = 0;
  if (!ReadTypedArray(env_, values_[i], napi_uint16_array, &genes, &count)) {
    return Refuse("a Uint16Array");
  }
  out.assign(genes, genes + count);
  return true;
}

bool Arguments::Read(size_t i, std::vector<locus_order_id>& out) const {
  uint32_t count = 0;
  if (napi_get_array_length(env_, values_[i], &count) != napi_ok) return Refuse("an array");
  out.resize(count);
  for (uint32_t place = 0; place < count; ++place) {
    napi_handle_scope scope;
    napi_value element = nullptr;
    if (napi_open_handle_scope(env_, &scope) != napi_ok) return false;
    const bool read = napi_get_element(env_, values_[i], place, &element) == napi_ok &&
                      ReadOrderId(env_, element, out[place]);
    napi_close_handle_scope(env_, scope);
    if (!read) return Refuse("an array of bigints");
  }
  return true;
}

napi_value ToValue(napi_env env, uint32_t number) {
  napi_value value = nullptr;
  napi_create_uint32(env, number, &value);
  return value;
}

napi_value ToValue(napi_env env, int64_t number) {
  napi_value value = nullptr;
  napi_create_bigint_int64(env, number, &value);
  return value;
}

napi_value ToValue(napi_env env, uint64_t number) {
  napi_value value = nullptr;
  napi_create_bigint_uint64(env, number, &value);
  return value;
}

napi_value ToValue(napi_env env, const locus_order_id& id) {
  return id.rest == 0 ? FromWords(env, 0, id.first) : FromWords(env, id.first, id.rest);
}

napi_value ToValue(napi_env env, const locus_order_no& number) {
  return FromWords(env, number.high, number.low);
}

napi_value ToValue(napi_env env, const char* text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
  return value;
}

napi_value Undefined(napi_env env) {
  napi_value value = nullptr;
  napi_get_undefined(env, &value);
  return value;
}

}  // namespace locus_node
