// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "src/engine/etcd/space_store.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/segment/segment_store_contract.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

class EtcdUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override {
    auto store = etcd::SpaceStore::Open(options_, &clock_);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  void LoseSpaces() override {
    auto connection = RawConnection(options_);
    etcd::Txn txn;
    txn.Delete(options_.prefix + "/", options_.prefix + "0");  // '0' comes after '/'
    auto answer = connection->Commit(txn, connection->Deadline());
    EXPECT_TRUE(answer.ok()) << answer.status();
  }
  fakes::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return true; }

 private:
  const EtcdOptions options_ = FreshEtcdPrefix();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Etcd, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "etcd", [] { return std::make_unique<EtcdUnderTest>(); }}));

class EtcdSegmentStoreTest : public ::testing::Test {
 protected:
  const EtcdOptions options_ = FreshEtcdPrefix();
  std::unique_ptr<EtcdSegmentStore> store_ = MustOpen(options_);
};

TEST_F(EtcdSegmentStoreTest, UsualAllocation_IsOneRoundTrip) {
  CreateSpace(*store_);
  uint64_t end = EndOf(Allocate(*store_));
  uint64_t before = store_->Stats().requests;
  for (int i = 0; i < 10; ++i) {
    SegmentReply reply = Allocate(*store_, 0, end);
    EXPECT_EQ(FirstOf(reply), end);
    end = EndOf(reply);
  }
  EXPECT_EQ(store_->Stats().requests, before + 10);
  EXPECT_EQ(store_->Stats().connects, 1u);
}

TEST_F(EtcdSegmentStoreTest, AllocationOfAllSections_IsOneRoundTripOnceTheSpaceIsKnown) {
  CreateSpace(*store_);
  std::vector<SegmentRequest> requests;
  for (uint16_t section = 0; section < 256; ++section) requests.push_back({section, 64, 0});
  auto allocation = [&] {
    auto reply = store_->Allocate(SpaceName(), SpaceOptions(), requests, absl::Now());
    ASSERT_TRUE(reply.ok()) << reply.status();
    for (const SegmentGrant& grant : reply->grants) EXPECT_EQ(grant.segment.length, 64u);
  };
  uint64_t before = store_->Stats().requests;
  allocation();
  EXPECT_LE(store_->Stats().requests, before + 2) << "one reads the space";
  before = store_->Stats().requests;
  allocation();
  EXPECT_EQ(store_->Stats().requests, before + 1);
}

TEST_F(EtcdSegmentStoreTest, AllocationAfterAnotherProcess_IsOneRoundTripMore) {
  CreateSpace(*store_);
  Allocate(*store_);
  auto other = MustOpen(options_);
  uint64_t end = EndOf(Allocate(*other));
  uint64_t before = store_->Stats().requests;
  EXPECT_EQ(FirstOf(Allocate(*store_)), end);
  EXPECT_EQ(store_->Stats().requests, before + 2);
  EXPECT_EQ(store_->Stats().conflicts, 1u);
  Allocate(*store_, 200);
  EXPECT_EQ(store_->Stats().conflicts, 1u) << "of another group of sections";
}

TEST_F(EtcdSegmentStoreTest, EverySectionOfTheSmallestSize_IsAllocatedInOneStep) {
  EtcdOptions patient = options_;
  patient.request_timeout = patient.call_timeout = absl::Seconds(30);
  store_ = MustOpen(patient);
  SpaceOptions options;
  options.section_size = 1;
  ASSERT_TRUE(store_->Create(SpaceName(), options, absl::Now()).ok());
  std::vector<SegmentRequest> requests;
  for (uint32_t section = 0; section < 65536; ++section) {
    requests.push_back({static_cast<uint16_t>(section), 64, 0});
  }
  auto reply = store_->Allocate(SpaceName(), options, requests, absl::Now());
  ASSERT_TRUE(reply.ok()) << reply.status();
  for (const SegmentGrant& grant : reply->grants) EXPECT_EQ(grant.segment.length, 64u);
  auto other = MustOpen(patient);
  reply = other->Allocate(SpaceName(), options, requests, absl::Now());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(other->Show(SpaceName(), absl::Now())->sections.size(), 65536u);
}

