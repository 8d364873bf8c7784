// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_places.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locusd/ids/late_store.h"
#include "locus/routing/uri.h"
#include "locus/segment_store_set.h"
#include "routing/uri/store_uri.h"
#include "routing/uri/table_uri.h"
#include "src/base/check.h"
#include "src/base/private_file.h"
#include "src/base/text.h"
#include "src/http/tls_context.h"

namespace locus::locusd {

using internal::PrivateText;
using internal::Quoted;
using internal::StoreUri;
using internal::TableUri;

namespace {

constexpr size_t kMostPasswordBytes = 1024;

absl::StatusOr<PrivateText> ReadPassword(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(PrivateText text, internal::ReadPrivateFile(path, kMostPasswordBytes + 2));
  const size_t end = text.view().find_first_of("\r\n");
  if (end != std::string_view::npos) text.size = end;
  if (text.size > 0 && text.size <= kMostPasswordBytes) return text;
  return absl::FailedPreconditionError(
      absl::StrCat(Quoted(path), " does not hold a password of 1 to ", kMostPasswordBytes,
                   " bytes in its first line"));
}

// The password's file, read when the place asks for it.
AskPassword AskFor(const PlaceSettings& place) {
  if (place.password_file.empty()) return nullptr;
  auto kept = std::make_shared<std::optional<PrivateText>>();
  return [path = place.password_file, kept]() -> absl::StatusOr<std::string_view> {
    LOCUS_ASSIGN_OR_RETURN(kept->emplace(), ReadPassword(path));
    return (*kept)->view();
  };
}

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const PlaceSettings& place, bool create) {
  return OpenSegmentStore(place.uri, {.password = AskFor(place), .create = create});
}

// The files of certificates that a URI names.
absl::Status CheckUriFiles(const StoreUri& uri) {
  const std::string authority = uri.Setting("tls_ca");
  const std::string certificate = uri.Setting("tls_cert");
  if (authority.empty() && certificate.empty()) return absl::OkStatus();
  return http::TlsContext::Load({authority, certificate, uri.Setting("tls_key")}).status();
}

}  // namespace

absl::StatusOr<OpenedOrders> OpenOrders(
    const IdSettings& settings, const std::function<void(const GeneratorEvent&)>& on_event) {
  const OrderSettings& from = *settings.orders;
  OrderIdGenerator::Options options;
  options.space = settings.space;
  options.create_space = from.create;
  options.wide = from.wide;
  options.horizon = from.horizon;
  options.on_event = on_event;
  OpenedOrders opened;
  if (from.members[0].name.empty()) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<SegmentStore> store,
                           OpenStore(from.members[0].place, from.create));
    LOCUS_ASSIGN_OR_RETURN(opened.orders, OrderIdGenerator::Create(store, options));
    LOCUS_ASSIGN_OR_RETURN(opened.space, store->ReadOptions(settings.space));
    return opened;
  }
  std::vector<SegmentStoreSet::Member> members;
  for (const OrderSettings::Member& member : from.members) {
    // The sections of one that is away wait for it, and no others.
    auto open = [place = member.place, create = from.create] { return OpenStore(place, create); };
    absl::StatusOr<std::shared_ptr<SegmentStore>> store = open();
    if (absl::IsUnavailable(store.status())) store = std::make_shared<LateStore>(open);
    LOCUS_RETURN_IF_ERROR(store.status());
    members.push_back({member.last_section, *std::move(store), member.name});
  }
  LOCUS_ASSIGN_OR_RETURN(SegmentStoreSet set,
                         SegmentStoreSet::Create(std::move(members), from.layout));
  absl::StatusOr<std::unique_ptr<OrderIdGenerator>> orders = OrderIdGenerator::Create(set, options);
  if (absl::IsUnavailable(orders.status()) && options.create_space) {
    // Only a layout that all answer for can be made; one that is there needs some of them.
    options.create_space = false;
    absl::StatusOr<std::unique_ptr<OrderIdGenerator>> of_layout =
        OrderIdGenerator::Create(set, options);
    if (of_layout.ok()) orders = std::move(of_layout);
  }
  LOCUS_ASSIGN_OR_RETURN(opened.orders, std::move(orders));
  // One that does not answer has the options of the others.
  absl::StatusOr<SpaceOptions> space = absl::UnavailableError("");
  for (size_t i = 0; !space.ok() && i < from.members.size(); ++i) {
    space = set.OpenMember(i, settings.space);
  }
  LOCUS_ASSIGN_OR_RETURN(opened.space, std::move(space));
  return opened;
}

