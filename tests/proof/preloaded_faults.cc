// SPDX-License-Identifier: Apache-2.0
// Preloaded into a process, it does what the process' FaultPage says: a clock that is off, a disk
// that is slow or full, a write that a power cut tears. And where there are no network namespaces,
// it finds the addresses of a network that is not there.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/proof/fault_page.h"

namespace {

using locus::proof::FaultPage;

// nullptr: no faults.
FaultPage* MapPage() {
  const char* path = getenv(locus::proof::kFaultPageVariable);
  if (path == nullptr) return nullptr;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) _exit(126);
  void* page = mmap(nullptr, sizeof(FaultPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED) _exit(126);
  return static_cast<FaultPage*>(page);
}

FaultPage* Page() {
  static FaultPage* const page = MapPage();
  return page;
}

bool IsWal(int fd) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path);
  return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

bool dying = false;  // of the one thread that writes the log

[[noreturn]] void Die() {
  Page()->torn = 1;
  kill(getpid(), SIGKILL);
  while (true) pause();
}

struct Route {
  char what[8];  // listen, call
  in_addr address;
  unsigned port;
  unsigned real;
};

std::vector<Route> ReadRoutes() {
  std::vector<Route> routes;
  const char* path = getenv(locus::proof::kRoutesVariable);
  FILE* file = path == nullptr ? nullptr : fopen(path, "re");
  if (file == nullptr) return routes;
  Route route;
  char address[64];
  while (fscanf(file, "%7s %63s %u %u", route.what, address, &route.port, &route.real) == 4) {
    if (inet_aton(address, &route.address) != 0) routes.push_back(route);
  }
  fclose(file);
  return routes;
}

// `real` is where the address really is. False: it is what it says.
bool Follow(const char* what, const sockaddr* address, sockaddr_in& real) {
  static const std::vector<Route> routes = ReadRoutes();
  if (address->sa_family != AF_INET) return false;
  memcpy(&real, address, sizeof real);
  for (const Route& route : routes) {
    if (strcmp(route.what, what) != 0 || route.address.s_addr != real.sin_addr.s_addr ||
        route.port != ntohs(real.sin_port)) {
      continue;
    }
    real.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    real.sin_port = htons(static_cast<uint16_t>(route.real));
    return true;
  }
  return false;
}

int Sync(long number, int fd) {
  if (FaultPage* page = Page(); page != nullptr) {
    if (dying) Die();
    if (const int64_t delay = page->sync_delay_us; delay > 0) {
      const timespec wait{delay / 1'000'000, delay % 1'000'000 * 1000};
      nanosleep(&wait, nullptr);
    }
  }
  return static_cast<int>(syscall(number, fd));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, now);
  FaultPage* page = Page();
  if (result != 0 || page == nullptr) return static_cast<int>(result);
  int64_t shift = 0;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) shift = page->clock_shift_ns;
  if (clock == CLOCK_BOOTTIME) shift = page->slept_ns;
  if (shift == 0) return 0;
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t nanos = now->tv_sec * kSecond + now->tv_nsec + shift;
  now->tv_sec = nanos / kSecond;
  now->tv_nsec = nanos % kSecond;
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec precise;
  const int result = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return result;
}

time_t time(time_t* now) noexcept {
  timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}

int fdatasync(int fd) { return Sync(SYS_fdatasync, fd); }
int fsync(int fd) { return Sync(SYS_fsync, fd); }

int bind(int fd, const sockaddr* address, socklen_t size) noexcept {
  sockaddr_in real;
  if (Follow("listen", address, real)) {
    return static_cast<int>(syscall(SYS_bind, fd, &real, sizeof real));
  }
  return static_cast<int>(syscall(SYS_bind, fd, address, size));
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  sockaddr_in real;
  if (Follow("call", address, real)) {
    return static_cast<int>(syscall(SYS_connect, fd, &real, sizeof real));
  }
  return static_cast<int>(syscall(SYS_connect, fd, address, size));
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  FaultPage* page = Page();
  if (page != nullptr && page->disk_full != 0 && IsWal(fd)) {
    errno = ENOSPC;
    return -1;
  }
  if (page != nullptr && page->tear_after > 0 && IsWal(fd) && --page->tear_after == 0) {
    if (page->lost == 0) {
      syscall(SYS_pwrite64, fd, bytes, size / 2, at);
      Die();
    }
    dying = true;
    const std::string zeros(size, '\0');
    return syscall(SYS_pwrite64, fd, zeros.data(), size, at);
  }
  return syscall(SYS_pwrite64, fd, bytes, size, at);
}

}  // extern "C"
