// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <memory>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "src/base/os/signals_blocked.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

// Shared by the caller and the resolving thread, since either may end first.
struct Lookup {
  Mutex mutex;
  CondVar answered;
  bool done ABSL_GUARDED_BY(mutex) = false;
  int error ABSL_GUARDED_BY(mutex) = 0;
  std::vector<std::string> addresses ABSL_GUARDED_BY(mutex);
};

bool IsNumeric(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

void Run(const std::string& host, Lookup& lookup) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  std::vector<std::string> addresses;
  for (addrinfo* at = found; error == 0 && at != nullptr; at = at->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
        0) {
      addresses.push_back(text);
    }
  }
  if (found != nullptr) freeaddrinfo(found);
  MutexLock lock(lookup.mutex);
  lookup.error = addresses.empty() && error == 0 ? EAI_NONAME : error;
  lookup.addresses = std::move(addresses);
  lookup.done = true;
  lookup.answered.NotifyAll();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Resolve(const std::string& host,
                                                 std::chrono::steady_clock::time_point deadline) {
  if (IsNumeric(host)) return std::vector<std::string>{host};
  auto lookup = std::make_shared<Lookup>();
  try {
    const SignalsBlocked blocked;
    // Detached, because getaddrinfo cannot be interrupted at the deadline.
    std::thread([host, lookup] { Run(host, *lookup); }).detach();
  } catch (const std::system_error&) {
    return absl::UnavailableError("no thread could be started to resolve a host name");
  }
  MutexLock lock(lookup->mutex);
  while (!lookup->done) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::UnavailableError(
          absl::StrCat("the name ", Quoted(host), " was not resolved in time"));
    }
    lookup->answered.WaitUntil(lookup->mutex, deadline);
  }
  if (lookup->error != 0) {
    return absl::UnavailableError(absl::StrCat("the name ", Quoted(host),
                                               " was not resolved: ", gai_strerror(lookup->error)));
  }
  return lookup->addresses;
}

}  // namespace locus::internal
