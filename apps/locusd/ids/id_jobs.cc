// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_jobs.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/locusd/front/media_types.h"
#include "apps/locusd/ids/id_api.h"
#include "apps/locusd/ids/list_text.h"
#include "apps/locusd/ids/number_jobs.h"
#include "apps/locusd/ids/query.h"
#include "apps/locusd/ids/text_list.h"
#include "locus/uuid.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/http/api/members.h"

namespace locus::locusd {

namespace json = boost::json;

using cluster_api::Members;
using http::ServerRequest;
using http_api::FindRoute;
using http_api::RouteTable;
using http_api::RouteTo;
using http_api::Scope;
using internal::ParseDecimal;
using internal::Quoted;

namespace {

constexpr size_t kMost = IdApi::kMost;

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

absl::StatusOr<BuyerKey> BuyerOf(IdParts::Buyers type, std::string_view text) {
  // An empty one is a member that nobody filled in: all such orders would share a vnode.
  if (text.empty()) return absl::InvalidArgumentError("the buyer is empty");
  if (type == IdParts::Buyers::kText) return BuyerKey::Text(text);
  const std::optional<uint64_t> number = ParseDecimal(text, UINT64_MAX);
  if (number) return BuyerKey::Uint64(*number);
  return absl::InvalidArgumentError(
      absl::StrCat("the buyer ", Quoted(text), " is no number of 0 to ", UINT64_MAX));
}

// The texts of the body's only member, an array.
absl::StatusOr<std::vector<std::string>> TextsOf(const ServerRequest& request, const char* name) {
  Members members(request.body);
  const json::array* const array = members.Array(name, kMost);
  std::vector<std::string> texts;
  if (array != nullptr) {
    for (size_t i = 0; i < array->size(); ++i) {
      const json::value& each = (*array)[i];
      if (!each.is_string()) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", name, "\"[", i, "] is ",
                         internal::Printable(json::serialize(each), 64), ", which is no text"));
      }
      texts.emplace_back(View(each.get_string()));
    }
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  if (!texts.empty()) return texts;
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is empty"));
}

using PartsPtr = std::shared_ptr<const IdParts>;

// --- Order IDs.

// One with a narrow ID, an order_no and a short shard's name.
constexpr size_t kLongestOrder = 112;

struct Orders {
  PartsPtr held;
  bool lines;
  std::vector<ShardGene> genes;
  std::vector<OrderId> ids;
  size_t made = 0;

  absl::StatusOr<std::string> Go(std::optional<Deadline> deadline) {
    const IdParts& parts = *held;
    const std::span<const ShardGene> genes_left = std::span(genes).subspan(made);
    const std::span<OrderId> ids_left = std::span(ids).subspan(made);
    LOCUS_ASSIGN_OR_RETURN(const size_t more,
                           deadline ? parts.orders->NextBatch(genes_left, ids_left, *deadline)
                                    : parts.orders->NextBatch(genes_left, ids_left));
    made += more;
    if (made < ids.size()) {
      if (deadline) return Go(deadline);  // for its error
      return absl::UnavailableError("not all order IDs are at hand");
    }
    std::vector<OrderNo> numbers;
    if (parts.order_no_codec) {
      numbers.resize(ids.size());
      LOCUS_RETURN_IF_ERROR(parts.order_no_codec->EncodeBatch(ids, numbers));
    }
    ListText text(lines, "orders");
    text.Expect(ids.size(), kLongestOrder);
    for (size_t i = 0; i < ids.size(); ++i) {
      (text.Element() << "{\"order_id\":").Quote(ids[i]);
      if (parts.order_no_codec) (text << ",\"order_no\":").Quote(numbers[i]);
      if (parts.router) {
        (text << ",\"shard\":").Quote(std::string_view(parts.router->Route(ids[i]).name));
      }
      text << "}";
    }
    return text.Take();
  }
};

