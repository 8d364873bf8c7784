// SPDX-License-Identifier: Apache-2.0
// A service in one of two datacenters, as docs/run/datacenters.md sets it up: makes order IDs and
// Snowflakes as fast as it is asked, and follows the routing table of its own datacenter, until it
// is killed. Leaves behind OUT.home and OUT.away, order IDs of the vnodes of its own and of the
// other datacenter, OUT.snowflake, one ID a line, and an empty OUT.epoch-N for each table that it
// followed. usage: datacenter_service OUT HOME URI_0 URI_1      HOME: 0 or 1, the datacenter that
// it is in
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locus/leased_snowflake.h"
#include "locus/open.h"
#include "locus/order_id_generator.h"
#include "locus/routing/open.h"
#include "locus/routing/router.h"
#include "tests/datacenters/layout.h"

namespace locus::datacenters {
namespace {

template <typename T>
T Must(absl::StatusOr<T> value, const char* what) {
  if (!value.ok()) {
    std::cerr << what << ": " << value.status() << "\n";
    std::exit(1);
  }
  return *std::move(value);
}

// Lines of a file, whole ones at any moment.
class Lines {
 public:
  explicit Lines(const std::string& path) : out_(path, std::ios::app) {}
  void Add(const std::string& line) { text_ += line + "\n"; }
  void Write() {
    out_ << text_ << std::flush;
    text_.clear();
  }

 private:
  std::ofstream out_;
  std::string text_;
};

int Run(const std::string& out, uint64_t home, const std::array<std::string, 2>& uris) {
  OrderIdGenerator::Options options;
  options.horizon = absl::Seconds(5);
  auto orders = Must(OrderIdGenerator::Create(Must(StoresAt(uris), "stores"), options), "orders");
  LeasedSnowflakeOptions lease;
  lease.lease.ttl = kTtl;
  lease.datacenter = home + 1;
  lease.reacquire = true;  // a machine that stands still for longer than a lease lasts
  auto snowflakes =
      Must(LeasedSnowflake<>::Create(Must(OpenWorkerLeaseStore(uris[home]), "leases"), lease),
           "worker ID");
  auto router = Must(Router::Open(Must(OpenTableSource(uris[home]), "tables"),
                                  {.last_good_file = out + ".last_good"}),
                     "router");

  Lines own(out + ".home"), away(out + ".away"), ids(out + ".snowflake");
  std::mt19937_64 random(std::random_device{}());
  uint64_t epoch = 0;
  while (true) {
    for (int i = 0; i < 100; ++i) {
      const BuyerKey buyer = BuyerKey::Uint64(random() % 100'000);
      const bool here = DatacenterOf(ShardGene::Of(buyer)) == home;
      // Of its own datacenter it waits for an ID; of the other one it takes what there is.
      const absl::StatusOr<OrderId> order =
          here ? orders->Next(buyer, absl::Seconds(2)) : orders->TryNext(buyer);
      if (order.ok()) (here ? own : away).Add(order->ToString());
    }
    for (int i = 0; i < 100; ++i) {
      if (const auto id = snowflakes->Next(); id.ok()) ids.Add(absl::StrCat(*id));
    }
    own.Write();
    away.Write();
    ids.Write();
    if (router->epoch() != epoch) {
      epoch = router->epoch();
      std::ofstream(absl::StrCat(out, ".epoch-", epoch)).put('\n');
    }
    Clock::System().SleepFor(absl::Milliseconds(20));
  }
}

}  // namespace
}  // namespace locus::datacenters

int main(int argc, char** argv) {
  if (argc != 5 || (argv[2] != std::string_view("0") && argv[2] != std::string_view("1"))) {
    std::cerr << "usage: datacenter_service OUT HOME URI_0 URI_1\n";
    return 2;
  }
  return locus::datacenters::Run(argv[1], argv[2][0] == '1' ? 1 : 0, {argv[3], argv[4]});
}
