// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "src/engine/etcd/strict.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/strict/strict_store_contract.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using Verdict = StrictGrant::Verdict;

class EtcdUnderTest : public StrictStoreUnderTest {
 public:
  std::unique_ptr<StrictStore> Connect() override {
    auto store = etcd::SectionStore::Open(options_, &clock_);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  const EtcdOptions options_ = FreshEtcdPrefix();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Etcd, StrictStoreContract,
                         ::testing::Values(StrictEngine{
                             "etcd", [] { return std::make_unique<EtcdUnderTest>(); }}));

class EtcdStrictStoreTest : public ::testing::Test {
 protected:
  EtcdStrictStoreTest() {
    set_options_.uids = 1'000'000;
    const absl::Status status = store_->Create(set_, set_options_, {.first_ever = true});
    EXPECT_TRUE(status.ok()) << status;
  }
  std::unique_ptr<EtcdStrictStore> Open() {
    auto store = EtcdStrictStore::Open(options_);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  StrictOwner Owner(const std::string& name) const { return {name, "", UINT64_MAX}; }
  absl::StatusOr<StrictGrant> Take(StrictStore& store, const std::string& name,
                                   uint32_t section = 3) {
    auto reply = store.Take(set_, set_options_, {Owner(name), {{section, 0}}});
    if (!reply.ok()) return reply.status();
    return reply->items[0];
  }
  std::string KeyOf(const std::string& last) const {
    return options_.prefix + "/strict/orders/" + last;
  }
  std::string Raw(const std::string& last) {
    auto connection = RawConnection(options_);
    etcd::Txn txn;
    auto answer = connection->Commit(txn.Get(KeyOf(last)), connection->Deadline());
    EXPECT_TRUE(answer.ok() && answer->ranges[0].size() == 1) << answer.status();
    return answer->ranges[0][0].value;
  }

  const EtcdOptions options_ = FreshEtcdPrefix();
  const SpaceName set_;
  StrictSetOptions set_options_;
  std::unique_ptr<EtcdStrictStore> store_ = Open();
};

// The server's clock is asked for beside, now and then: so the fewest of some calls count.
TEST_F(EtcdStrictStoreTest, CallIsTwoRoundTrips_ARefusalOne) {
  auto fewest = [&](auto call) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 10; ++i) {
      const uint64_t before = store_->Stats().requests;
      call();
      least = std::min(least, store_->Stats().requests - before);
    }
    return least;
  };
  ASSERT_TRUE(Take(*store_, "a").ok());
  StrictGrant grant;
  EXPECT_EQ(fewest([&] { grant = *Take(*store_, "a"); }), 2u);
  EXPECT_EQ(fewest([&] {
              const StrictExtend request = {Owner("a"), {{3, grant.token, 0, 0}}};
              ASSERT_TRUE(store_->Extend(set_, set_options_, request).ok());
            }),
            2u);
  EXPECT_EQ(fewest([&] { EXPECT_EQ(Take(*store_, "b")->verdict, Verdict::kHeld); }), 1u);
}

// The server's clock is this host's. No ownership is taken for ended before it has, and none ends
// too early, although the clock is known in whole seconds only.
TEST_F(EtcdStrictStoreTest, ServersClock_IsTakenOnTheSafeSide) {
  for (int round = 0; round < 4; ++round) {
    strict::Record record;
    record.max_seq = 10;
    record.token = 7;
    record.owner = Owner("before");
    record.ends_at = absl::FromUnixMillis(absl::ToUnixMillis(absl::Now())) +
                     absl::Milliseconds(200 + 150 * round);
    PutRaw(options_, KeyOf("section/0000003"), etcd::TextOf(record));
    auto fresh = Open();  // knows the server's clock by one or two answers
    absl::StatusOr<StrictGrant> grant;
    absl::Time asked;
    ASSERT_TRUE(WaitUntil([&] {
      asked = absl::Now();
      grant = Take(*fresh, absl::StrCat("a", round));
      return !grant.ok() || grant->verdict == Verdict::kGranted;
    }));
    ASSERT_TRUE(grant.ok()) << grant.status();
    EXPECT_GT(absl::Now(), record.ends_at) << "granted while somebody held it";
    EXPECT_GE(fresh->Show(set_)->sections[0].ends_at,
              asked + set_options_.ttl - absl::Milliseconds(1));
  }
}

