// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/console_places.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "apps/locusd/console/table_answers.h"
#include "apps/locusd/console/types_answer.h"
#include "apps/shared/shown/inspect.h"
#include "apps/shared/shown/table_json.h"
#include "locus/buyer_key.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/bodies.h"
#include "src/cluster/api/listing_query.h"

namespace locus::locusd {

namespace json = boost::json;

using internal::MutexLock;
using internal::ParseDecimal;
using internal::Quoted;

namespace {

constexpr size_t kMostHistory = 1000;
constexpr size_t kMostInspectedBytes = 1024;
constexpr char kNoPublisher[] =
    "this service knows no place that keeps routing tables and takes new ones";

absl::StatusOr<std::optional<uint64_t>> EpochIn(const Query& query, const std::string& name) {
  const std::string* const text = query.Find(name);
  if (text == nullptr) return std::nullopt;
  const std::optional<uint64_t> epoch = ParseDecimal(*text, RoutingTable::kMaxEpoch);
  if (epoch && *epoch > 0) return epoch;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", Quoted(*text), " is not an epoch in 1..", RoutingTable::kMaxEpoch));
}

absl::StatusOr<std::string> InspectSnowflake(const std::string& text, const IdParts* ids) {
  if (ids == nullptr || !ids->snowflake) {
    return absl::NotFoundError("this service makes no Snowflakes, and does not know their layout");
  }
  const std::optional<uint64_t> id = ParseDecimal(text, INT64_MAX);
  if (!id) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is not a number in 0..", INT64_MAX));
  }
  LOCUS_ASSIGN_OR_RETURN(const SnowflakeParts parts,
                         ids->snowflake->Decompose(static_cast<int64_t>(*id)));
  return json::serialize(json::object{
      {"kind", "snowflake"},
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", parts.time, absl::UTCTimeZone())},
      {"datacenter", parts.datacenter},
      {"worker", parts.worker},
      {"sequence", absl::StrCat(parts.sequence)}});
}

absl::StatusOr<BuyerKey> BuyerIn(const std::string& text, const IdParts* ids) {
  if (ids != nullptr && ids->buyers == IdParts::Buyers::kText) return BuyerKey::Text(text);
  const std::optional<uint64_t> number = ParseDecimal(text, UINT64_MAX);
  if (number) return BuyerKey::Uint64(*number);
  return absl::InvalidArgumentError(
      absl::StrCat("buyer: ", Quoted(text), " is not a number of 64 bits"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RoutingTable>> ConsolePlaces::Table() const {
  const std::shared_ptr<const IdParts> all = ids();
  if (all == nullptr) {
    return absl::NotFoundError("this process is no ID service, and follows no routing table");
  }
  if (!all->router) return all->router.Missing("routing table");
  std::shared_ptr<const RoutingTable> table = all->router->Table();
  if (table == nullptr) return absl::UnavailableError("there is no routing table yet");
  return table;
}

absl::StatusOr<std::string> ConsolePlaces::Source() const {
  const std::shared_ptr<const IdParts> all = ids();
  if (all == nullptr || !all->router) return Table().status();
  return SourceJson(all->router->Stats(), parts_.table_place);
}

template <typename T, typename Open>
absl::StatusOr<std::shared_ptr<T>> ConsolePlaces::OpenOnce(Kept<T>& kept, const Open& open,
                                                           const char* absent) {
  if (!open) return absl::NotFoundError(absent);
  MutexLock lock(kept.mutex);
  if (kept.place == nullptr) {
    auto opened = open();
    LOCUS_RETURN_IF_ERROR(opened.status());
    kept.place = *std::move(opened);
  }
  return kept.place;
}

absl::StatusOr<std::shared_ptr<TablePublisher>> ConsolePlaces::Publisher() {
  return OpenOnce(publisher_, parts_.open_publisher, kNoPublisher);
}

absl::StatusOr<RoutingTable> ConsolePlaces::Newest() {
  if (parts_.open_publisher) {
    LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<TablePublisher> publisher, Publisher());
    return publisher->Current();
  }
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<const RoutingTable> table, Table());
  return *table;
}

absl::StatusOr<std::string> ConsolePlaces::TableOf(const Query& query) {
  LOCUS_RETURN_IF_ERROR(query.Only({"epoch"}));
  LOCUS_ASSIGN_OR_RETURN(const std::optional<uint64_t> epoch, EpochIn(query, "epoch"));
  if (epoch) {
    LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<TablePublisher> publisher, Publisher());
    LOCUS_ASSIGN_OR_RETURN(const RoutingTable table, publisher->Fetch(*epoch));
    return TableJson(table, "null");
  }
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<const RoutingTable> table, Table());
  LOCUS_ASSIGN_OR_RETURN(const std::string source, Source());
  return TableJson(*table, source);
}

