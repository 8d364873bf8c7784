// SPDX-License-Identifier: Apache-2.0
// The connection against servers that are not there, hang, lie or break off.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/etcd/etcd_fixture.h"

namespace locus {
namespace {

// Answers each request on 127.0.0.1 by what `answer` makes of it; "": breaks off; "hang": says
// nothing until the end of the test.
class FakeMember {
 public:
  using AnswerTo = std::function<std::string(const std::string& request)>;

  explicit FakeMember(AnswerTo answer) : answer_(std::move(answer)) {
    LoopbackListener listener = ListenOnLoopback();
    listener_ = listener.fd;
    port_ = listener.port;
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeMember() {
    stop_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (std::thread& client : clients_) client.join();
    close(listener_);
  }
  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }
  int requests() const { return requests_; }

  static std::string Ok(const std::string& body) {
    return absl::StrCat("HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 14:41:31 GMT\r\n",
                        "Content-Length: ", body.size(), "\r\n\r\n", body);
  }
  static std::string Greeting() {
    return Ok(R"({"header":{"cluster_id":"1","member_id":"2","revision":"3"},"version":"3.4.23",)"
              R"("leader":"2","raftIndex":"9","raftAppliedIndex":"9"})");
  }

 private:
  void Serve() {
    while (!stop_) {
      int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      timeval soon{0, 20'000};
      setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
      clients_.emplace_back([this, client] {
        Talk(client);
        close(client);
      });
    }
  }
  void Talk(int client) {
    std::string request;
    char buffer[65536];
    while (!stop_) {
      ssize_t got = recv(client, buffer, sizeof buffer, 0);
      if (got == 0) return;
      if (got < 0) continue;
      request.append(buffer, static_cast<size_t>(got));
      if (!absl::EndsWith(request, "}")) continue;
      ++requests_;
      std::string answer = answer_(request);
      request.clear();
      if (answer.empty()) return;
      if (answer == "hang") continue;
      send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  const AnswerTo answer_;
  int listener_;
  uint16_t port_;
  std::atomic<bool> stop_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
  std::vector<std::thread> clients_;
};

// Greets as a member does, and leaves the rest to `answer`.
FakeMember::AnswerTo GreetsThen(std::string answer) {
  return [answer](const std::string& request) {
    return absl::StrContains(request, "/maintenance/status") ? FakeMember::Greeting() : answer;
  };
}

// For what is to be answered, however slow this machine is.
EtcdOptions Patient(std::vector<std::string> endpoints) {
  EtcdOptions options;
  options.endpoints = std::move(endpoints);
  options.request_timeout = absl::Seconds(20);
  options.call_timeout = absl::Seconds(60);
  return options;
}
// Where one member hangs, and another must still be in time.
EtcdOptions PatientCall(std::vector<std::string> endpoints) {
  EtcdOptions options = Patient(std::move(endpoints));
  options.request_timeout = absl::Seconds(2);
  return options;
}
// For what is not answered.
EtcdOptions Impatient(std::vector<std::string> endpoints) {
  EtcdOptions options = Patient(std::move(endpoints));
  options.request_timeout = absl::Milliseconds(200);
  options.call_timeout = absl::Milliseconds(700);
  return options;
}

absl::StatusOr<etcd::TxnAnswer> Put(etcd::Connection& connection) {
  etcd::Txn txn;
  return connection.Commit(txn.Put("key", "value"), connection.Deadline());
}
absl::StatusOr<etcd::TxnAnswer> Get(etcd::Connection& connection) {
  etcd::Txn txn;
  return connection.Commit(txn.Get("key"), connection.Deadline());
}

TEST(EtcdConnectionTest, NoServer_IsUnavailableAtOnceAndNamed) {
  std::string endpoint = absl::StrCat("127.0.0.1:", FreePort());
  auto connection = RawConnection(Patient({endpoint}));
  absl::Time begin = absl::Now();
  absl::Status status = Get(*connection).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), endpoint)) << status;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

TEST(EtcdConnectionTest, NameThatDoesNotResolve_IsUnavailableInTime) {
  auto connection = RawConnection(Impatient({"no-such-host.invalid:2379"}));
  absl::Time begin = absl::Now();
  absl::Status status = Get(*connection).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "no-such-host.invalid")) << status;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
}

TEST(EtcdConnectionTest, DeadEndpoints_ArePassedOverAndTheLivingKept) {
  EtcdOptions options = SharedEtcd().options();
  options.endpoints.insert(options.endpoints.begin(), absl::StrCat("127.0.0.1:", FreePort()));
  auto connection = RawConnection(options);
  EXPECT_TRUE(Put(*connection).ok()) << "nothing was sent to the dead one";
  EXPECT_EQ(connection->Stats().failures, 1u);
  EXPECT_TRUE(Put(*connection).ok());
  EXPECT_EQ(connection->Stats().failures, 1u) << "the living one is kept";
}

TEST(EtcdConnectionTest, MemberThatHangsAtOnce_IsPassedOverInTime) {
  FakeMember hangs([](const std::string&) { return "hang"; });
  auto connection = RawConnection(PatientCall({hangs.endpoint(), SharedEtcd().endpoint(0)}));
  auto answer = Put(*connection);
  EXPECT_TRUE(answer.ok()) << "a greeting is no write: " << answer.status();
  auto alone = RawConnection(PatientCall({hangs.endpoint()}));
  absl::Time begin = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(Put(*alone).status()));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(40)) << "the time of one request";
}

