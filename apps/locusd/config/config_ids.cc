// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/locusd/config/config_sections.h"
#include "apps/locusd/config/config_values.h"
#include "routing/open/table_uri.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"
#include "src/open/store_uri.h"

namespace locus::locusd {

using apps::TomlSection;
using internal::StoreUri;
using internal::TableUri;

absl::StatusOr<SpaceName> ReadSpace(const std::string& text) {
  absl::StatusOr<SpaceName> space = SpaceName::Parse(text);
  if (space.ok()) return space;
  return absl::InvalidArgumentError("1 to 64 of a-z, 0-9, '_' and '-'");
}

void PlaceKeys(KeySection& section, const char* key, const char* password_key, PlaceSettings& place,
               const KeySection::About& about,
               const std::function<absl::Status(const std::string&)>& judge) {
  section.Text(
      key, &place.uri, [](const std::string& text) -> absl::StatusOr<std::string> { return text; },
      about);
  section.Text(
      password_key, &place.password_file, ReadMaybe,
      {.help = "mode 0600, the password or token in its first line", .reload = about.reload});
  if (!section.reads()) return;
  TomlSection& toml = section.toml();
  if (place.uri.empty()) {
    if (about.required) toml.RefuseKey(key, "is empty; it must be a URI");
    if (!place.password_file.empty()) {
      toml.RefuseKey(password_key, absl::StrCat("is given, and there is no ", key));
    }
    return;
  }
  const absl::Status status = judge(place.uri);
  if (!status.ok()) toml.RefuseKey(key, absl::StrCat("is wrong: ", status.message()));
}

namespace {

absl::StatusOr<bool> ReadBuyers(const std::string& text) {
  if (text == "uint64") return false;
  if (text == "text") return true;
  return absl::InvalidArgumentError("\"uint64\" or \"text\"");
}

absl::StatusOr<std::string> ReadSequenceName(const std::string& text) {
  // Requests are refused names in other forms.
  if (!text.empty() && text.size() <= 128 && !internal::FirstNotComposed(text)) return text;
  return absl::InvalidArgumentError("1 to 128 bytes in Unicode's normal form C");
}

absl::Status JudgeStore(const std::string& text) { return StoreUri::Parse(text).status(); }

absl::Status JudgeCounters(const std::string& text) {
  const absl::StatusOr<StoreUri> uri = StoreUri::Parse(text);
  if (!uri.ok()) return uri.status();
  return internal::CheckKeeps(*uri->engine, internal::kCounters);
}

absl::Status JudgeTable(const std::string& text) { return TableUri::Parse(text).status(); }

void ReadMembers(TomlSection& section, OrderSettings& orders) {
  section.EachOf("member", [&orders](TomlSection of) {
    OrderSettings::Member member;
    of.Text("name", &member.name, ReadPath, TomlSection::kRequired);
    KeySection keys(of);
    PlaceKeys(keys, "store", "password_file", member.place, {.required = true}, JudgeStore);
    of.Whole("last_section", &member.last_section, Within(member.last_section, 0, UINT16_MAX));
    of.End();
    orders.members.push_back(std::move(member));
  });
  for (size_t i = 1; i < orders.members.size(); ++i) {
    if (orders.members[i].last_section <= orders.members[i - 1].last_section) {
      section.RefuseKey("member", "must have last_section values that rise");
    }
  }
}

const char kStoreSample[] = R"("sqlite:/var/lib/locusd/ids.db")";

// One store, or the members of a set.
void StoreKeys(KeySection& section, OrderSettings& orders) {
  // Only the members of a set have names.
  const bool is_set = section.reads() ? section.toml().Has("member")
                                      : !orders.members.empty() && !orders.members[0].name.empty();
  if (section.reads() && is_set) {
    for (const char* const key : {"store", "password_file"}) {
      section.toml().RefuseKey(key, "is of a single store; here are members of a set");
    }
    ReadMembers(section.toml(), orders);
    section.Whole("layout", &orders.layout, Within(orders.layout, 1, 999), {});
    return;
  }
  OrderSettings::Member only;
  if (!section.reads() && !is_set && orders.members.size() == 1) only = orders.members[0];
  PlaceKeys(section, "store", "password_file", only.place,
            {.help = "or a set, [[ids.orders.member]]",
             .sample = kStoreSample,
             .written = true,
             .required = true},
            JudgeStore);
  if (section.reads()) {
    section.toml().RefuseKey("layout", "is of a set of stores, [[ids.orders.member]]");
    orders.members.push_back(std::move(only));
    return;
  }
  std::string members;
  for (const OrderSettings::Member& member : orders.members) {
    if (is_set) {
      absl::StrAppend(&members, member.name, " ", member.place.uri, " ", member.place.password_file,
                      " ", member.last_section, ";");
    }
  }
  section.Listed(
      "member", "tables", std::move(members),
      {.help = "the stores of a set: name, store, password_file, last_section", .by_hand = true});
  section.Listed("layout", "number", is_set ? absl::StrCat(orders.layout) : "",
                 {.help = "which layout of the set this is; with members only", .by_hand = true});
}

constexpr KeySection::About kCreates = {
    .help = "makes a missing file, tables and space; the default is false",
    .sample = "true",
    .written = true};

absl::Status JudgeCeiling(const std::string& store, const std::string& text) {
  const absl::StatusOr<StoreUri> of = StoreUri::Parse(store);
  const absl::StatusOr<StoreUri> uri = StoreUri::Parse(text, "ceiling");
  if (!uri.ok()) return uri.status();
  if (!of.ok()) return absl::OkStatus();
  return internal::CheckCeiling(*of->engine, *uri->engine);
}

}  // namespace

void OrdersKeys(KeySection& section, OrderSettings& orders) {
  StoreKeys(section, orders);
  section.Flag("create", &orders.create, kCreates);
  section.Flag("wide", &orders.wide, {.help = "128-bit IDs once a vnode's 47 bits are used up"});
  section.Duration("horizon", &orders.horizon,
                   Within(orders.horizon, absl::Seconds(1), absl::Hours(24)),
                   {.help = "how long IDs are made without the store"});
  if (section.reads()) section.toml().End();
}

void SequencesKeys(KeySection& section, SequenceSettings& sequences) {
  PlaceKeys(section, "store", "password_file", sequences.place,
            {.sample = kStoreSample, .written = true, .required = true}, JudgeCounters);
  PlaceKeys(
      section, "ceiling", "ceiling_password_file", sequences.ceiling,
      {.help = "for redis: sqlite or mysql, so that no number repeats"},
      [&sequences](const std::string& text) { return JudgeCeiling(sequences.place.uri, text); });
  section.Flag("create", &sequences.create,
               {.help = "makes a missing file or tables; once, run `locus seq create`",
                .sample = "true",
                .written = true});
  section.Texts("names", &sequences.names, ReadSequenceName,
                {.help = "the only sequences there are; empty: any"});
  section.Whole("most", &sequences.most, Within(sequences.most, 1, 100'000),
                {.help = "sequences that the process uses"});
  section.Duration("horizon", &sequences.horizon,
                   Within(sequences.horizon, absl::Seconds(1), absl::Hours(24)),
                   {.help = "how long numbers are given without the store"});
  if (!section.reads()) return;
  if (sequences.names.size() > sequences.most) {
    section.toml().RefuseKey("names", absl::StrCat("has ", sequences.names.size(),
                                                   " names, and most = ", sequences.most));
  }
  section.toml().End();
}

void SnowflakeKeys(KeySection& section, SnowflakeSettings& snowflake) {
  PlaceKeys(
      section, "leases", "password_file", snowflake.leases,
      {.help = "place of worker leases", .sample = kStoreSample, .written = true, .required = true},
      JudgeStore);
  section.Text("space", &snowflake.space, ReadSpace,
               {.help = "of worker leases; made by `locus lease create`"});
  section.Flag("create", &snowflake.create,
               {.help = "makes a missing file or tables; the default is false",
                .sample = "true",
                .written = true});
  section.Duration("ttl", &snowflake.ttl, Within(snowflake.ttl, absl::Seconds(10), absl::Hours(24)),
                   {.help = "of the lease"});
  section.Duration("max_skew", &snowflake.max_skew,
                   Within(snowflake.max_skew, absl::ZeroDuration(), absl::Seconds(60)),
                   {.help = "between this clock and the store's"});
  if (section.reads() && section.toml().Has("datacenter")) {
    uint64_t& datacenter = snowflake.datacenter.emplace();
    section.toml().Whole("datacenter", &datacenter, Within(datacenter, 0, 31));
  }
  section.Listed("datacenter", "number",
                 snowflake.datacenter ? absl::StrCat(*snowflake.datacenter) : "",
                 {.help = "0 to 31: only its 32 worker IDs; without the line, all", .sample = "0"});
  if (section.reads()) section.toml().End();
}

void TableKeys(KeySection& section, TableSettings& table) {
  PlaceKeys(
      section, "place", "password_file", table.place,
      {.sample = R"("file:/var/lib/locusd/table.json")", .required = true, .reload = Reload::kYes},
      JudgeTable);
  section.Text("last_good_file", &table.last_good_file, ReadMaybe,
               {.help = "to start while the place does not answer", .reload = Reload::kYes});
  section.Duration(
      "confirm_every", &table.confirm_every,
      Within(table.confirm_every, absl::Milliseconds(100), absl::Hours(1)),
      {.help = "how old the table may get before it is read again", .reload = Reload::kYes});
  if (section.reads()) section.toml().End();
}

void IdsKeys(KeySection& section, IdSettings& ids) {
  section.Text("buyers", &ids.text_buyers, ReadBuyers,
               {.help = R"(keys of buyers: "uint64" or "text")"},
               [](bool is_text) { return is_text ? "text" : "uint64"; });
  section.Text("space", &ids.space, ReadSpace,
               {.help = "of order IDs, and of the keys of their order_nos"});
  section.Text(
      "keys", &ids.keys, ReadMaybe,
      {.help = "key ring of order_nos, mode 0600: `locus keys new`", .reload = Reload::kYes});
  section.Duration("wait", &ids.wait, Within(ids.wait, absl::Milliseconds(1), absl::Minutes(10)),
                   {.help = "for a store, until a request gets 503"});
  section.Whole("waiters", &ids.waiters, Within(ids.waiters, 1, 256),
                {.help = "threads that wait for stores"});
  section.Whole("waiting", &ids.waiting, Within(ids.waiting, 1, 100'000),
                {.help = "requests that may wait at once"});
  section.Duration("remember", &ids.remember,
                   Within(ids.remember, absl::Seconds(1), absl::Hours(24)),
                   {.help = "how long an Idempotency-Key gets the same IDs"});
  section.Whole("remember_bytes", &ids.remember_bytes,
                Within(ids.remember_bytes, 1 << 20, uint64_t{1} << 36),
                {.help = "memory for these answers"});
  if (!section.reads()) return;
  TomlSection& toml = section.toml();
  // One of the parts: its section is there, or the part is not offered.
  auto part = [&toml](const char* name, auto& settings, auto keys) {
    if (!toml.Has(name)) return;
    KeySection of(toml.Section(name));
    keys(of, settings.emplace());
  };
  part("orders", ids.orders, OrdersKeys);
  part("sequences", ids.sequences, SequencesKeys);
  part("snowflake", ids.snowflake, SnowflakeKeys);
  part("table", ids.table, TableKeys);
  toml.End();
}

}  // namespace locus::locusd
