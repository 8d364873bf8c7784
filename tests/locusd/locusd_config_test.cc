// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/config/config_keys.h"
#include "apps/locusd/config/config_template.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLeast[] = R"(
cluster = "orders"
data = "/var/lib/locusd"
[raft]
listen = "127.0.0.1:7071"
[api]
listen = "[::1]:7070"
)";

std::string Refusal(const std::string& text) {
  auto config = ParseConfig(text, "node.toml");
  EXPECT_FALSE(config.ok()) << text;
  EXPECT_TRUE(absl::IsInvalidArgument(config.status())) << config.status();
  return std::string(config.status().message());
}
// kLeast with lines after those of the section.
std::string With(const std::string& section, const std::string& lines) {
  std::string text = kLeast;
  const size_t at = section == "api" ? text.size() : text.find("[api]");
  return text.insert(at, lines + "\n");
}

TEST(LocusdConfigTest, LeastFile_HasDefaults) {
  const Config config = ParseConfig(kLeast, "node.toml").value();
  EXPECT_EQ(config.cluster, "orders");
  EXPECT_EQ(config.NodePath(), "/var/lib/locusd/node.db");
  EXPECT_EQ(config.raft.advertise, "127.0.0.1:7071");
  EXPECT_EQ(config.raft.shell.election, std::chrono::milliseconds(600));
  EXPECT_FALSE(config.raft.tls);
  EXPECT_EQ(config.api.advertise, "[::1]:7070");
  EXPECT_EQ(config.api.server.most_connections, 1024u);
  EXPECT_EQ(config.log_level, LogLevel::kInfo);
}

TEST(LocusdConfigTest, EveryKey_IsRead) {
  const Config config = ParseConfig(R"(
cluster = "orders"
data = "d"
[raft]
listen = "0.0.0.0:7071"
advertise = "node1:7071"
authority = "ca.pem"
certificate = "node.pem"
key = "node.key"
election = "2s"
compact_entries = 500
compact_bytes = 1000000
[api]
listen = "0.0.0.0:7070"
advertise = "node1:7070"
token_files = ["one", "two"]
operator_token_files = ["three"]
certificate = "api.pem"
key = "api.key"
threads = 2
connections = 9
connections_per_address = 8
header_bytes = 2048
body_bytes = 8192
request_timeout = "3s"
idle_timeout = "4s"
[log]
level = "debug"
)",
                                    "node.toml")
                            .value();
  EXPECT_EQ(config.raft.tls->authority, "ca.pem");
  EXPECT_EQ(config.raft.shell.election, std::chrono::seconds(2));
  EXPECT_EQ(config.raft.shell.compact_entries, 500u);
  EXPECT_EQ(config.raft.shell.compact_bytes, 1'000'000u);
  EXPECT_EQ(config.api.token_files.size(), 2u);
  EXPECT_THAT(config.api.operator_token_files, ::testing::ElementsAre("three"));
  EXPECT_EQ(config.api.tls->key, "api.key");
  EXPECT_EQ(config.api.server.threads, 2u);
  EXPECT_EQ(config.api.server.most_connections, 9u);
  EXPECT_EQ(config.api.server.most_connections_per_address, 8u);
  EXPECT_EQ(config.api.server.most_header_bytes, 2048u);
  EXPECT_EQ(config.api.server.most_body_bytes, 8192u);
  EXPECT_EQ(config.api.server.request_timeout, absl::Seconds(3));
  EXPECT_EQ(config.api.server.idle_timeout, absl::Seconds(4));
  EXPECT_EQ(config.log_level, LogLevel::kDebug);
}

TEST(LocusdConfigTest, Audit_IsReadAndChecked) {
  const std::string section = R"([audit]
clickhouse = "127.0.0.1:8123"
database = "d"
table = "t"
user = "u"
password_file = "p"
timeout = "1s"
renewals = 10
queue = 2000
spill_bytes = 2000000
)";
  const Config config = ParseConfig(kLeast + section, "node.toml").value();
  ASSERT_TRUE(config.audit);
  EXPECT_EQ(config.audit->clickhouse.endpoint, "127.0.0.1:8123");
  EXPECT_EQ(config.audit->clickhouse.table, "t");
  EXPECT_EQ(config.audit->password_file, "p");
  EXPECT_EQ(config.audit->renewals, 10u);
  EXPECT_EQ(config.audit->sink.spill_bytes, 2'000'000u);
  EXPECT_THAT(Refusal(std::string(kLeast) + "[audit]\n"), HasSubstr("audit.clickhouse is missing"));
  std::string beyond = kLeast + section;
  beyond.replace(beyond.find("127.0.0.1:8123"), 14, "10.0.0.1:8123");
  EXPECT_THAT(Refusal(beyond), HasSubstr("node.toml:8:1"));
}

