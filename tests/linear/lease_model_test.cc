// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/linear/lease_model.h"

#include "gtest/gtest.h"

namespace locus::linear {
namespace {

using Kind = LeaseOperation::Kind;

absl::Time At(int64_t ms) { return absl::FromUnixMillis(ms); }

WorkerGrant Grant(uint64_t token, int64_t floor, int64_t ceiling, int64_t granted_at) {
  return {0, token, At(floor), At(ceiling), At(granted_at), false};
}
Call<LeaseOperation> Acquire(int64_t called, std::optional<int64_t> returned,
                             const std::string& nonce, const WorkerGrant& grant = {}) {
  LeaseOperation one;
  one.nonce = nonce;
  one.grant = grant;
  return {called, returned, one};
}
Call<LeaseOperation> Renew(int64_t called, std::optional<int64_t> returned,
                           const std::string& nonce, uint64_t token,
                           std::optional<WorkerGrant> grant) {
  LeaseOperation one;
  one.kind = Kind::kRenew;
  one.nonce = nonce;
  one.token = token;
  one.code = grant ? absl::StatusCode::kOk : absl::StatusCode::kAborted;
  one.grant = grant.value_or(WorkerGrant());
  return {called, returned, one};
}
Call<LeaseOperation> Release(int64_t called, std::optional<int64_t> returned, uint64_t token,
                             int64_t last_used, absl::StatusCode code = absl::StatusCode::kOk) {
  LeaseOperation one;
  one.kind = Kind::kRelease;
  one.token = token;
  one.last_used = At(last_used);
  one.code = code;
  return {called, returned, one};
}
Call<LeaseOperation> Show(int64_t called, int64_t returned, int64_t now,
                          std::optional<WorkerRecord> record) {
  LeaseOperation one;
  one.kind = Kind::kShow;
  one.record = std::move(record);
  one.now = At(now);
  return {called, returned, one};
}
WorkerRecord Record(uint64_t token, int64_t floor, int64_t ceiling, const std::string& nonce) {
  WorkerRecord record;
  record.token = token;
  record.floor = At(floor);
  record.ceiling = At(ceiling);
  record.nonce = nonce;
  return record;
}
std::string Wrong(const LeaseHistory& history) { return Told(history, Check<LeaseModel>(history)); }

TEST(LeaseModelTest, LifeOfALease_IsLinearizable) {
  EXPECT_EQ(
      Wrong({Show(0, 1, 5, std::nullopt), Acquire(2, 3, "a", Grant(10, 0, 110, 10)),
             Renew(4, 5, "a", 10, Grant(10, 0, 130, 30)), Show(6, 7, 40, Record(10, 0, 130, "a")),
             Release(8, 9, 10, 45), Release(8, 9, 10, 45), Show(10, 11, 50, Record(10, 0, 45, "")),
             Acquire(12, 13, "b", Grant(50, 45, 150, 50)), Renew(14, 15, "a", 10, std::nullopt),
             Release(16, 17, 10, 45, absl::StatusCode::kAborted)}),
      "");
}

TEST(LeaseModelTest, StaleShow_IsCaught) {
  const LeaseHistory history = {Acquire(0, 1, "a", Grant(10, 0, 110, 10)),
                                Renew(2, 3, "a", 10, Grant(10, 0, 130, 30)),
                                Show(4, 5, 10, Record(10, 0, 110, "a"))};
  EXPECT_NE(Wrong(history).find("this one does not fit:\n  [4, 5] show"), std::string::npos)
      << Wrong(history);
  EXPECT_NE(Wrong({Acquire(0, 1, "a", Grant(10, 0, 110, 10)), Show(4, 5, 10, std::nullopt)}), "");
  // Overlapping, it may come first.
  EXPECT_EQ(
      Wrong({Acquire(0, 1, "a", Grant(10, 0, 110, 10)), Renew(2, 6, "a", 10, Grant(10, 0, 130, 30)),
             Show(4, 5, 10, Record(10, 0, 110, "a"))}),
      "");
}

TEST(LeaseModelTest, TwoHolders_AreCaught) {
  const auto a = Acquire(0, 1, "a", Grant(10, 0, 110, 10));
  EXPECT_EQ(Wrong({a, Acquire(2, 3, "b", Grant(111, 110, 211, 111))}), "");
  EXPECT_NE(Wrong({a, Acquire(2, 3, "b", Grant(50, 110, 150, 50))}), "") << "still held";
  EXPECT_NE(Wrong({a, Acquire(2, 3, "b", Grant(111, 50, 211, 111))}), "") << "floor too low";
  EXPECT_NE(Wrong({a, Acquire(2, 3, "b", Grant(10, 110, 211, 111))}), "") << "token again";
}

TEST(LeaseModelTest, RenewalOfAnEndedLease_IsCaught) {
  const auto a = Acquire(0, 1, "a", Grant(10, 0, 110, 10));
  EXPECT_NE(Wrong({a, Renew(2, 3, "a", 10, Grant(10, 0, 300, 200))}), "");
  EXPECT_NE(Wrong({a, Renew(2, 3, "b", 10, Grant(10, 0, 200, 100))}), "") << "another's";
  // Refused: it had ended, so it was later than its ceiling.
  EXPECT_NE(Wrong({a, Renew(2, 3, "a", 10, std::nullopt), Show(4, 5, 50, Record(10, 0, 110, "a"))}),
            "");
}

TEST(LeaseModelTest, WithoutAnAnswer_ItMayHaveTakenEffect) {
  const auto lost = Acquire(0, std::nullopt, "a");
  EXPECT_EQ(Wrong({lost, Show(2, 3, 5, std::nullopt)}), "");
  EXPECT_EQ(Wrong({lost, Show(2, 3, 5, Record(4, 0, 110, "a"))}), "");
  EXPECT_NE(Wrong({lost, Show(2, 3, 5, Record(4, 0, 110, "b"))}), "");
  EXPECT_NE(Wrong({lost, Show(2, 3, 5, Record(4, 0, 110, "a")), Show(4, 5, 6, std::nullopt)}), "");
  const auto b = Acquire(0, 1, "b", Grant(10, 0, 110, 10));
  EXPECT_EQ(
      Wrong({b, Renew(2, std::nullopt, "b", 10, std::nullopt),
             Show(3, 4, 40, Record(10, 0, 110, "b")), Show(5, 6, 45, Record(10, 0, 130, "b"))}),
      "");
  EXPECT_EQ(
      Wrong({b, Release(2, std::nullopt, 10, 20), Acquire(3, 4, "c", Grant(30, 20, 130, 30))}), "");
}

// Sent again with its nonce, an acquire extends the lease that it was granted.
TEST(LeaseModelTest, AcquireOfTheHolderWithoutAnAnswer_MayHaveExtendedIt) {
  const auto a = Acquire(0, 1, "a", Grant(10, 0, 110, 10));
  const auto again = Acquire(2, std::nullopt, "a");
  EXPECT_EQ(Wrong({a, again, Show(3, 4, 30, Record(10, 0, 110, "a"))}), "");
  EXPECT_EQ(Wrong({a, again, Show(3, 4, 30, Record(10, 0, 130, "a"))}), "");
  EXPECT_NE(Wrong({a, again, Show(3, 4, 30, Record(10, 0, 100, "a"))}), "");
  EXPECT_NE(Wrong({a, Show(3, 4, 30, Record(10, 0, 130, "a"))}), "") << "no acquire was called";
  // Or it came after the end, and got the next token.
  EXPECT_EQ(Wrong({a, again, Show(3, 4, 160, Record(150, 110, 250, "a"))}), "");
}

}  // namespace
}  // namespace locus::linear
