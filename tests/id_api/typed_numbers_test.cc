// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/typed_numbers.h"

#include <chrono>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"

namespace locus::locusd {
namespace {

using internal::MutexLock;
using ::testing::HasSubstr;

// Answers only while it does not hang.
class HangingTypes : public SequenceTypeStore {
 public:
  void Hang(bool hangs) {
    MutexLock lock(mutex_);
    hangs_ = hangs;
    changed_.NotifyAll();
  }
  void AwaitLoads(int count) {
    MutexLock lock(mutex_);
    while (loads_ < count) changed_.Wait(mutex_);
  }
  int loads() {
    MutexLock lock(mutex_);
    return loads_;
  }

 private:
  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) override {
    MutexLock lock(mutex_);
    ++loads_;
    changed_.NotifyAll();
    while (hangs_) changed_.Wait(mutex_);
    const auto at = types_.find(name);
    if (at == types_.end()) return std::nullopt;
    return at->second;
  }
  absl::StatusOr<std::map<std::string, Stored>> LoadAll() override {
    MutexLock lock(mutex_);
    return types_;
  }
  absl::StatusOr<bool> Swap(const std::string& name, uint64_t,
                            const std::optional<Stored>& next) override {
    MutexLock lock(mutex_);
    types_[name] = next.value();
    return true;
  }

  internal::Mutex mutex_;
  internal::CondVar changed_;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
  int loads_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Stored> types_ ABSL_GUARDED_BY(mutex_);
};

class TypedNumbersTest : public ::testing::Test {
 protected:
  using Opening = std::shared_ptr<TypedNumbers::Opening>;

  void SetUp() override {
    for (const char* const name : {"invoices", "tickets"}) {
      SequenceType type;
      type.name = name;
      type.lifetime = absl::Hours(24);
      ASSERT_TRUE(types_->Create(type).ok());
    }
    Open({});
  }
  void TearDown() override { types_->Hang(false); }

  std::unique_ptr<TypedSequences> Sequences() {
    auto open = [this](const SequencerOptions& of) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
      return std::shared_ptr<Sequencer>(counters_->Share(of).value());
    };
    return std::make_unique<TypedSequences>(types_, open);
  }
  void Open(TypedNumbers::Options options) {
    numbers_ = std::make_unique<TypedNumbers>(Sequences(), std::move(options));
  }
  absl::Status WaitFor(const Opening& opening, std::chrono::seconds patience) const {
    return numbers_->Wait(opening, std::chrono::steady_clock::now() + patience).status();
  }
  absl::Status OpenAndWait(const std::string& type, const std::string& key) {
    auto opening = numbers_->Open(type, key);
    return opening.ok() ? WaitFor(*opening, std::chrono::seconds(60)) : opening.status();
  }
  int generators() const {
    int count = 0;
    numbers_->ForEach(
        [&count](const std::string&, const std::string&, const NumberGenerator&) { ++count; });
    return count;
  }

  std::shared_ptr<HangingTypes> types_ = std::make_shared<HangingTypes>();
  std::unique_ptr<MemorySequencer> counters_ = MemorySequencer::Create({}).value();
  std::unique_ptr<TypedNumbers> numbers_;
};

TEST_F(TypedNumbersTest, StoreThatHangs_RequestsThatGaveUpLeaveNothing) {
  types_->Hang(true);
  const Opening first = numbers_->Open("invoices", "").value();
  types_->AwaitLoads(1);
  for (int i = 0; i < 2000; ++i) {
    const auto opening = numbers_->Open("invoices", absl::StrCat(i));
    ASSERT_TRUE(opening.ok()) << i << " " << opening.status();
    ASSERT_TRUE(absl::IsDeadlineExceeded(WaitFor(*opening, std::chrono::seconds(0))));
  }
  const Opening last = numbers_->Open("tickets", "").value();
  types_->Hang(false);
  EXPECT_EQ(WaitFor(first, std::chrono::seconds(60)), absl::OkStatus());
  EXPECT_EQ(WaitFor(last, std::chrono::seconds(60)), absl::OkStatus());
  EXPECT_EQ(types_->loads(), 2) << "nobody waits for the others";
  EXPECT_EQ(generators(), 2);
}

