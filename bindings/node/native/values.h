// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_BINDINGS_NODE_VALUES_H_
#define LOCUS_BINDINGS_NODE_VALUES_H_

#include <node_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "locus/locus_c.h"

// Values of JavaScript and of C. The TypeScript beside this code checks what users pass; here
// arguments are only kept from doing harm: each Read returns false, with a TypeError thrown, where
// a value is of another type or out of range.
namespace locus_node {

// The arguments of a call, at most 8; those that are missing are undefined.
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info info);

  napi_value operator[](size_t i) const { return values_[i]; }
  bool Read(size_t i, bool& out) const;
  bool Read(size_t i, uint16_t& out) const;
  bool Read(size_t i, uint32_t& out) const;
  bool Read(size_t i, int64_t& out) const;   // a bigint
  bool Read(size_t i, uint64_t& out) const;  // a bigint
  bool Read(size_t i, locus_order_id& out) const;
  bool Read(size_t i, locus_order_no& out) const;
  // A string without NUL, as UTF-8; undefined: "".
  bool Read(size_t i, std::string& out) const;
  // The bytes of a string or a Uint8Array.
  bool ReadBytes(size_t i, std::string& out) const;
  bool Read(size_t i, std::vector<uint16_t>& out) const;        // a Uint16Array
  bool Read(size_t i, std::vector<locus_order_id>& out) const;  // an array of bigints

 private:
  bool Refuse(const char* wanted) const;

  napi_env env_;
  std::array<napi_value, 8> values_;
};

// These return nullptr where JavaScript cannot run any more, as in a worker that was terminated.
napi_value ToValue(napi_env env, uint32_t number);
napi_value ToValue(napi_env env, int64_t number);
napi_value ToValue(napi_env env, uint64_t number);
napi_value ToValue(napi_env env, const locus_order_id& id);
napi_value ToValue(napi_env env, const locus_order_no& number);
napi_value ToValue(napi_env env, const char* text);
napi_value Undefined(napi_env env);

template <typename Element>
napi_value ToValue(napi_env env, const std::vector<Element>& elements) {
  napi_value array = nullptr;
  if (napi_create_array_with_length(env, elements.size(), &array) != napi_ok) return nullptr;
  for (size_t i = 0; i < elements.size(); ++i) {
    napi_handle_scope scope;
    if (napi_open_handle_scope(env, &scope) != napi_ok) return nullptr;
    napi_set_element(env, array, static_cast<uint32_t>(i), ToValue(env, elements[i]));
    napi_close_handle_scope(env, scope);
  }
  return array;
}

}  // namespace locus_node

#endif  // LOCUS_BINDINGS_NODE_VALUES_H_
