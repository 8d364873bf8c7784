// SPDX-License-Identifier: Apache-2.0
#include "routing/table/endpoint_place.h"

#include <optional>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"
#include "src/base/text/utf8.h"

namespace locus::internal {

std::string PlaceOfEndpoint(std::string_view endpoint) {
  TakeAfter(endpoint, '?');
  const size_t mark = endpoint.find("://");
  if (mark == std::string_view::npos) return std::string(endpoint);
  std::string scheme(endpoint.substr(0, mark));
  std::string_view host = endpoint.substr(mark + 3);
  const std::string_view path = TakeAfter(host, '/');
  absl::AsciiStrToLower(&scheme);
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == host.npos;
  std::string_view port = has_port ? host.substr(colon + 1) : std::string_view();
  if (has_port) host = host.substr(0, colon);
  if (host.ends_with('.')) host.remove_suffix(1);
  if (scheme == "mysql" && port.empty()) port = "3306";
  std::string lower(host);
  absl::AsciiStrToLower(&lower);
  const absl::StatusOr<std::string> read = DecodePercents(path);
  return absl::StrCat(scheme, "://", lower, ":", ToAbsl(port), "/",
                      read.ok() ? *read : std::string(path));
}

absl::Status CheckNewName(std::string_view name) { return CheckComposed("the shard name", name); }

absl::Status CheckPlaces(const RoutingTable* before, const RoutingTable& after) {
  auto place_before = [&](uint32_t id) {
    const Shard* const shard = before == nullptr ? nullptr : before->FindShard(id);
    return shard == nullptr ? std::string() : PlaceOfEndpoint(shard->endpoint);
  };
  std::unordered_map<std::string, const Shard*> by_place;
  for (const Shard& shard : after.shards()) {
    const Shard* const same = before == nullptr ? nullptr : before->FindShard(shard.id);
    if (same == nullptr || same->name != shard.name) {
      LOCUS_RETURN_IF_ERROR(CheckNewName(shard.name));
    }
    const std::string place = PlaceOfEndpoint(shard.endpoint);
    const auto [other, is_new] = by_place.try_emplace(place, &shard);
    if (is_new || (place_before(shard.id) == place && place_before(other->second->id) == place)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat("shards ", Quoted(other->second->name), " and ",
                                                   Quoted(shard.name),
                                                   " have one endpoint in two "
                                                   "spellings; two shards are two databases"));
  }
  return absl::OkStatus();
}

}  // namespace locus::internal
