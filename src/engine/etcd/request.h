// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_REQUEST_H_
#define LOCUS_SRC_ENGINE_ETCD_REQUEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace locus::etcd {

// A transaction: where all comparisons hold, puts and deletions are done, otherwise the ranges are
// read. One that puts nothing reads its ranges in any case; such a one is linearizable as well.
// etcd allows 128 of each kind side by side, unless it was started with another --max-txn-ops: more
// puts, or more ranges, are sent in transactions within the transaction; 50,000 are possible.
class Txn {
 public:
  Txn& IfAbsent(std::string_view key) { return IfRevision(key, 0); }
  Txn& IfRevision(std::string_view key, int64_t mod_revision);
  Txn& IfValue(std::string_view key, std::string_view value);
  // Two comparisons: that the value is `mark` and at least a byte more. The mark is not all 0xFF.
  Txn& IfMarked(std::string_view key, std::string_view mark);

  // `lease` 0: the key belongs to none.
  Txn& Put(std::string_view key, std::string_view value, int64_t lease = 0);
  // All keys from `first` up to, and without, `end`. None of them is put in the same transaction.
  Txn& Delete(std::string_view first, std::string_view end);
  Txn& Get(std::string_view key);
  // Without its value.
  Txn& GetRevision(std::string_view key);
  // All keys that begin with `prefix`, which is not all 0xFF, in order.
  Txn& GetAll(std::string_view prefix);
  // The first `limit` keys from `first` up to, and without, `end`, in order.
  Txn& GetRange(std::string_view first, std::string_view end, int64_t limit);

  bool writes() const { return !puts_.empty(); }
  bool has_limit() const { return has_limit_; }
  // As the gateway takes it.
  std::string Json() const;

 private:
  void Compare(std::string_view key, const char* result, std::string_view value);

  std::string compares_;  // JSON, with commas between
  std::vector<std::string> puts_;
  std::vector<std::string> ranges_;
  bool has_limit_ = false;
};

std::string LeaseGrantJson(int64_t ttl_seconds);
// Asks for all changes of a key from a revision on.
std::string WatchJson(std::string_view key, int64_t from_revision);

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_REQUEST_H_