absl::StatusOr<std::shared_ptr<SequenceSet>> OpenSequences(
    const SequenceSettings& settings, std::function<void(const SegmentSequenceEvent&)> on_event) {
  if (settings.create) LOCUS_RETURN_IF_ERROR(OpenStore(settings.place, true).status());
  SequencerUriOptions options;
  options.password = AskFor(settings.place);
  options.ceiling = settings.ceiling.uri;
  options.ceiling_password = AskFor(settings.ceiling);
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Sequencer> counters,
                         OpenSequencer(settings.place.uri, options));
  SegmentSequence::Options of_each;
  of_each.horizon = settings.horizon;
  of_each.on_event = std::move(on_event);
  return std::make_shared<SequenceSet>(
      std::move(counters), settings.most,
      std::set<std::string>(settings.names.begin(), settings.names.end()), std::move(of_each));
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLeases(const SnowflakeSettings& settings) {
  return OpenWorkerLeaseStore(settings.leases.uri,
                              {.password = AskFor(settings.leases), .create = settings.create});
}

absl::StatusOr<std::shared_ptr<LeasedSnowflake<>>> OpenSnowflake(
    const SnowflakeSettings& settings, std::function<void(const WorkerLeaseEvent&)> on_lease,
    std::function<void(const SnowflakeRollback&)> on_rollback) {
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<WorkerLeaseStore> leases, OpenLeases(settings));
  if (settings.create) {
    LOCUS_RETURN_IF_ERROR(leases->Create(settings.space, absl::ZeroDuration(), absl::Now()));
  }
  LeasedSnowflakeOptions options;
  options.lease.space = settings.space;
  options.lease.ttl = settings.ttl;
  options.lease.max_skew = settings.max_skew;
  options.lease.on_event = std::move(on_lease);
  options.datacenter = settings.datacenter;
  options.reacquire = true;
  options.on_rollback = std::move(on_rollback);
  LOCUS_ASSIGN_OR_RETURN(
      std::shared_ptr<LeasedSnowflake<>> snowflake,
      LeasedSnowflake<>::Create(std::move(leases), options, /*patience=*/absl::Seconds(1)));
  return snowflake;
}

absl::StatusOr<std::shared_ptr<Router>> OpenRouter(
    const TableSettings& settings, std::function<void(const RouterEvent&)> on_event) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TableSource> source,
                         OpenTableSource(settings.place.uri, {.password = AskFor(settings.place)}));
  RouterOptions options;
  options.last_good_file = settings.last_good_file;
  options.confirm_every = settings.confirm_every;
  options.on_event = std::move(on_event);
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Router> router,
                         Router::Open(std::move(source), std::move(options)));
  return router;
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenPublisher(const TableSettings& settings) {
  return OpenTablePublisher(settings.place.uri, {.password = AskFor(settings.place)});
}

absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenCluster(const PlaceSettings& place) {
  return OpenLocusdCluster(place.uri, AskFor(place));
}

absl::Status CheckPlace(const PlaceSettings& place) {
  if (place.uri.empty()) return absl::OkStatus();
  if (!place.password_file.empty()) {
    LOCUS_RETURN_IF_ERROR(ReadPassword(place.password_file).status());
  }
  if (const absl::StatusOr<StoreUri> store = StoreUri::Parse(place.uri); store.ok()) {
    return CheckUriFiles(*store);
  }
  const absl::StatusOr<TableUri> table = TableUri::Parse(place.uri);
  const bool has_server =
      table.ok() && (table->kind == TableUri::Kind::kEtcd || table->kind == TableUri::Kind::kMysql);
  return has_server ? CheckUriFiles(table->server) : table.status();
}

absl::Status CheckFiles(const IdSettings& settings) {
  if (!settings.keys.empty()) {
    const absl::Status ring = KeyRing::Load(settings.keys).status();
    if (!ring.ok()) return absl::Status(ring.code(), absl::StrCat("ids.keys: ", ring.message()));
  }
  std::vector<PlaceSettings> places;
  if (settings.orders) {
    for (const auto& member : settings.orders->members) places.push_back(member.place);
  }
  if (settings.sequences) {
    places.push_back(settings.sequences->place);
    places.push_back(settings.sequences->ceiling);
  }
  if (settings.snowflake) places.push_back(settings.snowflake->leases);
  if (settings.table) places.push_back(settings.table->place);
  for (const PlaceSettings& place : places) LOCUS_RETURN_IF_ERROR(CheckPlace(place));
  return absl::OkStatus();
}

}  // namespace locus::locusd
