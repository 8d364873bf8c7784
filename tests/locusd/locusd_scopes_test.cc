// SPDX-License-Identifier: Apache-2.0
// What tokens of single scopes may do with the store that a cluster keeps.
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "tests/locusd/locusd_cluster.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LocusdScopesTest : public ::testing::Test {
 protected:
  std::string Token(const std::string& name, const std::string& scopes) {
    const std::string path = directory_ / name;
    std::ofstream(path) << TextOf(name) << "\n";
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return absl::StrCat("[[token]]\nname = \"", name, "\"\nfile = \"", path, "\"\nscopes = [",
                        scopes, "]\n");
  }
  static std::string TextOf(const std::string& name) {
    return "the-token-of-somebody-named-" + name;
  }
  LocusdOptions As(const std::string& name) const {
    LocusdOptions options = cluster_.Options();
    options.token = TextOf(name);
    return options;
  }

  TemporaryDirectory directory_;
  LocusdCluster cluster_{
      1,
      {.more_api = "store = true\n",
       .more = absl::StrCat(Token("all", R"("leases", "store", "operate")"),
                            Token("shop", R"("leases")"), Token("till", R"("store")"),
                            Token("reader", R"("read")")),
       .token = TextOf("all")}};
};

void ExpectNeeds(const absl::Status& status, const std::string& scope, const std::string& who) {
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(who), HasSubstr("needs " + scope)));
}

TEST_F(LocusdScopesTest, TokenOfLeases_MayNeitherTouchCountersNorRules) {
  ASSERT_TRUE(LocusdSegmentStore::Open(As("all"))
                  .value()
                  ->Create(SpaceName(), SpaceOptions(), absl::Now())
                  .ok());
  const SegmentRequest request{7, 64, 0};
  auto segments = LocusdSegmentStore::Open(As("shop")).value();
  const auto leased = segments->Allocate(SpaceName(), {}, {&request, 1}, absl::Now());
  EXPECT_TRUE(leased.ok()) << leased.status();

  auto shop = LocusdSequencer::Open(As("shop")).value();
  ExpectNeeds(shop->NextBatch("invoices", 3).status(), "store", "shop");
  ExpectNeeds(shop->Set("invoices", 7), "store", "shop");
  auto rules = LocusdSequenceTypeStore::Open(As("shop")).value();
  ExpectNeeds(rules->List().status(), "store", "shop");
  SequenceType type;
  type.name = "invoices";
  ExpectNeeds(rules->Create(type).status(), "store", "shop");
}

TEST_F(LocusdScopesTest, StrictSections_AreOfTheStoreAndTheirSetsOfOperators) {
  const StrictSetOptions options;
  auto till = LocusdStrictStore::Open(As("till")).value();
  ExpectNeeds(till->Create(SpaceName(), options, {.first_ever = true}), "operate", "till");
  ASSERT_TRUE(LocusdStrictStore::Open(As("all"))
                  .value()
                  ->Create(SpaceName(), options, {.first_ever = true})
                  .ok());
  EXPECT_TRUE(till->Create(SpaceName(), options, {.first_ever = true}).ok()) << "it is there";
  const StrictTake take{{"a", "", 7}, {{3, 0}}};
  const auto taken = till->Take(SpaceName(), options, take);
  EXPECT_TRUE(taken.ok()) << taken.status();
  ExpectNeeds(till->DeclareRestored(SpaceName()), "operate", "till");
  auto shop = LocusdStrictStore::Open(As("shop")).value();
  ExpectNeeds(shop->Take(SpaceName(), options, take).status(), "store", "shop");
  auto reader = LocusdStrictStore::Open(As("reader")).value();
  EXPECT_TRUE(reader->Show(SpaceName()).ok());
  ExpectNeeds(reader->Take(SpaceName(), options, take).status(), "store", "reader");
}

TEST_F(LocusdScopesTest, TokenOfTheStore_MayNotLease) {
  auto till = LocusdSequencer::Open(As("till")).value();
  const auto batch = till->NextBatch("invoices", 3);
  EXPECT_TRUE(batch.ok()) << batch.status();
  auto segments = LocusdSegmentStore::Open(As("till")).value();
  const SegmentRequest request{7, 64, 0};
  ExpectNeeds(segments->Allocate(SpaceName(), {}, {&request, 1}, absl::Now()).status(), "leases",
              "till");
  // What there is may be read by whoever may read.
  auto seen = LocusdSequenceTypeStore::Open(As("reader")).value()->List();
  EXPECT_TRUE(seen.ok()) << seen.status();
}

}  // namespace
}  // namespace locus