absl::StatusOr<std::string> ConsolePlaces::History(const Query& query) {
  LOCUS_RETURN_IF_ERROR(query.Only({"most"}));
  LOCUS_ASSIGN_OR_RETURN(const size_t most, query.Count("most", 100, kMostHistory));
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<TablePublisher> publisher, Publisher());
  LOCUS_ASSIGN_OR_RETURN(const std::vector<PublishedEpoch> epochs, publisher->History(most));
  return apps::HistoryAsJson(publisher->place(), epochs);
}

absl::StatusOr<std::string> ConsolePlaces::Diff(const Query& query) {
  LOCUS_RETURN_IF_ERROR(query.Only({"before", "after"}));
  LOCUS_ASSIGN_OR_RETURN(const std::optional<uint64_t> before, EpochIn(query, "before"));
  LOCUS_ASSIGN_OR_RETURN(const std::optional<uint64_t> after, EpochIn(query, "after"));
  if (!before) return absl::InvalidArgumentError("before: an epoch must be given");
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<TablePublisher> publisher, Publisher());
  LOCUS_ASSIGN_OR_RETURN(const RoutingTable from, publisher->Fetch(*before));
  LOCUS_ASSIGN_OR_RETURN(const RoutingTable to,
                         after ? publisher->Fetch(*after) : publisher->Current());
  return DiffJson(from, to);
}

absl::StatusOr<std::string> ConsolePlaces::Plan(const std::string& body,
                                                const std::vector<double>& load) {
  LOCUS_ASSIGN_OR_RETURN(PlanRequest request, ParsePlanRequest(body));
  if (request.by_ids && std::ranges::all_of(load, [](double each) { return each == 0; })) {
    return absl::InvalidArgumentError(
        "load: this process gave out no order IDs in the last minutes, so there is no load to "
        "divide by");
  }
  LOCUS_ASSIGN_OR_RETURN(const RoutingTable table, Newest());
  if (request.epoch && *request.epoch != table.epoch()) {
    return absl::AbortedError(absl::StrCat("epoch ", table.epoch(), " is the newest, not epoch ",
                                           *request.epoch, ": load it, and plan again"));
  }
  return PlanJson(table, std::move(request), load);
}

absl::StatusOr<std::string> ConsolePlaces::Publish(const std::string& body,
                                                   ConsolePublication& by) {
  LOCUS_ASSIGN_OR_RETURN(const PublishRequest request, ParsePublishRequest(body));
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<TablePublisher> publisher, Publisher());
  by.reason = request.reason;
  return locusd::Publish(*publisher, request, by.client.empty() ? "console" : by.client);
}

absl::StatusOr<std::string> ConsolePlaces::Leases(const Query& query) {
  LOCUS_RETURN_IF_ERROR(query.Only({"space", "from", "limit"}));
  SpaceName space = parts_.lease_space;
  if (const std::string* const name = query.Find("space"); name != nullptr) {
    LOCUS_ASSIGN_OR_RETURN(space, SpaceName::Parse(*name));
  }
  uint64_t from = 0;
  if (const std::string* const text = query.Find("from"); text != nullptr) {
    const std::optional<uint64_t> number = ParseDecimal(*text, kMostWorker);
    if (!number) {
      return absl::InvalidArgumentError(
          absl::StrCat("from: ", Quoted(*text), " is not a worker ID in 0..", kMostWorker));
    }
    from = *number;
  }
  LOCUS_ASSIGN_OR_RETURN(const size_t limit,
                         query.Count("limit", cluster_api::kMostListed, cluster_api::kMostListed));
  LOCUS_ASSIGN_OR_RETURN(
      const std::shared_ptr<WorkerLeaseStore> store,
      OpenOnce(leases_, parts_.open_leases, "this service leases no worker IDs"));
  cluster_api::ViewPage page;
  LOCUS_ASSIGN_OR_RETURN(page.view, store->Show(space));
  std::vector<WorkerRecord>& workers = page.view.workers;
  std::erase_if(workers, [from](const WorkerRecord& record) { return record.worker < from; });
  if (workers.size() > limit) {
    page.next = workers[limit].worker;
    workers.resize(limit);
  }
  return cluster_api::BodyOf(page);
}

