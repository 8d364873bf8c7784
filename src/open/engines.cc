// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/open/engine.h"

namespace locus::internal {

extern const Openers kSqliteOpeners, kMysqlOpeners, kRedisOpeners, kEtcdOpeners, kZookeeperOpeners,
    kLocusdOpeners;

namespace {

using Path = UriScheme::Path;

constexpr std::array<std::string_view, 2> kTls = {"tls", "tls_ca"};
constexpr std::array<std::string_view, 4> kTlsWithClient = {"tls", "tls_ca", "tls_cert", "tls_key"};

constexpr UriScheme kSqlite[] = {{"sqlite", "sqlite:PATH"}};
constexpr UriScheme kFile[] = {{"file", "file:PATH"}};
constexpr UriScheme kMysql[] = {
    {"mysql", "mysql://USER@HOST:PORT/DB", 3306, Path::kRequired, "database"}};
constexpr UriScheme kRedis[] = {{"redis", "redis://HOST:PORT/DB", 6379, Path::kNumber},
                                {"redis+sentinel", "redis+sentinel://H1:P1,H2:P2/MASTER", 26379,
                                 Path::kRequired, "master name"}};
constexpr UriScheme kEtcd[] = {{"etcd", "etcd://H1:P1,H2:P2/PREFIX", 2379, Path::kOptional}};
constexpr UriScheme kZookeeper[] = {
    {"zookeeper", "zookeeper://H1:P1,H2:P2/PREFIX", 2181, Path::kOptional}};
constexpr UriScheme kLocusd[] = {{"locusd", "locusd://H1:P1,H2:P2", 7070}, {"raft", "", 7070}};
constexpr UriScheme kHttp[] = {{"http", "http://HOST:PORT/PATH"},
                               {"https", "https://HOST:PORT/PATH"}};

// CMake defines each LOCUS_OPENS_* as the address of the engine's Openers, or as nullptr where the
// engine is left out: of this file alone, so that an engine that is turned on later compiles no
// other source again. The order is that of messages and help.
constinit const Engine kEngines[] = {
    {.name = "sqlite",
     .title = "SQLite",
     .schemes = kSqlite,
     .content = kSegments | kWorkerLeases | kCounters | kSequenceTypes | kStrictSets,
     .is_file = true,
     .is_created = true,
     .holds_ceiling = true,
     .openers = &kSqliteOpeners},
    {.name = "file",
     .title = "a file",
     .schemes = kFile,
     .content = kTables | kTablePublishing,
     .is_file = true},
    {.name = "mysql",
     .title = "MariaDB",
     .schemes = kMysql,
     .content = kSegments | kWorkerLeases | kCounters | kSequenceTypes | kStrictSets | kTables |
                kTablePublishing,
     .option = "LOCUS_MYSQL",
     .settings = kTls,
     .is_created = true,
     .holds_ceiling = true,
     .openers = LOCUS_OPENS_MYSQL},
    {.name = "redis",
     .title = "Redis",
     .schemes = kRedis,
     .content = kSegments | kWorkerLeases | kCounters | kSequenceTypes,
     .option = "LOCUS_REDIS",
     .takes_ceiling = true,
     .openers = LOCUS_OPENS_REDIS},
    {.name = "etcd",
     .title = "etcd",
     .schemes = kEtcd,
     .content = kSegments | kWorkerLeases | kCounters | kSequenceTypes | kStrictSets | kTables |
                kTablePublishing,
     .option = "LOCUS_ETCD",
     .settings = kTlsWithClient,
     .openers = LOCUS_OPENS_ETCD},
    {.name = "zookeeper",
     .title = "ZooKeeper",
     .schemes = kZookeeper,
     .content = kSegments | kWorkerLeases,
     .option = "LOCUS_ZOOKEEPER",
     .openers = LOCUS_OPENS_ZOOKEEPER},
    {.name = "locusd",
     .title = "locusd",
     .schemes = kLocusd,
     .content = kSegments | kWorkerLeases | kCounters | kSequenceTypes | kStrictSets | kMembers,
     .option = "LOCUS_LOCUSD",
     .settings = kTls,
     .has_users = false,
     .openers = LOCUS_OPENS_LOCUSD},
    {.name = "http",
     .title = "a web server, read only",
     .schemes = kHttp,
     .content = kTables,
     .option = "LOCUS_HTTP",
     .has_users = false},
};

// "a, b or c".
std::string Listed(const std::vector<std::string_view>& names, const char* last) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : i + 1 == names.size() ? last : ", ", ToAbsl(names[i]));
  }
  return text;
}

std::string NamesOf(Content content) {
  std::vector<std::string_view> names;
  for (const Engine& engine : kEngines) {
    if (engine.Has(content)) names.push_back(engine.name);
  }
  return Listed(names, " and ");
}

const char* NameOf(Content content) {
  switch (content) {
    case kSegments:
      return "order IDs";
    case kWorkerLeases:
      return "worker leases";
    case kCounters:
      return "sequences";
    case kSequenceTypes:
      return "sequence types";
    case kStrictSets:
      return "strict sequences";
    case kTables:
    case kTablePublishing:
      return "routing tables";
    case kMembers:
      return "members";
  }
  return "";
}

}  // namespace

std::span<const Engine> Engines() { return kEngines; }

absl::Status Absent(const Engine& engine, std::string_view place) {
  return absl::FailedPreconditionError(
      absl::StrCat(ToAbsl(place), ": this locus was built without the engine; build it with -D",
                   ToAbsl(engine.option), "=ON"));
}

absl::Status CheckKeeps(const Engine& engine, Content content) {
  if (engine.Has(content)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(ToAbsl(engine.name), " has no ", NameOf(content),
                                                 "; they are kept in ", NamesOf(content), " only"));
}

absl::Status CheckCeiling(const Engine& engine, const Engine& of_ceiling) {
  std::vector<std::string_view> takers, holders;
  for (const Engine& each : kEngines) {
    if (each.takes_ceiling) takers.push_back(each.name);
    if (each.holds_ceiling) holders.push_back(each.name);
  }
  if (!engine.takes_ceiling) {
    return absl::InvalidArgumentError(
        absl::StrCat("only ", Listed(takers, " and "),
                     " needs a ceiling; the other engines do not lose numbers"));
  }
  if (of_ceiling.holds_ceiling) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a ceiling must be an ", Listed(holders, " or "), " store"));
}

std::string UriForms(unsigned contents) {
  std::vector<std::string_view> forms;
  for (const Engine& engine : kEngines) {
    for (const UriScheme& scheme : engine.schemes) {
      if (engine.Has(contents) && !scheme.form.empty()) forms.push_back(scheme.form);
    }
  }
  return Listed(forms, " or ");
}

std::string SchemeNames(unsigned contents) {
  std::vector<std::string_view> names;
  for (const Engine& engine : kEngines) {
    for (const UriScheme& scheme : engine.schemes) {
      if (engine.Has(contents)) names.push_back(scheme.name);
    }
  }
  return Listed(names, ", ");
}

FoundScheme FindScheme(std::string_view name, unsigned contents) {
  for (const Engine& engine : kEngines) {
    for (const UriScheme& scheme : engine.schemes) {
      if (engine.Has(contents) && scheme.name == name) return {&engine, &scheme};
    }
  }
  return {};
}

}  // namespace locus::internal
