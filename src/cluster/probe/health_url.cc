// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/probe/health_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::holder_probe {

using internal::ParseDecimal;
using internal::Quoted;

namespace {

// In front of an IPv4 address that is written as IPv6.
constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned kMappedBits = 96;

bool IsIpv4(const Address& address) {
  return std::equal(std::begin(kMapped), std::end(kMapped), address.begin());
}

}  // namespace

std::optional<Address> ParseAddress(std::string_view text) {
  const std::string owned(text);
  Address address;
  if (inet_pton(AF_INET6, owned.c_str(), address.data()) == 1) return address;
  std::copy(std::begin(kMapped), std::end(kMapped), address.begin());
  if (inet_pton(AF_INET, owned.c_str(), address.data() + sizeof kMapped) == 1) return address;
  return std::nullopt;
}

absl::StatusOr<AddressBlock> AddressBlock::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<Address> first = ParseAddress(text.substr(0, slash));
  const bool is_ipv4 = first && IsIpv4(*first) && text.find(':') == text.npos;
  std::optional<uint64_t> bits;
  if (first && slash != text.npos) bits = ParseDecimal(text.substr(slash + 1), is_ipv4 ? 32 : 128);
  if (!bits) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is no block of addresses like 10.0.0.0/8 or fd00::/8"));
  }
  AddressBlock block;
  block.first_ = *first;
  block.bits_ = static_cast<unsigned>(*bits) + (is_ipv4 ? kMappedBits : 0);
  for (unsigned bit = block.bits_; bit < 128; ++bit) {
    if ((block.first_[bit / 8] & (0x80u >> bit % 8)) == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the block ", Quoted(text), " has bits behind its prefix"));
  }
  return block;
}

bool AddressBlock::Contains(const Address& address) const {
  const unsigned whole = bits_ / 8, rest = bits_ % 8;
  if (std::memcmp(first_.data(), address.data(), whole) != 0) return false;
  return rest == 0 || ((first_[whole] ^ address[whole]) & (0xff00u >> rest) & 0xff) == 0;
}

absl::StatusOr<HealthUrl> HealthUrl::Parse(std::string_view text,
                                           const std::vector<AddressBlock>& allowed) {
  auto refuse = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat("health URL ", Quoted(text), ": ", why));
  };
  if (text.size() > kMostUrlBytes) return refuse("longer than 512 bytes");
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!printable) return refuse("only printable ASCII without blanks may be in it");
  HealthUrl url;
  url.tls = text.starts_with("https://");
  if (!url.tls && !text.starts_with("http://")) return refuse("neither http:// nor https://");
  text.remove_prefix(url.tls ? 8 : 7);
  const size_t end = std::min(text.find_first_of("/?#"), text.size());
  std::string authority(text.substr(0, end));
  url.target = text.substr(end);
  if (url.target.find('#') != std::string::npos) return refuse("it has a fragment");
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  const bool has_port = authority.find(':', authority.rfind(']') + 1) != std::string::npos;
  if (authority.ends_with(']') || !has_port) authority += url.tls ? ":443" : ":80";
  absl::StatusOr<http::Endpoint> endpoint = http::Endpoint::Parse(authority);
  if (!endpoint.ok()) return refuse("it has no host, a user, or a wrong port");
  const std::optional<Address> address = ParseAddress(endpoint->host);
  if (!address) return refuse("its host is no IP address");
  const bool inside = std::any_of(allowed.begin(), allowed.end(), [&](const AddressBlock& block) {
    return block.Contains(*address);
  });
  if (!inside) return refuse("its host is in none of the blocks that may be probed");
  url.endpoint = *std::move(endpoint);
  return url;
}

std::optional<std::string> HealthMemberOf(std::string_view holder) {
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse({holder.data(), holder.size()}, error);
  if (error || !value.is_object()) return std::nullopt;
  const boost::json::value* health = value.get_object().if_contains("health");
  if (health == nullptr || !health->is_string()) return std::nullopt;
  return std::string(health->get_string().data(), health->get_string().size());
}

}  // namespace locus::holder_probe
