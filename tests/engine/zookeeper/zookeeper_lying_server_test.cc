// SPDX-License-Identifier: Apache-2.0
// Servers that are no ZooKeeper: calls end in time with an error. What a server that speaks the
// protocol may send is read by the ZooKeeper client library.
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/zookeeper.h"
#include "tests/support/lying_server.h"

// The client library asks for as much memory as the server says, and copes where there is none.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace locus {
namespace {

void ExpectUnavailableInTime(const LyingServer& server) {
  ZookeeperOptions options;
  options.hosts = {absl::StrCat("127.0.0.1:", server.port())};
  options.connect_timeout = absl::Milliseconds(300);
  options.timeout = absl::Milliseconds(500);
  auto store = ZookeeperWorkerLeaseStore::Open(options).value();
  const absl::Time start = absl::Now();
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = store->Show(SpaceName()).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
}

TEST(ZookeeperLyingServerTest, ServerThatHangsUpOrSaysNothing_IsUnavailable) {
  LyingServer hangs_up([](LyingPeer&) {});
  ExpectUnavailableInTime(hangs_up);
  LyingServer silent([](LyingPeer& peer) {
    while (!peer.Receive().empty()) {
    }
  });
  ExpectUnavailableInTime(silent);
}

TEST(ZookeeperLyingServerTest, RandomBytes_DoNoHarm) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([seed](LyingPeer& peer) {
      std::mt19937 random(seed);
      while (!peer.Receive().empty()) {
        std::string bytes;
        for (uint64_t n = random() % 200; n > 0; --n) bytes += static_cast<char>(random());
        if (!peer.Send(bytes)) return;
      }
    });
    ExpectUnavailableInTime(server);
  }
}

}  // namespace
}  // namespace locus