absl::StatusOr<std::string> ConsolePlaces::Members() {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<LocusdCluster> cluster,
                         OpenOnce(cluster_, parts_.open_cluster,
                                  "this service leases from no cluster of lease nodes"));
  const LocusdClusterView view = cluster->Show();
  for (const LocusdClusterView::Row& row : view.rows) {
    if (row.node.ok()) return MembersJson(view);
  }
  if (view.rows.empty()) return absl::UnavailableError("the cluster of lease nodes has no nodes");
  return view.rows[0].node.status();
}

namespace {

absl::Status WhyNoTypesOf(const IdParts* all) {
  if (all == nullptr) {
    return absl::NotFoundError("this process is no ID service, and counts by no sequence types");
  }
  if (!all->sequences) return all->sequences.Missing("sequences");
  if (all->sequences->typed() != nullptr) return absl::OkStatus();
  return absl::NotFoundError("the store of this service's sequences keeps no sequence types");
}

}  // namespace

absl::Status ConsolePlaces::WhyNoTypes() const { return WhyNoTypesOf(ids().get()); }

absl::StatusOr<std::string> ConsolePlaces::Types(const Query& query) const {
  LOCUS_RETURN_IF_ERROR(query.Only({}));
  const std::shared_ptr<const IdParts> all = ids();
  LOCUS_RETURN_IF_ERROR(WhyNoTypesOf(all.get()));
  const TypedNumbers& numbers = *all->sequences->typed();
  LOCUS_ASSIGN_OR_RETURN(const std::vector<SequenceType> stored, numbers.List());
  return TypesJson(stored, numbers, absl::Now());
}

absl::StatusOr<std::string> ConsolePlaces::Inspect(const Query& query, bool may_decode) const {
  LOCUS_RETURN_IF_ERROR(query.Only({"text"}));
  const std::string* const text = query.Find("text");
  if (text == nullptr || text->empty() || text->size() > kMostInspectedBytes) {
    return absl::InvalidArgumentError(absl::StrCat("text: 1 to ", kMostInspectedBytes,
                                                   " bytes must be given, such as an order ID"));
  }
  const std::shared_ptr<const IdParts> all = ids();
  const absl::StatusOr<std::shared_ptr<const RoutingTable>> table = Table();
  const RoutingTable* const routes = table.ok() ? table->get() : nullptr;
  absl::string_view rest = *text;
  if (absl::ConsumePrefix(&rest, "snowflake:")) {
    return InspectSnowflake(std::string(rest), all.get());
  }
  if (absl::ConsumePrefix(&rest, "gene:")) {
    const std::optional<uint64_t> gene = ParseDecimal({rest.data(), rest.size()}, UINT16_MAX);
    if (gene) {
      return apps::InspectGeneAsJson(ShardGene::FromUint16(static_cast<uint16_t>(*gene)), routes);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("gene: ", Quoted({rest.data(), rest.size()}), " is not a vnode in 0..65535"));
  }
  if (absl::ConsumePrefix(&rest, "buyer:")) {
    const std::string key(rest);
    LOCUS_ASSIGN_OR_RETURN(const BuyerKey buyer, BuyerIn(key, all.get()));
    return apps::InspectGeneAsJson(ShardGene::Of(buyer), routes);
  }
  apps::InspectWith with{.table = routes};
  if (may_decode && all != nullptr && all->order_no_codec) {
    with.codec = all->order_no_codec.get().get();
    with.space = parts_.order_space;
  }
  return apps::InspectAsJson(*text, with);
}

}  // namespace locus::locusd
