// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_TYPE_TYPES_H_
#define LOCUS_SRC_CLUSTER_MACHINE_TYPE_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/text/byte_codec.h"

// The sequence types of a SequenceTypeStore, as a function of the calls that were applied: a part
// of the machine that the nodes of a cluster agree on (src/cluster/machine). The text of a type is
// opaque here; SequenceTypeStore reads and writes it (src/number).

namespace locus::type_machine {

// Limits. RESOURCE_EXHAUSTED names the one that was met.
inline constexpr size_t kMostTypes = 1024;
inline constexpr size_t kLongestName = 64;
inline constexpr size_t kLongestText = 4096;
inline constexpr uint64_t kHighestVersion = INT64_MAX;

struct Type {
  uint64_t version = 0;  // 1 to kHighestVersion
  std::string text;

  friend bool operator==(const Type&, const Type&) = default;
};

// Writes `next` (nullopt: removes the type) if the type of this name has the version `expected` (0:
// if there is none).
struct Call {
  std::string name;
  uint64_t expected = 0;
  std::optional<Type> next;

  friend bool operator==(const Call&, const Call&) = default;
};
struct Reply {
  bool done = false;  // false: the version was another one

  friend bool operator==(const Reply&, const Reply&) = default;
};

// INVALID_ARGUMENT, naming the value and the limit.
absl::Status Check(const Call& call);

// Bytes. Reading refuses what Check refuses.
void Put(internal::ByteWriter& writer, const Call& call);
Call GetCall(internal::ByteReader& reader);
void Put(internal::ByteWriter& writer, const Reply& reply);
Reply GetReply(internal::ByteReader& reader);

// Thread safety: none. Cost: O(log n).
class Types {
 public:
  // `changed` becomes whether a type was written or removed. Errors change nothing.
  absl::StatusOr<Reply> Apply(const Call& call, bool& changed);

  const std::map<std::string, Type>& all() const { return types_; }

  // In a snapshot, at most kMostSnapshotBytes.
  void Put(internal::ByteWriter& writer) const;
  void Get(internal::ByteReader& reader);
  static constexpr size_t kMostSnapshotBytes =
      4 + kMostTypes * (4 + kLongestName + 8 + 4 + kLongestText);

 private:
  std::map<std::string, Type> types_;
};

}  // namespace locus::type_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_TYPE_TYPES_H_
