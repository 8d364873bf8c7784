// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_STRICT_TEXT_H_
#define LOCUS_SRC_ENGINE_ETCD_STRICT_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/engine/etcd/space_record.h"
#include "src/strict/strict_rules.h"

namespace locus::etcd {

// What is stored of a set of strict sequences, beside its sections.
struct StrictSet : strict::Set, Life {
  // Whoever writes the set or one of its sections puts a new one. So a transaction compares the
  // set's text alone, and the comparison holds through rewinds, after which revisions occur again.
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
