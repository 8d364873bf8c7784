// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/routing/engine/http.h"
#include "tests/source/http_table_server.h"
#include "tests/support/authority.h"
#include "tests/support/child_process.h"
#include "tests/support/password_search.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

// The server's memory of requests is not searched: it runs in a child.
ChildProcess Serve(HttpTableServer& server) {
  return ChildProcess([&]() -> int {
    server.Start();
    HttpTableServer::Behaviour behaviour;
    behaviour.hold = true;
    server.Behave(behaviour);
    server.SetDocument("1");
    while (true) pause();
  });
}

// Asks until the server runs; the version of its table.
std::string Newest(TableSource& source) {
  std::string version;
  EXPECT_TRUE(WaitUntil([&] {
    auto next = source.Next("", std::chrono::steady_clock::now());
    if (next.ok() && *next) version = (**next).version;
    return next.ok();
  }));
  return version;
}

// While a request is sent, held by the server, and after it.
void AskAndSearch(HttpTableSource& source) {
  std::string version = Newest(source);
  EXPECT_EQ(Search().dumped, 0u);
  uint64_t asked = source.Stats().requests;
  std::thread following([&] {
    auto none = source.Next(version, std::chrono::steady_clock::now() + std::chrono::seconds(60));
    EXPECT_TRUE(none.ok()) << none.status();
  });
  EXPECT_TRUE(WaitUntil([&] { return source.Stats().requests > asked; }));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Search().dumped, 0u);
  source.LookNow();
  following.join();
  EXPECT_EQ(Search().dumped, 0u);
}

HttpTableOptions OptionsOf(const HttpTableServer& server) {
  HttpTableOptions options;
  options.url = server.url();
  options.request_timeout = absl::Seconds(60);
  return options;
}

TEST(HttpTokenTest, CallersOwn_IsFoundByTheSearch) {
  std::string token;
  Fill(token);
  EXPECT_EQ(Search().dumped, 1u);
  explicit_bzero(token.data(), token.size());
  EXPECT_EQ(Search().dumped, 0u);
}

TEST(HttpTokenTest, Following_LeavesNoTokenInACoreDump) {
  HttpTableServer server;
  ChildProcess child = Serve(server);
  HttpTableOptions options = OptionsOf(server);
  Fill(options.token);
  auto source = HttpTableSource::Open(options);
  explicit_bzero(options.token.data(), options.token.size());
  ASSERT_TRUE(source.ok()) << source.status();
  AskAndSearch(**source);
  EXPECT_EQ(Search().left_out, 1u) << "for the next request";
}

TEST(HttpTokenTest, FollowingOverTlsWithATokenFile_LeavesNoTokenInACoreDump) {
  TemporaryDirectory files;
  Authority authority(files, "authority");
  std::string certificate = authority.Sign("server", "IP:127.0.0.1");
  HttpTableServer server(HttpTableServer::Tls{certificate, certificate + ".key"});
  ChildProcess child = Serve(server);
  HttpTableOptions options = OptionsOf(server);
  options.tls.ca_file = authority.file();
  options.token_file = files / "token";
  {
    std::string token;
    Fill(token);
    int fd = open(options.token_file.c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_EQ(write(fd, token.data(), token.size()), static_cast<ssize_t>(token.size()));
    close(fd);
    explicit_bzero(token.data(), token.size());
  }
  auto source = HttpTableSource::Open(options);
  ASSERT_TRUE(source.ok()) << source.status();
  AskAndSearch(**source);
  EXPECT_EQ(Search().left_out, 0u) << "it is read for each request";
}

}  // namespace
}  // namespace locus
