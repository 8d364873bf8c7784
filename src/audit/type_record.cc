// SPDX-License-Identifier: Apache-2.0
#include "src/audit/type_record.h"

#include "absl/strings/str_cat.h"
#include "src/number/type_text.h"

namespace locus::internal {
namespace {

AuditRecord::Kind KindOf(SequenceTypeEvent::Kind kind) {
  switch (kind) {
    case SequenceTypeEvent::Kind::kCreated:
      return AuditRecord::Kind::kTypeCreated;
    case SequenceTypeEvent::Kind::kAltered:
      return AuditRecord::Kind::kTypeAltered;
    case SequenceTypeEvent::Kind::kDropped:
      return AuditRecord::Kind::kTypeDropped;
  }
  return AuditRecord::Kind::kTypeAltered;
}

}  // namespace

void DescribeType(const SequenceTypeEvent& event, AuditRecord& record) {
  record.kind = KindOf(event.kind);
  record.token = event.after.version;
  const bool is_change = event.kind == SequenceTypeEvent::Kind::kAltered && event.before;
  record.detail =
      absl::StrCat("type ", event.after.name, ": ",
                   is_change ? ChangesOf(*event.before, event.after) : TypeInWords(event.after));
}

}  // namespace locus::internal