TEST_F(TypedNumbersTest, ThoseThatWait_AreLimited) {
  TypedNumbers::Options options;
  options.most_waiting = 3;
  Open(options);
  types_->Hang(true);
  std::vector<Opening> waiting;
  for (const char* const key : {"a", "b", "c"}) {
    waiting.push_back(numbers_->Open("invoices", key).value());
  }
  types_->AwaitLoads(1);
  EXPECT_TRUE(numbers_->Open("invoices", "b").ok()) << "joins";
  const absl::Status refused = numbers_->Open("invoices", "d").status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("3 counters"));
  waiting.pop_back();
  EXPECT_TRUE(numbers_->Open("invoices", "d").ok()) << "in the place of c";
  types_->Hang(false);
  EXPECT_EQ(OpenAndWait("invoices", "e"), absl::OkStatus());
}

TEST_F(TypedNumbersTest, KeysAboveTheLimit_AskNothing) {
  TypedNumbers::Options options;
  options.most = 1;
  Open(options);
  ASSERT_EQ(OpenAndWait("invoices", "a"), absl::OkStatus());
  const int loads = types_->loads();
  EXPECT_TRUE(absl::IsResourceExhausted(OpenAndWait("invoices", "b")));
  EXPECT_EQ(types_->loads(), loads);
  EXPECT_TRUE(absl::IsResourceExhausted(OpenAndWait("tickets", "")));
  EXPECT_TRUE(absl::IsNotFound(OpenAndWait("orders", ""))) << "may be a sequence";
  EXPECT_EQ(OpenAndWait("invoices", "a"), absl::OkStatus());
}

TEST_F(TypedNumbersTest, TypeAboveTheLimit_IsKnownToBeOne) {
  TypedNumbers::Options options;
  options.most = 1;
  Open(options);
  ASSERT_EQ(OpenAndWait("invoices", "a"), absl::OkStatus());
  numbers_->LookFor("tickets");
  // Behind it in the line.
  EXPECT_TRUE(absl::IsNotFound(OpenAndWait("orders", "")));
  EXPECT_TRUE(numbers_->IsType("tickets"));
  EXPECT_FALSE(numbers_->IsType("orders"));
  EXPECT_TRUE(absl::IsResourceExhausted(OpenAndWait("tickets", "")));
  EXPECT_EQ(generators(), 1);
}

TEST_F(TypedNumbersTest, StoreThatHasNoTableYet_HasNoTypesUntilItHas) {
  internal::Mutex mutex;
  absl::Status table = absl::NotFoundError("there is no table");  // under mutex
  int opened = 0;                                                 // likewise
  const auto make = [&](absl::Status now) {
    MutexLock lock(mutex);
    table = std::move(now);
  };
  TypedNumbers::Options options;
  options.open_later = [&]() -> absl::StatusOr<std::unique_ptr<TypedSequences>> {
    MutexLock lock(mutex);
    if (!table.ok()) return table;
    ++opened;
    return Sequences();
  };
  numbers_ = std::make_unique<TypedNumbers>(nullptr, options);
  const absl::Status none = OpenAndWait("invoices", "");
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("no table of sequence types"));
  EXPECT_TRUE(absl::IsNotFound(numbers_->List().status()));
  EXPECT_TRUE(
      absl::IsNotFound(WaitFor(numbers_->Ask("invoices").value(), std::chrono::seconds(60))));
  make(absl::UnavailableError("away"));
  EXPECT_TRUE(absl::IsUnavailable(OpenAndWait("invoices", "")));
  make(absl::FailedPreconditionError("broken"));
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenAndWait("invoices", "")));
  make(absl::OkStatus());
  EXPECT_EQ(OpenAndWait("invoices", ""), absl::OkStatus());
  EXPECT_EQ(OpenAndWait("invoices", "a"), absl::OkStatus());
  EXPECT_EQ(numbers_->List()->size(), 2u);
  numbers_.reset();
  MutexLock lock(mutex);
  EXPECT_EQ(opened, 1);
}

TEST_F(TypedNumbersTest, Ask_TellsOfTypesAndOpensNone) {
  const auto ask = [this](const std::string& type) {
    return WaitFor(numbers_->Ask(type).value(), std::chrono::seconds(60));
  };
  EXPECT_FALSE(numbers_->IsType("invoices"));
  EXPECT_EQ(ask("invoices"), absl::OkStatus());
  EXPECT_TRUE(numbers_->IsType("invoices"));
  EXPECT_TRUE(absl::IsNotFound(ask("orders")));
  EXPECT_FALSE(numbers_->IsType("orders"));
  EXPECT_EQ(generators(), 0);
  numbers_->LookFor("tickets:north");
  // Behind it in the line.
  EXPECT_EQ(ask("invoices"), absl::OkStatus());
  EXPECT_TRUE(numbers_->IsType("tickets"));
}

}  // namespace
}  // namespace locus::locusd
