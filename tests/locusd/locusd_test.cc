// SPDX-License-Identifier: Apache-2.0
// The daemon: its processes, signals, files and refusals.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/leased_snowflake.h"
#include "nlohmann/json.hpp"
#include "src/http/endpoint.h"
#include "src/raft/core/codec.h"
#include "src/raft/log/log_store.h"
#include "src/raft/tcp/frame.h"
#include "tests/locusd/locusd_cluster.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "0123456789abcdef0123";

struct Ended {
  int code = -1;
  std::string out;  // stdout and stderr
};
// Runs it to its end.
Ended RunLocusd(const std::string& words) {
  Ended ended;
  FILE* pipe = popen(absl::StrCat(LOCUSD_BINARY, " ", words, " 2>&1").c_str(), "r");
  char buffer[4096];
  while (size_t n = fread(buffer, 1, sizeof buffer, pipe)) ended.out.append(buffer, n);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ended;
}

void WriteToken(const std::string& path, const std::string& token) {
  std::ofstream(path) << token << "\n";
  chmod(path.c_str(), 0600);
}

WorkerAcquire AnyWorker() {
  WorkerAcquire request;
  request.range = {0, 1023};
  request.nonce = "0123456789abcdef";
  request.caller_now = absl::Now();
  return request;
}

TEST(LocusdTest, LeasesOutliveTheLeader) {
  LocusdCluster cluster(3);
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  std::shared_ptr<LocusdWorkerLeaseStore> store = cluster.Connect();
  ASSERT_TRUE(store->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  WorkerLeaseOptions options;
  options.ttl = absl::Seconds(30);
  auto lease = WorkerLease::Acquire(store, options);
  ASSERT_TRUE(lease.ok()) << lease.status();
  cluster.node(leader).process().KillHard();
  // Another one takes over with all that was acknowledged.
  auto view = store->Show(SpaceName());
  ASSERT_TRUE(view.ok()) << view.status();
  ASSERT_EQ(view->workers.size(), 1u);
  EXPECT_EQ(view->workers[0].token, (*lease)->token());
  EXPECT_TRUE((*lease)->Release().ok());
  // The dead one comes back as what it was.
  ASSERT_TRUE(cluster.node(leader).Start());
  EXPECT_TRUE(WaitUntil([&] { return cluster.WaitForLeader() >= 0; }));
  EXPECT_TRUE(WaitUntil([&] { return cluster.node(leader).Members() == 3; }));
}

TEST(LocusdTest, Sigterm_HandsTheLeadershipOver) {
  LocusdCluster cluster(3);
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  kill(cluster.node(leader).process().pid(), SIGTERM);
  EXPECT_EQ(cluster.node(leader).WaitForEnd(), 0);
  EXPECT_THAT(cluster.node(leader).LogText(), HasSubstr("info leadership handed over"));
  EXPECT_NE(cluster.WaitForLeader(), leader);
}

TEST(LocusdTest, RemovedNode_EndsAndSaysSo) {
  LocusdCluster cluster(3);
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  LocusdNode& removed = cluster.node((leader + 1) % 3);
  ASSERT_TRUE(cluster.node(leader).Ask("DELETE", absl::StrCat("/v1/members/", removed.Id()), 204));
  EXPECT_EQ(removed.WaitForEnd(), 3);
  EXPECT_THAT(removed.LogText(), HasSubstr("error this node was removed from the cluster"));
  EXPECT_TRUE(WaitUntil([&] { return cluster.node(leader).Members() == 2; }));
  removed.Start();  // somebody tries again
  EXPECT_EQ(removed.WaitForEnd(), 3);
}

TEST(LocusdTest, LostDisk_ComesBackAsAnotherNode) {
  LocusdCluster cluster(1);
  LocusdNode& node = cluster.StartAnother();
  const std::string before = node.Id();
  node.process().KillHard();
  ASSERT_EQ(std::system(absl::StrCat("rm -r ", node.data()).c_str()), 0);
  ASSERT_TRUE(node.Start());
  EXPECT_NE(node.Id(), before);
  EXPECT_EQ(node.Members(), 0u);  // it waits
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(node.LogText(), "waits to be added"); }));
  EXPECT_TRUE(cluster.Add(node));
  EXPECT_TRUE(WaitUntil([&] { return node.Members() == 2; }));
}

