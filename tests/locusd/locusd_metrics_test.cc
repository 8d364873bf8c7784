// SPDX-License-Identifier: Apache-2.0
// What the documents tell operators to watch is shown by real processes.
#include <sys/stat.h>

#include <fstream>
#include <regex>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/sqlite.h"
#include "locus/key_ring.h"
#include "locus/routing/routing_table.h"
#include "src/http/endpoint.h"
#include "tests/locusd/ids_process.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Names = std::set<std::string>;

std::string TextOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The metrics that the table of "What to watch" names.
Names WatchedIn(const std::string& document) {
  Names names;
  std::ifstream in(absl::StrCat(LOCUS_DOCS, "/", document));
  bool is_there = false;
  const std::regex name("locusd?_[a-z0-9_]+");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) is_there = line.ends_with("What to watch");
    if (!is_there || !line.starts_with("|")) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), name), end; at != end; ++at) {
      names.insert(at->str());
    }
  }
  return names;
}

// Those that a page of /metrics has a value of.
Names ShownBy(const std::string& page) {
  Names names;
  const std::regex name("(^|\n)(locusd?_[a-z0-9_]+)[ {]");
  for (std::sregex_iterator at(page.begin(), page.end(), name), end; at != end; ++at) {
    names.insert((*at)[2].str());
  }
  return names;
}

Names Without(Names names, const Names& others) {
  for (const std::string& other : others) names.erase(other);
  return names;
}

std::string Table() {
  return RoutingTable::Make(1, {{.id = 1, .name = "a", .endpoint = "x://a", .labels = {}}},
                            {{65535, 1}})
      ->ToJson();
}

absl::StatusOr<http::HttpAnswer> AskAt(const std::string& address, const std::string& target,
                                       const std::string& body = "") {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  auto connection =
      http::HttpConnection::Connect(*http::Endpoint::Parse(address), nullptr, deadline);
  if (!connection.ok()) return connection.status();
  return (*connection)->Send({body.empty() ? "GET" : "POST", target, {}, body}, 16 << 20, deadline);
}

// A sequence type without a pattern in the store of a service.
void StoreType(const std::string& file) {
  auto types = SqliteSequenceTypeStore::Open(file, {});
  ASSERT_TRUE(types.ok()) << types.status();
  SequenceType type;
  type.name = "invoices";
  const auto created = (*types)->Create(type);
  ASSERT_TRUE(created.ok()) << created.status();
}

TEST(LocusdMetricsTest, WithoutAConfiguration_ShowsAllToWatchButWhatItHasNot) {
  const TemporaryDirectory directory;
  const std::string log = directory / "log";
  std::ofstream(directory / "table.json") << Table();
  PrivateServer process({LOCUSD_BINARY, "--listen", "127.0.0.1:0", "--data", directory.str()}, log);
  ASSERT_TRUE(process.Start([&] { return TextOf(log).find("curl ") != std::string::npos; }));
  const std::string text = TextOf(log);
  const size_t at = text.find("curl http://") + 12;
  const std::string address = text.substr(at, text.find('/', at) - at);
  EXPECT_EQ(AskAt(address, "/v1/orders/ids", R"({"buyers": ["1"]})")->status, 200u);
  EXPECT_EQ(AskAt(address, "/v1/sequences/a/next")->status, 200u);
  StoreType(directory / "ids.db");
  EXPECT_EQ(AskAt(address, "/v1/numbers/invoices/next")->status, 200u);
  const Names watched = WatchedIn("use/http.md");
  EXPECT_THAT(watched, SizeIs(::testing::Gt(25)));
  EXPECT_THAT(Without(watched, ShownBy(AskAt(address, "/metrics")->body)),
              ElementsAre("locusd_certificate_left_seconds", "locusd_connections_refused_total",
                          "locusd_reload_failing", "locusd_reload_failures_total",
                          "locusd_token_refused_total"));
}

