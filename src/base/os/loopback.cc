// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/loopback.h"

#include <arpa/inet.h>

#include <string>

#include "absl/strings/match.h"
#include "src/base/text/text.h"

namespace locus::internal {

bool IsLoopback(std::string_view host) {
  // Addresses only: a name may begin with "127." and resolve to any host.
  in_addr address;
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) == 1) {
    return ntohl(address.s_addr) >> 24 == 127;
  }
  if (host.ends_with('.')) host.remove_suffix(1);  // the name from the root on
  return absl::EqualsIgnoreCase(ToAbsl(host), "localhost") || host == "::1";
}

}  // namespace locus::internal
