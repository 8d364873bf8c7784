// SPDX-License-Identifier: Apache-2.0
#include "src/audit/rule_record.h"

#include "absl/strings/str_cat.h"
#include "src/sequence_type/type_text.h"

namespace locus::internal {
namespace {

AuditRecord::Kind KindOf(SequenceTypeEvent::Kind kind) {
  switch (kind) {
    case SequenceTypeEvent::Kind::kCreated:
      return AuditRecord::Kind::kRuleCreated;
    case SequenceTypeEvent::Kind::kAltered:
      return AuditRecord::Kind::kRuleAltered;
    case SequenceTypeEvent::Kind::kDropped:
      return AuditRecord::Kind::kRuleDropped;
  }
  return AuditRecord::Kind::kRuleAltered;
}

}  // namespace

void DescribeRule(const SequenceTypeEvent& event, AuditRecord& record) {
  record.kind = KindOf(event.kind);
  record.token = event.after.version;
  const bool is_change = event.kind == SequenceTypeEvent::Kind::kAltered && event.before;
  record.detail =
      absl::StrCat("type ", event.after.name, ": ",
                   is_change ? ChangesOf(*event.before, event.after) : RuleInWords(event.after));
}

}  // namespace locus::internal
