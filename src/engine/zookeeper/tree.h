// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ZOOKEEPER_TREE_H_
#define LOCUS_SRC_ENGINE_ZOOKEEPER_TREE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "src/base/run/backoff.h"
#include "src/engine/zookeeper/session.h"

// Helpers that the stores in ZooKeeper share.

namespace locus::zookeeper {

// Between two attempts, where another process changed the same znode first.
inline constexpr internal::Backoff::Policy kConflictPauses{absl::Milliseconds(1),
                                                           absl::Milliseconds(64), 1};

// Makes a persistent, empty znode and those above it.
absl::Status MakePath(Session& session, const std::string& path, TimePoint deadline);

// The text behind "1 ", as the value of a space begins. FAILED_PRECONDITION: another schema
// version. DATA_LOSS: it begins otherwise.
absl::StatusOr<std::string_view> TextOfSchema1(const Session& session, const std::string& path,
                                               std::string_view value);

// DATA_LOSS, naming the znode and its value.
absl::Status Spoilt(const Session& session, const std::string& path, std::string_view value);

}  // namespace locus::zookeeper

#endif  // LOCUS_SRC_ENGINE_ZOOKEEPER_TREE_H_