// The contract suite owns the time: this is the server's, which is this host's.
TEST_F(EtcdSegmentStoreTest, ServersClock_DecidesAndIsCheckedBothWays) {
  CreateSpace(*store_);
  absl::Time before = absl::Now();
  absl::Time granted_at = Allocate(*store_).granted_at;
  EXPECT_GE(granted_at, before - absl::Milliseconds(1));
  EXPECT_LE(granted_at, absl::Now() + absl::Milliseconds(1));
  SegmentRequest request;
  for (absl::Duration wrong : {absl::Seconds(62), absl::Seconds(-62)}) {
    absl::Status status =
        store_->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now() + wrong).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
  for (absl::Duration off : {absl::Seconds(59), absl::Seconds(-59)}) {
    auto reply = store_->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now() + off);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_LE(absl::AbsDuration(reply->granted_at - absl::Now()), absl::Seconds(30))
        << "the server's time, not the caller's";
  }
  SpaceName other = SpaceName::Parse("other").value();
  EXPECT_TRUE(absl::IsFailedPrecondition(
      store_->Create(other, SpaceOptions(), absl::Now() + absl::Minutes(2))));
}

TEST_F(EtcdSegmentStoreTest, RecordThatCannotBe_IsDataLoss) {
  CreateSpace(*store_);
  PutRaw(options_, options_.prefix + "/space/orders", "{\"schema\":\"1\"}");
  absl::Status status = TryAllocate(*store_).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_NE(status.message().find(options_.endpoints[0]), absl::string_view::npos) << status;
  PutRaw(options_, options_.prefix + "/space/orders", "{\"schema\":\"2\"}");
  EXPECT_TRUE(absl::IsFailedPrecondition(TryAllocate(*store_).status())) << "a later version's";
}

TEST_F(EtcdSegmentStoreTest, HeadsThatCannotBe_AreDataLoss) {
  CreateSpace(*store_);
  std::string key = options_.prefix + "/heads/orders/00";
  PutRaw(options_, key, "short");
  EXPECT_TRUE(absl::IsDataLoss(TryAllocate(*store_).status()));
  PutRaw(options_, key, std::string(144, '\x7F'));
  EXPECT_TRUE(absl::IsDataLoss(TryAllocate(*store_).status()));
}

TEST_F(EtcdSegmentStoreTest, ForkedChild_IsRefused) {
  CreateSpace(*store_);
  uint64_t end = EndOf(Allocate(*store_));
  ChildProcess child([&] {
    bool refused =
        absl::IsFailedPrecondition(TryAllocate(*store_).status()) &&
        absl::IsFailedPrecondition(store_->ReadOptions(SpaceName()).status()) &&
        absl::IsFailedPrecondition(store_->Show(SpaceName(), absl::Now()).status()) &&
        absl::IsFailedPrecondition(
            store_->Raise(SpaceName(), 1, RaiseReach::kAnywhere, absl::Now()).status()) &&
        absl::IsFailedPrecondition(store_->Create(SpaceName(), SpaceOptions(), absl::Now()));
    store_.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  uint64_t connects = store_->Stats().connects;
  EXPECT_EQ(FirstOf(Allocate(*store_)), end);
  EXPECT_EQ(store_->Stats().connects, connects) << "the parent's connection lives on";
}

TEST(EtcdOptionsTest, ThatCannotBe_AreRefusedByName) {
  auto refusal = [](auto spoil) {
    EtcdOptions options;
    options.endpoints = {"127.0.0.1:2379"};
    spoil(options);
    absl::Status status = EtcdSegmentStore::Open(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_NE(refusal([](auto& o) { o.endpoints.clear(); }).find("endpoints"), std::string::npos);
  for (const char* bad : {"", "host", "host:", "host:0", "host:65536", ":2379", "a:b:2379",
                          "http://a:2379", "[::1:2379", "user@a:2379"}) {
    EXPECT_NE(refusal([&](auto& o) { o.endpoints.push_back(bad); }).find("host:port"),
              std::string::npos);
  }
  EXPECT_NE(refusal([](auto& o) { o.prefix = std::string(257, 'p'); }).find("prefix"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.call_timeout = absl::ZeroDuration(); }).find("call_timeout"),
            std::string::npos);
  auto with_password = [](EtcdOptions& o) {
    o.user = "shop";
    o.password = "s3cret";
    o.endpoints = {"127.0.0.1:2379", "db1.example:2379"};
  };
  EXPECT_NE(refusal(with_password).find("db1.example:2379 is not on this host"), std::string::npos);
  EtcdOptions trusting;
  with_password(trusting);
  trusting.password_in_plain_text = true;
  EXPECT_TRUE(trusting.Check().ok());
  trusting.password_in_plain_text = false;
  trusting.tls.enabled = true;
  EXPECT_TRUE(trusting.Check().ok());
  EXPECT_NE(refusal([](auto& o) { o.max_connections = 0; }).find("max_connections"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.password = "hunter2"; }).find("password"), std::string::npos);
  EXPECT_EQ(refusal([](auto& o) { o.password = "hunter2"; }).find("hunter2"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.tls.ca_file = "ca"; }).find("tls"), std::string::npos);
}

}  // namespace
}  // namespace locus
