// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_BINDINGS_NODE_CALL_H_
#define LOCUS_BINDINGS_NODE_CALL_H_

#include <node_api.h>

#include <functional>
#include <memory>
#include <string>

#include "handle.h"
#include "locus/locus_c.h"

// Calls of liblocus on behalf of JavaScript: at once, or on a thread of libuv's pool with a
// promise.
namespace locus_node {

// What one thread of JavaScript has of this library. Used on that thread only, but for `handles`.
struct Environment {
  OpenHandles handles;
  napi_ref error_class = nullptr;  // LocusError, once it was given
};
std::shared_ptr<Environment> EnvironmentOf(napi_env env);
// Makes it. Once for each thread of JavaScript.
void StartEnvironment(napi_env env);

// Throws a LocusError.
void Throw(napi_env env, const locus_error& error);

// Runs on a thread of the pool; `object` is that of the handle, if there is one.
using Run = std::function<locus_code(void* object, locus_error* error)>;
// What the promise resolves to, made on the thread of JavaScript.
using Result = std::function<napi_value(napi_env env)>;

// An argument that is a handle; false: there is none.
struct HandleArgument {
  napi_value value = nullptr;
  std::shared_ptr<Handle> handle = nullptr;

  explicit operator bool() const { return handle != nullptr; }
  Handle& operator*() const { return *handle; }
};
// False, with a TypeError thrown: the value is no handle of this kind; nullptr: of any kind.
HandleArgument HandleOf(napi_env env, napi_value value, const char* kind);

// Begins a call; the promise of its result. `name` is a literal. Until the call has ended, the
// handle, if there is one, is not collected as garbage, which would close it.
napi_value CallLater(napi_env env, const char* name, const HandleArgument& handle, Run run,
                     Result result);

// Opens an object; the promise of its handle. `open` is run once, and sets *object if it succeeds.
using Open = std::function<locus_code(void** object, locus_error* error)>;
napi_value OpenLater(napi_env env, const char* kind, Open open, void (*close)(void*));

// Runs a call that does not block, at once. False, with an error thrown: it failed, or the handle
// is closed.
bool CallNow(napi_env env, Handle& handle, const Run& run);

// A text whose memory is wiped with the last copy of this.
class Secret {
 public:
  // Takes the text, and wipes it where it was.
  explicit Secret(std::string& text);
  const char* c_str() const { return text_->c_str(); }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace locus_node

#endif  // LOCUS_BINDINGS_NODE_CALL_H_