TEST(LocusdTest, FileLostBesideItsLog_IsRefused) {
  LocusdCluster cluster(1);
  LocusdNode& node = cluster.node(0);
  node.process().KillHard();
  ASSERT_EQ(truncate(absl::StrCat(node.data(), "/node.db").c_str(), 0), 0);
  for (const char* begin : {"", " --begin"}) {
    const Ended ended = RunLocusd(absl::StrCat("--config ", node.config(), begin));
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_THAT(ended.out, HasSubstr("remove both only if"));
  }
}

// As after a step back to an older version.
TEST(LocusdTest, CommittedCommandOfANewerVersion_EndsTheNodeWithTwo) {
  LocusdCluster cluster(1);
  LocusdNode& node = cluster.node(0);
  node.process().Stop();
  {
    auto store = raft::LogStore::Open(node.data() + "/node.db", "leases").value();
    const raft::Remembered stored = store->Load()->remembered;
    raft::Write newer;
    newer.from = stored.entries.size() + 1;
    newer.entries = {{stored.vote.term, raft::Entry::Kind::kCommand, "\xFFnewer", {}}};
    ASSERT_TRUE(store->Apply({&newer, 1}).ok());
  }
  const Ended ended = RunLocusd(absl::StrCat("--config ", node.config()));
  EXPECT_EQ(ended.code, 2) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("if a newer version wrote it"));
}

// While its leader leads on. Every follower of a new leader is believed at first.
TEST(LocusdTest, OlderDataPutBack_IsNoticedAndShown) {
  LocusdCluster cluster(3);
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  LocusdNode& leads = cluster.node(leader);
  LocusdNode& node = cluster.node((leader + 1) % 3);
  const std::string id = node.Id();
  node.process().Stop();
  const std::string copy = node.data() + ".copy";
  ASSERT_EQ(std::system(absl::StrCat("cp -r ", node.data(), " ", copy).c_str()), 0);
  ASSERT_TRUE(node.Start());
  std::shared_ptr<LocusdWorkerLeaseStore> store = cluster.Connect();
  ASSERT_TRUE(store->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  auto told = [&](LocusdNode& by) {
    return absl::StrContains(by.Ask("GET", "/metrics", 200).value_or(""),
                             "\nlocusd_members_forgot 1\n");
  };
  auto applied = [](LocusdNode& of) {
    const auto status = of.Ask("GET", "/v1/status", 200);
    return status ? nlohmann::json::parse(*status)["applied"].get<uint64_t>() : 0;
  };
  EXPECT_TRUE(WaitUntil([&] { return applied(node) == applied(leads); }));
  EXPECT_FALSE(told(leads));
  node.process().Stop();
  ASSERT_EQ(
      std::system(absl::StrCat("rm -r ", node.data(), " && mv ", copy, " ", node.data()).c_str()),
      0);
  ASSERT_TRUE(node.Start());
  ASSERT_TRUE(leads.Leads());
  EXPECT_TRUE(WaitUntil([&] { return told(leads) && told(node); }));
  for (const nlohmann::json& member :
       nlohmann::json::parse(leads.Ask("GET", "/v1/members", 200).value_or("[]"))) {
    EXPECT_EQ(member["forgot"].get<bool>(), member["id"] == id) << member;
  }
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StrContains(leads.LogText(), "error a member has forgotten") &&
           absl::StrContains(node.LogText(), "error a member has forgotten");
  }));
}

TEST(LocusdTest, DataRemovedOrReplacedUnderIt_EndsTheNode) {
  for (const char* command : {"rm -r DATA", "cd DATA && cp node.db x && mv x node.db"}) {
    LocusdCluster cluster(1);
    LocusdNode& node = cluster.node(0);
    const std::string shell = absl::StrReplaceAll(command, {{"DATA", node.data()}});
    ASSERT_EQ(std::system(shell.c_str()), 0);
    EXPECT_EQ(node.WaitForEnd(), 1) << command;
    EXPECT_THAT(node.LogText(), HasSubstr("while its node worked"));
  }
}

TEST(LocusdTest, BeginTwice_IsRefusedAndChangesNothing) {
  LocusdCluster cluster(1);
  ASSERT_EQ(cluster.WaitForLeader(), 0);
  const std::string id = cluster.node(0).Id();
  cluster.node(0).process().Stop();
  const Ended again = RunLocusd(absl::StrCat("--config ", cluster.node(0).config(), " --begin"));
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.out, HasSubstr("has begun or joined a cluster before"));
  ASSERT_TRUE(cluster.node(0).Start());
  EXPECT_EQ(cluster.node(0).Id(), id);
  EXPECT_EQ(cluster.WaitForLeader(), 0);
}

