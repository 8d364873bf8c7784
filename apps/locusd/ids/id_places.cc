// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_places.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locusd/ids/late_store.h"
#include "locus/open.h"
#include "locus/routing/open.h"
#include "locus/segment_store_set.h"
#include "routing/open/table_uri.h"
#include "routing/router/last_good_table.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"
#include "src/base/text/text.h"
#include "src/http/tls_context.h"
#include "src/open/engine.h"
#include "src/open/first_start.h"
#include "src/open/store_uri.h"

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

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const PlaceSettings& place, bool create) {
  return OpenSegmentStore(place.uri, {.password = AskFor(place), .create = create});
}

// The engine, and the files of certificates that a URI names.
absl::Status CheckUriFiles(const StoreUri& uri) {
  LOCUS_RETURN_IF_ERROR(internal::CheckBuilt(uri));
  const std::string authority = uri.Setting("tls_ca");
  const std::string certificate = uri.Setting("tls_cert");
  if (authority.empty() && certificate.empty()) return absl::OkStatus();
  return http::TlsContext::Load({authority, certificate, uri.Setting("tls_key")}).status();
}

}  // namespace

AskPassword AskFor(const PlaceSettings& place) {
  if (place.password_file.empty()) return nullptr;
  auto kept = std::make_shared<std::optional<PrivateText>>();
  return [path = place.password_file, kept]() -> absl::StatusOr<std::string_view> {
    LOCUS_ASSIGN_OR_RETURN(kept->emplace(), ReadPassword(path));
    return (*kept)->view();
  };
}

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

namespace {

// With a password that is asked for again later, by another thread.
SequencerUriOptions UriOptions(const SequenceSettings& settings) {
  SequencerUriOptions options;
  options.password = AskFor(settings.place);
  options.ceiling = settings.ceiling.uri;
  options.ceiling_password = AskFor(settings.ceiling);
  options.marked = true;
  return options;
}

absl::StatusOr<std::unique_ptr<TypedSequences>> OpenTyped(const SequenceSettings& settings) {
  return OpenTypedSequences(settings.place.uri, UriOptions(settings), settings.create);
}

}  // namespace

absl::StatusOr<std::shared_ptr<SequenceSet>> OpenSequences(
    const SequenceSettings& settings, size_t most_waiting,
    std::function<void(const SegmentSequenceEvent&)> on_event,
    std::function<void(const TypeSwitchEvent&)> on_type) {
  if (settings.create) LOCUS_RETURN_IF_ERROR(OpenStore(settings.place, true).status());
  const absl::Status marked =
      internal::FirstStart(settings.place.uri, UriOptions(settings)).Check();
  if (absl::IsFailedPrecondition(marked)) return absl::UnavailableError(marked.message());
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Sequencer> counters,
                         OpenSequencer(settings.place.uri, UriOptions(settings)));
  const std::set<std::string> names(settings.names.begin(), settings.names.end());
  absl::StatusOr<std::unique_ptr<TypedSequences>> typed = OpenTyped(settings);
  // A store whose table of sequence types is missing is of an older version, and has none so far.
  if (absl::IsNotFound(typed.status())) typed = nullptr;
  LOCUS_RETURN_IF_ERROR(typed.status());
  TypedNumbers::Options by_type;
  by_type.most = settings.most;
  by_type.names = names;
  by_type.most_waiting = most_waiting;
  by_type.horizon = settings.horizon;
  by_type.on_event = on_event;
  by_type.on_type = std::move(on_type);
  by_type.open_later = [settings] { return OpenTyped(settings); };
  std::unique_ptr<TypedNumbers> typed_numbers;
  try {
    typed_numbers = std::make_unique<TypedNumbers>(*std::move(typed), std::move(by_type));
  } catch (const std::system_error& thrown) {
    return absl::UnavailableError(absl::StrCat("threads of numbers: ", thrown.what()));
  }
  SegmentSequence::Options of_each;
  of_each.horizon = settings.horizon;
  of_each.on_event = std::move(on_event);
  return std::make_shared<SequenceSet>(std::move(counters), settings.most, names,
                                       std::move(of_each), std::move(typed_numbers));
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLeases(const SnowflakeSettings& settings) {
  return OpenWorkerLeaseStore(settings.leases.uri,
                              {.password = AskFor(settings.leases), .create = settings.create});
}

absl::StatusOr<std::shared_ptr<LeasedSnowflake<>>> OpenSnowflake(
    const SnowflakeSettings& settings, std::function<void(const WorkerLeaseEvent&)> on_lease,
    std::function<void(const SnowflakeRollback&)> on_rollback) {
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<WorkerLeaseStore> leases, OpenLeases(settings));
  LeasedSnowflakeOptions options;
  options.lease.space = settings.space;
  options.lease.ttl = settings.ttl;
  options.lease.max_skew = settings.max_skew;
  options.lease.on_event = std::move(on_lease);
  options.datacenter = settings.datacenter;
  options.reacquire = true;
  options.on_rollback = std::move(on_rollback);
  absl::StatusOr<std::shared_ptr<LeasedSnowflake<>>> snowflake =
      LeasedSnowflake<>::Create(std::move(leases), options, /*patience=*/absl::Seconds(1));
  // An operator makes the space while the service waits.
  if (settings.create && absl::IsNotFound(snowflake.status())) {
    return absl::UnavailableError(snowflake.status().message());
  }
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

bool IsCluster(const PlaceSettings& place) {
  const absl::StatusOr<StoreUri> uri = StoreUri::Parse(place.uri);
  return uri.ok() && uri->engine->Has(internal::kMembers);
}

absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenCluster(const PlaceSettings& place) {
  return OpenLocusdCluster(place.uri, AskFor(place));
}

namespace {

// A place that the settings name, by the keys of its URI and of its password's file.
struct NamedPlace {
  std::string key;
  std::string password_key;
  const PlaceSettings* place;
  bool creates;  // whether the start makes a missing file
};

std::vector<NamedPlace> PlacesOf(const IdSettings& settings) {
  std::vector<NamedPlace> places;
  auto add = [&places](const std::string& section, const std::string& key,
                       const std::string& password_key, const PlaceSettings& place, bool creates) {
    if (place.uri.empty()) return;
    places.push_back({section + key, section + password_key, &place, creates});
  };
  if (settings.orders) {
    const OrderSettings& orders = *settings.orders;
    for (size_t i = 0; i < orders.members.size(); ++i) {
      const OrderSettings::Member& member = orders.members[i];
      const std::string section =
          member.name.empty() ? "ids.orders." : absl::StrCat("ids.orders.member[", i, "].");
      add(section, "store", "password_file", member.place, orders.create);
    }
  }
  if (settings.sequences) {
    const SequenceSettings& sequences = *settings.sequences;
    add("ids.sequences.", "store", "password_file", sequences.place, sequences.create);
    add("ids.sequences.", "ceiling", "ceiling_password_file", sequences.ceiling, true);
  }
  if (settings.snowflake) {
    add("ids.snowflake.", "leases", "password_file", settings.snowflake->leases,
        settings.snowflake->create);
  }
  return places;
}

}  // namespace

absl::Status CheckUri(const PlaceSettings& place) {
  if (const absl::StatusOr<StoreUri> store = StoreUri::Parse(place.uri); store.ok()) {
    return CheckUriFiles(*store);
  }
  const absl::StatusOr<TableUri> table = TableUri::Parse(place.uri);
  if (!table.ok()) return table.status();
  return table->HasServer() ? CheckUriFiles(table->server) : internal::CheckBuilt(*table);
}

absl::Status CheckPassword(const PlaceSettings& place) {
  return place.password_file.empty() ? absl::OkStatus()
                                     : ReadPassword(place.password_file).status();
}

namespace {

absl::Status CheckSqliteFile(const std::string& path, bool made) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::regular) return absl::OkStatus();
  if (type != std::filesystem::file_type::not_found) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path), " is no regular file, or cannot be inspected"));
  }
  if (!made) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path), " is missing; create = true makes it"));
  }
  const std::filesystem::path parent = std::filesystem::absolute(path, error).parent_path();
  if (std::filesystem::is_directory(parent, error)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Quoted(path), " cannot be made: ", Quoted(parent.native()), " is no directory"));
}

}  // namespace

absl::Status CheckSqlitePlace(const PlaceSettings& place, bool made) {
  const absl::StatusOr<StoreUri> uri = StoreUri::Parse(place.uri);
  if (!uri.ok() || !uri->engine->is_file) return absl::OkStatus();
  return CheckSqliteFile(uri->path, made);
}

namespace {

// What the start finds in a file of a table.
absl::Status CheckTableFile(const TableSettings& settings) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TableSource> source, OpenTableSource(settings.place.uri));
  const std::string place = source->place();
  const absl::Status status = Router::Open(std::move(source)).status();
  if (status.ok() || settings.last_good_file.empty()) return status;
  const absl::StatusOr<internal::LastGoodTable> kept =
      internal::ReadLastGoodTable(settings.last_good_file);
  const bool starts =
      kept.ok() && internal::CheckLastGoodPlace(settings.last_good_file, *kept, place).ok();
  return starts ? absl::OkStatus() : status;
}

}  // namespace

void CheckFiles(const IdSettings& settings, const ToldOfKey& tell) {
  if (!settings.keys.empty()) tell("ids.keys", KeyRing::Load(settings.keys).status());
  for (const NamedPlace& named : PlacesOf(settings)) {
    tell(named.password_key, CheckPassword(*named.place));
    tell(named.key, CheckUri(*named.place));
  }
  if (!settings.table) return;
  tell("ids.table.password_file", CheckPassword(settings.table->place));
  tell("ids.table.place", CheckUri(settings.table->place));
}

void CheckLocalPlaces(const IdSettings& settings, const ToldOfKey& tell) {
  const std::vector<NamedPlace> places = PlacesOf(settings);
  std::set<std::string> made;  // the URIs
  for (const NamedPlace& named : places) {
    if (named.creates) made.insert(named.place->uri);
  }
  for (const NamedPlace& named : places) {
    tell(named.key, CheckSqlitePlace(*named.place, made.contains(named.place->uri)));
  }
  if (!settings.table) return;
  const absl::StatusOr<TableUri> table = TableUri::Parse(settings.table->place.uri);
  if (table.ok() && table->IsFile()) {
    tell("ids.table.place", CheckTableFile(*settings.table));
  }
}

std::vector<std::string> KeysOfPlacesToAsk(const IdSettings& settings) {
  std::vector<std::string> keys;
  for (const NamedPlace& named : PlacesOf(settings)) keys.push_back(named.key);
  if (!settings.table) return keys;
  const absl::StatusOr<TableUri> table = TableUri::Parse(settings.table->place.uri);
  if (!table.ok() || !table->IsFile()) keys.emplace_back("ids.table.place");
  return keys;
}

}  // namespace locus::locusd
