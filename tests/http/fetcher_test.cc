// SPDX-License-Identifier: Apache-2.0
// The client of HTTP for many requests, by the server of HTTP and by sockets that do not behave.
#include "src/http/fetcher.h"

#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/http/server.h"
#include "tests/support/authority.h"
#include "tests/support/lying_server.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::http {
namespace {

using ::testing::HasSubstr;

class FetcherTest : public ::testing::Test {
 protected:
  FetcherTest() {
    auto fetcher = Fetcher::Start();
    EXPECT_TRUE(fetcher.ok()) << fetcher.status();
    fetcher_ = *std::move(fetcher);
  }
  void Serve(Server::Handler handler) {
    auto server = Server::Start(options_, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  static FetchRequest To(uint16_t port, const char* host = "127.0.0.1") {
    FetchRequest request;
    request.endpoint = *Endpoint::Parse(absl::StrCat(host, ":", port));
    request.timeout = absl::Seconds(60);
    return request;
  }
  std::future<absl::StatusOr<HttpAnswer>> Begin(FetchRequest request) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<HttpAnswer>>>();
    fetcher_->Fetch(std::move(request), [promise](absl::StatusOr<HttpAnswer> answer) {
      promise->set_value(std::move(answer));
    });
    return promise->get_future();
  }
  absl::StatusOr<HttpAnswer> Fetch(FetchRequest request) { return Begin(std::move(request)).get(); }

  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Fetcher> fetcher_;
};

TEST_F(FetcherTest, Request_ArrivesWhole_AndItsAnswerComesBack) {
  Serve([](ServerRequest request, const Server::Respond& respond) {
    respond(
        {307,
         {{"Location", "http://elsewhere/"}, {"X-Token", std::string(request.Header("X-T"))}},
         absl::StrCat(request.method, " ", request.path, "?", request.query, " ", request.body)});
  });
  FetchRequest request = To(server_->port());
  request.method = "PUT";
  request.target = "/v1/x?a=b";
  request.headers = {{"X-T", "t"}};
  request.body = "the body";
  auto answer = Fetch(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 307u) << "not followed";
  EXPECT_EQ(answer->Header("x-token"), "t");
  EXPECT_EQ(answer->body, "PUT /v1/x?a=b the body");
  EXPECT_EQ(Fetch(To(server_->port(), "localhost"))->body, "GET /? ") << "a name is looked up";
}

TEST_F(FetcherTest, HundredServersThatHang_DelayNoOtherRequest) {
  LyingServer hangs([](LyingPeer& peer) { peer.Hang(); });
  std::vector<std::future<absl::StatusOr<HttpAnswer>>> hanging;
  for (int i = 0; i < 100; ++i) hanging.push_back(Begin(To(hangs.port())));
  Serve([](const ServerRequest&, const Server::Respond& respond) { respond({200, {}, "ok"}); });
  EXPECT_EQ(Fetch(To(server_->port()))->body, "ok");
  for (auto& one : hanging) {
    EXPECT_EQ(one.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  }
  fetcher_.reset();
  for (auto& one : hanging) EXPECT_TRUE(absl::IsUnavailable(one.get().status()));
}

TEST_F(FetcherTest, Timeout_CoversAllOfTheAnswer) {
  // A byte of the head each 20 ms: no single read is late.
  LyingServer drips(
      [](LyingPeer& peer) { peer.Drip("HTTP/1.1 200 OK\r\nX: " + std::string(10'000, 'x'), 20); });
  FetchRequest request = To(drips.port());
  request.timeout = absl::Milliseconds(300);
  EXPECT_TRUE(absl::IsUnavailable(Fetch(request).status()));
}

TEST_F(FetcherTest, AnswersBeyondTheLimits_AreCut) {
  const std::string body(100'000, 'x');
  Serve([&body](const ServerRequest& request, const Server::Respond& respond) {
    ServerAnswer answer{200, {}, body};
    if (request.path == "/head") answer.headers.emplace_back("X", body.substr(0, 40'000));
    respond(std::move(answer));
  });
  FetchRequest request = To(server_->port());
  request.most_body_bytes = body.size();
  EXPECT_EQ(Fetch(request)->body.size(), body.size());
  request.most_body_bytes = body.size() - 1;
  EXPECT_EQ(Fetch(request).status().code(), absl::StatusCode::kOutOfRange);
  request.most_body_bytes = FetchRequest::kHeadOnly;
  auto head = Fetch(request);
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->status, 200u);
  EXPECT_EQ(head->body, "");
  request.target = "/head";
  EXPECT_EQ(Fetch(request).status(), absl::OutOfRangeError("the answer is too long"));
}

TEST_F(FetcherTest, AnswersThatAreNoHttp_AreUnavailable) {
  for (const char* said :
       {"", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
        "HTTP/1.1 9999 ?\r\n\r\n"}) {
    LyingServer liar([said](LyingPeer& peer) {
      peer.Receive();
      peer.Send(said);
    });
    auto answer = Fetch(To(liar.port()));
    EXPECT_TRUE(absl::IsUnavailable(answer.status())) << said << answer.status();
  }
  EXPECT_TRUE(absl::IsUnavailable(Fetch(To(FreePort())).status())) << "nobody listens";
}

TEST_F(FetcherTest, InterimAnswers_AreSkipped_ButNotForEver) {
  const std::string interim = "HTTP/1.1 102 Processing\r\n\r\n";
  LyingServer good([&interim](LyingPeer& peer) {
    peer.Receive();
    peer.Send(interim + "HTTP/1.1 204 No Content\r\n\r\n");
  });
  EXPECT_EQ(Fetch(To(good.port()))->status, 204u);
  LyingServer bad([&interim](LyingPeer& peer) {
    peer.Receive();
    for (int i = 0; i < 100; ++i) peer.Send(interim);
    peer.Hang();
  });
  EXPECT_TRUE(absl::IsUnavailable(Fetch(To(bad.port())).status()));
}

TEST_F(FetcherTest, Tls_ChecksTheCertificatesHost) {
  const TemporaryDirectory directory;
  Authority authority(directory, "authority");
  const std::string certificate = authority.Sign("server.pem", "IP:127.0.0.1");
  auto of_server = TlsContext::Load({authority.file(), certificate, certificate + ".key"});
  ASSERT_TRUE(of_server.ok()) << of_server.status();
  options_.tls = of_server->get();
  Serve([](const ServerRequest&, const Server::Respond& respond) { respond({200, {}, "ok"}); });
  auto tls = TlsContext::Load({authority.file(), "", ""});
  ASSERT_TRUE(tls.ok()) << tls.status();
  FetchRequest request = To(server_->port());
  request.tls = tls->get();
  auto answer = Fetch(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "ok");
  request.endpoint = *Endpoint::Parse(absl::StrCat("localhost:", server_->port()));
  EXPECT_EQ(Fetch(request).status().code(), absl::StatusCode::kFailedPrecondition);
}

// The callback of an answer may hold the last reference to the fetcher.
TEST_F(FetcherTest, FetcherThatIsDestroyedByAnAnswer_Ends) {
  Serve([](const ServerRequest&, const Server::Respond& respond) { respond({200, {}, "ok"}); });
  auto shared = std::make_shared<std::unique_ptr<Fetcher>>(std::move(fetcher_));
  std::promise<void> destroyed;
  Fetcher* fetcher = shared->get();
  fetcher->Fetch(To(server_->port()), [shared, &destroyed](const absl::StatusOr<HttpAnswer>&) {
    shared->reset();
    destroyed.set_value();
  });
  destroyed.get_future().wait();
}

}  // namespace
}  // namespace locus::http
