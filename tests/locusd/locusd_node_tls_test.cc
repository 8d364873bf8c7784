// SPDX-License-Identifier: Apache-2.0
// Nodes of different authorities: each side says why, and so do the operator's tools.
#include <sys/stat.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/locusd/ids_process.h"
#include "tests/locusd/locusd_cluster.h"
#include "tests/support/authority.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Lines for [raft].
std::string RaftTls(const std::string& authority, const std::string& certificate) {
  EXPECT_EQ(chmod((certificate + ".key").c_str(), 0600), 0);
  return absl::StrCat("authority = \"", authority, "\"\ncertificate = \"", certificate,
                      "\"\nkey = \"", certificate, ".key\"\n");
}

TEST(LocusdNodeTlsTest, NodeOfAnotherAuthority_IsNamedOnBothSidesAndInTheStatus) {
  const TemporaryDirectory directory;
  const Authority ours(directory, "ours"), theirs(directory, "theirs");
  const std::string node = ours.Sign("node", "IP:127.0.0.1");
  const std::string other = theirs.Sign("other", "IP:127.0.0.1");
  LocusdCluster cluster(1, {.more_raft = RaftTls(ours.file(), node)});
  ASSERT_EQ(cluster.WaitForLeader(), 0);
  const TemporaryDirectory elsewhere;
  LocusdNode stranger(elsewhere, "stranger", {.more_raft = RaftTls(theirs.file(), other)});
  ASSERT_TRUE(stranger.Start());
  ASSERT_TRUE(cluster.Add(stranger, /*promote=*/false));
  LocusdNode& leader = cluster.node(0);
  auto says = [](LocusdNode& of, const std::string& text) {
    return WaitUntil([&] { return absl::StrContains(of.LogText(), text); });
  };
  EXPECT_TRUE(says(leader, absl::StrCat("address=", stranger.raft(), " why=\"TLS: ")))
      << leader.LogText();
  EXPECT_TRUE(says(stranger, "refused a connection to raft peer=127.0.0.1 why="))
      << stranger.LogText();
  std::string unreached;
  EXPECT_TRUE(WaitUntil([&] {
    const auto answer = leader.Ask("GET", "/v1/status", 200);
    if (!answer) return false;
    unreached = nlohmann::json::parse(*answer)["unreached"];
    return absl::StrContains(unreached, "TLS");
  }));
  EXPECT_THAT(unreached, AllOf(HasSubstr(stranger.raft()), HasSubstr("certificate")));
}

TEST(LocusdNodeTlsTest, Check_JudgesTheCertificateAsOtherNodesWould) {
  const TemporaryDirectory directory;
  const Authority ours(directory, "ours"), theirs(directory, "theirs");
  auto check = [&](const std::string& tls, const std::string& data) {
    IdsProcess node(directory, "node");
    node.Write(absl::StrCat("cluster = \"orders\"\ndata = \"", directory / data,
                            "\"\n[raft]\nlisten = \"127.0.0.1:7071\"\n", tls),
               "", "");
    return RunLocusd(absl::StrCat("--config ", node.config(), " --check"), directory);
  };
  const std::string good = ours.Sign("good", "IP:127.0.0.1");
  EXPECT_EQ(check(RaftTls(ours.file(), good), "a").code, 0)
      << check(RaftTls(ours.file(), good), "a").out;
  const LocusdRun wrong = check(RaftTls(theirs.file(), good), "a");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.out, AllOf(HasSubstr("raft.certificate"), HasSubstr("of the authority")));
  const std::string elsewhere = ours.Sign("elsewhere", "IP:127.0.0.9");
  const LocusdRun unnamed = check(RaftTls(ours.file(), elsewhere), "a");
  EXPECT_EQ(unnamed.code, 2);
  EXPECT_THAT(unnamed.out, HasSubstr("does not name \"127.0.0.1\""));
}

}  // namespace
}  // namespace locus