absl::StatusOr<IdJob> OrdersJob(const ServerRequest& request, const PartsPtr& parts, bool lines) {
  if (!parts->orders) return parts->orders.Missing("order IDs");
  // An answer without its shard would be another one, not a worse one.
  if (!parts->router && !parts->router.why_not().ok())
    return parts->router.Missing("routing table");
  auto orders = std::make_shared<Orders>(Orders{parts, lines, {}, {}});
  std::vector<ShardGene>& genes = orders->genes;
  const bool simple = ReadTextList(request.body, "buyers", kMost, [&](std::string_view text) {
    const absl::StatusOr<BuyerKey> buyer = BuyerOf(parts->buyers, text);
    if (buyer.ok()) genes.push_back(ShardGene::Of(*buyer));
    return buyer.ok();
  });
  if (!simple) {  // it may be wrong, and then the message says where
    genes.clear();
    LOCUS_ASSIGN_OR_RETURN(const std::vector<std::string> buyers, TextsOf(request, "buyers"));
    for (const std::string& text : buyers) {
      LOCUS_ASSIGN_OR_RETURN(const BuyerKey buyer, BuyerOf(parts->buyers, text));
      genes.push_back(ShardGene::Of(buyer));
    }
  }
  orders->ids.resize(genes.size());
  return [orders](std::optional<Deadline> deadline) { return orders->Go(deadline); };
}

// --- Snowflake IDs and UUIDs.

absl::StatusOr<IdJob> SnowflakeJob(const Query& query, const PartsPtr& parts, bool lines) {
  if (!parts->snowflake) return parts->snowflake.Missing("Snowflake IDs");
  LOCUS_RETURN_IF_ERROR(query.Only({"n"}));
  LOCUS_ASSIGN_OR_RETURN(const size_t count, query.Count("n", 1, kMost));
  // They come from the clock: 10,000 of them take three milliseconds, and a clock that was set back
  // is waited for; so the loop of the server does not.
  return [parts, lines, count](std::optional<Deadline> deadline) -> absl::StatusOr<std::string> {
    if (!deadline && count > 1) return absl::UnavailableError("may wait for the clock");
    std::vector<int64_t> ids(count);
    size_t made = 0;
    while (made < count) {
      LOCUS_ASSIGN_OR_RETURN(const size_t more,
                             parts->snowflake->NextBatch(std::span(ids).subspan(made)));
      made += more;
    }
    ListText text(lines, "ids");
    for (const int64_t id : ids) text.Element().Quote(id);
    return text.Take();
  };
}

absl::StatusOr<IdJob> UuidJob(const Query& query, bool lines) {
  LOCUS_RETURN_IF_ERROR(query.Only({"n"}));
  LOCUS_ASSIGN_OR_RETURN(const size_t count, query.Count("n", 1, kMost));
  return [lines, count](std::optional<Deadline>) -> absl::StatusOr<std::string> {
    ListText text(lines, "uuids");
    for (size_t i = 0; i < count; ++i) {
      LOCUS_ASSIGN_OR_RETURN(const Uuid uuid, Uuid::NewV7());
      char written[Uuid::kTextLength];
      uuid.FormatTo(written);
      text.Element().Quote(std::string_view(written, sizeof written));
    }
    return text.Take();
  };
}

// --- Routes.

struct Wanted {
  enum class By { kOrderId, kOrderNo, kBuyer };
  By by = By::kOrderId;
  std::string text;
};

absl::StatusOr<Wanted::By> ByOf(std::string_view name) {
  if (name == "order_id") return Wanted::By::kOrderId;
  if (name == "order_no") return Wanted::By::kOrderNo;
  if (name == "buyer") return Wanted::By::kBuyer;
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(name), " is none of order_id, order_no and buyer"));
}

void WriteRoute(ListText& text, const RoutedShard& shard, uint32_t first, uint32_t end) {
  (text << absl::StrCat("{\"shard\":{\"id\":", shard.id, ",\"name\":"))
      .Quote(std::string_view(shard.name));
  (text << ",\"endpoint\":").Quote(std::string_view(shard.endpoint));
  text << absl::StrCat("},\"first_cohort\":", first, ",\"end_cohort\":", end, "}");
}

void WriteRoutes(ListText& text, const Router& router, ShardGene gene) {
  bool first = true;
  for (const BuyerRoute& route : router.RoutesOf(gene)) {
    if (!std::exchange(first, false)) text << ",";
    WriteRoute(text, *route.shard, route.first_cohort, route.end_cohort);
  }
}

