// SPDX-License-Identifier: Apache-2.0
// The verbs of tables at places that have servers.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/command.h"
#include "tests/engine/etcd/etcd_server.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/source/http_table_server.h"
#include "tests/support/authority.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using testing::CommandTest;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::RunningCommand;
using ::testing::StartsWith;
using testing::WriteFile;

class CliTablePlaceTest : public CommandTest {
 protected:
  void TearDown() override {
    for (const char* name : {"LOCUS_PASSWORD", "LOCUS_TABLE_PASSWORD", "SSL_CERT_FILE"}) {
      unsetenv(name);
    }
  }

  // What anybody does with a place that takes tables.
  void PublishWatchAndGoBack(const std::string& uri) {
    ASSERT_EQ(RunLocus({"table", "init", uri}).exit, 0);
    EXPECT_EQ(RunLocus({"table", "get", uri}).exit, 1);
    EXPECT_EQ(RunLocus({"table", "history", uri}).out, "");
    Outcome first = RunLocus({"table", "publish", uri}, ReadFile(table_));
    EXPECT_THAT(first.out, HasSubstr("\nok epoch=1 at ")) << first.err;
    EXPECT_EQ(RunLocus({"table", "get", uri}).out, ReadFile(table_));
    RunningCommand watch({"table", "watch", uri, "--count", "2"});
    EXPECT_THAT(watch.ReadLine(), StartsWith("epoch=1 shards=2 source="));
    Outcome second = RunLocus({"table", "publish", uri, table_, "--next-epoch", "--expect", "1"});
    EXPECT_THAT(second.out, HasSubstr("\nok epoch=2 at ")) << second.err;
    EXPECT_THAT(watch.ReadLine(), StartsWith("epoch=2 shards=2 source="));
    EXPECT_EQ(watch.Finish().exit, 0);
    EXPECT_EQ(RunLocus({"table", "publish", uri, table_, "--expect", "1"}).exit, 1);
    EXPECT_THAT(RunLocus({"table", "restore", uri, "1"}).out, HasSubstr("\nok epoch=3 at "));
    EXPECT_THAT(RunLocus({"table", "history", uri}).out, MatchesRegex("3\t.*\n2\t.*\n1\t.*\n"));
    EXPECT_EQ(RunLocus({"table", "diff", uri, table_}).out, "no difference\n");
    EXPECT_EQ(RunLocus({"table", "get", uri, "--epoch", "1"}).out, ReadFile(table_));
  }
};

TEST_F(CliTablePlaceTest, Etcd) {
  EtcdOptions options = FreshEtcdPrefix();
  PublishWatchAndGoBack("etcd://" + options.endpoints[0] + "/" + options.prefix);
}

// As the operations guide has it for a table that somebody spoiled.
TEST_F(CliTablePlaceTest, EtcdNewestDeletedOrPutBack_NextEpochIsAboveAllThatIsKept) {
  EtcdOptions options = FreshEtcdPrefix();
  std::string uri = "etcd://" + options.endpoints[0] + "/" + options.prefix;
  std::string newest = options.prefix + "/table/newest";
  auto publish = [&](const std::string& expect) {
    Outcome outcome =
        RunLocus({"table", "publish", uri, table_, "--next-epoch", "--expect", expect});
    return outcome.exit == 0 ? outcome.out : outcome.err;
  };
  for (const char* before : {"0", "1", "2"}) EXPECT_THAT(publish(before), HasSubstr("\nok epoch="));
  ASSERT_TRUE(SharedEtcd().Ctl("del " + newest));
  EXPECT_THAT(publish("0"), HasSubstr("\nok epoch=4 at "));
  ASSERT_TRUE(SharedEtcd().Ctl("del " + newest));
  EXPECT_THAT(publish("0"), HasSubstr("\nok epoch=5 at "));
  EXPECT_THAT(publish("0"), HasSubstr("epoch 5 was published since"))
      << "what it replaced is known as epoch 4";
  ASSERT_TRUE(SharedEtcd().Ctl("put " + newest + " -- < " + table_));
  EXPECT_THAT(publish("1"), HasSubstr("\nok epoch=6 at "));
  EXPECT_THAT(publish("5"),
              HasSubstr("nothing to publish: this table is the newest already, epoch=6 at "))
      << "repeated";
}

