// SPDX-License-Identifier: Apache-2.0
// What clients without a valid token cost a service, and what it tells them.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/http/loopback_client.h"
#include "tests/locusd/ids_process.h"
#include "tests/locusd/locusd_cluster.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kRole[] = "roles = [\"id-service\"]\n";
constexpr char kToken[] = "0123456789abcdef-shop";

class LocusdStrangersTest : public ::testing::Test {
 protected:
  std::string TokenOf(const std::string& name, const std::string& scopes) {
    WriteSecret(directory_ / name, absl::StrCat(kToken, "-", name, "\n"));
    return absl::StrCat("[[token]]\nname = \"", name, "\"\nfile = \"", directory_ / name,
                        "\"\nscopes = [", scopes, "]\n");
  }
  bool Send(int fd, const std::string& bytes) {
    return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  static std::string Head(const std::string& token, const std::string& more) {
    return absl::StrCat("POST /v1/orders/ids HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ",
                        token, "\r\n", more, "\r\n");
  }

  TemporaryDirectory directory_;
  IdsProcess ids_{directory_};
};

TEST_F(LocusdStrangersTest, BodyBehindAWrongToken_IsNeitherAskedForNorAwaited) {
  ids_.Write(absl::StrCat(kRole, TokenOf("shop", "\"ids\"")), "", IdsOnOneFile(directory_));
  ASSERT_TRUE(ids_.Start());
  for (const char* const more : {"Expect: 100-continue\r\nContent-Length: 20\r\n",
                                 "Content-Length: 1000000\r\n", "Transfer-Encoding: chunked\r\n"}) {
    const int fd = ConnectToLoopback(ids_.port());
    ASSERT_TRUE(Send(fd, Head("of-nobody-at-all-0123", more)));
    const std::string answer = http::ReadUntilClosed(fd);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 401 ")) << more;
    EXPECT_THAT(answer, HasSubstr("\"request_id\":\"")) << more;
  }
}

TEST_F(LocusdStrangersTest, WhyItIsNotReady_IsForTheScopeReadAlone) {
  ids_.Write(absl::StrCat(kRole, TokenOf("shop", "\"ids\""), TokenOf("ops", "\"read\"")), "",
             "[ids]\n[ids.orders]\nstore = \"etcd://127.0.0.1:1/shop\"\n");
  ASSERT_TRUE(ids_.Launch());
  const std::string path = "/readyz";
  ASSERT_TRUE(WaitUntil([&] { return ids_.StatusOf("GET", path) == 503; }));
  for (const char* const name : {"", "shop", "nobody"}) {
    ids_.token = *name == '\0' ? "" : absl::StrCat(kToken, "-", name);
    const auto answer = ids_.Ask("GET", path);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->status, 503u) << "probes get the state nevertheless";
    EXPECT_THAT(answer->body, Not(HasSubstr("127.0.0.1:1"))) << name;
  }
  ids_.token = absl::StrCat(kToken, "-ops");
  const auto answer = ids_.Ask("GET", path);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 503u);
  EXPECT_THAT(answer->body, HasSubstr("127.0.0.1:1"));
}

// Each path and method of the document with each scope: let in where the document says so, and
// nowhere else.
TEST_F(LocusdStrangersTest, EachScope_AllowsWhatTheDocumentSays) {
  const std::vector<std::string> scopes = {"ids",     "route",   "decode", "leases", "store",
                                           "operate", "publish", "strict", "read"};
  std::string rules;
  for (const std::string& scope : scopes) rules += TokenOf(scope, absl::StrCat("\"", scope, "\""));
  rules += TokenOf("all", R"("operate", "read", "leases")");
  LocusdCluster cluster(
      1, {.more_api = "store = true\n", .more = rules, .token = absl::StrCat(kToken, "-all")});
  ASSERT_EQ(cluster.WaitForLeader(), 0);
  const json document = json::parse(cluster.node(0).Ask("GET", "/openapi.json", 200).value());
  ASSERT_EQ(document["servers"][0]["url"], "/");
  size_t asked = 0;
  for (const auto& [path, item] : document["paths"].items()) {
    if (path == "/v1/events") continue;  // without an end
    std::string target = path;
    for (size_t open; (open = target.find('{')) != target.npos;) {
      target.replace(open, target.find('}') - open + 1, "x");
    }
    for (const auto& [method, operation] : item.items()) {
      if (method == "parameters") continue;
      const std::string verb = absl::AsciiStrToUpper(method);
      for (const std::string& scope : scopes) {
        const unsigned status =
            cluster.node(0).StatusOf(verb, target, "", absl::StrCat(kToken, "-", scope));
        if (status == 404) continue;  // of another role, or it names nothing
        const json needed = operation.value("x-scopes", json::array());
        const bool allowed =
            needed.empty() || std::find(needed.begin(), needed.end(), scope) != needed.end();
        EXPECT_EQ(status != 403, allowed)
            << verb << " " << target << " by " << scope << ": " << status;
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 200u);
}

// What keeps nodes apart is in the log, and in /readyz once there is no leader.
TEST(LocusdLinksTest, NodeThatCannotBeReached_IsNamedWithTheReason) {
  LocusdCluster cluster(2);
  ASSERT_GE(cluster.WaitForLeader(), 0);
  cluster.node(1).process().KillHard();
  LocusdNode& left = cluster.node(0);
  EXPECT_TRUE(WaitUntil([&] {
    const std::string log = left.LogText();
    return log.find("warn no connection to a node") != log.npos &&
           log.find("address=" + cluster.node(1).raft()) != log.npos;
  })) << left.LogText();
  EXPECT_TRUE(WaitUntil([&] {
    const auto body = left.Ask("GET", "/readyz", 503);
    return body && body->find("at " + cluster.node(1).raft() + ": ") != body->npos;
  })) << left.Ask("GET", "/readyz", 503).value_or("ready");
}

TEST_F(LocusdStrangersTest, FailedHandshake_IsInTheLog_WithAddressAndReason) {
  const Authority authority(directory_, "authority");
  const std::string certificate = authority.Sign("node", "IP:127.0.0.1");
  chmod((certificate + ".key").c_str(), 0600);
  ids_.Write(absl::StrCat(kRole, TokenOf("shop", "\"ids\"")),
             absl::StrCat("certificate = \"", certificate, "\"\nkey = \"", certificate, ".key\"\n"),
             IdsOnOneFile(directory_));
  const auto trusts = http::TlsContext::Load({authority.file(), "", ""});
  ids_.tls = trusts->get();
  ASSERT_TRUE(ids_.Start());
  const int fd = ConnectToLoopback(ids_.port());
  ASSERT_TRUE(Send(fd, Head(absl::StrCat(kToken, "-shop"), "")));  // plain text
  http::ReadUntilClosed(fd);
  EXPECT_TRUE(ids_.Logs("a TLS handshake failed"));
  EXPECT_THAT(ids_.LogText(), HasSubstr("127.0.0.1"));
  EXPECT_THAT(ids_.LogText(), HasSubstr("SSL routines"));
  EXPECT_THAT(ids_.LogText(), Not(HasSubstr(kToken)));
}

}  // namespace
}  // namespace locus
