// SPDX-License-Identifier: Apache-2.0
#include "tests/number/sequence_type_store_contract.h"

#include <atomic>
#include <thread>
#include <vector>

#include "src/number/type_text.h"

namespace locus {
namespace {

SequenceType Invoices() {
  SequenceType type;
  type.name = "invoices";
  type.start = 1000;
  type.step = 5;
  type.max_value = 99'999'999;
  type.at_max = SequencerOptions::AtMax::kWrap;
  type.expiry = absl::Hours(72) + absl::Milliseconds(7);
  type.buffer = 100;
  type.period = SequenceType::Period::kDay;
  type.zone = "Asia/Shanghai";
  type.pattern = "a = {date:yyyyMMdd}{{{seq:8}";
  type.leftovers = SequenceType::Leftovers::kDrop;
  type.lifetime = absl::Seconds(5);
  return type;
}

SequenceType Named(const std::string& name) {
  SequenceType type;
  type.name = name;
  return type;
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SequenceTypeStoreContract);

TEST_P(SequenceTypeStoreContract, CreatedType_IsFoundByOthersAsItWas) {
  SequenceType given = Invoices();
  given.version = 77;
  SequenceType created = store_->Create(given).value();
  EXPECT_NE(created.version, 0u);
  SequenceType found = under_test_->Connect()->Find("invoices").value();
  EXPECT_EQ(found.version, created.version);
  EXPECT_EQ(found.name, "invoices");
  EXPECT_EQ(internal::TypeTextOf(found), internal::TypeTextOf(given));
}

TEST_P(SequenceTypeStoreContract, TypeOfThatName_IsNotCreatedAgain) {
  SequenceType first = store_->Create(Invoices()).value();
  SequenceType other = Named("invoices");
  EXPECT_TRUE(absl::IsAlreadyExists(under_test_->Connect()->Create(other).status()));
  EXPECT_EQ(store_->Find("invoices")->version, first.version);
  EXPECT_EQ(store_->Find("invoices")->step, 5);
}

TEST_P(SequenceTypeStoreContract, UnknownType_IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(store_->Find("nobody").status()));
  SequenceType type = Named("nobody");
  type.version = 5;
  EXPECT_TRUE(absl::IsNotFound(store_->Alter(type).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Drop("nobody", 5)));
  EXPECT_TRUE(absl::IsNotFound(store_->Drop("nobody", 0)));
  EXPECT_TRUE(store_->List()->empty());
}

TEST_P(SequenceTypeStoreContract, List_IsByName) {
  for (const char* name : {"tickets", "a-b_9", "invoices"}) {
    ASSERT_TRUE(store_->Create(Named(name)).ok());
  }
  std::vector<std::string> names;
  std::vector<SequenceType> types = under_test_->Connect()->List().value();
  for (const SequenceType& type : types) names.push_back(type.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a-b_9", "invoices", "tickets"}));
  EXPECT_EQ(types[1].version, store_->Find("invoices")->version);
}

TEST_P(SequenceTypeStoreContract, AlteredType_HasAnotherVersionForEverybody) {
  SequenceType type = store_->Create(Invoices()).value();
  SequenceType next = type;
  next.step = 7;
  next.pattern = "{date:yyyyMMdd}{seq:9}";
  SequenceType altered = store_->Alter(next).value();
  EXPECT_NE(altered.version, type.version);
  SequenceType found = under_test_->Connect()->Find("invoices").value();
  EXPECT_EQ(found.version, altered.version);
  EXPECT_EQ(found.step, 7);
  EXPECT_EQ(found.pattern, "{date:yyyyMMdd}{seq:9}");
}

TEST_P(SequenceTypeStoreContract, AlterOfAnOldVersion_IsAborted) {
  SequenceType type = store_->Create(Invoices()).value();
  SequenceType mine = type, theirs = type;
  theirs.step = 7;
  uint64_t theirs_now = under_test_->Connect()->Alter(theirs).value().version;
  mine.step = 9;
  absl::Status status = store_->Alter(mine).status();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_NE(status.message().find(std::to_string(theirs_now)), absl::string_view::npos) << status;
  EXPECT_TRUE(absl::IsAborted(store_->Drop("invoices", type.version)));
  EXPECT_EQ(store_->Find("invoices")->step, 7);
}

TEST_P(SequenceTypeStoreContract, PeriodOfAType_IsNotAltered) {
  SequenceType type = store_->Create(Invoices()).value();
  type.period = SequenceType::Period::kMonth;
  type.expiry = absl::ZeroDuration();
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Alter(type).status()));
  EXPECT_EQ(store_->Find("invoices")->period, SequenceType::Period::kDay);
}

