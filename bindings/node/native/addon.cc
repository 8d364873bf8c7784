// SPDX-License-Identifier: Apache-2.0
// What Node loads: the functions of this library by name, and those that need no object.
#include <memory>
#include <string>

#include "call.h"
#include "objects.h"
#include "values.h"

namespace locus_node {
namespace {

// start(LocusError): once, before any other.
napi_value Start(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  napi_create_reference(env, arguments[0], 1, &EnvironmentOf(env)->error_class);
  return nullptr;
}

napi_value Close(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], nullptr);
  if (!handle) return nullptr;
  handle.handle->Refuse();
  return CallLater(
      env, "locus close", {},
      [handle = handle.handle](void*, locus_error*) {
        handle->End();
        return LOCUS_OK;
      },
      [handle = handle.handle, environment = EnvironmentOf(env)](napi_env env) {
        environment->handles.Remove(handle);
        return Undefined(env);
      });
}

// When the main thread ends by process.exit(), Node runs the listeners of "exit" and nothing else
// before the destructors of libraries, under which no thread of liblocus may be running.
napi_value EndAll(napi_env env, napi_callback_info) {
  EnvironmentOf(env)->handles.EndAll();
  return nullptr;
}

napi_value Version(napi_env env, napi_callback_info) { return ToValue(env, locus_version()); }

napi_value GeneOfUint64(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  uint64_t buyer = 0;
  if (!arguments.Read(0, buyer)) return nullptr;
  return ToValue(env, uint32_t{locus_gene_of_uint64(buyer)});
}

napi_value GeneOfText(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  std::string buyer;
  if (!arguments.ReadBytes(0, buyer)) return nullptr;
  return ToValue(env, uint32_t{locus_gene_of_text(buyer.data(), buyer.size())});
}

napi_value UuidV7(napi_env env, napi_callback_info) {
  uint8_t bytes[LOCUS_UUID_BYTES];
  locus_error error = {};
  if (locus_uuid_v7(bytes, &error) != LOCUS_OK) {
    Throw(env, error);
    return nullptr;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < LOCUS_UUID_BYTES; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 0xF];
  }
  return ToValue(env, text.c_str());
}

struct Function {
  const char* name;
  napi_callback call;
};

constexpr Function kFunctions[] = {
    {"start", Start},
    {"close", Close},
    {"endAll", EndAll},
    {"version", Version},
    {"geneOfUint64", GeneOfUint64},
    {"geneOfText", GeneOfText},
    {"uuidV7", UuidV7},
    {"generatorOpen", GeneratorOpen},
    {"generatorTake", GeneratorTake},
    {"generatorNext", GeneratorNext},
    {"generatorNextBatch", GeneratorNextBatch},
    {"generatorWarm", GeneratorWarm},
    {"sequenceOpen", SequenceOpen},
    {"sequenceTake", SequenceTake},
    {"sequenceNext", SequenceNext},
    {"sequenceNextBlock", SequenceNextBlock},
    {"numbersOpen", NumbersOpen},
    {"numbersTake", NumbersTake},
    {"numbersNext", NumbersNext},
    {"numbersNextBlock", NumbersNextBlock},
    {"snowflakeOpen", SnowflakeOpen},
    {"snowflakeNextBatch", SnowflakeNextBatch},
    {"snowflakeWorker", SnowflakeWorker},
    {"codecOpen", CodecOpen},
    {"codecEncode", CodecEncode},
    {"codecDecode", CodecDecode},
    {"routerOpen", RouterOpen},
    {"routerRoute", RouterRoute},
    {"routerRoutesOf", RouterRoutesOf},
    {"routerEpoch", RouterEpoch},
    {"routerRefresh", RouterRefresh},
};

}  // namespace
}  // namespace locus_node

NAPI_MODULE_INIT() {
  locus_node::StartEnvironment(env);
  for (const locus_node::Function& function : locus_node::kFunctions) {
    napi_value value = nullptr;
    napi_create_function(env, function.name, NAPI_AUTO_LENGTH, function.call, nullptr, &value);
    napi_set_named_property(env, exports, function.name, value);
  }
  return exports;
}
