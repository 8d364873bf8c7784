// SPDX-License-Identifier: Apache-2.0
// locus cluster, and leases and stores by locusd:// URIs, over nodes of this process.
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/engine/locusd/api_cluster.h"
#include "tests/support/lying_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using nlohmann::json;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunLocus;
using testing::RunningCommand;
using testing::Variable;

json Parsed(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

json StatusOf(const std::string& uri) {
  return json::parse(RunLocus({"cluster", "status", uri, "--json"}).out, nullptr, false);
}

std::string IdOf(ApiCluster& cluster, int node) { return absl::StrCat(cluster.id(node)); }

TEST(CliClusterTest, LeaseVerbs_TakeALocusdUri) {
  ApiCluster cluster(3, Clock::System(), {"s3cret"});
  const std::string uri = cluster.uri(3);
  EXPECT_THAT(RunLocus({"lease", "create", uri, "--first-ever"}).err,
              HasSubstr("a token is needed"));
  Variable token("LOCUS_PASSWORD", "s3cret");
  ASSERT_EQ(RunLocus({"lease", "create", uri, "--first-ever"}).exit, 0);
  const json grant = Parsed(RunLocus({"lease", "acquire", uri, "--range", "5-5"}));
  EXPECT_EQ(grant["worker"], 5);
  EXPECT_THAT(RunLocus({"lease", "list", uri}).out, HasSubstr("held"));
  const std::vector<std::string> release = {
      "lease", "release", uri, "--worker", "5", "--token", grant["token"].get<std::string>()};
  EXPECT_THAT(RunLocus(release).err, HasSubstr("nonce"));
  TemporaryDirectory directory;
  const std::string nonce = directory / "nonce";
  std::ofstream(nonce) << grant["nonce"].get<std::string>() << "\n";
  std::vector<std::string> with_nonce = release;
  with_nonce.insert(with_nonce.end(), {"--nonce-file", nonce});
  EXPECT_THAT(RunLocus(with_nonce).err, HasSubstr("permissions"));
  chmod(nonce.c_str(), 0600);
  EXPECT_EQ(RunLocus(with_nonce).exit, 0);
  const Outcome made = RunLocus({"snowflake", "next", "--lease", uri, "--count", "2"});
  EXPECT_EQ(made.exit, 0) << made.err;
  EXPECT_EQ(std::count(made.out.begin(), made.out.end(), '\n'), 2);
  EXPECT_EQ(StatusOf(uri)["nodes"].size(), 3u);
}

// Three nodes, and no database.
TEST(CliClusterTest, StoreVerbs_TakeARaftUri) {
  ApiCluster cluster(3, Clock::System());
  std::string uri = cluster.uri(3);
  uri.replace(0, uri.find(':'), "raft");
  auto run = [](std::vector<std::string> words) {
    const Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 0) << words[0] << " " << words[1] << ": " << outcome.err;
    return outcome.out;
  };
  run({"store", "init", uri});
  EXPECT_THAT(run({"store", "show", uri}), HasSubstr("base"));
  EXPECT_EQ(run({"seq", "next", "--store", uri, "--key", "a"}), "1\n");
  run({"seq", "set", "--store", uri, "--key", "a", "--value", "40"});
  EXPECT_EQ(run({"seq", "next", "--store", uri, "--key", "a"}), "41\n");
  run({"seq", "type", "create", "invoices", "--store", uri, "--pattern", "R{seq:4}"});
  EXPECT_EQ(run({"number", "next", "--store", uri, "--type", "invoices", "--count", "2"}),
            "R0001\nR0002\n");
  const json before = json::parse(run({"store", "show", uri, "--json"}));
  run({"store", "restored", uri});
  const json after = json::parse(run({"store", "show", uri, "--json"}));
  EXPECT_NE(before["base"], after["base"]);
}

