// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/support/lying_server.h"
#include "tests/support/stringified.h"

namespace locus {
namespace {

using Tls = MysqlOptions::Tls;

// An authority, and certificates that it signs; the files lie in a directory of their own.
class Authority {
 public:
  explicit Authority(const TemporaryDirectory& directory, const std::string& name)
      : directory_(directory), ca_(directory / (name + "-ca.pem")), key_(ca_ + ".key") {
    OpenSsl({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + name,
             "-keyout", key_, "-out", ca_});
  }
  const std::string& file() const { return ca_; }

  // Lines of my.cnf for a server whose certificate names `host`.
  std::vector<std::string> ServerLines(const std::string& host) const {
    std::string certificate = directory_ / (host + ".pem");
    std::string key = certificate + ".key", request = certificate + ".csr";
    OpenSsl({"req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + host, "-addext",
             "subjectAltName=DNS:" + host, "-keyout", key, "-out", request});
    OpenSsl({"x509", "-req", "-in", request, "-CA", ca_, "-CAkey", key_, "-CAcreateserial", "-days",
             "2", "-copy_extensions", "copy", "-out", certificate});
    return {"ssl-ca=" + ca_, "ssl-cert=" + certificate, "ssl-key=" + key};
  }

 private:
  void OpenSsl(std::vector<std::string> words) const {
    words.insert(words.begin(), "openssl");
    std::string log = directory_ / "openssl.log";
    ASSERT_EQ(RunProgram(words, log), 0) << std::ifstream(log).rdbuf();
  }

  const TemporaryDirectory& directory_;
  std::string ca_;
  std::string key_;
};

constexpr char kDatabase[] = "locus_tls";

class MysqlTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    files_ = new TemporaryDirectory;
    authority_ = new Authority(*files_, "right");
    stranger_ = new Authority(*files_, "stranger");
    server_ = new MariadbServer({1, authority_->ServerLines("localhost"), {}});
    ASSERT_TRUE(server_->Start());
    server_->OptionsFor(kDatabase);
    server_->Sql(
        "CREATE USER tls@'%' IDENTIFIED BY 't' REQUIRE SSL;"
        "GRANT ALL ON `locus\\_%`.* TO tls@'%'");
    MysqlOptions options = Options();
    ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options).ok());
  }
  static void TearDownTestSuite() {
    delete server_;
    delete stranger_;
    delete authority_;
    delete files_;
  }

  // Of an account that is let in by TLS only.
  static MysqlOptions Options() {
    MysqlOptions options = server_->Account(kDatabase);
    options.hosts[0].name = "localhost";
    options.user = "tls";
    options.password = "t";
    options.tls = Tls::kAlways;
    options.tls_ca_file = authority_->file();
    return options;
  }
  static void ExpectFailure(const MysqlOptions& options, absl::StatusCode code,
                            absl::string_view sign) {
    absl::Status status = MysqlSegmentStore::Open(options).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(absl::AsciiStrToLower(status.message()), sign)) << status;
  }
  static void ExpectRefused(const MysqlOptions& options, absl::string_view sign) {
    ExpectFailure(options, absl::StatusCode::kFailedPrecondition, sign);
  }
  // A handshake that was cut off has the same number.
  static void ExpectUntrusted(const MysqlOptions& options, absl::string_view sign) {
    ExpectFailure(options, absl::StatusCode::kUnavailable, sign);
  }

  static TemporaryDirectory* files_;
  static Authority* authority_;
  static Authority* stranger_;
  static MariadbServer* server_;
};
TemporaryDirectory* MysqlTlsTest::files_;
Authority* MysqlTlsTest::authority_;
Authority* MysqlTlsTest::stranger_;
MariadbServer* MysqlTlsTest::server_;

TEST_F(MysqlTlsTest, CertificateThatVerifies_IsUsed) {
  auto store = MustOpen(Options());
  CreateSpace(*store);
  EXPECT_TRUE(TryAllocate(*store).ok());
}

TEST_F(MysqlTlsTest, CertificateOfAStrangersAuthority_IsRefused) {
  MysqlOptions options = Options();
  options.tls_ca_file = stranger_->file();
  ExpectUntrusted(options, "certificate");
}

TEST_F(MysqlTlsTest, NoAuthorityGiven_TheSystemsDoNotKnowIt) {
  MysqlOptions options = Options();
  options.tls_ca_file.clear();
  ExpectUntrusted(options, "certificate");
}

