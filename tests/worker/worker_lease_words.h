// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_WORKER_WORKER_LEASE_WORDS_H_
#define LOCUS_TESTS_WORKER_WORKER_LEASE_WORDS_H_

#include <string>

#include "gtest/gtest.h"
#include "locus/worker_lease_store.h"

// Words for tests of stores of worker leases: requests of one holder, named by its nonce.
namespace locus::worker_words {

inline WorkerAcquire WishOf(const std::string& nonce, absl::Time now) {
  WorkerAcquire wish;
  wish.range = {0, 7};
  wish.nonce = nonce;
  wish.holder = "{\"host\":\"" + nonce + "\"}";
  wish.caller_now = now;
  return wish;
}

inline WorkerRenew RenewalOf(const WorkerGrant& grant, const std::string& nonce, absl::Time now) {
  WorkerRenew renewal;
  renewal.worker = grant.worker;
  renewal.token = grant.token;
  renewal.ceiling = grant.ceiling;
  renewal.nonce = nonce;
  renewal.holder = "{\"host\":\"" + nonce + "\"}";
  renewal.caller_now = now;
  return renewal;
}

// These fail the test when refused.
inline WorkerGrant MustAcquire(WorkerLeaseStore& store, const std::string& nonce, absl::Time now) {
  auto grant = store.Acquire(SpaceName(), WishOf(nonce, now));
  EXPECT_TRUE(grant.ok()) << grant.status();
  return grant.value_or(WorkerGrant());
}
inline WorkerGrant MustRenew(WorkerLeaseStore& store, const WorkerGrant& grant,
                             const std::string& nonce, absl::Time now) {
  auto renewed = store.Renew(SpaceName(), RenewalOf(grant, nonce, now));
  EXPECT_TRUE(renewed.ok()) << renewed.status();
  return renewed.value_or(WorkerGrant());
}

}  // namespace locus::worker_words

#endif  // LOCUS_TESTS_WORKER_WORKER_LEASE_WORDS_H_
