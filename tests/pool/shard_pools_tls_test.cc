// SPDX-License-Identifier: Apache-2.0
// Connections to shards by TLS, whose certificates are verified.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tests/pool/shard_pools_fixture.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(20);

// A server whose certificate names localhost, and an account that is let in by TLS only.
class ShardPoolsTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    files_ = new TemporaryDirectory;
    authority_ = new Authority(*files_, "right");
    stranger_ = new Authority(*files_, "stranger");
    std::string certificate = authority_->Sign("server.pem", "DNS:localhost");
    server_ =
        new MariadbServer({.lines = {"ssl-ca=" + authority_->file(), "ssl-cert=" + certificate,
                                     "ssl-key=" + certificate + ".key"}});
    ASSERT_TRUE(server_->Start());
    server_->OptionsFor("locus_tls");
    server_->Sql(
        "CREATE USER tls@'%' IDENTIFIED BY 't' REQUIRE SSL;"
        "GRANT ALL ON `locus\\_%`.* TO tls@'%'");
  }
  static void TearDownTestSuite() {
    delete server_;
    delete stranger_;
    delete authority_;
    delete files_;
  }

  static Shard ShardAt(const std::string& host, const std::string& settings) {
    Shard shard;
    shard.id = 1;
    shard.name = "orders-1";
    shard.endpoint = absl::StrCat("mysql://", host, ":", server_->port(), "/locus_tls", settings);
    return shard;
  }
  static ShardPoolsOptions Options() {
    ShardPoolsOptions options = PoolOptions();
    options.user = "tls";
    options.password = "t";
    return options;
  }
  static void ExpectVerified(const ShardPoolsOptions& options, const Shard& shard) {
    auto connection = MakePools(options)->Take(shard, In(kSoon));
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_NE(mysql_get_ssl_cipher(connection->handle()), nullptr);
    EXPECT_EQ(Ask(*connection, "SELECT DATABASE()"), "locus_tls");
  }
  static void ExpectRefused(const ShardPoolsOptions& options, const Shard& shard) {
    auto pools = MakePools(options);
    absl::Status status = pools->Take(shard, In(kSoon)).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_TRUE(absl::StrContains(absl::AsciiStrToLower(status.message()), "certificate"))
        << status;
    EXPECT_EQ(StatsOf(*pools, shard).connects, 0u);
  }

  static TemporaryDirectory* files_;
  static Authority* authority_;
  static Authority* stranger_;
  static MariadbServer* server_;
};
TemporaryDirectory* ShardPoolsTlsTest::files_;
Authority* ShardPoolsTlsTest::authority_;
Authority* ShardPoolsTlsTest::stranger_;
MariadbServer* ShardPoolsTlsTest::server_;

TEST_F(ShardPoolsTlsTest, RightAuthority_IsLetIn) {
  ShardPoolsOptions options = Options();
  ExpectVerified(options, ShardAt("localhost", "?tls_ca=" + authority_->file()));
  options.tls_ca_file = authority_->file();
  ExpectVerified(options, ShardAt("localhost", "?tls=on"));
  options.tls = MysqlOptions::Tls::kAlways;
  ExpectVerified(options, ShardAt("localhost", ""));
  options.tls_ca_file = stranger_->file();
  ExpectVerified(options, ShardAt("localhost", "?tls_ca=" + authority_->file()));
}

TEST_F(ShardPoolsTlsTest, StrangersAuthority_IsRefused) {
  ShardPoolsOptions options = Options();
  ExpectRefused(options, ShardAt("localhost", "?tls=on"));  // the system does not know it
  ExpectRefused(options, ShardAt("localhost", "?tls_ca=" + stranger_->file()));
  options.tls_ca_file = stranger_->file();
  ExpectRefused(options, ShardAt("localhost", "?tls=on"));
  options.tls_ca_file = authority_->file();
  ExpectRefused(options, ShardAt("localhost", "?tls_ca=" + stranger_->file()));
}

TEST_F(ShardPoolsTlsTest, CertificateOfAnotherHost_IsRefused) {
  ExpectRefused(Options(), ShardAt("127.0.0.1", "?tls_ca=" + authority_->file()));
}

TEST_F(ShardPoolsTlsTest, LoopbackWithoutTls_TheServerRefuses) {
  absl::Status status = MakePools(Options())->Take(ShardAt("localhost", ""), In(kSoon)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "Access denied")) << status;
}

}  // namespace
}  // namespace locus
