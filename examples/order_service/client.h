// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_CLIENT_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "buyers.h"
#include "locus/routing/engine/shard_pools.h"
#include "locus/routing/router.h"
#include "locus/routing/table_source.h"
#include "traffic.h"

namespace shop {

// How a process learns of new routing tables.
enum class ClientKind {
  kFollows,  // at once
  kLate,     // each table only after a random delay
  kFrozen,   // never: it keeps its first table
  kPlain,    // never, and it does not know what a fence is (PlainStore)
};
const char* NameOf(ClientKind kind);
// INVALID_ARGUMENT: no kind has that name.
absl::StatusOr<ClientKind> ClientKindOf(const std::string& name);

// Where everything is. The directory of the record also has the key ring and the segment store.
struct Place {
  std::string table;           // a file, or a URI (locus/routing/open.h)
  std::string table_password;  // of the URI's user
  std::string directory;
  std::string user;
  std::string password;

  std::string keys() const { return directory + "/keys"; }
  std::string store() const { return directory + "/segments.db"; }
};

absl::StatusOr<std::unique_ptr<locus::TableSource>> OpenSource(const Place& place);
// The table that is there now.
absl::StatusOr<locus::RoutingTable> FetchTable(const Place& place);
// `timeout` of a statement.
absl::StatusOr<std::unique_ptr<locus::ShardPools>> MakePools(const Place& place,
                                                             absl::Duration timeout);
absl::StatusOr<locus::OrderNoCodec> MakeCodec(const Place& place);

// The part number i where so many are shared out to so many parts.
uint64_t ShareOf(uint64_t all, unsigned parts, unsigned i);

struct ClientOptions {
  ClientKind kind = ClientKind::kFollows;
  std::string name;  // of its files in the directory: NAME.records, NAME.status
  unsigned threads = 4;
  absl::Duration run_for = absl::InfiniteDuration();
  absl::Duration latest = absl::Seconds(10);  // of kLate: the longest delay of a table
  TrafficOptions traffic;  // of the process; its threads share rate, orders and bulk
};

// A process of the service: runs until `stop`, its time or its last order.
absl::Status RunClient(const Place& place, const ClientOptions& options,
                       const std::vector<BuyerRow>& buyers, std::atomic<bool>& stop);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_CLIENT_H_
