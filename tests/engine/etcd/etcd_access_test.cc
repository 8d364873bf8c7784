// SPDX-License-Identifier: Apache-2.0
// TLS and accounts: refusals, and failures that pass by themselves.
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

class EtcdTlsTest : public ::testing::Test {
 protected:
  static std::vector<std::string> Arguments(const std::string& certificate) {
    return {"--cert-file=" + certificate, "--key-file=" + certificate + ".key"};
  }
  EtcdOptions OptionsOf(const EtcdServer& server) const {
    EtcdOptions options = server.options();
    options.tls.enabled = true;
    options.tls.ca_file = right_.file();
    return options;
  }
  static absl::Status Create(const EtcdOptions& options) {
    auto store = EtcdSegmentStore::Open(options);
    if (!store.ok()) return store.status();
    return (*store)->Create(SpaceName(), SpaceOptions(), absl::Now());
  }

  TemporaryDirectory files_;
  Authority right_{files_, "right"};
};

TEST_F(EtcdTlsTest, CertificateOfTheHost_IsAccepted) {
  EtcdServer server(1, Arguments(right_.Sign("server", "IP:127.0.0.1,DNS:localhost")), "https");
  ASSERT_TRUE(server.Start());
  EtcdOptions options = OptionsOf(server);
  EXPECT_TRUE(Create(options).ok()) << Create(options);
  options.endpoints[0].replace(0, 9, "localhost");
  auto store = MustOpen(options);
  EXPECT_TRUE(TryAllocate(*store).ok()) << "by name as well";

  Authority stranger(files_, "stranger");
  options.tls.ca_file = stranger.file();
  absl::Status status = Create(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), options.endpoints[0])) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "certificate")) << status;
  options.tls.ca_file.clear();
  EXPECT_TRUE(absl::IsFailedPrecondition(Create(options))) << "nor do the system's know it";

  options.tls = {};
  status = Create(options);
  EXPECT_FALSE(status.ok()) << "plain text to a port that speaks TLS";
}

TEST_F(EtcdTlsTest, CertificateOfAnotherHost_IsRefused) {
  EtcdServer server(1, Arguments(right_.Sign("other", "DNS:other.example,IP:127.0.0.2")), "https");
  ASSERT_TRUE(server.Start());
  EtcdOptions options = OptionsOf(server);
  EXPECT_TRUE(absl::IsFailedPrecondition(Create(options))) << Create(options);
  options.endpoints[0].replace(0, 9, "localhost");
  EXPECT_TRUE(absl::IsFailedPrecondition(Create(options))) << Create(options);
}