// The file that is installed shows the defaults, and every key that is known.
TEST(LocusdConfigTest, InstalledExample_ShowsTheDefaults) {
  const std::string path = golden::ProjectDirectory() + "/apps/locusd/locusd.toml";
  const Config config = ReadConfig(path).value();
  std::ifstream in(path);
  EXPECT_EQ(ConfigTemplate({true, true, true}), std::string(std::istreambuf_iterator<char>(in), {}))
      << "make it by: locusd init --role cluster-node --role id-service --force --output " << path;
  in.seekg(0);
  std::string line, shown;
  bool header = true;
  while (std::getline(in, line)) {
    header = header && line.starts_with("#");
    // Lines of files, which come all together, are for another test.
    const bool is_file = line.find("HOST:PORT\"") != line.npos || line.find(".pem") != line.npos ||
                         line.find(".key") != line.npos;
    if (header || is_file) continue;
    shown += (line.starts_with("# ") ? line.substr(2) : line) + "\n";
  }
  auto parsed = ParseConfig(shown, path);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << shown;
  EXPECT_EQ(parsed->raft.shell.election, config.raft.shell.election);
  EXPECT_EQ(parsed->raft.shell.compact_entries, config.raft.shell.compact_entries);
  EXPECT_EQ(parsed->raft.shell.compact_bytes, config.raft.shell.compact_bytes);
  EXPECT_EQ(parsed->api.server.threads, config.api.server.threads);
  EXPECT_EQ(parsed->api.server.most_connections, config.api.server.most_connections);
  EXPECT_EQ(parsed->api.server.most_connections_per_address,
            config.api.server.most_connections_per_address);
  EXPECT_EQ(parsed->api.server.most_header_bytes, config.api.server.most_header_bytes);
  EXPECT_EQ(parsed->api.server.most_body_bytes, config.api.server.most_body_bytes);
  EXPECT_EQ(parsed->api.server.request_timeout, config.api.server.request_timeout);
  EXPECT_EQ(parsed->api.server.idle_timeout, config.api.server.idle_timeout);
  EXPECT_EQ(parsed->log_level, config.log_level);
  EXPECT_EQ(parsed->console.environment, "production");
  EXPECT_EQ(parsed->console.colour, "red");
  EXPECT_EQ(parsed->console.move_file, config.console.move_file);
  EXPECT_EQ(parsed->console.streams, config.console.streams);
  EXPECT_EQ(parsed->api.rate, config.api.rate);
  EXPECT_EQ(parsed->api.burst, config.api.burst);
  EXPECT_EQ(parsed->api.under_way, config.api.under_way);
  EXPECT_EQ(parsed->api.forward, config.api.forward);
  const holder_probe::HolderProbeOptions probe;
  EXPECT_EQ(parsed->health->probe.interval, probe.interval);
  EXPECT_EQ(parsed->health->probe.timeout, probe.timeout);
  EXPECT_EQ(parsed->health->probe.failures, probe.failures);
  EXPECT_EQ(parsed->health->probe.at_once, probe.at_once);
  EXPECT_EQ(parsed->health->probe.per_second, probe.per_second);
  const AuditSettings defaults;
  EXPECT_EQ(parsed->audit->clickhouse.database, defaults.clickhouse.database);
  EXPECT_EQ(parsed->audit->clickhouse.table, defaults.clickhouse.table);
  EXPECT_EQ(parsed->audit->clickhouse.timeout, defaults.clickhouse.timeout);
  EXPECT_EQ(parsed->audit->renewals, defaults.renewals);
  EXPECT_EQ(parsed->audit->sink.queue, defaults.sink.queue);
  EXPECT_EQ(parsed->audit->sink.spill_bytes, defaults.sink.spill_bytes);
  EXPECT_EQ(parsed->api.drain_delay, config.api.drain_delay);
  const IdSettings& ids = *parsed->ids;
  const IdSettings of_ids;
  EXPECT_EQ(ids.text_buyers, of_ids.text_buyers);
  EXPECT_EQ(ids.space, of_ids.space);
  EXPECT_EQ(ids.keys, of_ids.keys);
  EXPECT_EQ(ids.wait, of_ids.wait);
  EXPECT_EQ(ids.waiters, of_ids.waiters);
  EXPECT_EQ(ids.waiting, of_ids.waiting);
  EXPECT_EQ(ids.remember, of_ids.remember);
  EXPECT_EQ(ids.remember_bytes, of_ids.remember_bytes);
  // What the lines without "#" say; their comments tell that the default is another.
  EXPECT_EQ(ids.orders, config.ids->orders);
  EXPECT_EQ(ids.sequences, config.ids->sequences);
  SnowflakeSettings snowflake = *config.ids->snowflake;
  snowflake.datacenter = 0;
  EXPECT_EQ(ids.snowflake, snowflake);
  TableSettings table;
  table.place.uri = "file:/var/lib/locusd/table.json";
  EXPECT_EQ(ids.table, table);
  ASSERT_EQ(parsed->tokens.size(), 1u);
  const TokenSettings token;
  EXPECT_EQ(parsed->tokens[0].rate, token.rate);
  EXPECT_EQ(parsed->tokens[0].burst, token.burst);
}

