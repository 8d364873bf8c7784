// SPDX-License-Identifier: Apache-2.0
// Sequence-nodes that are called by TLS and with tokens, by each other and by clients.
#include <sys/stat.h>

#include "gmock/gmock.h"
#include "tests/locusd/strict_nodes.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

std::chrono::steady_clock::time_point InAMinute() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}

class LocusdStrictTlsTest : public StrictNodesTest {
 protected:
  LocusdStrictTlsTest() {
    WriteSecret(directory_ / "token", absl::StrCat(kToken, "\n"));
    auto trusts = http::TlsContext::Load({authority_.file(), "", ""});
    EXPECT_TRUE(trusts.ok()) << trusts.status();
    if (trusts.ok()) tls_ = *std::move(trusts);
    client_tls_ = {true, authority_.file()};
  }

  // Nodes with a certificate of `signer` for `host`; `more` is for [strict].
  void StartSigned(int count, const Authority& signer, const std::string& host,
                   const std::string& more = "") {
    const std::string name = absl::StrCat("certificate-", nodes_.size());
    const std::string certificate = signer.Sign(name, host);
    ASSERT_EQ(chmod((certificate + ".key").c_str(), 0600), 0);
    Start(count,
          absl::StrCat("token_file = \"", directory_ / "token", "\"\nauthority = \"",
                       authority_.file(), "\"\n", more),
          absl::StrCat("token_files = [\"", directory_ / "token", "\"]\ncertificate = \"",
                       certificate, "\"\nkey = \"", certificate, ".key\"\n"));
  }

  const Authority authority_{directory_, "authority"};
};

TEST_F(LocusdStrictTlsTest, Nodes_FindEachOtherAndHandOver) {
  StartSigned(2, authority_, "IP:127.0.0.1");
  ASSERT_TRUE(Spread({0, 1}));
  std::vector<std::unique_ptr<StrictClient>> clients;
  clients.push_back(Client(0));
  ASSERT_NE(clients[0], nullptr);
  StrictCallers callers(clients);
  ASSERT_TRUE(MoreCalls(callers, 100));
  EXPECT_GT(nodes_[0]->Good("POST", "/v1/strict/sections:hand_over", R"({"to": "n2"})")["sections"],
            0);
  EXPECT_TRUE(WaitUntil([&] { return Owned(1) == kStrictSections; }));
  EXPECT_TRUE(nodes_[0]->Logs("strict sections handed over to n2")) << nodes_[0]->LogText();
  ASSERT_TRUE(MoreCalls(callers, 100));
  nodes_[0]->Good("POST", "/v1/strict/sections:take", "{}");
  nodes_[1]->process().Stop();
  EXPECT_TRUE(nodes_[1]->Logged("strict sections handed over to n1")) << nodes_[1]->LogText();
  ASSERT_TRUE(MoreCalls(callers, 100));
  EXPECT_TRUE(WaitUntil([&] { return Owned(0) == kStrictSections; }));
}

TEST_F(LocusdStrictTlsTest, CertificateOfAnotherHost_IsToldByThoseWhoCall) {
  StartSigned(1, authority_, "IP:127.0.0.1");
  ASSERT_TRUE(Spread({0}));
  StartSigned(1, authority_, "DNS:elsewhere.example");
  // The other one finds the first one in the table, calls it, and is called back.
  EXPECT_TRUE(nodes_[0]->Logs(absl::StrCat("the sequence-node at ", nodes_[1]->api(), " refuses")))
      << nodes_[0]->LogText();
  EXPECT_THAT(nodes_[0]->LogText(), HasSubstr("TLS"));
  EXPECT_TRUE(nodes_[1]->Logs("nobody can call this node by its certificate"));
  StrictClientOptions options;
  options.endpoints = {nodes_[1]->api()};
  options.token = kToken;
  options.tls = client_tls_;
  const absl::Status refused = StrictClient::Open(options, InAMinute()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("certificate"));
}

TEST_F(LocusdStrictTlsTest, NodeThatNobodyCanCall_LeavesTheSectionsToOthers) {
  StartSigned(1, authority_, "IP:127.0.0.1", "sections = [\"0-9\"]\n");
  ASSERT_TRUE(WaitUntil([&] { return Owned(0) == 10; }));
  // Ten sections have no owner; it hears of the node that leaves them so, and calls it.
  StartSigned(1, authority_, "DNS:elsewhere.example");
  ASSERT_TRUE(nodes_[1]->Logs("n1 at")) << nodes_[1]->LogText();
  StartSigned(1, authority_, "IP:127.0.0.1");
  ASSERT_TRUE(Spread({0, 2})) << nodes_[1]->LogText();
  EXPECT_TRUE(nodes_[1]->Logs("nobody can call this node by its certificate"));
  EXPECT_FALSE(nodes_[1]->Logged("strict sections taken")) << nodes_[1]->LogText();
}

TEST_F(LocusdStrictTlsTest, ClientThatTrustsAnother_IsToldSoAtOnce) {
  StartSigned(1, authority_, "IP:127.0.0.1");
  ASSERT_TRUE(Spread({0}));
  const Authority other(directory_, "other");
  StrictClientOptions options;
  options.endpoints = {nodes_[0]->api()};
  options.token = kToken;
  options.tls = {true, other.file()};
  const absl::Status refused = StrictClient::Open(options, InAMinute()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("certificate"));
  options.tls = client_tls_;
  options.token = "another-token";
  const absl::Status unknown = StrictClient::Open(options, InAMinute()).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition) << unknown;
}

}  // namespace
}  // namespace locus