// It cuts the handshake off, like a member that is being stopped.
TEST_F(EtcdTlsTest, PlainServer_IsUnavailable) {
  absl::Status status = Create(OptionsOf(SharedEtcd()));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(EtcdTlsTest, ClientCertificate_IsShownWhereAsked) {
  auto arguments = Arguments(right_.Sign("server", "IP:127.0.0.1"));
  arguments.push_back("--client-cert-auth");
  arguments.push_back("--trusted-ca-file=" + right_.file());
  EtcdServer server(1, arguments, "https");
  ASSERT_TRUE(server.Start());
  EtcdOptions options = OptionsOf(server);
  absl::Status status = Create(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << "none shown: " << status;
  options.tls.certificate_file = right_.Sign("client", "DNS:client");
  options.tls.key_file = options.tls.certificate_file + ".key";
  ASSERT_EQ(chmod(options.tls.key_file.c_str(), 0600), 0);
  EXPECT_TRUE(Create(options).ok()) << Create(options);

  Authority stranger(files_, "stranger");
  options.tls.certificate_file = stranger.Sign("forged", "DNS:client");
  options.tls.key_file = options.tls.certificate_file + ".key";
  status = Create(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(EtcdTlsTest, FilesThatCannotBe_AreRefusedAtOpen) {
  EtcdOptions options;
  options.endpoints = {"127.0.0.1:1"};
  options.tls.enabled = true;
  options.tls.ca_file = files_ / "missing";
  EXPECT_TRUE(absl::IsFailedPrecondition(EtcdSegmentStore::Open(options).status()));
  std::ofstream(files_ / "nonsense") << "nonsense";
  options.tls.ca_file = files_ / "nonsense";
  EXPECT_TRUE(absl::IsFailedPrecondition(EtcdSegmentStore::Open(options).status()));

  options.tls.ca_file = right_.file();
  options.tls.certificate_file = right_.Sign("client", "DNS:client");
  options.tls.key_file = options.tls.certificate_file + ".key";
  ASSERT_EQ(chmod(options.tls.key_file.c_str(), 0640), 0);
  absl::Status status = EtcdSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << "a key that the group may read: " << status;
  EXPECT_TRUE(absl::StrContains(status.message(), options.tls.key_file)) << status;
  ASSERT_EQ(chmod(options.tls.key_file.c_str(), 0600), 0);
  EXPECT_TRUE(EtcdSegmentStore::Open(options).ok());
  options.tls.certificate_file = right_.file();
  EXPECT_TRUE(absl::IsFailedPrecondition(EtcdSegmentStore::Open(options).status()))
      << "a key of another certificate";
}

class EtcdAccountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    for (const char* words :
         {"user add root:rootpw", "user grant-role root root", "role add shop",
          "role grant-permission shop readwrite --prefix=true locus/", "auth enable"}) {
      ASSERT_TRUE(server_.Ctl(words)) << words;
    }
    ASSERT_TRUE(AsRoot("user add 'orders:s3cr\"et\\pw'"));
    ASSERT_TRUE(AsRoot("user grant-role orders shop"));
    options_ = server_.options();
    options_.user = "orders";
    options_.password = "s3cr\"et\\pw";
  }
  bool AsRoot(const std::string& words) { return server_.Ctl("--user=root:rootpw " + words); }

  EtcdServer server_{1, {"--bcrypt-cost=4"}};
  EtcdOptions options_;
};

TEST_F(EtcdAccountTest, RightPassword_IsAskedOnce) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(TryAllocate(*store).ok());
  EXPECT_EQ(store->Stats().logins, 1u);
  auto sequencer = MustOpenSequencer(options_);
  EXPECT_EQ(sequencer->Next("a").value(), 1);
}

TEST_F(EtcdAccountTest, WrongOrNoPassword_IsRefusedWithoutRetries) {
  for (const char* password : {"hunter2", ""}) {
    EtcdOptions wrong = options_;
    wrong.password = password;
    auto store = MustOpen(wrong);
    absl::Status status = store->Create(SpaceName(), SpaceOptions(), absl::Now());
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), options_.endpoints[0])) << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "hunter2")) << status;
  }
  auto nobody = MustOpen(server_.options());
  absl::Status status = nobody->Create(SpaceName(), SpaceOptions(), absl::Now());
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(EtcdAccountTest, PrefixWithoutRights_IsRefusedWithoutRetries) {
  EtcdOptions elsewhere = options_;
  elsewhere.prefix = "payments";
  auto store = MustOpen(elsewhere);
  absl::Status status = store->Create(SpaceName(), SpaceOptions(), absl::Now());
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "permission denied")) << status;
}

// Tokens end after five minutes without use, and when accounts are switched off.
TEST_F(EtcdAccountTest, TokenThatEnded_IsRenewedWithoutAnError) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  auto sequencer = MustOpenSequencer(options_);
  EXPECT_EQ(sequencer->Next("a").value(), 1);
  ASSERT_TRUE(AsRoot("user add somebody:else"));
  EXPECT_TRUE(TryAllocate(*store).ok()) << TryAllocate(*store).status();
  EXPECT_EQ(sequencer->Next("a").value(), 2);
  ASSERT_TRUE(AsRoot("auth disable"));
  ASSERT_TRUE(server_.Ctl("auth enable"));
  EXPECT_TRUE(TryAllocate(*store).ok()) << TryAllocate(*store).status();
  EXPECT_EQ(sequencer->Next("a").value(), 3);
  EXPECT_EQ(store->Stats().logins, 2u);
  server_.KillHard();
  ASSERT_TRUE(server_.Start());
  EXPECT_TRUE(TryAllocate(*store).ok()) << TryAllocate(*store).status();
}

TEST_F(EtcdAccountTest, AccountThatWasRevoked_IsRefusedAtTheNextCall) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  ASSERT_TRUE(AsRoot("user delete orders"));
  EXPECT_TRUE(absl::IsFailedPrecondition(TryAllocate(*store).status()))
      << TryAllocate(*store).status();
}

TEST_F(EtcdAccountTest, UserOrPasswordThatIsMissingOrWrong_IsNamedWithTheWayToSetIt) {
  EtcdOptions nobody = options_;
  nobody.user.clear();
  nobody.password.clear();
  absl::Status status = TryAllocate(*MustOpen(nobody)).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "the URI names no user")) << status;
  EtcdOptions wrong = options_;
  wrong.password = "another";
  status = TryAllocate(*MustOpen(wrong)).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "check the user and its password")) << status;
}

TEST(EtcdNoAccountTest, UserWithoutAuthentication_IsRefusedWithoutRetries) {
  EtcdOptions options = FreshEtcdPrefix();
  options.user = "orders";
  options.password = "password";
  auto store = MustOpen(options);
  absl::Status status = store->Create(SpaceName(), SpaceOptions(), absl::Now());
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "not enabled")) << status;
}

}  // namespace
}  // namespace locus