TEST_P(SequenceTypeStoreContract, DroppedType_KeepsItsNameAndComesBackAsAnother) {
  SequenceType type = store_->Create(Invoices()).value();
  ASSERT_TRUE(store_->Create(Named("other")).ok());
  ASSERT_TRUE(store_->Drop("invoices", type.version).ok());
  auto others = under_test_->Connect();
  const absl::Status found = others->Find("invoices").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(found)) << "the name belongs to a type: " << found;
  EXPECT_NE(found.message().find("was dropped"), absl::string_view::npos) << found;
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Alter(type).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Drop("invoices", type.version)));
  SequenceTypeStore::Known known = others->FindAny("invoices").value();
  EXPECT_TRUE(known.is_dropped);
  EXPECT_EQ(known.type.version, type.version + 1);
  EXPECT_EQ(internal::TypeTextOf(known.type), internal::TypeTextOf(type));
  ASSERT_EQ(others->List()->size(), 1u);
  EXPECT_EQ(others->List()->front().name, "other");
  ASSERT_EQ(others->ListAny()->size(), 2u);
  EXPECT_TRUE(others->ListAny()->front().is_dropped);
  EXPECT_FALSE(others->ListAny()->back().is_dropped);

  SequenceType again = others->Create(Invoices()).value();
  EXPECT_EQ(again.version, type.version + 2);
  EXPECT_TRUE(absl::IsAborted(store_->Alter(type).status()));
  EXPECT_TRUE(absl::IsAborted(store_->Drop("invoices", type.version)));
  EXPECT_TRUE(absl::IsAlreadyExists(store_->Create(Invoices()).status()));
  EXPECT_TRUE(store_->Find("other").ok());
}

TEST_P(SequenceTypeStoreContract, DroppedType_ComesBackOnlyWhereNoNumberIsWrittenTwice) {
  SequenceType type = Named("tickets");
  type.pattern = "{seq:5}";
  type = store_->Create(type).value();
  ASSERT_TRUE(store_->Drop("tickets", type.version).ok());
  auto others = under_test_->Connect();
  SequenceType daily = Invoices();
  daily.name = "tickets";
  EXPECT_TRUE(absl::IsFailedPrecondition(others->Create(daily).status()));
  SequenceType next = type;
  next.pattern = "{seq:4}1";
  EXPECT_TRUE(absl::IsFailedPrecondition(others->Create(next).status()));
  EXPECT_TRUE(others->FindAny("tickets")->is_dropped) << "refusals change nothing";
  EXPECT_EQ(others->Create(daily, SequenceTypeStore::Repeats::kAllowed)->version, type.version + 2);
}

TEST_P(SequenceTypeStoreContract, PatternThatRepeatsTexts_IsAlteredOnlyWhereThatIsSaid) {
  SequenceType type = Named("tickets");
  type.pattern = "{seq:5}";
  type = store_->Create(type).value();
  type.pattern = "{seq:4}1";
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Alter(type).status()));
  EXPECT_EQ(store_->Find("tickets")->pattern, "{seq:5}");
  type = store_->Alter(type, SequenceTypeStore::Repeats::kAllowed).value();
  EXPECT_EQ(under_test_->Connect()->Find("tickets")->pattern, "{seq:4}1");
}

TEST_P(SequenceTypeStoreContract, PatternThatRepeatsTextsOfAnEarlierOne_IsRefused) {
  SequenceType type = Named("tickets");
  type.pattern = "A{seq:5}";
  type = store_->Create(type).value();
  type.pattern = "B{seq:5}";
  type = store_->Alter(type).value();
  SequenceType back = type;
  back.pattern = "A{seq:4}1";  // "A00011" was number 11
  auto others = under_test_->Connect();
  EXPECT_TRUE(absl::IsFailedPrecondition(others->Alter(back).status()));
  ASSERT_TRUE(others->Drop("tickets", type.version).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Create(back).status()));
  type.pattern = "C{seq:5}";
  type = store_->Create(type).value();
  back.version = type.version;
  EXPECT_TRUE(absl::IsFailedPrecondition(others->Alter(back).status()));
  type.pattern = "A{seq:5}";  // its own numbers, which the counter has left behind
  type = others->Alter(type).value();
  EXPECT_EQ(store_->Find("tickets")->pattern, "A{seq:5}");
  back.version = type.version;
  back = store_->Alter(back, SequenceTypeStore::Repeats::kAllowed).value();
  ASSERT_TRUE(store_->Drop("tickets", back.version).ok());
  EXPECT_TRUE(store_->Create(back).ok()) << "what was said once is not asked for again";
}

