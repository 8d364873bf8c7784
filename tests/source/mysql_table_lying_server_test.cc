// SPDX-License-Identifier: Apache-2.0
// Routing tables read from servers that are no MariaDB, or a broken one.
#include <atomic>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/engine/mysql.h"
#include "tests/engine/mysql/lying_mysql.h"
#include "tests/support/lying_server.h"

namespace locus {
namespace {

MysqlTableOptions TableOptionsOf(const LyingServer& server) {
  MysqlTableOptions options;
  options.mariadb = OptionsOf(server);
  return options;
}

absl::Status Use(const LyingServer& server) {
  auto source = MysqlTableSource::Open(TableOptionsOf(server)).value();
  auto news = source->Next("", std::chrono::steady_clock::now());
  auto publisher = MysqlTablePublisher::Open(TableOptionsOf(server)).value();
  absl::StatusOr<RoutingTable> current = publisher->Current();
  absl::Status status = news.status();
  status.Update(current.status());
  status.Update(publisher->Fetch(1).status());
  publisher->Fetch(2).status().IgnoreError();
  status.Update(publisher->History(5).status());
  MysqlTablePublisher::CreateSchema(TableOptionsOf(server)).IgnoreError();
  if (current.ok()) status.Update(publisher->Publish(*current, 0));
  return status;
}

TEST(MysqlTableLyingServerTest, HonestAnswers_AreAccepted) {
  LyingServer server([](LyingPeer& peer) {
    ServeMysql(
        peer, [](const std::string& statements) { return MysqlAnswer(HonestResults(statements)); });
  });
  EXPECT_TRUE(Use(server).ok()) << Use(server);
}

TEST(MysqlTableLyingServerTest, ResultsOfAnotherShape_AreRefused) {
  for (const char* words : {"SELECT epoch, bytes", "SELECT document", "COUNT(*)", "SELECT epoch, T",
                            "max_allowed_packet", "information_schema.COLUMNS"}) {
    for (unsigned columns : {0u, 1u, 2u, 5u}) {
      for (size_t rows : {0u, 2u}) {
        LyingServer server([&](LyingPeer& peer) {
          ServeMysql(peer, [&](const std::string& statements) {
            std::vector<FakeResult> results = HonestResults(statements);
            if (absl::StrContains(statements, words)) {
              FakeResult& last = results.back();
              last.columns = columns;
              last.rows.assign(rows, std::vector<std::optional<std::string>>(columns, "1"));
            }
            return MysqlAnswer(results);
          });
        });
        Use(server).IgnoreError();
      }
    }
  }
}

// As of a Galera node that lost the transaction, or a proxy in between.
TEST(MysqlTableLyingServerTest, WriteThatChangedNothing_IsNoPublication) {
  for (size_t lost : {0u, 1u}) {
    std::atomic<int> attempts{0};
    LyingServer server([&](LyingPeer& peer) {
      ServeMysql(peer, [&](const std::string& statements) {
        std::vector<FakeResult> results = HonestResults(statements);
        if (absl::StrContains(statements, "INSERT INTO routing_table (")) {
          ++attempts;
          results[lost].affected = 0;
        }
        return MysqlAnswer(results);
      });
    });
    MysqlTableOptions options = TableOptionsOf(server);
    options.mariadb.timeout = absl::Seconds(1);
    auto publisher = MysqlTablePublisher::Open(options).value();
    RoutingTable table =
        RoutingTable::Make(2, {{1, "a", "mysql://127.0.0.1:1/a", 100, {}}}, {{65535, 1}}).value();
    absl::Status status = publisher->Publish(table, 1);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_GT(attempts, 1) << "it is tried again, as any conflict";
  }
}

TEST(MysqlTableLyingServerTest, RandomAnswers_DoNoHarm) {
  const size_t before = PeakMemoryMiB();
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([seed](LyingPeer& peer) { ServeRandomly(peer, seed); });
    Use(server).IgnoreError();
  }
  EXPECT_LT(PeakMemoryMiB() - before, 96u);
}

}  // namespace
}  // namespace locus
