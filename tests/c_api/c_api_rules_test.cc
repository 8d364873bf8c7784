// SPDX-License-Identifier: Apache-2.0
// Numbers by a sequence type of the store, as C takes them.
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "locus/open.h"
#include "src/base/run/mutex.h"
#include "tests/c_api/c_api_fixture.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kPatience = 60'000;

class CApiRulesTest : public CApiTest {
 protected:
  CApiRulesTest() : types_(OpenSequenceTypeStore(Store(), {.create = true}).value()) {
    type_.name = "invoices";
    type_.pattern = "{shop:2}-{town:A-Z;1}{seq:4}";
    type_.step = 5;
    type_ = types_->Create(type_).value();
  }
  locus_numbers* Open(const char* key = nullptr, const char* type = "invoices") {
    locus_numbers* numbers = nullptr;
    EXPECT_EQ(locus_numbers_open(Store().c_str(), type, key, nullptr, &numbers, &error_), LOCUS_OK)
        << error_.message;
    return numbers;
  }
  locus_code Next(locus_numbers* numbers, const std::vector<locus_named_value>& values) {
    return locus_numbers_next(numbers, kPatience, values.data(), values.size(), text_, &error_);
  }

  std::unique_ptr<SequenceTypeStore> types_;
  SequenceType type_;
  char text_[LOCUS_NUMBER_TEXT_BYTES] = "";
};

TEST_F(CApiRulesTest, Numbers_AreWrittenByTheRule) {
  locus_numbers* numbers = Open();
  ASSERT_EQ(Next(numbers, {{"town", "H"}, {"shop", "7"}}), LOCUS_OK) << error_.message;
  EXPECT_STREQ(text_, "07-H0005");
  ASSERT_EQ(Next(numbers, {{"shop", "8"}, {"town", "H"}}), LOCUS_OK);
  EXPECT_STREQ(text_, "08-H0010");
  locus_number_block block = {};
  ASSERT_EQ(locus_numbers_next_block(numbers, kPatience, 3, &block, &error_), LOCUS_OK);
  EXPECT_EQ(block.first, 15);
  EXPECT_EQ(block.step, 5);
  EXPECT_GE(block.count, 1);
  EXPECT_LE(block.count, 3);
  EXPECT_STREQ(block.group, "");
  locus_numbers_close(numbers);
  numbers = Open("north");
  ASSERT_EQ(Next(numbers, {{"shop", "1"}, {"town", "H"}}), LOCUS_OK);
  EXPECT_STREQ(text_, "01-H0005") << "a counter of its own";
  locus_numbers_close(numbers);
}

TEST_F(CApiRulesTest, Group_IsTheDayOfTheNumbers) {
  SequenceType daily;
  daily.name = "daily";
  daily.period = SequenceType::Period::kDay;
  ASSERT_TRUE(types_->Create(daily).ok());
  locus_numbers* numbers = nullptr;
  ASSERT_EQ(locus_numbers_open(Store().c_str(), "daily", "", nullptr, &numbers, &error_), LOCUS_OK);
  locus_number_block block = {};
  ASSERT_EQ(locus_numbers_next_block(numbers, kPatience, 1, &block, &error_), LOCUS_OK);
  EXPECT_EQ(std::string(block.group).size(), 8u);
  EXPECT_EQ(Next(numbers, {}), LOCUS_FAILED_PRECONDITION) << "without a pattern they would repeat";
  locus_numbers_close(numbers);
}

TEST_F(CApiRulesTest, WrongCalls_AreRefusedAndCostNoNumber) {
  locus_numbers* numbers = nullptr;
  EXPECT_EQ(locus_numbers_open(Store().c_str(), "nobody", nullptr, nullptr, &numbers, &error_),
            LOCUS_NOT_FOUND);
  EXPECT_EQ(locus_numbers_open(Store().c_str(), "No", nullptr, nullptr, &numbers, &error_),
            LOCUS_INVALID_ARGUMENT);
  const std::string key(401, 'k');
  EXPECT_EQ(
      locus_numbers_open(Store().c_str(), "invoices", key.c_str(), nullptr, &numbers, &error_),
      LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(locus_numbers_open(nullptr, "a", nullptr, nullptr, &numbers, &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(locus_numbers_open(Store().c_str(), nullptr, nullptr, nullptr, &numbers, &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(locus_numbers_open(Store().c_str(), "invoices", nullptr, nullptr, nullptr, &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(numbers, nullptr);
  EXPECT_EQ(locus_numbers_next(nullptr, 0, nullptr, 0, text_, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(locus_numbers_next_block(nullptr, 0, 1, nullptr, &error_), LOCUS_INVALID_ARGUMENT);
  locus_numbers_close(nullptr);

  numbers = Open();
  EXPECT_EQ(Next(numbers, {{"shop", "1"}}), LOCUS_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("town"));
  EXPECT_EQ(Next(numbers, {{"shop", "100"}, {"town", "H"}}), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(Next(numbers, {{"shop", "1"}, {"town", nullptr}}), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(Next(numbers, {{"shop", "1"}, {"town", "H"}, {"seq", "9"}}), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(locus_numbers_next(numbers, 0, nullptr, 2, text_, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(locus_numbers_next(numbers, 0, nullptr, 0, nullptr, &error_), LOCUS_INVALID_ARGUMENT);
  locus_number_block block = {};
  EXPECT_EQ(locus_numbers_next_block(numbers, 0, 0, &block, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_STREQ(text_, "") << "nothing was written";
  ASSERT_EQ(Next(numbers, {{"shop", "1"}, {"town", "H"}}), LOCUS_OK) << error_.message;
  EXPECT_STREQ(text_, "01-H0005");
  locus_numbers_close(numbers);
}

TEST_F(CApiRulesTest, DroppedType_IsRefused) {
  ASSERT_TRUE(types_->Drop("invoices", type_.version).ok());
  locus_numbers* numbers = nullptr;
  EXPECT_EQ(locus_numbers_open(Store().c_str(), "invoices", nullptr, nullptr, &numbers, &error_),
            LOCUS_FAILED_PRECONDITION);
  EXPECT_THAT(error_.message, HasSubstr("was dropped"));
}

TEST_F(CApiRulesTest, ThreadsOfTwoObjects_GetEachNumberOnce) {
  SequenceType many;
  many.name = "many";
  many.pattern = "{seq:9}";
  ASSERT_TRUE(types_->Create(many).ok());
  locus_numbers* const two[] = {Open("k", "many"), Open("k", "many")};
  internal::Mutex mutex;
  std::set<std::string> all;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      char text[LOCUS_NUMBER_TEXT_BYTES];
      locus_error error;
      for (int n = 0; n < 200; ++n) {
        EXPECT_EQ(locus_numbers_next(two[i % 2], kPatience, nullptr, 0, text, &error), LOCUS_OK)
            << error.message;
        internal::MutexLock lock(mutex);
        EXPECT_TRUE(all.insert(text).second) << text;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (locus_numbers* numbers : two) locus_numbers_close(numbers);
  EXPECT_EQ(all.size(), 800u);
}

TEST_F(CApiRulesTest, ForkedChild_IsRefusedAndClosesAtOnce) {
  locus_numbers* numbers = Open();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const locus_code code = locus_numbers_next(numbers, 0, nullptr, 0, text_, nullptr);
    locus_numbers_close(numbers);
    _exit(code == LOCUS_FAILED_PRECONDITION ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  locus_numbers_close(numbers);
}

}  // namespace
}  // namespace locus