absl::Status WriteRoutes(ListText& text, const IdParts& parts, const Wanted& wanted) {
  switch (wanted.by) {
    case Wanted::By::kOrderId: {
      LOCUS_ASSIGN_OR_RETURN(const OrderId id, OrderId::Parse(wanted.text));
      WriteRoute(text, parts.router->Route(id), id.cohort(), id.cohort() + 1);
      return absl::OkStatus();
    }
    case Wanted::By::kOrderNo: {
      LOCUS_ASSIGN_OR_RETURN(const OrderNo number, OrderNo::Parse(wanted.text));
      WriteRoutes(text, *parts.router, number.gene());
      return absl::OkStatus();
    }
    case Wanted::By::kBuyer: {
      LOCUS_ASSIGN_OR_RETURN(const BuyerKey buyer, BuyerOf(parts.buyers, wanted.text));
      WriteRoutes(text, *parts.router, ShardGene::Of(buyer));
      return absl::OkStatus();
    }
  }
  LOCUS_UNREACHABLE();
}

std::string EpochMember(const Router& router) {
  return absl::StrCat("\"epoch\":\"", router.epoch(), "\",");
}

absl::StatusOr<IdJob> RouteJob(const Query& query, const PartsPtr& parts) {
  if (!parts->router) return parts->router.Missing("routing table");
  LOCUS_RETURN_IF_ERROR(query.Only({"order_id", "order_no", "buyer"}));
  if (query.size() != 1) {
    return absl::InvalidArgumentError("one of ?order_id=, ?order_no= and ?buyer= is needed");
  }
  Wanted wanted;
  for (const char* const name : {"order_id", "order_no", "buyer"}) {
    const std::string* const text = query.Find(name);
    if (text == nullptr) continue;
    LOCUS_ASSIGN_OR_RETURN(wanted.by, ByOf(name));
    wanted.text = *text;
  }
  return [parts, wanted](std::optional<Deadline>) -> absl::StatusOr<std::string> {
    ListText text(false, "routes", EpochMember(*parts->router));
    LOCUS_RETURN_IF_ERROR(WriteRoutes(text, *parts, wanted));
    return text.Take();
  };
}

absl::StatusOr<IdJob> RoutesJob(const ServerRequest& request, const PartsPtr& parts, bool lines) {
  if (!parts->router) return parts->router.Missing("routing table");
  Members members(request.body);
  const json::array* const array = members.Array("items", kMost);
  std::vector<Wanted> items;
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const json::value& each = (*array)[i];
    if (!each.is_object() || each.get_object().size() != 1 ||
        !each.get_object().begin()->value().is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"items\"[", i, "] is no object with one text: order_id, order_no or buyer"));
    }
    const auto member = each.get_object().begin();
    Wanted wanted;
    LOCUS_ASSIGN_OR_RETURN(wanted.by,
                           ByOf(std::string_view(member->key().data(), member->key().size())));
    wanted.text = std::string(View(member->value().get_string()));
    items.push_back(std::move(wanted));
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return [parts, lines, items](std::optional<Deadline>) -> absl::StatusOr<std::string> {
    ListText text(lines, "items", EpochMember(*parts->router));
    for (size_t i = 0; i < items.size(); ++i) {
      text.Element() << "{\"routes\":[";
      const absl::Status status = WriteRoutes(text, *parts, items[i]);
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat("\"items\"[", i, "]: ", status.message()));
      }
      text << "]}";
    }
    return text.Take();
  };
}

// --- order_nos.

absl::StatusOr<IdJob> DecodeJob(const ServerRequest& request, const PartsPtr& parts, bool lines) {
  if (!parts->order_no_codec) return parts->order_no_codec.Missing("keys of order_nos");
  LOCUS_ASSIGN_OR_RETURN(const std::vector<std::string> texts, TextsOf(request, "order_nos"));
  std::vector<OrderNo> numbers;
  for (const std::string& text : texts) {
    LOCUS_ASSIGN_OR_RETURN(const OrderNo number, OrderNo::Parse(text));
    numbers.push_back(number);
  }
  return [parts, lines, numbers](std::optional<Deadline>) -> absl::StatusOr<std::string> {
    std::vector<std::optional<OrderId>> ids(numbers.size());
    parts->order_no_codec->DecodeBatch(numbers, ids);
    ListText text(lines, "order_ids");
    for (const std::optional<OrderId>& id : ids) {
      text.Element();
      if (id) {
        text.Quote(*id);
      } else {
        text << "null";
      }
    }
    return text.Take();
  };
}