// A page for people, made from the keys as they are declared.
std::string ConfigurationPage() {
  Config config;
  config.id_service = config.sequence_node = true;
  config.api.server.listen.clear();
  std::string page =
      "# Configuration of locusd\n\n"
      "All keys of the file that `locusd --config` reads. `locusd init --role ROLE --output FILE` "
      "writes\n"
      "a file with all keys of a role. Durations are texts such as `\"500ms\"` or `\"1m30s\"`, "
      "sizes are\n"
      "bytes. \"Reload\" says whether a running process takes a new value: \"yes\", \"restart\", "
      "or\n"
      "\"other value\", where adding or removing the key needs a restart. [Changes without a\n"
      "restart](../use/http.md#changes-without-a-restart) says when a value is taken.\n\n"
      "This page is generated from the program's table of keys, and a test compares them.\n";
  std::string section = "none";
  for (const ConfigKey& key : ListKeys(config)) {
    if (key.section != section) {
      section = key.section;
      const bool many = section == "token";
      absl::StrAppend(&page, "\n## ", section.empty() ? "The top of the file" : "",
                      section.empty() ? ""
                      : many          ? "[["
                                      : "[",
                      section,
                      section.empty() ? ""
                      : many          ? "]]"
                                      : "]",
                      "\n\n");
      if (key.name.empty() && !key.help.empty()) {
        absl::StrAppend(&page, std::string(1, absl::ascii_toupper(key.help[0])), key.help.substr(1),
                        ".\n\n");
      }
      page += "| key | type | default | reload | meaning |\n| --- | --- | --- | --- | --- |\n";
      if (key.name.empty()) continue;
    }
    // A key that the template writes out has the default "false", if any.
    const std::string value = key.name == "roles" ? "[\"cluster-node\"]" : key.value;
    const std::string shown = value.empty() ? "" : absl::StrCat("`", value, "`");
    absl::StrAppend(
        &page, "| `", key.name, "` | ", key.type, " | ", key.required ? "required" : shown, " | ",
        key.reload == Reload::kYes         ? "yes"
        : key.reload == Reload::kOtherOnly ? "other value"
                                           : "restart",
        " | ", key.help,
        key.role.empty() ? "" : absl::StrCat(key.help.empty() ? "" : "; ", "role ", key.role),
        " |\n");
  }
  return page;
}

TEST(LocusdConfigTest, PageOfAllKeys_IsThatOfTheProgram) {
  const std::string path = golden::ProjectDirectory() + "/docs/run/configuration.md";
  if (std::getenv("LOCUS_WRITE_PAGES") != nullptr) std::ofstream(path) << ConfigurationPage();
  std::ifstream in(path);
  EXPECT_EQ(ConfigurationPage(), std::string(std::istreambuf_iterator<char>(in), {}))
      << "make it by: LOCUS_WRITE_PAGES=1 tests_locusd --gtest_filter=*PageOfAllKeys*";
}

