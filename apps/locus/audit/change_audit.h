// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_AUDIT_CHANGE_AUDIT_H_
#define LOCUS_APPS_LOCUS_AUDIT_CHANGE_AUDIT_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "locus/audit.h"
#include "locus/sequence_type_store.h"

namespace locus::cli {

// Where a verb records what it changed: the table of `locus audit`, by --audit HOST:PORT.
class ChangeAudit {
 public:
  ChangeAudit();
  ~ChangeAudit();
  // `besides`: what the help of --audit adds.
  void DeclareOn(VerbLine& line, std::string_view besides = "");

  // Before `place` is opened, or made: reads the password, if recording is asked for.
  // INVALID_ARGUMENT: bad options; also the errors of Password. FAILED_PRECONDITION: this build has
  // no ClickHouse.
  absl::Status Open(const std::string& place);
  // As Open, of a store whose types the verb changes: a cluster of locusd records them itself.
  absl::Status Open(const StoreUri& store);
  // After Open: has the changes that `types`, of that store, makes recorded.
  void Follow(SequenceTypeStore& types);
  // Records one change of the place, if recording is asked for.
  void Record(AuditRecord record);
  // Waits until what was done is recorded. FAILED_PRECONDITION: it is done, as `done` says ("the
  // rule was changed"), and not recorded.
  absl::Status Finish(std::string_view done);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_AUDIT_CHANGE_AUDIT_H_
