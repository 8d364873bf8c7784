// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_STRICT_TEXT_H_
#define LOCUS_SRC_ENGINE_ETCD_STRICT_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/engine/etcd/space_record.h"
#include "src/strict/strict_rules.h"

namespace locus::etcd {

// The stored values of a set of strict sequences, beside its sections.
struct StrictSet : strict::Set, Life {
  // Each write of the set or of one of its sections draws a new mark. So a transaction need only
  // compare the set's text, and the comparison holds after a rewind, when revisions occur again.
  std::string mark;

  // "1 mark LIFE first_uid uids section_size step ttl table_version rest_until losses base", times
  // in ms.
  std::string Text() const;
  // FAILED_PRECONDITION: it has another schema version. DATA_LOSS: it is invalid.
  static absl::StatusOr<StrictSet> Parse(std::string_view text);
};

// "max_seq start token ends_at instance =owner =successor =address", ends_at in ms.
std::string TextOf(const strict::Record& record);
// DATA_LOSS: it is invalid.
absl::StatusOr<strict::Record> StrictRecordOf(std::string_view text);

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_STRICT_TEXT_H_
