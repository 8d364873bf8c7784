// SPDX-License-Identifier: Apache-2.0
#include "tests/support/stalled_network.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "gtest/gtest.h"

namespace locus {
namespace {

// Never destroyed: lookups that are under way may outlive the test.
struct Names {
  std::mutex mutex;
  std::condition_variable changed;
  int stalled = 0;
};
Names& TheNames() {
  static Names* names = new Names;
  return *names;
}

using Lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

int LookUp(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  static const Lookup real = reinterpret_cast<Lookup>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, found);
}

}  // namespace

StalledNames::StalledNames() {
  std::lock_guard lock(TheNames().mutex);
  ++TheNames().stalled;
}

StalledNames::~StalledNames() {
  std::lock_guard lock(TheNames().mutex);
  --TheNames().stalled;
  TheNames().changed.notify_all();
}

BlackHole::BlackHole() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 0), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr int kMost = 16;
  bool full = false;
  while (!full && fillers_.size() < kMost) {
    int filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    fillers_.push_back(filler);
    connect(filler, reinterpret_cast<sockaddr*>(&address), sizeof address);
    pollfd writable{filler, POLLOUT, 0};
    full = poll(&writable, 1, 300) == 0;
  }
  EXPECT_TRUE(full) << "the backlog takes " << kMost << " connections";
}

BlackHole::~BlackHole() {
  for (int filler : fillers_) close(filler);
  close(listener_);
}

}  // namespace locus

// The client libraries' calls come here too: a program's own functions go before those of the
// libraries that it loads.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  const std::string_view name = node == nullptr ? "" : node;
  if (name == locus::kStalledName) {
    locus::Names& names = locus::TheNames();
    std::unique_lock lock(names.mutex);
    names.changed.wait(lock, [&] { return names.stalled == 0; });
    return EAI_AGAIN;
  }
  if (name != locus::kManyAddresses) return locus::LookUp(node, service, hints, found);
  addrinfo** end = found;
  for (const char* address : {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}) {
    if (int error = locus::LookUp(address, service, hints, end)) return error;
    while (*end != nullptr) end = &(*end)->ai_next;
  }
  return 0;
}
