// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_AUDIT_RULE_AUDIT_H_
#define LOCUS_APPS_LOCUS_AUDIT_RULE_AUDIT_H_

#include <memory>

#include "absl/status/status.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "locus/sequence_type_store.h"

namespace locus::cli {

// Where a verb records that it changed a rule: the table of `locus audit`, by --audit HOST:PORT.
class RuleAudit {
 public:
  RuleAudit();
  ~RuleAudit();
  void DeclareOn(VerbLine& line);

  // Before the store `uri` is opened, or made: reads the password, if recording is asked for. A
  // cluster of locusd records its rules itself. INVALID_ARGUMENT: bad options; also the errors of
  // Password. FAILED_PRECONDITION: this build has no ClickHouse.
  absl::Status Open(const StoreUri& uri);
  // After Open: has the changes that `types`, of that store, makes recorded.
  void Follow(SequenceTypeStore& types);
  // Waits until what was done is recorded. FAILED_PRECONDITION: it is done, and not recorded.
  absl::Status Finish();

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_AUDIT_RULE_AUDIT_H_
