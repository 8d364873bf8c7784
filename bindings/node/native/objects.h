// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_BINDINGS_NODE_OBJECTS_H_
#define LOCUS_BINDINGS_NODE_OBJECTS_H_

#include <node_api.h>

// The functions that JavaScript calls, by the object of liblocus. src/native/addon.ts says what
// each takes and returns. nullptr: undefined, or an error was thrown.
namespace locus_node {

napi_value GeneratorOpen(napi_env env, napi_callback_info info);
napi_value GeneratorTake(napi_env env, napi_callback_info info);
napi_value GeneratorNext(napi_env env, napi_callback_info info);
napi_value GeneratorNextBatch(napi_env env, napi_callback_info info);
napi_value GeneratorWarm(napi_env env, napi_callback_info info);

napi_value SequenceOpen(napi_env env, napi_callback_info info);
napi_value SequenceTake(napi_env env, napi_callback_info info);
napi_value SequenceNext(napi_env env, napi_callback_info info);
napi_value SequenceNextBlock(napi_env env, napi_callback_info info);

napi_value NumbersOpen(napi_env env, napi_callback_info info);
napi_value NumbersTake(napi_env env, napi_callback_info info);
napi_value NumbersNext(napi_env env, napi_callback_info info);
napi_value NumbersNextBlock(napi_env env, napi_callback_info info);

napi_value SnowflakeOpen(napi_env env, napi_callback_info info);
napi_value SnowflakeNextBatch(napi_env env, napi_callback_info info);
napi_value SnowflakeWorker(napi_env env, napi_callback_info info);

napi_value CodecOpen(napi_env env, napi_callback_info info);
napi_value CodecEncode(napi_env env, napi_callback_info info);
napi_value CodecDecode(napi_env env, napi_callback_info info);

napi_value RouterOpen(napi_env env, napi_callback_info info);
napi_value RouterRoute(napi_env env, napi_callback_info info);
napi_value RouterRoutesOf(napi_env env, napi_callback_info info);
napi_value RouterEpoch(napi_env env, napi_callback_info info);
napi_value RouterRefresh(napi_env env, napi_callback_info info);

}  // namespace locus_node

#endif  // LOCUS_BINDINGS_NODE_OBJECTS_H_
