// SPDX-License-Identifier: Apache-2.0
#include "locus/testing/memory_table_source.h"

#include <thread>

#include "tests/source/table_publisher_contract.h"
#include "tests/source/table_source_contract.h"

namespace locus {
namespace {

class MemoryUnderTest : public TablePlaceUnderTest {
 public:
  std::unique_ptr<TableSource> Follow() override {
    return std::make_unique<fakes::MemoryTableSource>(place_);
  }
  std::unique_ptr<TablePublisher> MakePublisher() override {
    return std::make_unique<fakes::MemoryTablePublisher>(place_);
  }
  bool PutRaw(const std::string& document) override {
    place_->Put(document);
    return true;
  }

 private:
  const std::shared_ptr<fakes::MemoryTablePlace> place_ =
      std::make_shared<fakes::MemoryTablePlace>();
};

const TablePlaceKind& Memory() {
  static const TablePlaceKind kind{"memory", [] { return std::make_unique<MemoryUnderTest>(); }};
  return kind;
}
INSTANTIATE_TEST_SUITE_P(Memory, TableSourceContract, ::testing::Values(Memory()));
INSTANTIATE_TEST_SUITE_P(Memory, TablePublisherContract, ::testing::Values(Memory()));

constexpr auto kLong = std::chrono::seconds(60);

TEST(MemoryTableSourceTest, Failing_AnswersTheStatusUntilHealed) {
  auto place = std::make_shared<fakes::MemoryTablePlace>();
  fakes::MemoryTableSource source(place);
  place->Put("any text");
  source.FailWith(absl::UnavailableError("down"));
  auto deadline = std::chrono::steady_clock::now() + kLong;
  EXPECT_EQ(source.Next("", deadline).status(), absl::UnavailableError("down"));
  source.Heal();
  EXPECT_EQ(source.Next("", deadline).value()->document, "any text");
  EXPECT_EQ(source.calls(), 2);
}

TEST(MemoryTableSourceTest, EmptiedDuringACall_IsNotFound) {
  auto place = std::make_shared<fakes::MemoryTablePlace>();
  fakes::MemoryTableSource source(place);
  place->Put("any text");
  auto deadline = std::chrono::steady_clock::now() + kLong;
  std::string known = source.Next("", deadline).value()->version;
  std::thread emptying([&] { place->Empty(); });
  EXPECT_TRUE(absl::IsNotFound(source.Next(known, deadline).status()));
  emptying.join();
}

}  // namespace
}  // namespace locus
