// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_EXPECTED_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_EXPECTED_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record.h"

namespace shop {

// The state that an order must have. While `open`, a write to it has no answer, and both states
// are right.
struct ExpectedOrder {
  OrderState acknowledged;
  OrderState attempted;
  bool open = false;

  bool Allows(const OrderState& state) const {
    return state == acknowledged || (open && state == attempted);
  }
};

// Counts of clients: writes by their outcome.
struct RecordCounts {
  uint64_t inserts = 0, updates = 0, deletes = 0;  // acknowledged
  uint64_t refused = 0;                            // writes that were not stored
  uint64_t refusals = 0;                           // answers of fences
  uint64_t unknown = 0;                            // answers that were lost
  uint64_t reads = 0, unfenced_reads = 0;
  uint64_t stale_reads = 0;     // behind the fence, of another state than the acknowledged one
  uint64_t contradictions = 0;  // seen by clients, or records that do not follow each other
  // Microseconds that each write took which a fence refused at first and which was then stored.
  std::vector<uint32_t> waits;

  uint64_t acknowledged() const { return inserts + updates + deletes; }
};

// The state of every order by the records of it. Thread safety: none.
class ExpectedOrders {
 public:
  // The records of one file after another, each in its order.
  void Take(const Record& record);

  const std::unordered_map<uint64_t, ExpectedOrder>& orders() const { return orders_; }
  const RecordCounts& counts() const { return counts_; }
  // The first few stale reads and contradictions, a line each.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  void TakeRead(const Record& record, const ExpectedOrder& order);
  void Acknowledge(const Record& record, ExpectedOrder& order);
  void AddFault(const Record& record, const std::string& what);

  std::unordered_map<uint64_t, ExpectedOrder> orders_;
  RecordCounts counts_;
  std::vector<std::string> faults_;
};

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_EXPECTED_H_
