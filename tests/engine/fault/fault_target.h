// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_FAULT_FAULT_TARGET_H_
#define LOCUS_TESTS_ENGINE_FAULT_FAULT_TARGET_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "locus/segment_store.h"

namespace locus {

// An engine on a real server, which engine_fault_test.cc does harm to.
class FaultTarget {
 public:
  virtual ~FaultTarget() = default;

  // In any process of the test; does not create the space.
  virtual absl::StatusOr<std::shared_ptr<SegmentStore>> Open() = 0;

  virtual void KillHard() = 0;
  virtual bool Restart() = 0;  // after KillHard, with what the server had stored
  virtual void Stall() = 0;
  virtual void Resume() = 0;
  // Kills it, and brings up one in its place that holds nothing; its tables, where the engine has
  // any, are there.
  virtual bool RestartEmpty() = 0;

  // Of an engine with a replica: stops replication, waits until `meanwhile` returns, kills the
  // server and lets the replica, which lacks what came meanwhile, take its place.
  virtual bool FailOver(const std::function<void()>& meanwhile) = 0;
};

struct FaultEngine {
  std::string name;
  // False: its servers agree before they answer, so that none lacks what was answered.
  bool has_replica;
  std::function<std::unique_ptr<FaultTarget>()> make;
};
inline void PrintTo(const FaultEngine& engine, std::ostream* out) { *out << engine.name; }

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_FAULT_FAULT_TARGET_H_
