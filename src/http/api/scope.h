// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_API_SCOPE_H_
#define LOCUS_SRC_HTTP_API_SCOPE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace locus::http_api {

// What a token may allow.
enum class Scope : uint8_t {
  kIds,      // order IDs, numbers of sequences, Snowflakes, UUIDs
  kRoute,    // the shard of an order or a buyer
  kDecode,   // the order ID behind an order_no: for few
  kLeases,   // to take, renew, release and list worker leases, and to lease order IDs
  kStore,    // counters, sequence types and strict sections that a cluster keeps
  kOperate,  // members of the cluster, its leadership, spaces of leases
  kPublish,  // routing tables
  kStrict,   // sections of strict sequences: between their nodes, and to hand them over
  kRead,     // all that is shown: metrics, status, members, leases, tables
};

// The name in configurations and messages: "ids", "route", "decode", "leases", "store",
// "operate", "publish", "strict", "read".
std::string_view ToString(Scope scope);
// nullopt: there is none of that name.
std::optional<Scope> ParseScope(std::string_view name);

// A set of scopes.
class Scopes {
 public:
  static constexpr std::array kEach = {Scope::kIds,     Scope::kRoute,  Scope::kDecode,
                                       Scope::kLeases,  Scope::kStore,  Scope::kOperate,
                                       Scope::kPublish, Scope::kStrict, Scope::kRead};

  constexpr Scopes() = default;
  constexpr Scopes(std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) Add(scope);
  }
  static constexpr Scopes All() {
    Scopes all;
    for (const Scope scope : kEach) all.Add(scope);
    return all;
  }

  constexpr void Add(Scope scope) { bits_ |= BitOf(scope); }
  constexpr bool Has(Scope scope) const { return (bits_ & BitOf(scope)) != 0; }
  constexpr bool HasAnyOf(Scopes others) const { return (bits_ & others.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  // "ids, route"; empty: "none".
  std::string ToString() const;
  friend constexpr bool operator==(Scopes, Scopes) = default;

 private:
  static constexpr uint32_t BitOf(Scope scope) { return uint32_t{1} << static_cast<int>(scope); }
  uint32_t bits_ = 0;
};

}  // namespace locus::http_api

#endif  // LOCUS_SRC_HTTP_API_SCOPE_H_