// A request of a route.
struct Asked {
  const ServerRequest& request;
  std::string_view parameter;
  const Query& query;
  const PartsPtr& parts;
  bool lines;
};
struct Maker {
  absl::StatusOr<IdJob> (*job)(const Asked&);
  bool makes_ids = false;
};

constexpr RouteTo<Maker> kRoutes[] = {
    {{"POST",
      "/v1/orders/ids",
      {Scope::kIds},
      "makeOrderIds",
      "OrdersRequest",
      "Orders",
      200,
      "Order"},
     {[](const Asked& a) { return OrdersJob(a.request, a.parts, a.lines); }, true}},
    {{"GET",
      "/v1/sequences/{name}/next",
      {Scope::kIds},
      "nextNumbers",
      "",
      "Numbers",
      200,
      "Uint64"},
     {[](const Asked& a) { return SequenceJob(a.parameter, a.query, a.parts, a.lines); }, true}},
    {{"GET",
      "/v1/numbers/{type}/next",
      {Scope::kIds},
      "writtenNumbers",
      "",
      "WrittenNumbers",
      200,
      "WrittenNumber"},
     {[](const Asked& a) { return NumberJob(a.parameter, a.query, a.parts, a.lines); }, true}},
    {{"GET", "/v1/snowflake", {Scope::kIds}, "makeSnowflakes", "", "Ids", 200, "Uint64"},
     {[](const Asked& a) { return SnowflakeJob(a.query, a.parts, a.lines); }, true}},
    {{"GET", "/v1/uuid", {Scope::kIds}, "makeUuids", "", "Uuids", 200, "Uuid"},
     {[](const Asked& a) { return UuidJob(a.query, a.lines); }, true}},
    {{"GET", "/v1/route", {Scope::kRoute}, "route", "", "Routes"},
     {[](const Asked& a) { return RouteJob(a.query, a.parts); }}},
    {{"POST",
      "/v1/route",
      {Scope::kRoute},
      "routeMany",
      "RoutesRequest",
      "RoutesOfItems",
      200,
      "RoutesOfItem"},
     {[](const Asked& a) { return RoutesJob(a.request, a.parts, a.lines); }}},
    {{"POST",
      "/v1/order_no:decode",
      {Scope::kDecode},
      "decodeOrderNos",
      "DecodeRequest",
      "Decoded",
      200,
      "OrderIdOrNull"},
     {[](const Asked& a) { return DecodeJob(a.request, a.parts, a.lines); }}},
};

}  // namespace

const RouteTable& IdRoutes() {
  static const RouteTable* const table = new RouteTable(kRoutes);
  return *table;
}

absl::StatusOr<IdRequest> Understand(const ServerRequest& request, const PartsPtr& parts) {
  std::string_view parameter;
  const RouteTo<Maker>* const route =
      FindRoute<Maker>(IdRoutes(), request.method, request.path, &parameter);
  IdRequest understood;
  understood.lines = WantsLines(request) && (route == nullptr || !route->line.empty());
  LOCUS_ASSIGN_OR_RETURN(const Query query, Query::Parse(request.query));
  if (request.method == "POST") LOCUS_RETURN_IF_ERROR(query.Only({}));
  if (request.method == "GET" && !request.body.empty()) {
    return absl::InvalidArgumentError("a GET has no body here");
  }
  if (route == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", request.method, " ", Quoted(request.path)));
  }
  LOCUS_ASSIGN_OR_RETURN(understood.job,
                         route->handler.job({request, parameter, query, parts, understood.lines}));
  understood.makes_ids = route->handler.makes_ids;
  return understood;
}

}  // namespace locus::locusd
