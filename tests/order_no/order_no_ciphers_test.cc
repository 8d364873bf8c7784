// SPDX-License-Identifier: Apache-2.0
#include "src/order/order_no_ciphers.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace locus {

using internal::AesBlock;
using internal::CipherPool;
using internal::OrderNoCiphers;

namespace {

KeyVersion Version(int value) { return KeyVersion::FromInt(value).value(); }

std::unique_ptr<CipherPool> PoolOfVersion5() {
  KeyRing ring = KeyRing::FromKey(Version(5), std::string(32, 'k')).value();
  return CipherPool::Create(ring, SpaceName()).value();
}

TEST(CipherPoolTest, VersionsOfTheRing_AreKnown) {
  KeyRing ring = KeyRing::FromKey(Version(5), std::string(32, 'k')).value();
  ASSERT_TRUE(ring.AddKey(Version(6), std::string(32, 'l')).ok());
  ASSERT_TRUE(ring.AddKey(Version(127), std::string(32, 'm')).ok());
  ASSERT_TRUE(ring.Retire(Version(6)).ok());
  std::unique_ptr<CipherPool> pool = CipherPool::Create(ring, SpaceName()).value();
  for (int i = 0; i <= KeyVersion::kMax; ++i) {
    EXPECT_EQ(pool->has(Version(i)), i == 5 || i == 127) << i;
  }
}

TEST(CipherPoolTest, AllSetsLentForLong_MoreAreMadeAndAgree) {
  std::unique_ptr<CipherPool> pool = PoolOfVersion5();
  // More than a pool has sets. One thread holds all of them, so it could not wait for any.
  constexpr size_t kSets = 40;
  std::vector<std::unique_ptr<CipherPool::Held>> held;
  for (size_t i = 0; i < kSets; ++i) {
    held.emplace_back(new CipherPool::Held(pool->Claim(Version(5))));
  }
  const AesBlock tag = (*held[0])->tag.Encrypt({1, 2});
  const uint64_t ff1 = (*held[0])->ff1.Encrypt(ShardGene(), Version(5), 3);
  for (const auto& set : held) {
    EXPECT_EQ((*set)->tag.Encrypt({1, 2}), tag);
    EXPECT_EQ((*set)->ff1.Encrypt(ShardGene(), Version(5), 3), ff1);
    for (const auto& other : held) {
      EXPECT_EQ(set == other, &**set == &**other) << "one set lent twice";
    }
  }
}

TEST(CipherPoolTest, SetReturned_IsLentAgain) {
  std::unique_ptr<CipherPool> pool = PoolOfVersion5();
  const OrderNoCiphers* first = &*pool->Claim(Version(5));
  EXPECT_EQ(&*pool->Claim(Version(5)), first);
}

}  // namespace
}  // namespace locus