TEST(EtcdConnectionTest, WriteThatMayHaveBeenServed_IsNotRepeated) {
  for (const char* end : {"hang", "", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"}) {
    FakeMember breaks(GreetsThen(end));
    FakeMember other(GreetsThen(FakeMember::Ok(
        R"({"header":{"cluster_id":"1","member_id":"2","revision":"3"},"succeeded":true})")));
    auto connection = RawConnection(PatientCall({breaks.endpoint(), other.endpoint()}));
    absl::Status status = Put(*connection).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), breaks.endpoint())) << status;
    EXPECT_EQ(other.requests(), 0);
    EXPECT_TRUE(Put(*connection).ok()) << "the next call goes to the other";
    auto reader = RawConnection(PatientCall({breaks.endpoint(), other.endpoint()}));
    EXPECT_TRUE(Get(*reader).ok()) << "a read is repeated";
  }
}

TEST(EtcdConnectionTest, RefusalWithoutLeader_IsRepeatedElsewhere) {
  FakeMember lost(GreetsThen(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 78\r\n\r\n"
      R"({"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14 })"));
  auto connection = RawConnection(Patient({lost.endpoint(), SharedEtcd().endpoint(0)}));
  EXPECT_TRUE(Put(*connection).ok()) << Put(*connection).status();
}

TEST(EtcdConnectionTest, RoundThatTheDeadlineCutsOff_HidesNoEarlierReason) {
  std::atomic<int> asked = 0;
  FakeMember lost([&](const std::string&) -> std::string {
    if (asked++ > 0) return "hang";
    return "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 78\r\n\r\n"
           R"({"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14 })";
  });
  EtcdOptions options = Patient({lost.endpoint()});
  options.call_timeout = absl::Seconds(1);
  auto connection = RawConnection(options);
  const absl::Status said = Get(*connection).status();
  EXPECT_TRUE(absl::StrContains(said.message(), "no leader")) << said;
  EXPECT_GT(asked, 1);
}

TEST(EtcdConnectionTest, OneMemberIsDownAndAnotherHasNoLeader_TheLatterIsReported) {
  const std::string refusal =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 78\r\n\r\n"
      R"({"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14 })";
  // From the first request on, as etcd does; or once it is asked for something; or for a token.
  FakeMember mute([&](const std::string&) { return refusal; });
  FakeMember greets(GreetsThen(refusal));
  const std::string down = absl::StrCat("127.0.0.1:", FreePort());
  for (const std::string& lost : {mute.endpoint(), greets.endpoint()}) {
    for (const auto& endpoints : {std::vector{lost, down}, {down, lost}}) {
      for (const char* const user : {"", "someone"}) {
        EtcdOptions options = Patient(endpoints);
        options.call_timeout = absl::Milliseconds(500);
        options.user = user;
        options.password = user;
        auto connection = RawConnection(options);
        const absl::Status said = Get(*connection).status();
        EXPECT_TRUE(absl::IsUnavailable(said)) << said;
        EXPECT_TRUE(absl::StrContains(said.message(), "no leader")) << said;
        const absl::Status streamed =
            connection->OpenStream("/v3/watch", "{}", connection->Deadline()).status();
        EXPECT_TRUE(absl::StrContains(streamed.message(), "no leader")) << streamed;
      }
    }
  }
}

TEST(EtcdConnectionTest, AnswersOfAnotherServer_AreRefused) {
  for (const char* body : {"<html>", "{}", "[]", "{\"header\":{}}"}) {
    FakeMember page(GreetsThen(FakeMember::Ok(absl::StrCat(body, " ", "\n"))));
    auto connection = RawConnection(Patient({page.endpoint()}));
    absl::Status status = Get(*connection).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), page.endpoint())) << status;
  }
  FakeMember old([](const std::string&) {
    return "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\nNot Found\n";
  });
  auto connection = RawConnection(Patient({old.endpoint()}));
  absl::Status status = Get(*connection).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::StrContains(status.message(), "3.4")) << status;
}

TEST(EtcdConnectionTest, BodyWithoutEnd_IsCutOff) {
  FakeMember floods(GreetsThen("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{"));
  auto connection = RawConnection(Patient({floods.endpoint()}));
  absl::Time begin = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(Get(*connection).status()));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10)) << "by its length, not by the time";
}

TEST(EtcdConnectionTest, IdleConnectionThatWasClosed_IsNotUsedForAWrite) {
  EtcdServer server;
  ASSERT_TRUE(server.Start());
  auto connection = RawConnection(server.options());
  ASSERT_TRUE(Put(*connection).ok());
  server.KillHard();
  ASSERT_TRUE(server.Start());
  auto answer = Put(*connection);
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->origin.link, Get(*connection)->origin.link);
}

TEST(EtcdConnectionTest, ManyCallers_ShareFewConnections) {
  EtcdOptions options = SharedEtcd().options();
  options.max_connections = 2;
  options.call_timeout = options.request_timeout = absl::Seconds(20);
  auto connection = RawConnection(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(Get(*connection).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(connection->Stats().connects, 2u);
}

TEST(EtcdConnectionTest, CallersBeyondTheConnections_WaitOnlyUntilTheirTime) {
  FakeMember hangs(GreetsThen("hang"));
  EtcdOptions options = Impatient({hangs.endpoint()});
  options.max_connections = 1;
  options.request_timeout = options.call_timeout;
  auto connection = RawConnection(options);
  std::vector<std::thread> threads;
  absl::Time begin = absl::Now();
  for (int t = 0; t < 60; ++t) {
    threads.emplace_back([&] { EXPECT_TRUE(absl::IsUnavailable(Get(*connection).status())); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30)) << "42 s if each had its turn";
}

}  // namespace
}  // namespace locus
