// SPDX-License-Identifier: Apache-2.0
#include "expected.h"

#include "absl/strings/str_cat.h"

namespace shop {

void ExpectedOrders::AddFault(const Record& record, const std::string& what) {
  constexpr size_t kMost = 10;
  if (faults_.size() >= kMost) return;
  const ExpectedOrder& order = orders_[record.order];
  faults_.push_back(absl::StrCat(
      "order ", record.order, ": ", what, "; acknowledged was ",
      order.acknowledged.there() ? absl::StrCat("version ", order.acknowledged.version) : "none",
      ", the record has ",
      record.state.there() ? absl::StrCat("version ", record.state.version) : "none"));
}

void ExpectedOrders::TakeRead(const Record& record, const ExpectedOrder& order) {
  ++counts_.reads;
  if (order.Allows(record.state)) return;
  ++counts_.stale_reads;
  AddFault(record, "a fenced read was stale");
}

void ExpectedOrders::Acknowledge(const Record& record, ExpectedOrder& order) {
  order.acknowledged = order.attempted;
  switch (record.op) {
    case Op::kInsert:
      ++counts_.inserts;
      break;
    case Op::kDelete:
      ++counts_.deletes;
      break;
    default:
      ++counts_.updates;
  }
  if (record.refusals > 0) counts_.waits.push_back(record.waited);
}

void ExpectedOrders::Take(const Record& record) {
  ExpectedOrder& order = orders_[record.order];
  counts_.refusals += record.refusals;
  switch (record.what) {
    case Record::What::kIntent:
      if (order.open) {
        ++counts_.contradictions;
        AddFault(record, "a write began while the one before had no answer");
      }
      order.attempted = record.state;
      order.open = true;
      return;
    case Record::What::kAcknowledged:
    case Record::What::kRefused: {
      const bool stored = record.what == Record::What::kAcknowledged;
      if (!order.open || (stored && order.attempted != record.state)) {
        ++counts_.contradictions;
        AddFault(record, "an answer to a write that was not sent");
        order.attempted = record.state;
      }
      if (stored) {
        Acknowledge(record, order);
      } else {
        ++counts_.refused;
      }
      order.open = false;
      return;
    }
    case Record::What::kUnknown:
      ++counts_.unknown;
      return;
    case Record::What::kRead:
      TakeRead(record, order);
      return;
    case Record::What::kUnfencedRead:
      ++counts_.unfenced_reads;
      return;
    case Record::What::kContradiction:
      ++counts_.contradictions;
      AddFault(record, "a shard contradicted what it had acknowledged");
      return;
  }
}

}  // namespace shop
