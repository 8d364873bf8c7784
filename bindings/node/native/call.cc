// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <string.h>

#include <cstdio>
#include <utility>

#include "values.h"

namespace locus_node {
namespace {

// What a value of JavaScript holds of a handle.
struct Reference {
  std::shared_ptr<Handle> handle;
  std::shared_ptr<Environment> environment;
};

// A call on its way. Made and destroyed on the thread of JavaScript.
struct Call {
  std::shared_ptr<Handle> handle;
  napi_ref held = nullptr;  // the value that has the handle
  Run run;
  Result result;
  napi_deferred deferred = nullptr;  // nullptr: nobody waits
  napi_async_work work = nullptr;
  locus_code code = LOCUS_OK;
  locus_error error = {};
};

locus_code RefuseClosed(const Handle& handle, locus_error* error) {
  error->code = LOCUS_FAILED_PRECONDITION;
  std::snprintf(error->message, sizeof error->message, "the %s is closed", handle.kind());
  return LOCUS_FAILED_PRECONDITION;
}

locus_code RunOn(Handle* handle, const Run& run, locus_error* error) {
  if (handle == nullptr) return run(nullptr, error);
  void* const object = handle->Enter();
  if (object == nullptr) return RefuseClosed(*handle, error);
  const locus_code code = run(object, error);
  handle->Leave();
  return code;
}

// nullptr: JavaScript cannot run any more.
napi_value ErrorOf(napi_env env, const locus_error& error) {
  const std::shared_ptr<Environment> environment = EnvironmentOf(env);
  napi_value constructor = nullptr;
  napi_value made = nullptr;
  napi_value arguments[] = {ToValue(env, locus_code_name(error.code)), ToValue(env, error.message)};
  if (environment->error_class == nullptr ||
      napi_get_reference_value(env, environment->error_class, &constructor) != napi_ok ||
      napi_new_instance(env, constructor, 2, arguments, &made) != napi_ok) {
    return nullptr;
  }
  return made;
}

void Execute(napi_env, void* data) {
  Call& call = *static_cast<Call*>(data);
  call.code = RunOn(call.handle.get(), call.run, &call.error);
}

// Where a worker is being terminated JavaScript cannot run: then nobody waits for the promise, and
// all that fails here may fail.
void Complete(napi_env env, napi_status, void* data) {
  const std::unique_ptr<Call> call(static_cast<Call*>(data));
  if (call->code == LOCUS_OK) {
    const napi_value value = call->result == nullptr ? Undefined(env) : call->result(env);
    if (value != nullptr && call->deferred != nullptr) {
      napi_resolve_deferred(env, call->deferred, value);
    }
  } else if (call->deferred != nullptr) {
    const napi_value error = ErrorOf(env, call->error);
    if (error != nullptr) napi_reject_deferred(env, call->deferred, error);
  }
  if (call->held != nullptr) napi_delete_reference(env, call->held);
  napi_delete_async_work(env, call->work);
}

bool Queue(napi_env env, const char* name, std::unique_ptr<Call> call) {
  if (napi_create_async_work(env, nullptr, ToValue(env, name), Execute, Complete, call.get(),
                             &call->work) != napi_ok) {
    return false;
  }
  if (napi_queue_async_work(env, call->work) != napi_ok) {
    napi_delete_async_work(env, call->work);
    return false;
  }
  call.release();  // Complete's
  return true;
}

// The value of JavaScript is gone: an object that is still open is closed off the event loop.
void Finalize(napi_env env, void* data, void*) {
  const std::unique_ptr<Reference> reference(static_cast<Reference*>(data));
  if (reference->handle->refuses()) return;  // closed, or on its way
  auto call = std::make_unique<Call>();
  call->run = [handle = reference->handle](void*, locus_error*) {
    handle->End();
    return LOCUS_OK;
  };
  call->result = [reference = *reference](napi_env) {
    reference.environment->handles.Remove(reference.handle);
    return nullptr;
  };
  Queue(env, "locus close", std::move(call));  // otherwise it is closed at the end of the thread
}

napi_value ReferenceTo(napi_env env, std::shared_ptr<Handle> handle) {
  auto reference = std::make_unique<Reference>(Reference{std::move(handle), EnvironmentOf(env)});
  napi_value value = nullptr;
  if (napi_create_external(env, reference.get(), Finalize, nullptr, &value) != napi_ok) {
    return nullptr;
  }
  reference.release();  // Finalize's
  return value;
}

}  // namespace

std::shared_ptr<Environment> EnvironmentOf(napi_env env) {
  void* data = nullptr;
  napi_get_instance_data(env, &data);
  return *static_cast<std::shared_ptr<Environment>*>(data);
}

void StartEnvironment(napi_env env) {
  auto* const environment = new std::shared_ptr<Environment>(std::make_shared<Environment>());
  napi_set_instance_data(
      env, environment,
      [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<Environment>*>(data); },
      nullptr);
  // Run when a worker ends or is terminated, after its calls have ended and before its values go.
  // The end of the main thread does not always come here: see endAll in addon.cc.
  auto* const at_end = new std::shared_ptr<Environment>(*environment);
  napi_add_env_cleanup_hook(
      env,
      [](void* data) {
        const std::unique_ptr<std::shared_ptr<Environment>> ending(
            static_cast<std::shared_ptr<Environment>*>(data));
        (*ending)->handles.EndAll();
      },
      at_end);
}

void Throw(napi_env env, const locus_error& error) {
  const napi_value thrown = ErrorOf(env, error);
  if (thrown != nullptr) napi_throw(env, thrown);
}

napi_value CallLater(napi_env env, const char* name, const HandleArgument& handle, Run run,
                     Result result) {
  auto call = std::make_unique<Call>();
  call->handle = handle.handle;
  call->run = std::move(run);
  call->result = std::move(result);
  napi_value promise = nullptr;
  if (napi_create_promise(env, &call->deferred, &promise) != napi_ok) return nullptr;
  if (handle && napi_create_reference(env, handle.value, 1, &call->held) != napi_ok) return nullptr;
  if (!Queue(env, name, std::move(call))) {
    napi_throw_error(env, nullptr, "the call could not be queued");
    return nullptr;
  }
  return promise;
}

napi_value OpenLater(napi_env env, const char* kind, Open open, void (*close)(void*)) {
  auto opened = std::make_shared<std::shared_ptr<Handle>>();
  auto run = [open = std::move(open), kind, close, opened, environment = EnvironmentOf(env)](
                 void*, locus_error* error) {
    void* object = nullptr;
    const locus_code code = open(&object, error);
    if (code != LOCUS_OK) return code;
    *opened = std::make_shared<Handle>(kind, object, close);
    // Closed with the thread of JavaScript at the latest, also where that ends before the promise.
    environment->handles.Add(*opened);
    return code;
  };
  return CallLater(env, kind, {}, std::move(run),
                   [opened](napi_env env) { return ReferenceTo(env, std::move(*opened)); });
}

HandleArgument HandleOf(napi_env env, napi_value value, const char* kind) {
  void* data = nullptr;
  if (napi_get_value_external(env, value, &data) == napi_ok && data != nullptr) {
    const Reference& reference = *static_cast<Reference*>(data);
    if (kind == nullptr || strcmp(reference.handle->kind(), kind) == 0) {
      return {value, reference.handle};
    }
  }
  napi_throw_type_error(env, nullptr, "an argument is not a handle of the kind that is needed");
  return {};
}

bool CallNow(napi_env env, Handle& handle, const Run& run) {
  locus_error error = {};
  if (RunOn(&handle, run, &error) == LOCUS_OK) return true;
  Throw(env, error);
  return false;
}

Secret::Secret(std::string& text)
    : text_(new std::string(text), [](std::string* kept) {
        explicit_bzero(kept->data(), kept->size());
        delete kept;
      }) {
  explicit_bzero(text.data(), text.size());
  text.clear();
}

}  // namespace locus_node
