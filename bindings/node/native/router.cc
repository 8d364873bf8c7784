// SPDX-License-Identifier: Apache-2.0
// Routing.
#include <memory>

#include "call.h"
#include "objects.h"
#include "values.h"

namespace locus_node {
namespace {

constexpr char kKind[] = "router";

locus_router* RouterOf(void* object) { return static_cast<locus_router*>(object); }

// [id, name, endpoint], and for a buyer's [..., first cohort, end cohort]
napi_value ToValue(napi_env env, const locus_shard& shard, const locus_buyer_route* route) {
  napi_value array = nullptr;
  if (napi_create_array_with_length(env, route == nullptr ? 3 : 5, &array) != napi_ok) {
    return nullptr;
  }
  napi_set_element(env, array, 0, locus_node::ToValue(env, shard.id));
  napi_set_element(env, array, 1, locus_node::ToValue(env, shard.name));
  napi_set_element(env, array, 2, locus_node::ToValue(env, shard.endpoint));
  if (route != nullptr) {
    napi_set_element(env, array, 3, locus_node::ToValue(env, route->first_cohort));
    napi_set_element(env, array, 4, locus_node::ToValue(env, route->end_cohort));
  }
  return array;
}

}  // namespace

napi_value RouterOpen(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  std::string uri, password, last_good_file;
  uint32_t open_timeout_ms = 0;
  if (!arguments.Read(0, uri) || !arguments.Read(1, password) ||
      !arguments.Read(2, last_good_file) || !arguments.Read(3, open_timeout_ms)) {
    return nullptr;
  }
  auto open = [uri, secret = Secret(password), last_good_file, open_timeout_ms](
                  void** object, locus_error* error) {
    locus_router_options options = LOCUS_ROUTER_OPTIONS_INIT;
    options.password = secret.c_str();
    options.last_good_file = last_good_file.c_str();
    options.open_timeout_ms = open_timeout_ms;
    locus_router* router = nullptr;
    const locus_code code = locus_router_open(uri.c_str(), &options, &router, error);
    *object = router;
    return code;
  };
  return OpenLater(env, kKind, std::move(open),
                   [](void* object) { locus_router_close(RouterOf(object)); });
}

// The texts of a shard live as long as the router: they are copied before Leave could let it go.
napi_value RouterRoute(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  locus_order_id id = {};
  if (!handle || !arguments.Read(1, id)) return nullptr;
  napi_value value = nullptr;
  auto route = [&](void* object, locus_error* error) {
    locus_shard shard = {};
    const locus_code code = locus_router_route(RouterOf(object), &id, &shard, error);
    if (code == LOCUS_OK) value = ToValue(env, shard, nullptr);
    return code;
  };
  return CallNow(env, *handle, route) ? value : nullptr;
}

napi_value RouterRoutesOf(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  uint16_t gene = 0;
  if (!handle || !arguments.Read(1, gene)) return nullptr;
  napi_value array = nullptr;
  auto route = [&](void* object, locus_error* error) {
    locus_buyer_route routes[2] = {};
    size_t count = 0;
    const locus_code code = locus_router_routes_of(RouterOf(object), gene, routes, &count, error);
    if (code != LOCUS_OK) return code;
    napi_create_array_with_length(env, count, &array);
    for (size_t i = 0; i < count; ++i) {
      napi_set_element(env, array, static_cast<uint32_t>(i),
                       ToValue(env, routes[i].shard, &routes[i]));
    }
    return code;
  };
  return CallNow(env, *handle, route) ? array : nullptr;
}

napi_value RouterEpoch(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  if (!handle) return nullptr;
  uint64_t epoch = 0;
  auto ask = [&epoch](void* object, locus_error*) {
    epoch = locus_router_epoch(RouterOf(object));
    return LOCUS_OK;
  };
  return CallNow(env, *handle, ask) ? locus_node::ToValue(env, epoch) : nullptr;
}

napi_value RouterRefresh(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const HandleArgument handle = HandleOf(env, arguments[0], kKind);
  uint64_t min_epoch = 0;
  uint32_t timeout_ms = 0;
  if (!handle || !arguments.Read(1, min_epoch) || !arguments.Read(2, timeout_ms)) {
    return nullptr;
  }
  return CallLater(
      env, "locus router refresh", handle,
      [min_epoch, timeout_ms](void* object, locus_error* error) {
        return locus_router_refresh(RouterOf(object), min_epoch, timeout_ms, error);
      },
      nullptr);
}

}  // namespace locus_node
