// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/locusd/config/config_sections.h"
#include "apps/locusd/config/config_values.h"
#include "routing/uri/store_uri.h"
#include "routing/uri/table_uri.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"

namespace locus::locusd {

using apps::TomlSection;
using internal::StoreUri;
using internal::TableUri;
using Engine = StoreUri::Engine;

absl::StatusOr<SpaceName> ReadSpace(const std::string& text) {
  absl::StatusOr<SpaceName> space = SpaceName::Parse(text);
  if (space.ok()) return space;
  return absl::InvalidArgumentError("1 to 64 of a-z, 0-9, '_' and '-'");
}

void ReadPlace(TomlSection& section, const std::string& key, const std::string& password_key,
               PlaceSettings& place, TomlSection::Need need,
               const std::function<absl::Status(const std::string&)>& judge) {
  section.Text(
      key, &place.uri, [](const std::string& text) -> absl::StatusOr<std::string> { return text; },
      need);
  section.Text(password_key, &place.password_file, ReadMaybe);
  if (place.uri.empty()) {
    if (need == TomlSection::kRequired) section.RefuseKey(key, "is empty; it must be a URI");
    if (!place.password_file.empty()) {
      section.RefuseKey(password_key, absl::StrCat("is given, and there is no ", key));
    }
    return;
  }
  const absl::Status status = judge(place.uri);
  if (!status.ok()) section.RefuseKey(key, absl::StrCat("is wrong: ", status.message()));
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
  if (uri->engine == Engine::kZookeeper) {
    return absl::InvalidArgumentError("zookeeper has no sequences");
  }
  return absl::OkStatus();
}

absl::Status JudgeTable(const std::string& text) { return TableUri::Parse(text).status(); }

void ReadMembers(TomlSection& section, OrderSettings& orders) {
  section.EachOf("member", [&orders](TomlSection of) {
    OrderSettings::Member member;
    of.Text("name", &member.name, ReadPath, TomlSection::kRequired);
    ReadPlace(of, "store", "password_file", member.place, TomlSection::kRequired, JudgeStore);
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

void ReadOrders(TomlSection section, OrderSettings& orders) {
  if (section.Has("member")) {
    for (const char* const key : {"store", "password_file"}) {
      section.RefuseKey(key, "is of a single store; here are members of a set");
    }
    ReadMembers(section, orders);
    section.Whole("layout", &orders.layout, Within(orders.layout, 1, 999));
  } else {
    OrderSettings::Member only;
    ReadPlace(section, "store", "password_file", only.place, TomlSection::kRequired, JudgeStore);
    section.RefuseKey("layout", "is of a set of stores, [[ids.orders.member]]");
    orders.members.push_back(std::move(only));
  }
  section.Flag("create", &orders.create);
  section.Flag("wide", &orders.wide);
  section.Duration("horizon", &orders.horizon,
                   Within(orders.horizon, absl::Seconds(1), absl::Hours(24)));
  section.End();
}

void ReadSequences(TomlSection section, SequenceSettings& sequences) {
  ReadPlace(section, "store", "password_file", sequences.place, TomlSection::kRequired,
            JudgeCounters);
  ReadPlace(
      section, "ceiling", "ceiling_password_file", sequences.ceiling, TomlSection::kOptional,
      [&sequences](const std::string& text) -> absl::Status {
        const absl::StatusOr<StoreUri> of = StoreUri::Parse(sequences.place.uri);
        const absl::StatusOr<StoreUri> uri = StoreUri::Parse(text, "ceiling");
        if (!uri.ok()) return uri.status();
        if (uri->engine != Engine::kSqlite && uri->engine != Engine::kMysql) {
          return absl::InvalidArgumentError("a ceiling must be an sqlite or mysql store");
        }
        if (!of.ok() || of->engine == Engine::kRedis || of->engine == Engine::kRedisSentinel) {
          return absl::OkStatus();
        }
        return absl::InvalidArgumentError("only redis needs a ceiling");
      });
  section.Flag("create", &sequences.create);
  section.Texts("names", &sequences.names, ReadSequenceName);
  section.Whole("most", &sequences.most, Within(sequences.most, 1, 100'000));
  section.Duration("horizon", &sequences.horizon,
                   Within(sequences.horizon, absl::Seconds(1), absl::Hours(24)));
  if (sequences.names.size() > sequences.most) {
    section.RefuseKey("names", absl::StrCat("has ", sequences.names.size(),
                                            " names, and most = ", sequences.most));
  }
  section.End();
}

void ReadSnowflake(TomlSection section, SnowflakeSettings& snowflake) {
  ReadPlace(section, "leases", "password_file", snowflake.leases, TomlSection::kRequired,
            JudgeStore);
  section.Text("space", &snowflake.space, ReadSpace);
  section.Flag("create", &snowflake.create);
  section.Duration("ttl", &snowflake.ttl,
                   Within(snowflake.ttl, absl::Seconds(10), absl::Hours(24)));
  section.Duration("max_skew", &snowflake.max_skew,
                   Within(snowflake.max_skew, absl::ZeroDuration(), absl::Seconds(60)));
  if (section.Has("datacenter")) {
    uint64_t& datacenter = snowflake.datacenter.emplace();
    section.Whole("datacenter", &datacenter, Within(datacenter, 0, 31));
  }
  section.End();
}

void ReadTable(TomlSection section, TableSettings& table) {
  ReadPlace(section, "place", "password_file", table.place, TomlSection::kRequired, JudgeTable);
  section.Text("last_good_file", &table.last_good_file, ReadMaybe);
  section.Duration("confirm_every", &table.confirm_every,
                   Within(table.confirm_every, absl::Milliseconds(100), absl::Hours(1)));
  section.End();
}

}  // namespace

void ReadIds(TomlSection section, IdSettings& ids) {
  section.Text("buyers", &ids.text_buyers, ReadBuyers);
  section.Text("space", &ids.space, ReadSpace);
  section.Text("keys", &ids.keys, ReadMaybe);
  section.Duration("wait", &ids.wait, Within(ids.wait, absl::Milliseconds(1), absl::Minutes(10)));
  section.Whole("waiters", &ids.waiters, Within(ids.waiters, 1, 256));
  section.Whole("waiting", &ids.waiting, Within(ids.waiting, 1, 100'000));
  section.Duration("remember", &ids.remember,
                   Within(ids.remember, absl::Seconds(1), absl::Hours(24)));
  section.Whole("remember_bytes", &ids.remember_bytes,
                Within(ids.remember_bytes, 1 << 20, uint64_t{1} << 36));
  if (section.Has("orders")) ReadOrders(section.Section("orders"), ids.orders.emplace());
  if (section.Has("sequences"))
    ReadSequences(section.Section("sequences"), ids.sequences.emplace());
  if (section.Has("snowflake"))
    ReadSnowflake(section.Section("snowflake"), ids.snowflake.emplace());
  if (section.Has("table")) ReadTable(section.Section("table"), ids.table.emplace());
  section.End();
}

}  // namespace locus::locusd