TEST(LocusdTest, DataOfAnotherCluster_IsRefused) {
  LocusdCluster cluster(1);
  LocusdNode& node = cluster.node(0);
  node.process().Stop();
  ASSERT_EQ(std::system(absl::StrCat("sed -i s/leases/others/ ", node.config()).c_str()), 0);
  const Ended ended = RunLocusd(absl::StrCat("--config ", node.config()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.out, HasSubstr("leases"));
  EXPECT_THAT(ended.out, HasSubstr("others"));
}

TEST(LocusdTest, Check_SaysWhetherTheFileIsRight) {
  const TemporaryDirectory directory;
  const LocusdNode node(directory, "node");
  Ended ended = RunLocusd(absl::StrCat("--check --config ", node.config()));
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, node.config() + ": ok\n");
  std::ofstream(node.config(), std::ios::app) << "token_files = [\"" << (directory / "no") << "\"]";
  ended = RunLocusd(absl::StrCat("--check --config ", node.config()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.out, HasSubstr(directory / "no"));
  const LocusdNode tls(
      directory, "tls",
      {.more_raft = "authority = \"/no/ca\"\ncertificate = \"/no/c\"\nkey = \"/no/k\"\n"});
  ended = RunLocusd(absl::StrCat("--check --config ", tls.config()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.out, HasSubstr("/no/"));
  const LocusdNode audit(
      directory, "audit",
      {.more = "[audit]\nclickhouse = \"127.0.0.1:8123\"\npassword_file = \"/no/password\"\n"});
  ended = RunLocusd(absl::StrCat("--check --config ", audit.config()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.out, HasSubstr("/no/password"));
  EXPECT_EQ(RunLocusd("--check").code, 2);
  EXPECT_EQ(RunLocusd("--config").code, 2);
  EXPECT_EQ(RunLocusd("--config a --chek").code, 2);
  EXPECT_EQ(RunLocusd("--version").code, 0);
  struct stat about;
  EXPECT_NE(stat(node.data().c_str(), &about), 0);  // nothing was made
}

TEST(LocusdTest, DataThatEverybodyMayWrite_IsRefusedAndLeftAsItIs) {
  const TemporaryDirectory directory;
  const LocusdNode node(directory, "node");
  ASSERT_EQ(mkdir(node.data().c_str(), 0700), 0);
  ASSERT_EQ(chmod(node.data().c_str(), 0777), 0);
  for (const char* const arguments : {"", " --check", " --begin", " --begin-only"}) {
    const Ended ended = RunLocusd(absl::StrCat("--config ", node.config(), arguments));
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.out,
                HasSubstr("has mode 0777, so that every user of this machine may write it; "
                          "chmod o-w " +
                          node.data()));
  }
  struct stat about = {};
  ASSERT_EQ(stat(node.data().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0777u);
  // A group may, as where a volume is its group's.
  ASSERT_EQ(chmod(node.data().c_str(), 02770), 0);
  const Ended ended = RunLocusd(absl::StrCat("--check --config ", node.config()));
  EXPECT_EQ(ended.code, 0) << ended.out;
}

TEST(LocusdTest, PortThatIsTaken_IsNamed) {
  LocusdCluster cluster(1);
  const TemporaryDirectory directory;
  const LocusdNode other(directory, "other");
  ASSERT_EQ(std::system(absl::StrCat("sed -i s/", other.api(), "/", cluster.node(0).api(), "/ ",
                                     other.config())
                            .c_str()),
            0);
  const Ended ended = RunLocusd(absl::StrCat("--config ", other.config()));
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr(cluster.node(0).api()));
}

TEST(LocusdTest, Sighup_TakesOverTokensAndLevel) {
  const TemporaryDirectory directory;
  const std::string path = directory / "token";
  WriteToken(path, kToken);
  LocusdWish wish;
  wish.more_api = absl::StrCat("token_files = [\"", path, "\"]\n");
  wish.more = "[log]\nlevel = \"error\"\n";
  wish.token = kToken;
  LocusdCluster cluster(1, wish);
  LocusdNode& node = cluster.node(0);
  EXPECT_EQ(node.StatusOf("GET", "/v1/status", "", "not-the-token-of-it"), 401u);
  EXPECT_EQ(node.StatusOf("GET", "/v1/status"), 200u);
  EXPECT_THAT(node.LogText(), Not(HasSubstr(" info ")));

  constexpr char kOther[] = "another-token-of-20b";
  WriteToken(path, kOther);
  const std::string of_operators = directory / "operators";
  WriteToken(of_operators, "a-token-of-operators");
  ASSERT_EQ(std::system(absl::StrCat("sed -i -e s/error/debug/ -e 's|^token_files.*|&\\noperator_",
                                     "token_files = [\"", of_operators, "\"]|' ", node.config())
                            .c_str()),
            0);
  kill(node.process().pid(), SIGHUP);
  EXPECT_TRUE(WaitUntil([&] { return node.StatusOf("GET", "/v1/status", "", kOther) == 200; }));
  EXPECT_EQ(node.StatusOf("DELETE", "/v1/members/7", "", kOther), 403u);
  EXPECT_EQ(node.StatusOf("GET", "/v1/status"), 401u);
  EXPECT_TRUE(
      WaitUntil([&] { return node.LogText().find("info file read again") != std::string::npos; }));

  // A file that is wrong changes nothing.
  WriteToken(path, "short");
  kill(node.process().pid(), SIGHUP);
  EXPECT_TRUE(WaitUntil(
      [&] { return node.LogText().find("error file not taken over") != std::string::npos; }));
  EXPECT_EQ(node.StatusOf("GET", "/v1/status", "", kOther), 200u);
  EXPECT_THAT(node.LogText(), Not(HasSubstr(kOther)));
}

// A file that is right for another address is not for this one.
TEST(LocusdTest, Sighup_NeverOpensAnApiBeyondLoopback) {
  const TemporaryDirectory directory;
  const Authority authority(directory, "authority");
  const std::string certificate = authority.Sign("certificate", "IP:127.0.0.1");
  chmod((certificate + ".key").c_str(), 0600);
  const std::string path = directory / "token";
  WriteToken(path, kToken);
  LocusdNode node(directory, "node");
  const std::string before = [&] {
    std::ifstream in(node.config());
    return std::string{std::istreambuf_iterator<char>(in), {}};
  }();
  std::string beyond = before;
  const size_t at = beyond.find(node.api());
  beyond.replace(at, 9, "0.0.0.0");
  beyond +=
      absl::StrCat("advertise = \"", node.api(), "\"\ntoken_files = [\"", path,
                   "\"]\ncertificate = \"", certificate, "\"\nkey = \"", certificate, ".key\"\n");
  std::ofstream(node.config()) << beyond;
  PrivateServer process({LOCUSD_BINARY, "--config", node.config()}, node.log());
  ASSERT_TRUE(
      process.Start([&] { return node.LogText().find("waits to be added") != std::string::npos; }));
  std::ofstream(node.config()) << before;
  kill(process.pid(), SIGHUP);
  EXPECT_TRUE(WaitUntil(
      [&] { return node.LogText().find("error file not taken over") != std::string::npos; }));
  EXPECT_THAT(node.LogText(), HasSubstr("beyond loopback"));
}

TEST(LocusdTest, Metrics_TellOfTheAuditToo) {
  LocusdWish wish;
  wish.more = absl::StrCat("[audit]\nclickhouse = \"127.0.0.1:", FreePort(), "\"\n");
  LocusdCluster cluster(1, wish);
  ASSERT_EQ(cluster.WaitForLeader(), 0);
  const std::optional<std::string> metrics = cluster.node(0).Ask("GET", "/metrics", 200);
  ASSERT_TRUE(metrics);
  EXPECT_THAT(*metrics, HasSubstr("locusd_leads 1"));
  EXPECT_THAT(*metrics, HasSubstr("locus_audit_recorded_total"));
  EXPECT_TRUE(WaitUntil([&] {
    return cluster.node(0).LogText().find(
               "warn audit is not written why=\"clickhouse 127.0.0.1:") != std::string::npos;
  }));
}

// What the process says to a supervisor such as systemd.
TEST(LocusdTest, MessagesThatCannotBeTrue_AreCountedAndLoggedOnce) {
  LocusdCluster cluster(1);
  LocusdNode& node = cluster.node(0);
  raft::Hello hello;
  hello.from = 99;
  ASSERT_TRUE(absl::SimpleAtoi(node.Id(), &hello.to));
  hello.cluster = "leases";
  hello.address = "127.0.0.1:1";
  std::string bytes = raft::Framed(raft::Encode(hello));
  // Nobody asked node 99 for an answer.
  for (int i = 0; i < 5; ++i) {
    bytes += raft::Framed(raft::Encode(raft::Message(raft::AppendReply{1, true, 1, 0, 0})));
  }
  const int call = ConnectToLoopback(http::Endpoint::Parse(node.raft())->port);
  ASSERT_EQ(send(call, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StrContains(node.Ask("GET", "/metrics", 200).value_or(""),
                             "\nlocusd_refused_messages_total 5\n");
  }));
  close(call);
  node.process().Stop();
  const std::vector<std::string> parts =
      absl::StrSplit(node.LogText(), "warn messages that cannot be true were dropped");
  EXPECT_EQ(parts.size(), 2u) << node.LogText();
}

TEST(LocusdTest, Supervisor_IsToldOfEachState) {
  const TemporaryDirectory directory;
  const std::string path = directory / "notify";
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const timeval patience = {30, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  auto next = [fd] {
    char buffer[256];
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    return std::string(buffer, n > 0 ? static_cast<size_t>(n) : 0);
  };
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  setenv("WATCHDOG_USEC", "300000", 1);
  LocusdCluster cluster(1);
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(next(), "READY=1");
  EXPECT_EQ(next(), "WATCHDOG=1");
  kill(cluster.node(0).process().pid(), SIGHUP);
  std::string said;
  while ((said = next()) == "WATCHDOG=1") {
  }
  EXPECT_EQ(said, "RELOADING=1");
  EXPECT_EQ(next(), "READY=1");
  kill(cluster.node(0).process().pid(), SIGTERM);
  while ((said = next()) == "WATCHDOG=1") {
  }
  EXPECT_EQ(said, "STOPPING=1");
  EXPECT_EQ(cluster.node(0).WaitForEnd(), 0);
  close(fd);
}

TEST(LocusdTest, FileThatMayNotGrow_EndsTheNodeAndNothingAcknowledgedIsLost) {
  LocusdCluster cluster(1);
  LocusdNode& node = cluster.node(0);
  ASSERT_EQ(cluster.WaitForLeader(), 0);
  ASSERT_TRUE(cluster.Connect()->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  auto store = cluster.Connect(absl::Seconds(1));
  const rlimit limit = {200'000, RLIM_INFINITY};
  ASSERT_EQ(prlimit(node.process().pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  size_t granted = 0;
  for (int i = 0; i < 1000; ++i) {
    WorkerAcquire request = AnyWorker();
    request.nonce = absl::StrCat("nonce-", i);
    request.holder = absl::StrCat(R"({"pad":")", std::string(900, 'x'), R"("})");
    auto grant = store->Acquire(SpaceName(), request);
    if (grant.ok()) {
      ++granted;
    } else if (!Listens(http::Endpoint::Parse(node.api())->port)) {
      break;  // and not only slow
    }
  }
  EXPECT_LT(granted, 1000u);
  EXPECT_EQ(node.WaitForEnd(), 1);
  EXPECT_THAT(node.LogText(), HasSubstr("error node failed"));
  ASSERT_TRUE(node.Start());
  EXPECT_EQ(cluster.WaitForLeader(), 0);
  auto again = cluster.Connect();
  auto view = again->Show(SpaceName());
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_GE(view->workers.size(), granted);
}

TEST(LocusdTest, TlsOnBothSides_ServesLeases) {
  const TemporaryDirectory directory;
  const Authority authority(directory, "authority");
  const std::string certificate = authority.Sign("node", "IP:127.0.0.1");
  LocusdWish wish;
  wish.more_raft = absl::StrCat("authority = \"", authority.file(), "\"\ncertificate = \"",
                                certificate, "\"\nkey = \"", certificate, ".key\"\n");
  chmod((certificate + ".key").c_str(), 0600);
  LocusdCluster cluster(3, wish);
  ASSERT_GE(cluster.WaitForLeader(), 0);
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  EXPECT_TRUE(store->Acquire(SpaceName(), AnyWorker()).ok());
  // A node without a certificate of the authority gets no word with them.
  const TemporaryDirectory elsewhere;
  LocusdNode stranger(elsewhere, "stranger");
  ASSERT_TRUE(stranger.Start());
  ASSERT_TRUE(cluster.Add(stranger, /*promote=*/false));
  EXPECT_FALSE(WaitUntil([&] { return stranger.Members() > 0; }, absl::Seconds(1)));
  LocusdNode& leader = cluster.node(cluster.WaitForLeader());
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StrContains(leader.LogText(),
                             absl::StrCat("address=", stranger.raft(), " why=\"TLS"));
  })) << leader.LogText();
}

}  // namespace
}  // namespace locus
