// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_STORE_FRAME_H_
#define LOCUS_SRC_STRICT_STORE_FRAME_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/os/check.h"
#include "src/strict/strict_rules.h"

namespace locus::strict {

// The calls of an engine's StrictStore that decide about sections. The engine supplies one
// transaction. `Store` is StrictStore, or what the engine derives from it.
// Thread safety: of the engine.
template <typename Store>
class StoreFrame : public Store {
 public:
  absl::StatusOr<StrictReply<StrictGrant>> Take(const SpaceName& name,
                                                const StrictSetOptions& options,
                                                const StrictTake& request) final {
    return Decide<StrictReply<StrictGrant>>(
        name, options, request, request.wishes,
        [&](Batch& batch, StoreTime now) { return Rules::Take(batch, request, now); });
  }

  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& name,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) final {
    return Decide<StrictReply<StrictExtended>>(
        name, options, request, request.sections,
        [&](Batch& batch, StoreTime now) { return Rules::Extend(batch, request, now); });
  }

  absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& name,
                                                      const StrictSetOptions& options,
                                                      const StrictRelease& request) final {
    return Decide<StrictReply<StrictExtended>>(
        name, options, request, request.sections,
        [&](Batch& batch, StoreTime now) { return Rules::Release(batch, request, now); });
  }

 protected:
  // One transaction under way.
  struct Step {
    std::optional<Set> set;  // as it is stored
    StoreTime now;
    bool loss_noticed = false;  // by the transaction itself, which has noted it
    // Reads these into the batch.
    std::function<absl::Status(const std::vector<uint32_t>& sections, Batch&)> read;
    // Writes the records that the batch marks as changed.
    std::function<absl::Status(const Batch&)> write;
  };
  // Calls `step` in a transaction, which is committed only if it is OK.
  virtual absl::Status InTransaction(const SpaceName& name,
                                     const std::function<absl::Status(Step&)>& step) = 0;

 private:
  template <typename Reply, typename Request, typename Items, typename Rule>
  absl::StatusOr<Reply> Decide(const SpaceName& name, const StrictSetOptions& options,
                               const Request& request, const Items& items, const Rule& rule) {
    LOCUS_RETURN_IF_ERROR(Check(options, request));
    std::vector<uint32_t> sections;
    for (const auto& item : items) sections.push_back(item.section);
    Reply reply;
    const absl::Status status = InTransaction(name, [&](Step& step) -> absl::Status {
      if (!step.set) return NoSuchSet(name);
      LOCUS_RETURN_IF_ERROR(CheckSame(name, step.set->options, options));
      Batch batch;
      batch.set = *std::move(step.set);
      LOCUS_RETURN_IF_ERROR(step.read(sections, batch));
      reply = rule(batch, step.now);
      reply.loss_noticed |= step.loss_noticed;
      return step.write(batch);
    });
    if (!status.ok()) return status;
    return reply;
  }
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_STORE_FRAME_H_
