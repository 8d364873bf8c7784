// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config_keys.h"

#include "absl/strings/str_join.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/config/config_sections.h"

namespace locus::locusd {
namespace {

// The values of keys are paths, names and addresses: nothing in them needs an escape but these.
std::string Quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// Lists a section that a file may lack.
template <typename Part, typename Keys>
void ListOptional(const char* name, const char* help, bool written, const std::optional<Part>& part,
                  std::vector<ConfigKey>& list, Keys keys, Reload reload = Reload::kNo) {
  list.push_back({.section = name,
                  .value = part.has_value() ? "given" : "",
                  .help = help,
                  .written = written,
                  .reload = reload});
  KeySection section(name, &list);
  Part shown = part.value_or(Part());
  keys(section, shown);
}

void ListSection(const char* name, const char* help, std::vector<ConfigKey>& list,
                 const std::function<void(KeySection&)>& keys) {
  list.push_back({.section = name, .value = "given", .help = help, .written = true});
  KeySection section(name, &list);
  keys(section);
}

}  // namespace

std::string KeySection::TomlOf(const std::string& text) { return text.empty() ? "" : Quote(text); }
std::string KeySection::TomlOf(const SpaceName& space) { return Quote(space.str()); }
std::string KeySection::TomlOf(const std::vector<std::string>& texts) {
  return absl::StrCat("[",
                      absl::StrJoin(texts, ", ",
                                    [](std::string* out, const std::string& text) {
                                      absl::StrAppend(out, Quote(text));
                                    }),
                      "]");
}
std::string KeySection::TomlOf(absl::Duration duration) {
  return Quote(duration == absl::ZeroDuration() ? "0s" : absl::FormatDuration(duration));
}

bool KeySection::Reads(const char* key) {
  if (!toml_) return false;
  if (has_role_) return true;
  toml_->RefuseKey(key, absl::StrCat("is for the role ", role_));
  return false;
}

void KeySection::Add(const char* key, const char* type, std::string value, const About& about) {
  if (list_ == nullptr || !has_role_) return;
  list_->push_back({.section = name_,
                    .name = key,
                    .type = type,
                    .value = std::move(value),
                    .sample = about.sample,
                    .help = about.help,
                    .role = role_ == nullptr ? "" : role_,
                    .required = about.required,
                    .written = about.written,
                    .by_hand = about.by_hand,
                    .reload = about.reload});
}

std::vector<ConfigKey> ListKeys(const Config& config) {
  Config shown = config;
  std::vector<ConfigKey> list;
  KeySection root("", &list);
  RootKeys(root, shown);
  if (shown.cluster_node) {
    ListSection("raft", "from node to node", list,
                [&](KeySection& section) { RaftKeys(section, shown.raft); });
  }
  ListSection("api", "for clients and operators", list,
              [&](KeySection& section) { ApiKeys(section, shown, shown.api); });
  if (shown.id_service) {
    IdSettings ids = shown.ids.value_or(IdSettings());
    ListSection("ids", "IDs over HTTP; a part without its section is not offered", list,
                [&](KeySection& section) { IdsKeys(section, ids); });
    ListOptional("ids.orders", "order IDs; stores as in `locus --store`", true, ids.orders, list,
                 OrdersKeys);
    ListOptional("ids.sequences", "numbers", true, ids.sequences, list, SequencesKeys);
    ListOptional("ids.snowflake", "Snowflake IDs by a worker lease of this process", true,
                 ids.snowflake, list, SnowflakeKeys);
    ListOptional("ids.table", "routing table: shards of orders, /v1/route", false, ids.table, list,
                 TableKeys, Reload::kYes);
  }
  if (shown.sequence_node) {
    ListOptional("strict", "strict sequences: docs/use/strict.md", true, shown.strict, list,
                 [&](KeySection& section, StrictSettings& strict) {
                   StrictKeys(section, shown.api.server.listen, strict);
                 });
  }
  list.push_back({.section = "token",
                  .value = "given",
                  .help = "a client, beside token_files; one section for each client"});
  KeySection token("token", &list);
  TokenSettings of_token;
  TokenKeys(token, of_token);
  ListSection("console", "the operator's page, at / of the API", list,
              [&](KeySection& section) { ConsoleKeys(section, shown.console); });
  ListSection("log", "", list, [&](KeySection& section) { LogKeys(section, shown); });
  if (shown.cluster_node) {
    ListOptional("health", "probes of holders; without this section there are none", false,
                 shown.health, list, HealthKeys);
  }
  ListOptional("audit", "where facts are recorded; without this section they are not", false,
               shown.audit, list, AuditKeys);
  return list;
}

}  // namespace locus::locusd