TEST_F(MysqlTlsTest, AuthorityFileThatIsNotThere_IsRefused) {
  MysqlOptions options = Options();
  options.tls_ca_file += ".gone";
  ExpectRefused(options, absl::AsciiStrToLower(options.tls_ca_file));
}

TEST_F(MysqlTlsTest, CertificateOfAnotherHost_IsRefused) {
  MysqlOptions options = Options();
  options.hosts[0].name = "127.0.0.1";
  ExpectUntrusted(options, "certificate");
}

TEST_F(MysqlTlsTest, ServerWithoutTls_IsRefused) {
  MysqlOptions options = SharedMariadb().OptionsFor(kDatabase);
  options.tls = Tls::kAlways;
  ExpectRefused(options, "ssl");
}

TEST_F(MysqlTlsTest, BeyondLoopback_IsRefusedWithoutTlsUnlessAsked) {
  MysqlOptions options = FreshMariadbDatabase();
  options.hosts[0].name = "0.0.0.0";  // reaches this machine, but is no name of its loopback
  ExpectRefused(options, "ssl");
  options.tls = Tls::kNever;
  EXPECT_TRUE(MysqlSegmentStore::Open(options).ok());
}

// The server says "Access denied" of all of them.
TEST_F(MysqlTlsTest, AccessDenied_NamesTheMissingOption) {
  MysqlOptions options = Options();
  options.tls = Tls::kNever;
  ExpectRefused(options, "this was without tls: an account that requires it needs ?tls=on");
  options.password.clear();
  ExpectRefused(options,
                "no password was given: commands take that of a store from locus_password,");
  options = Options();
  options.password = "wrong";
  const absl::Status status = MysqlSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::EndsWith(status.message(), "(1045)")) << status;
}

TEST_F(MysqlTlsTest, ServerKilledUnderATlsConnection_IsUnavailable) {
  auto store = MustOpen(Options());
  CreateSpace(*store);
  Allocate(*store);
  server_->KillHard();
  for (int i = 0; i < 3; ++i) {
    absl::Status status = TryAllocate(*store).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  ASSERT_TRUE(server_->Start());
  EXPECT_TRUE(TryAllocate(*store).ok());
}

// Between a client and the server, it hangs up inside of the first handshakes of TLS.
class HandshakeCutter {
 public:
  HandshakeCutter(uint16_t server, int cuts)
      : to_(server), cuts_(cuts), cutter_([this](LyingPeer& peer) { Serve(peer); }) {}
  uint16_t port() const { return cutter_.port(); }

 private:
  void Serve(LyingPeer& peer) {
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(to_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::thread answers;
    if (connect(server, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
      answers = std::thread([&] {
        char bytes[4096];
        for (ssize_t got = 1; got > 0;) {
          got = recv(server, bytes, sizeof bytes, 0);
          if (got > 0 && !peer.Send({bytes, static_cast<size_t>(got)})) return;
        }
      });
      // The first message asks for TLS; a mere check whether the port accepts sends none.
      std::string asked = peer.Receive();
      if (!asked.empty() && handshakes_++ < cuts_) asked.clear();
      while (!asked.empty() &&
             send(server, asked.data(), asked.size(), MSG_NOSIGNAL) == ssize_t(asked.size())) {
        asked = peer.Receive();
      }
    }
    shutdown(server, SHUT_RDWR);
    if (answers.joinable()) answers.join();
    close(server);
  }

  const uint16_t to_;
  const int cuts_;
  std::atomic<int> handshakes_ = 0;
  LyingServer cutter_;
};

// A handshake that is cut off has the number of a certificate that does not verify, and the texts
// are those of a library: a service that waits must not give up.
TEST_F(MysqlTlsTest, HandshakeCutOff_IsTriedAgainByTheCaller) {
  HandshakeCutter twice(server_->port(), 2);
  MysqlOptions options = Options();
  options.hosts[0].port = twice.port();
  for (int i = 0; i < 2; ++i) ExpectFailure(options, absl::StatusCode::kUnavailable, "(2026)");
  const absl::Status opened = MysqlSegmentStore::Open(options).status();
  EXPECT_TRUE(opened.ok()) << opened;
}

TEST(MysqlTlsNamesTest, Tls_IsAWord) {
  EXPECT_EQ(Stringified(Tls::kBeyondLoopback), "beyond_loopback");
  EXPECT_EQ(Stringified(Tls::kAlways), "always");
  EXPECT_EQ(Stringified(Tls::kNever), "never");
}

}  // namespace
}  // namespace locus
