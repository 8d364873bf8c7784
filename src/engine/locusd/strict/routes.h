// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_LOCUSD_STRICT_ROUTES_H_
#define LOCUS_SRC_ENGINE_LOCUSD_STRICT_ROUTES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "src/base/run/mutex.h"
#include "src/engine/locusd/strict/strict_answers.h"

namespace locus::locusd {

// Maps sections to the nodes that a client asks for them, learned from answers.
// Thread safety: all methods may be called from any thread.
class StrictRoutes {
 public:
  explicit StrictRoutes(const StrictTableAnswer& table);

  const StrictSetOptions& options() const { return options_; }

  // The places of `uids` whose number is 0, by the address of their owner; "": no owner is known.
  std::map<std::string, std::vector<size_t>> Group(std::span<const uint64_t> uids,
                                                   std::span<const uint64_t> numbers) const;
  // An older table than is known changes nothing. FAILED_PRECONDITION: it is of another set.
  absl::Status Learn(const StrictTableAnswer& table);
  // `from`: the node that sent it. An answer that names that node itself, or none, is ignored.
  void Learn(const StrictElsewhere& elsewhere, const std::string& from);
  void NoteVersion(uint64_t version);
  // The node does not answer: its sections have no known owner.
  void Forget(const std::string& address);

  // All that were ever named, up to some thousands.
  std::set<std::string> Addresses() const;
  uint64_t version() const;

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  uint32_t IndexOf(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fill(const StrictTableAnswer& table) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StrictSetOptions options_;
  mutable internal::Mutex mutex_;
  std::vector<std::string> addresses_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> owner_of_ ABSL_GUARDED_BY(mutex_);  // by section: an index of addresses_
  uint64_t table_ ABSL_GUARDED_BY(mutex_) = 0;              // the version of the last table
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;            // the highest that was named
};

}  // namespace locus::locusd

#endif  // LOCUS_SRC_ENGINE_LOCUSD_STRICT_ROUTES_H_
