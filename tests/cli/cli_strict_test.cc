// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/uri.h"
#include "tests/cli/command.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLocus;

class CliStrictTest : public ::testing::Test {
 protected:
  StrictSetView Create(const std::string& set) {
    auto store = OpenStrictStore(uri_, {.create = true}).value();
    EXPECT_TRUE(store->Create(SpaceName::Parse(set).value(), {}).ok());
    return Show(set);
  }
  StrictSetView Show(const std::string& set) {
    return OpenStrictStore(uri_).value()->Show(SpaceName::Parse(set).value()).value();
  }

  const TemporaryDirectory directory_;
  const std::string uri_ = absl::StrCat("sqlite:", directory_ / "strict.db");
};

TEST_F(CliStrictTest, Restored_IsALossOfTheSet) {
  const uint64_t before = Create("orders").losses;
  const uint64_t other = Create("other").losses;
  Outcome restored = RunLocus({"strict", "restored", "--store", uri_});
  EXPECT_EQ(restored.exit, 0) << restored.err;
  const StrictSetView view = Show("orders");
  EXPECT_EQ(view.losses, before + 1);
  EXPECT_GT(view.rest_until, view.now);
  EXPECT_EQ(Show("other").losses, other);
  EXPECT_EQ(RunLocus({"strict", "restored", "--store", uri_, "--set", "other"}).exit, 0);
  EXPECT_EQ(Show("other").losses, other + 1);
}

TEST_F(CliStrictTest, WhatIsNotThere_IsNamed) {
  Outcome no_file = RunLocus({"strict", "restored", "--store", uri_});
  EXPECT_EQ(no_file.exit, 1);
  EXPECT_THAT(no_file.err, HasSubstr("strict.db"));
  Create("orders");
  Outcome no_set = RunLocus({"strict", "restored", "--store", uri_, "--set", "none"});
  EXPECT_EQ(no_set.exit, 1);
  EXPECT_THAT(no_set.err, HasSubstr("none"));
  EXPECT_EQ(RunLocus({"strict", "restored", "--store", "redis://127.0.0.1:1/0"}).exit, 2);
  EXPECT_EQ(RunLocus({"strict", "restored"}).exit, 2);
}

}  // namespace
}  // namespace locus