TEST_F(CliTablePlaceTest, Mysql) {
  MysqlOptions options = FreshMariadbDatabase();
  setenv("LOCUS_TABLE_PASSWORD", options.password.c_str(), 1);
  PublishWatchAndGoBack("mysql://locus@127.0.0.1:" + std::to_string(options.hosts[0].port) + "/" +
                        options.database);
}

TEST_F(CliTablePlaceTest, MysqlOfAnEarlierVersion_SaysThatNoReasonIsKept) {
  const MysqlOptions options = FreshMariadbDatabase();
  setenv("LOCUS_TABLE_PASSWORD", options.password.c_str(), 1);
  const std::string uri =
      absl::StrCat("mysql://locus@127.0.0.1:", options.hosts[0].port, "/", options.database);
  ASSERT_EQ(RunLocus({"table", "init", uri}).exit, 0);
  SharedMariadb().Sql(absl::StrCat("USE ", options.database,
                                   ";ALTER TABLE routing_table DROP COLUMN author,"
                                   " DROP COLUMN reason"));
  const Outcome first =
      RunLocus({"table", "publish", uri, "--reason", "ticket 4711"}, ReadFile(table_));
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("author and reason are not kept"));
  ASSERT_EQ(RunLocus({"table", "init", uri}).exit, 0);
  EXPECT_THAT(RunLocus({"table", "restore", uri, "1"}).out, Not(HasSubstr("not kept")));
}

TEST_F(CliTablePlaceTest, Http_IsReadOnly) {
  uint16_t port = FreePort();
  PrivateServer server({"python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory",
                        directory_ / ".", std::to_string(port)},
                       directory_ / "log");
  ASSERT_TRUE(server.Start([port] { return Listens(port); }));
  std::string uri = "http://127.0.0.1:" + std::to_string(port) + "/table.json";
  EXPECT_EQ(RunLocus({"table", "get", uri}).out, ReadFile(table_));
  EXPECT_EQ(RunLocus({"table", "diff", table_, uri}).out, "no difference\n");
  EXPECT_EQ(RunLocus({"table", "watch", uri, "--count", "1"}).out,
            "epoch=1 shards=2 source=" + uri + "\n");
  Outcome missing = RunLocus({"table", "get", uri + "x"});
  EXPECT_EQ(missing.exit, 1);
  EXPECT_THAT(missing.err, HasSubstr(uri + "x"));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"history", uri},
                                                {"restore", uri, "1"},
                                                {"get", uri, "--epoch=1"}}) {
    std::vector<std::string> verb = {"table"};
    verb.insert(verb.end(), words.begin(), words.end());
    Outcome refused = RunLocus(verb);
    EXPECT_EQ(refused.exit, 2) << words[0];
    EXPECT_THAT(refused.err,
                HasSubstr("earlier tables, at the place from which the server gets its document"));
  }
}

TEST_F(CliTablePlaceTest, HttpServerThatFails_IsNamedOnce) {
  HttpTableServer server;
  server.Start();
  server.SetDocument(ReadFile(table_));
  RunningCommand watch({"table", "watch", server.url(), "--count", "2"});
  EXPECT_EQ(watch.ReadLine(), "epoch=1 shards=2 source=" + server.url());
  HttpTableServer::Behaviour failing;
  failing.status = 503;
  server.Behave(failing);
  size_t asked = server.requests().size();
  ASSERT_TRUE(WaitUntil([&] { return server.requests().size() > asked + 1; }));
  server.Behave({});
  server.SetDocument(absl::StrReplaceAll(ReadFile(table_), {{"\"epoch\": 1,", "\"epoch\": 2,"}}));
  EXPECT_EQ(watch.ReadLine(), "epoch=2 shards=2 source=" + server.url());
  EXPECT_THAT(watch.Finish().err,
              HasSubstr("locus table watch: failing: " + server.url() + ": it answers 503"));
}