TEST_P(SequenceTypeStoreContract, MorePatternsThanCanBeStored_AreRefused) {
  SequenceType type = Named("tickets");
  type.pattern = "{seq:5}-0";
  type = store_->Create(type).value();
  absl::Status last;
  for (int i = 1; i < 200 && last.ok(); ++i) {
    SequenceType next = type;
    next.pattern = "{seq:5}-" + std::string(100, 'x') + std::to_string(i);
    const auto altered = store_->Alter(next);
    last = altered.status();
    if (altered.ok()) type = *altered;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(last)) << last;
  EXPECT_NE(last.message().find("no more can be stored"), absl::string_view::npos) << last;
  EXPECT_EQ(store_->Find("tickets")->version, type.version);
}

TEST_P(SequenceTypeStoreContract, BadTypeOrName_IsRefused) {
  SequenceType type = Invoices();
  type.step = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Create(type).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Alter(type).status()));
  for (const std::string& name : {std::string(), std::string("A"), std::string(65, 'a')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Find(name).status())) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Drop(name, 1))) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Create(Named(name)).status())) << name;
  }
  EXPECT_TRUE(store_->List()->empty());
}

TEST_P(SequenceTypeStoreContract, ExpiryTooShortForSegments_IsRefusedInNewTypes) {
  SequenceType type = Named("short");
  type.expiry = absl::Milliseconds(9999);
  const absl::Status refused = store_->Create(type).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(refused.message().find("at least 10s"), absl::string_view::npos) << refused;
  type.expiry = absl::Seconds(10);
  type = store_->Create(type).value();
  type.expiry = absl::Seconds(1);
  EXPECT_TRUE(
      absl::IsInvalidArgument(store_->Alter(type, SequenceTypeStore::Repeats::kAllowed).status()));
}

TEST_P(SequenceTypeStoreContract, LongestNameAndPattern_AreKept) {
  SequenceType type = Named(std::string(64, 'n'));
  type.pattern.assign(248, 'p');
  type.pattern += "{seq:8}";
  ASSERT_TRUE(store_->Create(type).ok());
  EXPECT_EQ(under_test_->Connect()->Find(type.name)->pattern, type.pattern);
}

TEST_P(SequenceTypeStoreContract, ManyAlterAtOnce_LoseNoChange) {
  constexpr int kThreads = 4, kChanges = 10;
  SequenceType type = Named("shared");
  type.max_value = 1'000'000;
  ASSERT_TRUE(store_->Create(type).ok());
  std::atomic<int> aborted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::shared_ptr<SequenceTypeStore> store = under_test_->Connect();
      for (int changes = 0; changes < kChanges;) {
        SequenceType mine = store->Find("shared").value();
        ++mine.buffer;
        absl::Status status = store->Alter(mine).status();
        if (status.ok()) {
          ++changes;
        } else if (absl::IsAborted(status)) {
          ++aborted;
        } else {
          ADD_FAILURE() << status;
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->Find("shared")->buffer, kThreads * kChanges) << aborted << " were aborted";
}

TEST_P(SequenceTypeStoreContract, TypeAndCounters_ShareAPlaceWithoutCollision) {
  SequenceType type = store_->Create(Invoices()).value();
  auto counters = under_test_->Counters(type.counter_options());
  absl::Time day = absl::FromUnixSeconds(1'795'564'800);
  std::string counter = type.CounterName("shop", day).value();
  EXPECT_EQ(counters->Next(counter).value(), 1000);
  EXPECT_EQ(counters->Next(counter).value(), 1005);
  EXPECT_EQ(counters->Next("invoices").value(), 1000) << "a counter that has a type's name";
  EXPECT_EQ(store_->Find("invoices")->version, type.version);
  EXPECT_EQ(store_->List()->size(), 1u);
  ASSERT_TRUE(store_->Drop("invoices", type.version).ok());
  EXPECT_EQ(counters->Next(counter).value(), 1010) << "counters outlive the type";
}

TEST_P(SequenceTypeStoreContract, CounterWithoutType_TakesNoNameOfAType) {
  std::shared_ptr<Sequencer> plain = under_test_->Counters({});
  RefuseNamesOfTypes(*plain, store_);
  store_->set_plain_value(
      [&counters = *plain](const std::string& name) { return counters.Get(name); });
  ASSERT_TRUE(store_->Create(Invoices()).ok());
  for (const char* name : {"invoices", "invoices:", "invoices:shop:20261125"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(plain->Next(name).status())) << name;
    EXPECT_TRUE(absl::IsNotFound(plain->Get(name).status())) << name;
  }
  ASSERT_EQ(plain->Next("orders").value(), 1);
  SequenceType orders = Invoices();
  orders.name = "orders";
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Create(orders).status()));
  EXPECT_EQ(plain->Next("orders").value(), 2);
}

}  // namespace locus
