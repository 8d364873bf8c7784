// SPDX-License-Identifier: Apache-2.0
// Routing.
#include "locus/routing/router.h"

#include "apps/c_api/call.h"
#include "locus/internal/deadline.h"
#include "locus/routing/open.h"

using locus::BuyerRoutes;
using locus::OrderId;
using locus::RoutedShard;
using locus::Router;
using locus::RouterOptions;
using locus::ShardGene;
using locus::TableSource;
using namespace locus::c_api;

struct locus_router {
  std::unique_ptr<Router> routes;
};

namespace {

// A Router never frees a shard that it has returned.
locus_shard ShardOf(const RoutedShard& shard) {
  return {shard.id, shard.name.c_str(), shard.endpoint.c_str()};
}

}  // namespace

locus_code locus_router_open(const char* table_uri, const locus_router_options* options,
                             locus_router** router, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("table_uri", table_uri));
    LOCUS_RETURN_IF_ERROR(NotNull("router", router));
    LOCUS_ASSIGN_OR_RETURN(const locus_router_options set, OptionsOr(options));
    RouterOptions of;
    of.last_good_file = std::string(TextOr(set.last_good_file, ""));
    of.open_timeout = MsOr(set.open_timeout_ms, of.open_timeout);
    locus::TableUriOptions place;
    LOCUS_ASSIGN_OR_RETURN(place.password, PasswordOf(set.password, set.password_file));
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TableSource> source,
                           locus::OpenTableSource(table_uri, place));
    auto made = std::make_unique<locus_router>();
    LOCUS_ASSIGN_OR_RETURN(made->routes, Router::Open(std::move(source), of));
    *router = made.release();
    return absl::OkStatus();
  });
}

locus_code locus_router_route(const locus_router* router, const locus_order_id* id,
                              locus_shard* shard, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("router", router));
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_RETURN_IF_ERROR(NotNull("shard", shard));
    LOCUS_ASSIGN_OR_RETURN(OrderId of, IdOf(*id));
    *shard = ShardOf(router->routes->Route(of));
    return absl::OkStatus();
  });
}

locus_code locus_router_routes_of(const locus_router* router, uint16_t gene,
                                  locus_buyer_route routes[2], size_t* count, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("router", router));
    LOCUS_RETURN_IF_ERROR(NotNull("routes", routes));
    LOCUS_RETURN_IF_ERROR(NotNull("count", count));
    const BuyerRoutes of = router->routes->RoutesOf(ShardGene::FromUint16(gene));
    for (size_t i = 0; i < of.size(); ++i) {
      routes[i] = {ShardOf(*of[i].shard), of[i].first_cohort, of[i].end_cohort};
    }
    *count = of.size();
    return absl::OkStatus();
  });
}

uint64_t locus_router_epoch(const locus_router* router) {
  return router == nullptr ? 0 : router->routes->epoch();
}

locus_code locus_router_refresh(locus_router* router, uint64_t min_epoch, uint32_t timeout_ms,
                                locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("router", router));
    return router->routes->Refresh(min_epoch, locus::internal::DeadlineAfter(Ms(timeout_ms)));
  });
}

void locus_router_close(locus_router* router) { delete router; }
