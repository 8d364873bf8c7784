// SPDX-License-Identifier: Apache-2.0
// Which commands say that counters keep their ends.
#include "gtest/gtest.h"
#include "src/cluster/node/batch.h"

namespace locus::cluster_node {
namespace {

using Call = counter_machine::Call;
using cluster_machine::Request;

const absl::Time kNow = absl::FromUnixSeconds(1767225600);

std::vector<Request> Of(Call::Kind kind, const std::string& name, absl::Duration ttl) {
  Call call;
  call.kind = kind;
  call.name = name;
  call.ttl = ttl;
  if (kind == Call::Kind::kTake) call.number = call.last_of_first = 1;
  return {Request{std::nullopt, SpaceName(), call, {}}};
}
std::vector<Request> Take(const std::string& name, absl::Duration ttl) {
  return Of(Call::Kind::kTake, name, ttl);
}

class TtlsUnderWayTest : public ::testing::Test {
 protected:
  bool Add(const std::vector<Request>& requests) { return ttls_.Add(requests, machine_, kNow); }

  cluster_machine::Machine machine_;
  TtlsUnderWay ttls_;
};

TEST_F(TtlsUnderWayTest, ShorterTtlThanOneUnderWay_KeepsEnds) {
  EXPECT_FALSE(Add(Take("a", absl::Hours(1))));
  EXPECT_FALSE(Add(Take("a", absl::Hours(1)))) << "nodes of earlier versions read it";
  EXPECT_FALSE(Add(Take("b", absl::Seconds(1))));
  EXPECT_TRUE(Add(Take("a", absl::Seconds(1))));
  EXPECT_FALSE(Add(Take("a", absl::ZeroDuration()))) << "for good";
  EXPECT_TRUE(Add(Take("a", absl::Hours(1))));
  ttls_.Clear();
  EXPECT_FALSE(Add(Take("a", absl::Seconds(1)))) << "nobody has called it";
}

TEST_F(TtlsUnderWayTest, LookWithoutATtl_KeepsNothing) {
  EXPECT_FALSE(Add(Of(Call::Kind::kLoad, "a", absl::ZeroDuration())));
  EXPECT_FALSE(Add(Take("a", absl::Seconds(1))));
}

TEST_F(TtlsUnderWayTest, ShorterTtlThanOneBefore_KeepsEnds) {
  cluster_machine::Command command{kNow, false, Take("a", absl::Hours(1))};
  machine_.Apply(command);
  EXPECT_FALSE(Add(Take("a", absl::Hours(1))));
  ttls_.Clear();
  EXPECT_TRUE(Add(Take("a", absl::Seconds(1))));
  ttls_.Clear();
  command.requests = Take("a", absl::Seconds(1));
  command.keeps_ends = true;
  machine_.Apply(command);
  EXPECT_TRUE(Add(Take("a", absl::Minutes(59)))) << "the hour is not over";
  command.keeps_ends = false;
  machine_.Apply(command);
  ttls_.Clear();
  EXPECT_FALSE(Add(Take("a", absl::Minutes(59)))) << "as nodes of earlier versions do it";
}

}  // namespace
}  // namespace locus::cluster_node
