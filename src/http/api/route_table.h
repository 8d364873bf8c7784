// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_API_ROUTE_TABLE_H_
#define LOCUS_SRC_HTTP_API_ROUTE_TABLE_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/http/api/scope.h"

// Each HTTP surface declares its routes once, in a table. Dispatch, 405 with Allow, the scopes that
// a token needs, and the paths of /openapi.json follow from it.
namespace locus::http_api {

// One method of one path. All texts are literals.
struct Route {
  std::string_view method;
  // At most one parameter: "/v1/leases/{worker}", "/v1/members/{id}:promote". A parameter is not
  // empty; where it ends the path, it has no '/'.
  std::string_view path;
  // One of them is enough. Empty: nobody needs a token.
  Scopes scopes;
  // The operationId, by which apps/locusd/openapi/schemas.json describes it. Empty: another surface
  // has a route of the same path and method, which the document describes.
  std::string_view name;
  // Schemas of it: of the body that it takes, and of its answer. Empty: none.
  std::string_view request = {};
  std::string_view answer = {};
  unsigned status = 200;  // of that answer
  // Schema of a line, where the answer can also be NDJSON.
  std::string_view line = {};
};

// A route, and what it calls.
template <typename Handler>
struct RouteTo : Route {
  Handler handler;
};

// The routes of a surface, by path.
// Thread safety: all methods may be called from any thread.
class RouteTable {
 public:
  struct Path {
    std::string_view path;
    std::vector<const Route*> routes;
    std::string allow;  // "GET, HEAD, OPTIONS": a GET is also a HEAD

    // nullptr: the path has no such method.
    const Route* Find(std::string_view method) const;
  };
  struct Found {
    const Path* path = nullptr;  // nullptr: the table has no such path
    std::string_view parameter;  // a part of the text that was looked up; empty: the path has none
  };

  // `routes` outlive it. Aborts where two of them have the same path and method.
  template <typename Handler, size_t kRoutes>
  explicit RouteTable(const RouteTo<Handler> (&routes)[kRoutes]) {
    for (const RouteTo<Handler>& each : routes) Add(each);
    Finish();
  }
  // Parts of it refer to each other.
  RouteTable(const RouteTable&) = delete;
  RouteTable& operator=(const RouteTable&) = delete;

  // Cost: no allocation.
  Found Find(std::string_view path) const;
  // In the order in which they were declared.
  std::span<const Route* const> routes() const { return routes_; }

 private:
  void Add(const Route& route);
  void Finish();

  std::vector<const Route*> routes_;
  std::map<std::string_view, Path> paths_;
  std::vector<const Path*> with_parameter_;  // longest first: "/a/{id}:do" is also "/a/{id}"
};

// A path and its handler in one step. nullptr: there is no such path, or not with that method.
template <typename Handler>
const RouteTo<Handler>* FindRoute(const RouteTable& table, std::string_view method,
                                  std::string_view path, std::string_view* parameter = nullptr) {
  const RouteTable::Found found = table.Find(path);
  if (found.path == nullptr) return nullptr;
  if (parameter != nullptr) *parameter = found.parameter;
  return static_cast<const RouteTo<Handler>*>(found.path->Find(method));
}

}  // namespace locus::http_api

#endif  // LOCUS_SRC_HTTP_API_ROUTE_TABLE_H_
