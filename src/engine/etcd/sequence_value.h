// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_SEQUENCE_VALUE_H_
#define LOCUS_SRC_ENGINE_ETCD_SEQUENCE_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace locus::etcd {

// The value of a counter: "NUMBER", or with a ttl "NUMBER EXPIRY VERSION", decimal.
struct SequenceValue {
  int64_t number = 0;
  int64_t expires_at = 0;  // ms since 1970; 0: never
  // The revision of the write that gave out the number; 0: the revision of this value. Calls that
  // only refresh the expiry keep it.
  int64_t version = 0;

  std::string Text() const;
  static std::optional<SequenceValue> Parse(std::string_view text);
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_SEQUENCE_VALUE_H_