TEST(LocusdConfigTest, Health_IsReadAndChecked) {
  const Config config = ParseConfig(std::string(kLeast) + R"([health]
allowed = ["10.1.0.0/16", "fd00::/8"]
interval = "5s"
timeout = "1s"
failures = 4
at_once = 10
per_second = 7
)",
                                    "node.toml")
                            .value();
  ASSERT_TRUE(config.health);
  EXPECT_EQ(config.health->probe.allowed.size(), 2u);
  EXPECT_EQ(config.health->probe.interval, absl::Seconds(5));
  EXPECT_EQ(config.health->probe.failures, 4);
  EXPECT_EQ(config.health->probe.at_once, 10u);
  EXPECT_EQ(config.health->probe.per_second, 7);
  EXPECT_THAT(Refusal(std::string(kLeast) + "[health]\nallowed = [\"10.1.0.1/16\"]\n"),
              HasSubstr("health.allowed is \"10.1.0.1/16\""));
  EXPECT_THAT(
      Refusal(std::string(kLeast) +
              "[health]\nallowed = [\"10.0.0.0/8\"]\ninterval = \"1s\"\ntimeout = \"5s\"\n"),
      HasSubstr("timeout"));
}

TEST(LocusdConfigTest, AllThatIsWrong_IsNamedAtOnceWithItsPlace) {
  const std::string refusal = Refusal("clustr = \"orders\"\n[raft]\n[api]\nlisten = \"here\"\n");
  EXPECT_THAT(refusal, AllOf(HasSubstr("node.toml:1:1: unknown key \"clustr\""),
                             HasSubstr("cluster is missing"), HasSubstr("data is missing"),
                             HasSubstr("raft.listen is missing"),
                             HasSubstr("api.listen is \"here\"; it must be HOST:PORT")));
}

TEST(LocusdConfigTest, BeyondLoopback_NeedsTlsAndTokens) {
  std::string text = kLeast;
  text.replace(text.find("127.0.0.1:7071"), 14, "10.0.0.1:7071");
  EXPECT_THAT(Refusal(text), HasSubstr("raft.listen \"10.0.0.1:7071\" is beyond loopback"));
  text = kLeast;
  text.replace(text.find("[::1]:7070"), 10, "10.0.0.1:7070");
  EXPECT_THAT(Refusal(text), HasSubstr("api.listen \"10.0.0.1:7070\" is beyond loopback"));
  text += "certificate = \"c\"\nkey = \"k\"\n";
  EXPECT_THAT(Refusal(text), HasSubstr("token_files are needed"));
  text += "token_files = [\"t\"]\n";
  EXPECT_TRUE(ParseConfig(text, "node.toml").ok());
}

TEST(LocusdConfigTest, NameOfTheInstallation_IsShortAndHasAKnownColour) {
  const std::string section = std::string(kLeast) + "[console]\n";
  EXPECT_THAT(Refusal(section + "environment = \"" + std::string(33, 'x') + "\"\n"),
              HasSubstr("1 to 32 printable ASCII characters"));
  EXPECT_THAT(Refusal(section + "colour = \"red\"\n"), HasSubstr("environment, which is missing"));
  EXPECT_THAT(Refusal(section + "environment = \"x\"\ncolour = \"pink\"\n"),
              HasSubstr("\"red\", \"amber\""));
}

TEST(LocusdConfigTest, HalfOfTls_IsRefused) {
  EXPECT_THAT(Refusal(With("raft", "certificate = \"c\"\nkey = \"k\"")),
              HasSubstr("all three, or none"));
  EXPECT_THAT(Refusal(With("api", "key = \"k\"")), HasSubstr("both, or neither"));
}

TEST(LocusdConfigTest, AddressesThatNobodyCanUse_AreRefused) {
  EXPECT_THAT(Refusal(With("raft", "advertise = \"0.0.0.0:1\"")), HasSubstr("nobody can reach"));
  EXPECT_THAT(Refusal(With("raft", "advertise = \"node1:0\"")), HasSubstr("HOST:PORT"));
  std::string text = kLeast;
  text.replace(text.find("[::1]:7070"), 10, "127.0.0.1:7071");
  EXPECT_THAT(Refusal(text), HasSubstr("are both \"127.0.0.1:7071\""));
}

