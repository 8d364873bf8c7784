// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_AUDIT_TYPE_RECORD_H_
#define LOCUS_SRC_AUDIT_TYPE_RECORD_H_

#include "locus/audit.h"
#include "locus/sequence_type_store.h"

namespace locus::internal {

// Puts a changed sequence type into a record: its kind, token and detail.
void DescribeType(const SequenceTypeEvent& event, AuditRecord& record);

}  // namespace locus::internal

#endif  // LOCUS_SRC_AUDIT_TYPE_RECORD_H_