TEST(CliClusterTest, Status_HasARowForEachNodeAndSaysWhatIsMissing) {
  ApiCluster cluster(3, Clock::System());
  const std::string uri = cluster.uri(3);
  const int leader = cluster.nodes().WaitForLeader();
  ASSERT_TRUE(Eventually([&] { return RunLocus({"cluster", "status", uri}).exit == 0; }));
  json status = StatusOf(uri);
  EXPECT_EQ(status["healthy"], true);
  EXPECT_EQ(status["leader"], IdOf(cluster, leader));
  for (const json& node : status["nodes"]) {
    EXPECT_EQ(node["answers"], true);
    EXPECT_EQ(node["member"], "voter");
    EXPECT_TRUE(node["lag"].is_number()) << node;
  }
  auto says = [&](std::string_view what) {
    return Eventually([&] {
      return RunLocus({"cluster", "status", uri}).out.find(what) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("members 3 voters; 1 voter may fail"));
  Outcome text = RunLocus({"cluster", "status", uri});
  EXPECT_THAT(text.out, HasSubstr("follower"));
  const int killed = (leader + 1) % 3;
  const std::string killed_id = IdOf(cluster, killed);
  cluster.Kill(killed);
  text = RunLocus({"cluster", "status", uri});
  EXPECT_EQ(text.exit, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("no answer"));
  EXPECT_THAT(text.out, HasSubstr(killed_id)) << "the leader knows who it is";
  EXPECT_TRUE(says("members 3 voters, 1 of them silent; no further voter may fail"));
  cluster.Kill((leader + 2) % 3);
  ASSERT_TRUE(Eventually([&] {
    const Outcome outcome = RunLocus({"cluster", "status", uri});
    return outcome.exit == 1 && outcome.err.find("no leader: 1 of 3 nodes") != outcome.err.npos;
  }));
  EXPECT_EQ(StatusOf(uri)["healthy"], false);
  EXPECT_EQ(RunLocus({"cluster", "status", "locusd://127.0.0.1:1"}).exit, 1);
}

TEST(CliClusterTest, Status_ShowsAMemberWhoseAddressAnotherNodeHas) {
  ApiCluster cluster(3, Clock::System());
  const int leader = cluster.nodes().WaitForLeader();
  const int blank = cluster.AddBlank();
  raft::MemberChange lost;
  lost.kind = raft::MemberChange::Kind::kAddLearner;
  lost.id = 77;
  lost.address = absl::StrCat("127.0.0.1:1 ", cluster.endpoint(blank));
  cluster.nodes().node(leader)->ChangeMembers(lost, [](const absl::Status&) {});
  json found;
  ASSERT_TRUE(Eventually([&] {
    const json status = StatusOf(cluster.uri(4));
    for (const json& node : status["nodes"]) {
      if (node["id"] == "77") found = node;
    }
    return found.is_object();
  }));
  EXPECT_EQ(found["answers"], false);
  EXPECT_EQ(found["member"], "learner");
  EXPECT_THAT(found["error"].get<std::string>(), HasSubstr("answers at its address"));
}

TEST(CliClusterTest, AddRemoveAndTransfer_ChangeTheMembers) {
  ApiCluster cluster(1, Clock::System());
  ASSERT_EQ(RunLocus({"lease", "create", cluster.uri(1), "--first-ever"}).exit, 0);
  const std::string uri = cluster.uri(1);
  const int second = cluster.AddBlank(), third = cluster.AddBlank();
  const Outcome learner = RunLocus({"cluster", "add", uri, cluster.endpoint(second), "--learner"});
  EXPECT_EQ(learner.exit, 0) << learner.err;
  EXPECT_THAT(learner.out, HasSubstr("is a learner"));
  for (int round = 0; round < 2; ++round) {  // the second one finds it done
    const Outcome voter = RunLocus({"cluster", "add", uri, cluster.endpoint(second)});
    EXPECT_EQ(voter.exit, 0) << voter.err;
    EXPECT_EQ(voter.out, absl::StrCat("node ", cluster.id(second), " at ", cluster.endpoint(second),
                                      " votes\n"));
  }
  const json added = Parsed(RunLocus({"cluster", "add", uri, cluster.endpoint(third), "--json"}));
  EXPECT_EQ(added["id"], IdOf(cluster, third));
  EXPECT_EQ(added["voter"], true);
  json leads = Parsed(RunLocus({"cluster", "transfer", uri, IdOf(cluster, third), "--json"}));
  EXPECT_EQ(leads["id"], IdOf(cluster, third));
  const Outcome removed = RunLocus({"cluster", "remove", uri, IdOf(cluster, third)});
  EXPECT_EQ(removed.exit, 0) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("members 2 voters; no voter may fail"));
  EXPECT_THAT(RunLocus({"cluster", "remove", uri, IdOf(cluster, third)}).err,
              HasSubstr("is no member; the members are"));
  EXPECT_THAT(RunLocus({"cluster", "add", uri, cluster.endpoint(third)}).err,
              HasSubstr("It was a member once: stop it, empty its data directory"));
  ASSERT_EQ(RunLocus({"cluster", "remove", uri, IdOf(cluster, second)}).exit, 0);
  const Outcome last = RunLocus({"cluster", "remove", uri, IdOf(cluster, 0), "--force"});
  EXPECT_EQ(last.exit, 1);
  EXPECT_THAT(last.err, HasSubstr("is the last voter"));
}

TEST(CliClusterTest, Time_IsShownAndAdvancedOnlyWhereItIsBehind) {
  ApiCluster cluster(1, Clock::System());
  const std::string uri = cluster.uri(1);
  ASSERT_EQ(RunLocus({"lease", "create", uri, "--first-ever"}).exit, 0);
  const json time = Parsed(RunLocus({"cluster", "time", uri, "--json"}));
  EXPECT_LT(std::abs(time["time_ms"].get<int64_t>() - absl::ToUnixMillis(absl::Now())), 60'000);
  EXPECT_EQ(time["ending"], 0);
  EXPECT_EQ(time["advanced"], false);
  EXPECT_THAT(RunLocus({"cluster", "time", uri}).out, HasSubstr("the clocks\n"));
  const json left = Parsed(RunLocus({"cluster", "time", uri, "--advance", "--yes", "--json"}));
  EXPECT_EQ(left["advanced"], false) << "it is not behind";
}

TEST(CliClusterTest, LeaseDelete_DeletesASpaceThatNobodyNeeds) {
  ApiCluster cluster(1, Clock::System());
  const std::string uri = cluster.uri(1);
  for (const char* space : {"old", "new"}) {
    ASSERT_EQ(RunLocus({"lease", "create", uri, "--space", space, "--first-ever"}).exit, 0);
  }
  ASSERT_EQ(RunLocus({"lease", "acquire", uri, "--space", "new"}).exit, 0);
  const Outcome held = RunLocus({"lease", "delete", uri, "--space", "new"});
  EXPECT_EQ(held.exit, 1);
  EXPECT_THAT(held.err, HasSubstr("is held"));
  const Outcome deleted = RunLocus({"lease", "delete", uri, "--space", "old"});
  EXPECT_EQ(deleted.exit, 0) << deleted.err;
  EXPECT_THAT(RunLocus({"lease", "list", uri, "--space", "old"}).err, HasSubstr("no space old"));
  EXPECT_EQ(RunLocus({"lease", "delete", uri, "--space", "old"}).exit, 1);
}

TEST(CliClusterTest, AddThatIsInterrupted_SaysThatItLeavesALearner) {
  ApiCluster cluster(1, Clock::System());
  // It tells who it is; where the others would reach it, nobody listens.
  std::string body;
  LyingServer node([&body](LyingPeer& peer) {
    while (!peer.Receive().empty()) {
      peer.Send(absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
    }
  });
  const std::string api = absl::StrCat("127.0.0.1:", node.port());
  body = json{{"id", "77"},
              {"cluster", "leases"},
              {"version", "0.1.0"},
              {"raft", "127.0.0.1:1"},
              {"api", api},
              {"role", "follower"},
              {"leads_for_sure", false},
              {"term", 0},
              {"leader", nullptr},
              {"removed", false},
              {"commit", 0},
              {"applied", 0},
              {"last", 0},
              {"workers", 0},
              {"held", 0},
              {"clock_off_ms", 0},
              {"failure", ""},
              {"members", json::array()}}
             .dump();
  RunningCommand add({"cluster", "add", cluster.uri(1), api});
  ASSERT_TRUE(Eventually([&] { return StatusOf(cluster.uri(1))["nodes"].size() == 2; }));
  add.Signal(SIGINT);
  const Outcome outcome = add.Finish();
  EXPECT_EQ(outcome.exit, 130);
  EXPECT_THAT(outcome.err, HasSubstr("node 77 is a learner. The same command goes on from there"));
  EXPECT_THAT(outcome.err, HasSubstr("the leader has not heard it yet"));
  const Outcome late = RunLocus({"cluster", "add", cluster.uri(1), api, "--timeout", "3s"});
  EXPECT_EQ(late.exit, 1);
  EXPECT_THAT(late.err, HasSubstr("node 77 does not have the log after 3s; it is a learner"));
  EXPECT_EQ(RunLocus({"cluster", "remove", cluster.uri(1), "77"}).exit, 0);
}

TEST(CliClusterTest, WrongUsage_NamesWhatIsWrong) {
  const std::string uri = "locusd://127.0.0.1:1";
  for (const auto& [words, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"cluster", "status", "etcd://127.0.0.1:1"}, "is no cluster of locusd"},
           {{"cluster", "status", "locusd://a@127.0.0.1:1"}, "its password is a token"},
           {{"cluster", "add", uri}, "HOST:PORT"},
           {{"cluster", "add", uri, "here"}, "not host:port"},
           {{"cluster", "remove", uri, "x"}, "a node's ID"},
           {{"cluster", "transfer", uri, "0"}, "a node's ID"}}) {
    const Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(says));
  }
  Variable token("LOCUS_PASSWORD", "s3cret");
  const Outcome outcome = RunLocus({"cluster", "status", "locusd://10.1.2.3"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("in plain text: enable TLS"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace locus