TEST(LocusdMetricsTest, SequenceNode_ShowsWhatItsDocumentNamesAndNoMore) {
  const TemporaryDirectory directory;
  IdsProcess node(directory);
  node.Write("roles = [\"sequence-node\"]\n", "",
             absl::StrCat("[strict]\nname = \"n\"\nstore = \"sqlite:", directory / "strict.db",
                          "\"\ncreate = true\nuids = 1000\nsection_size = 100\n"));
  ASSERT_TRUE(node.Start());
  EXPECT_TRUE(WaitUntil([&] { return node.Metric("locus_strict_sections_owned") == "10"; }));
  node.Good("POST", "/v1/strict/next", R"({"uids": ["7"]})");
  Names of_strict;
  for (const std::string& name : ShownBy(node.Ask("GET", "/metrics")->body)) {
    if (name.starts_with("locus_strict_")) of_strict.insert(name);
  }
  EXPECT_EQ(of_strict, WatchedIn("use/strict.md"));
}

TEST(LocusdMetricsTest, BothRoles_ShowAllToWatch) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  std::ofstream(directory / "table.json") << Table();
  WriteSecret(directory / "token", "the-token-of-this-test\n");
  const Authority authority(directory, "authority");
  const std::string certificate = authority.Sign("node", "IP:127.0.0.1");
  chmod((certificate + ".key").c_str(), 0600);
  const std::string tls =
      absl::StrCat("certificate = \"", certificate, "\"\nkey = \"", certificate, ".key\"\n");
  const std::string store = absl::StrCat("\"sqlite:", directory / "ids.db", "\"\ncreate = true\n");
  MakeFirstSpace("sqlite:" + (directory / "ids.db"));
  MarkFirstSequences("sqlite:" + (directory / "ids.db"));
  ids.Write(absl::StrCat("roles = [\"cluster-node\", \"id-service\"]\ncluster = \"c\"\ndata = \"",
                         directory / "data", "\"\n[raft]\nlisten = \"127.0.0.1:", FreePort(),
                         "\"\nauthority = \"", authority.file(), "\"\n", tls),
            absl::StrCat("token_files = [\"", directory / "token", "\"]\n", tls),
            absl::StrCat("[ids]\n[ids.orders]\nstore = ", store, "[ids.sequences]\nstore = ", store,
                         "[ids.snowflake]\nleases = ", store,
                         "[ids.table]\nplace = \"file:", directory / "table.json",
                         "\"\n[audit]\nclickhouse = \"127.0.0.1:1\"\n"
                         "[health]\nallowed = [\"10.1.0.0/16\"]\n"));
  ids.token = "the-token-of-this-test";
  const auto trusts = http::TlsContext::Load({authority.file(), "", ""});
  ids.tls = trusts->get();
  ASSERT_TRUE(ids.Start(/*begin=*/true));
  ids.Good("POST", "/v1/orders/ids", R"({"buyers": ["1"]})");
  ids.Good("GET", "/v1/sequences/a/next");
  StoreType(directory / "ids.db");
  ids.Good("GET", "/v1/numbers/invoices/next");
  EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("GET", "/v1/snowflake") == 200; }));
  const std::string page = ids.Ask("GET", "/metrics")->body;
  for (const char* const use : {"api", "raft"}) {
    const std::string series =
        absl::StrCat("\nlocusd_certificate_left_seconds{use=\"", use, "\"} ");
    ASSERT_NE(page.find(series), page.npos) << page;
    const double left = std::stod(page.substr(page.find(series) + series.size()));
    EXPECT_GT(left, 47 * 3600) << use;  // of two days
    EXPECT_LE(left, 48 * 3600) << use;
  }
  const Names shown = ShownBy(page);
  EXPECT_THAT(Without(WatchedIn("use/http.md"), shown), IsEmpty());
  const Names of_node = WatchedIn("run/locusd-operations.md");
  EXPECT_THAT(of_node, SizeIs(::testing::Gt(12)));
  EXPECT_THAT(Without(of_node, shown), IsEmpty());
}

}  // namespace
}  // namespace locus
