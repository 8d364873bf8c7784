// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_PROBE_HEALTH_URL_H_
#define LOCUS_SRC_CLUSTER_PROBE_HEALTH_URL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/http/endpoint.h"

namespace locus::holder_probe {

// An IP address; IPv4 as its mapped IPv6 address, so that one host has one form.
using Address = std::array<uint8_t, 16>;

// Without brackets. nullopt: `text` is none; names are not looked up.
std::optional<Address> ParseAddress(std::string_view text);

// A block of addresses: "10.0.0.0/8", "fd00::/8".
class AddressBlock {
 public:
  // INVALID_ARGUMENT: no block, or one with bits behind its prefix.
  static absl::StatusOr<AddressBlock> Parse(std::string_view text);
  bool Contains(const Address& address) const;

 private:
  Address first_ = {};
  unsigned bits_ = 0;
};

// Where a holder says that its health can be asked for.
struct HealthUrl {
  bool tls = false;
  http::Endpoint endpoint;
  std::string target;  // path and query

  // An http or https URL whose host is an IP address inside one of the blocks: a name could lead
  // elsewhere between the check and the use. At most kMostUrlBytes. INVALID_ARGUMENT: it is none.
  static absl::StatusOr<HealthUrl> Parse(std::string_view text,
                                         const std::vector<AddressBlock>& allowed);
};
inline constexpr size_t kMostUrlBytes = 512;

// The member "health" of a holder's JSON; nullopt: it has none that is a text.
std::optional<std::string> HealthMemberOf(std::string_view holder);

}  // namespace locus::holder_probe

#endif  // LOCUS_SRC_CLUSTER_PROBE_HEALTH_URL_H_