TEST(LocusdConfigTest, ValuesBeyondTheirLimits_AreNamedWithThem) {
  EXPECT_THAT(Refusal(With("raft", "election = \"50ms\"")),
              HasSubstr("raft.election: 50ms is not in 100ms .. 1m"));
  EXPECT_THAT(Refusal(With("api", "threads = 0")), HasSubstr("api.threads: 0 is not in 1 .. 64"));
  EXPECT_THAT(Refusal(With("api", "[log]\nlevel = \"loud\"")),
              HasSubstr("log.level is \"loud\"; it must be \"trace\""));
  EXPECT_THAT(Refusal("cluster = \"a b\"\ndata = \"\"\n[raft]\n[api]\n"),
              AllOf(HasSubstr("cluster is \"a b\""), HasSubstr("data is \"\"")));
}

TEST(LocusdConfigTest, KeysThatNeedARestart_AreNamed) {
  const Config running = ParseConfig(kLeast, "node.toml").value();
  EXPECT_TRUE(KeysThatNeedARestart(running, running).empty());
  Config other = running;
  other.log_level = LogLevel::kDebug;
  other.api.token_files = {"t"};
  other.api.operator_token_files = {"t"};
  EXPECT_TRUE(KeysThatNeedARestart(running, other).empty());
  other.cluster = "others";
  other.raft.listen = other.raft.advertise = "127.0.0.1:9";
  other.api.tls.emplace().certificate = "c";
  other.audit.emplace();
  EXPECT_THAT(KeysThatNeedARestart(running, other),
              ::testing::ElementsAre("cluster", "raft.listen", "api.certificate", "audit"));
}

TEST(LocusdConfigTest, FileThatCannotBeRead_IsNamed) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(absl::IsNotFound(ReadConfig(directory / "none").status()));
  auto of_directory = ReadConfig(directory.str());
  EXPECT_TRUE(absl::IsFailedPrecondition(of_directory.status())) << of_directory.status();
  EXPECT_THAT(std::string(of_directory.status().message()), HasSubstr(directory.str()));
  std::ofstream(directory / "long") << std::string((1 << 20) + 1, '#');
  EXPECT_TRUE(absl::IsInvalidArgument(ReadConfig(directory / "long").status()));
}

TEST(LocusdConfigTest, Tokens_ArePrivateOneLineAndNeverInMessages) {
  const TemporaryDirectory directory;
  Config config;
  const std::string path = directory / "token";
  config.api.token_files = {path};
  EXPECT_FALSE(ReadTokens(config).ok());
  for (const char* bad : {"", "short\n", "sixteen letters and blanks\n", "0123456789abcdef\nx\n"}) {
    std::ofstream(path) << bad;
    chmod(path.c_str(), 0600);
    auto tokens = ReadTokens(config);
    ASSERT_FALSE(tokens.ok()) << bad;
    EXPECT_THAT(std::string(tokens.status().message()),
                AllOf(HasSubstr(path), Not(HasSubstr("blanks\n")), Not(HasSubstr("0123456789a"))));
  }
  std::ofstream(path) << "0123456789abcdef\n";
  auto read = ReadTokens(config);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].token.view(), "0123456789abcdef");
  EXPECT_TRUE((*read)[0].scopes.Has(Scope::kOperate)) << "nobody else may";
  EXPECT_FALSE((*read)[0].scopes.Has(Scope::kDecode));
  // In both lists: an operator's.
  config.api.operator_token_files = {path};
  read = ReadTokens(config);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].name, "operator_token_files.1");
  const std::string other = directory / "other";
  std::ofstream(other) << "another-0123456789";
  chmod(other.c_str(), 0600);
  config.api.token_files = {other};
  read = ReadTokens(config);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_FALSE((*read)[1].scopes.Has(Scope::kOperate));
  EXPECT_TRUE((*read)[1].scopes.Has(Scope::kIds));
  chmod(path.c_str(), 0640);
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadTokens(config).status()));
}

}  // namespace
}  // namespace locus::locusd
