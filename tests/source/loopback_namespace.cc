// SPDX-License-Identifier: Apache-2.0
#include "tests/source/loopback_namespace.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

namespace locus {
namespace {

bool SetLoopback(bool up) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  bool done = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  if (up) {
    request.ifr_flags |= IFF_UP;
  } else {
    request.ifr_flags &= static_cast<short>(~IFF_UP);
  }
  done = done && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  if (fd >= 0) close(fd);
  return done;
}

bool Write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  return out.good();
}

// As root of a user namespace whose root is this account.
bool UnshareAsUser() {
  std::string user = std::to_string(getuid());
  std::string group = std::to_string(getgid());
  return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && Write("/proc/self/setgroups", "deny") &&
         Write("/proc/self/uid_map", "0 " + user + " 1") &&
         Write("/proc/self/gid_map", "0 " + group + " 1");
}

}  // namespace

bool EnterLoopbackNamespace() {
  if ((unshare(CLONE_NEWNET) == 0 || UnshareAsUser()) && SetLoopback(true)) return true;
  std::cerr << "no network namespace of its own for this test: " << std::strerror(errno) << "\n";
  return false;
}

void CutLoopback() {
  if (!SetLoopback(false)) std::abort();
}

void MendLoopback() {
  if (!SetLoopback(true)) std::abort();
}

}  // namespace locus