// More than a transaction of etcd may have operations.
TEST_F(EtcdStrictStoreTest, AllSectionsAtOnce_AreOneCall) {
  const SpaceName name = *SpaceName::Parse("large");
  StrictSetOptions large;
  large.section_size = 64;
  large.uids = 64 * 4096;
  ASSERT_TRUE(store_->Create(name, large, {.first_ever = true}).ok());
  const StrictOwner owner{"a-name-as-long-as-some", "http://10.20.30.40:7070", 77};
  StrictTake request{owner, {}};
  for (uint32_t i = 0; i < 4096; ++i) request.wishes.push_back({i, 0});
  auto reply = store_->Take(name, large, request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  const std::vector<StrictGrant>& grants = reply->items;
  ASSERT_EQ(grants.size(), 4096u);
  for (const StrictGrant& grant : grants) EXPECT_EQ(grant.verdict, Verdict::kGranted);
  StrictExtend renewal{owner, {}};
  for (uint32_t i = 0; i < 4096; ++i) {
    renewal.sections.push_back({i, grants[i].token, grants[i].max_seq, 20'000 + i});
  }
  auto extended = store_->Extend(name, large, renewal);
  ASSERT_TRUE(extended.ok()) << extended.status();
  for (uint32_t i = 0; i < 4096; ++i) ASSERT_EQ(extended->items[i].max_seq, 20'000 + i);
  auto view = store_->Show(name);
  ASSERT_TRUE(view.ok()) << view.status();
  ASSERT_EQ(view->sections.size(), 4096u);
  EXPECT_EQ(view->sections.back().section, 4095u);
  EXPECT_EQ(view->sections.back().owner, owner);
  EXPECT_EQ(view->table_version, 4096u);
}

TEST_F(EtcdStrictStoreTest, SetOfMoreThan4096Sections_IsNotCreated) {
  const SpaceName name = *SpaceName::Parse("large");
  for (const uint64_t uids : {StrictSetOptions().uids, uint64_t{4096} * 100'000 + 1}) {
    StrictSetOptions large;
    large.uids = uids;
    const absl::Status status = store_->Create(name, large, {.first_ever = true});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    for (const std::string& part :
         {absl::StrCat(large.sections(), " sections"), std::string("at most 4096"),
          std::string("a larger section_size, fewer uids, or another store")}) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(part));
    }
    EXPECT_EQ(store_->Show(name).status().code(), absl::StatusCode::kNotFound);
  }
}

TEST_F(EtcdStrictStoreTest, OthersWroteMeanwhile_IsDecidedAnew) {
  constexpr int kOwners = 8;
  std::vector<std::thread> threads;
  std::atomic<uint64_t> conflicts{0};
  for (int i = 0; i < kOwners; ++i) {
    threads.emplace_back([&, i] {
      auto store = Open();
      const std::string name = absl::StrCat("o", i);
      for (uint32_t round = 0; round < 10; ++round) {
        auto grant = Take(*store, name, static_cast<uint32_t>(i));
        ASSERT_TRUE(grant.ok()) << grant.status();
        EXPECT_EQ(grant->start, round * set_options_.step) << "of nobody else's call";
      }
      conflicts += store->Stats().conflicts;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->Show(set_)->table_version, 10u * kOwners) << "each is counted";
  std::cout << conflicts << " conflicts of " << 10 * kOwners << " calls\n";
}

TEST_F(EtcdStrictStoreTest, SpoiltState_IsNamed) {
  ASSERT_TRUE(Take(*store_, "a").ok());
  const std::string section = Raw("section/0000003"), set = Raw("set");
  auto all = [&](auto expected) {
    auto fresh = Open();
    EXPECT_TRUE(expected(Take(*fresh, "b").status())) << Take(*fresh, "b").status();
    EXPECT_TRUE(expected(fresh->Show(set_).status())) << fresh->Show(set_).status();
  };
  const auto data_loss = [](const absl::Status& status) { return absl::IsDataLoss(status); };
  const std::string start_above = "1 2" + section.substr(section.find(' ', 7));
  for (const std::string& text :
       std::vector<std::string>{"", "x", section + " ", start_above, "01 0 1 0 1 =a = ="}) {
    PutRaw(options_, KeyOf("section/0000003"), text);
    all(data_loss);
  }
  PutRaw(options_, KeyOf("section/0000003"), section);
  PutRaw(options_, KeyOf("section/0000011"), section);
  EXPECT_TRUE(absl::IsDataLoss(store_->Show(set_).status())) << "the set has ten sections";
  PutRaw(options_, KeyOf("set"), "1 x 2 3");
  all(data_loss);
  PutRaw(options_, KeyOf("set"), "2" + set.substr(1));
  all([](const absl::Status& status) { return absl::IsFailedPrecondition(status); });
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Create(set_, set_options_, {.first_ever = true})));
}

TEST_F(EtcdStrictStoreTest, ForkedChild_IsRefused) {
  const StrictGrant grant = *Take(*store_, "a");
  ChildProcess child([&] {
    auto refused = [](const absl::Status& status) { return absl::IsFailedPrecondition(status); };
    const bool all =
        refused(Take(*store_, "b").status()) && refused(store_->Show(set_).status()) &&
        refused(store_->Create(set_, set_options_, {.first_ever = true})) &&
        refused(store_->DeclareRestored(set_)) &&
        refused(
            store_->Extend(set_, set_options_, {Owner("a"), {{3, grant.token, 0, 0}}}).status());
    store_.reset();
    return all ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_TRUE(Take(*store_, "a").ok());
}

}  // namespace
}  // namespace locus
