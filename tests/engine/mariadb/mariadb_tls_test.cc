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
#include "tests/engine/mariadb/mariadb_fixture.h"
#include "tests/support/lying_server.h"
#include "tests/support/stringified.h"

namespace locus {
namespace {

using Tls = MariadbOptions::Tls;

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

class MariadbTlsTest : public ::testing::Test {
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
    MariadbOptions options = Options();
    ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options).ok());
  }
  static void TearDownTestSuite() {
    delete server_;
    delete stranger_;
    delete authority_;
    delete files_;
  }

  // Of an account that is let in by TLS only.
  static MariadbOptions Options() {
    MariadbOptions options = server_->Account(kDatabase);
    options.hosts[0].name = "localhost";
    options.user = "tls";
    options.password = "t";
    options.tls = Tls::kAlways;
    options.tls_ca_file = authority_->file();
    return options;
  }
  static void ExpectFailure(const MariadbOptions& options, absl::StatusCode code,
                            absl::string_view sign) {
    absl::Status status = MariadbSegmentStore::Open(options).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(absl::AsciiStrToLower(status.message()), sign)) << status;
  }
  static void ExpectRefused(const MariadbOptions& options, absl::string_view sign) {
    ExpectFailure(options, absl::StatusCode::kFailedPrecondition, sign);
  }
  // By the number that a handshake which was cut off has, too.
  static void ExpectUntrusted(const MariadbOptions& options, absl::string_view sign) {
    ExpectFailure(options, absl::StatusCode::kUnavailable, sign);
  }

  static TemporaryDirectory* files_;
  static Authority* authority_;
  static Authority* stranger_;
  static MariadbServer* server_;
};
TemporaryDirectory* MariadbTlsTest::files_;
Authority* MariadbTlsTest::authority_;
Authority* MariadbTlsTest::stranger_;
MariadbServer* MariadbTlsTest::server_;

TEST_F(MariadbTlsTest, CertificateThatVerifies_IsUsed) {
  auto store = MustOpen(Options());
  CreateSpace(*store);
  EXPECT_TRUE(TryLease(*store).ok());
}

TEST_F(MariadbTlsTest, CertificateOfAStrangersAuthority_IsRefused) {
  MariadbOptions options = Options();
  options.tls_ca_file = stranger_->file();
  ExpectUntrusted(options, "certificate");
}

TEST_F(MariadbTlsTest, NoAuthorityGiven_TheSystemsDoNotKnowIt) {
  MariadbOptions options = Options();
  options.tls_ca_file.clear();
  ExpectUntrusted(options, "certificate");
}

TEST_F(MariadbTlsTest, AuthorityFileThatIsNotThere_IsRefused) {
  MariadbOptions options = Options();
  options.tls_ca_file += ".gone";
  ExpectRefused(options, absl::AsciiStrToLower(options.tls_ca_file));
}

TEST_F(MariadbTlsTest, CertificateOfAnotherHost_IsRefused) {
  MariadbOptions options = Options();
  options.hosts[0].name = "127.0.0.1";
  ExpectUntrusted(options, "certificate");
}

TEST_F(MariadbTlsTest, ServerWithoutTls_IsRefused) {
  MariadbOptions options = SharedMariadb().OptionsFor(kDatabase);
  options.tls = Tls::kAlways;
  ExpectRefused(options, "ssl");
}

TEST_F(MariadbTlsTest, BeyondLoopback_IsRefusedWithoutTlsUnlessAsked) {
  MariadbOptions options = FreshMariadbDatabase();
  options.hosts[0].name = "0.0.0.0";  // reaches this machine, but is no name of its loopback
  ExpectRefused(options, "ssl");
  options.tls = Tls::kNever;
  EXPECT_TRUE(MariadbSegmentStore::Open(options).ok());
}

// The server says "Access denied" of all of them.
TEST_F(MariadbTlsTest, AccessDenied_NamesWhatWasNotGiven) {
  MariadbOptions options = Options();
  options.tls = Tls::kNever;
  ExpectRefused(options, "this was without tls: an account that requires it needs ?tls=on");
  options.password.clear();
  ExpectRefused(options,
                "no password was given: commands take that of a store from locus_password,");
  options = Options();
  options.password = "wrong";
  const absl::Status status = MariadbSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::EndsWith(status.message(), "(1045)")) << status;
}

TEST_F(MariadbTlsTest, ServerKilledUnderATlsConnection_IsUnavailable) {
  auto store = MustOpen(Options());
  CreateSpace(*store);
  Lease(*store);
  server_->KillHard();
  for (int i = 0; i < 3; ++i) {
    absl::Status status = TryLease(*store).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  ASSERT_TRUE(server_->Start());
  EXPECT_TRUE(TryLease(*store).ok());
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
      // The first message asks for TLS; who only looks whether the port accepts sends none.
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
// are those of a library: a service that waits must not end for good.
TEST_F(MariadbTlsTest, HandshakeCutOff_IsTriedAgainByTheCaller) {
  HandshakeCutter twice(server_->port(), 2);
  MariadbOptions options = Options();
  options.hosts[0].port = twice.port();
  for (int i = 0; i < 2; ++i) ExpectFailure(options, absl::StatusCode::kUnavailable, "(2026)");
  const absl::Status opened = MariadbSegmentStore::Open(options).status();
  EXPECT_TRUE(opened.ok()) << opened;
}

TEST(MariadbTlsNamesTest, Tls_IsAWord) {
  EXPECT_EQ(Stringified(Tls::kBeyondLoopback), "beyond_loopback");
  EXPECT_EQ(Stringified(Tls::kAlways), "always");
  EXPECT_EQ(Stringified(Tls::kNever), "never");
}

}  // namespace
}  // namespace locus