TEST_F(CliTablePlaceTest, HttpsWithAToken_NeedsBothRight) {
  TemporaryDirectory files;
  Authority authority(files, "authority");
  std::string certificate = authority.Sign("server", "IP:127.0.0.1");
  HttpTableServer server(HttpTableServer::Tls{certificate, certificate + ".key"});
  server.Start();
  server.SetDocument(ReadFile(table_));
  HttpTableServer::Behaviour behaviour;
  behaviour.token = "right";
  server.Behave(behaviour);
  Outcome stranger = RunLocus({"table", "get", server.url()});
  EXPECT_EQ(stranger.exit, 1);
  EXPECT_THAT(stranger.err, HasSubstr(server.url() + ": TLS failed"));
  setenv("SSL_CERT_FILE", authority.file().c_str(), 1);
  for (const char* wrong : {"", "wrong"}) {
    setenv("LOCUS_TABLE_PASSWORD", wrong, 1);
    Outcome refused = RunLocus({"table", "get", server.url()});
    EXPECT_EQ(refused.exit, 1);
    EXPECT_THAT(refused.err, HasSubstr(server.url() + ": it answers 401"));
    EXPECT_THAT(refused.err, HasSubstr("is missing or not accepted"));
  }
  setenv("LOCUS_TABLE_PASSWORD", "ri ght", 1);
  EXPECT_THAT(RunLocus({"table", "get", server.url()}).err, HasSubstr("byte 3 of the token"));
  setenv("LOCUS_TABLE_PASSWORD", "right", 1);
  Outcome got = RunLocus({"table", "get", server.url()});
  EXPECT_EQ(got.out, ReadFile(table_)) << got.err;
  server.SetDocument("<html>");
  EXPECT_THAT(RunLocus({"table", "get", server.url()}).err,
              HasSubstr(server.url() + ": line 1, column 1 (byte 1): syntax error"));
}

// The token of one server must not reach another one.
TEST_F(CliTablePlaceTest, PasswordOfTheStore_IsNotSentToTheTablesServer) {
  MysqlOptions options = FreshMariadbDatabase();
  const std::string store =
      "mysql://locus@127.0.0.1:" + std::to_string(options.hosts[0].port) + "/" + options.database;
  HttpTableServer server;
  server.Start();
  server.SetDocument(ReadFile(table_));
  WriteFile(directory_ / "in.csv", "order,buyer\n1,2\n");
  const std::vector<std::string> assign = {
      "assign",  "--buyer-column", "buyer",  "--store", store,  "--create-store",
      "--table", server.url(),     "--keys", keys_,     "--in", directory_ / "in.csv"};
  setenv("LOCUS_PASSWORD", options.password.c_str(), 1);
  Outcome assigned = RunLocus(assign);
  EXPECT_EQ(assigned.exit, 0) << assigned.err;
  ASSERT_FALSE(server.requests().empty());
  for (const std::string& request : server.requests()) {
    EXPECT_THAT(request, Not(HasSubstr("uthorization"))) << request;
  }
  HttpTableServer::Behaviour behaviour;
  behaviour.token = "of-the-table";
  server.Behave(behaviour);
  Outcome refused = RunLocus(assign);
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("LOCUS_TABLE_PASSWORD"));
  setenv("LOCUS_TABLE_PASSWORD", "of-the-table", 1);
  assigned = RunLocus(assign);
  EXPECT_EQ(assigned.exit, 0) << assigned.err;
}

}  // namespace
}  // namespace locus
