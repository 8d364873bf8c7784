// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_COUNTER_COUNTERS_H_
#define LOCUS_SRC_CLUSTER_MACHINE_COUNTER_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/base/text/byte_codec.h"

// The counters of a Sequencer, as a function of the calls that were applied: a part of the machine
// that the nodes of a cluster agree on (src/cluster/machine). Time comes with each call and never
// falls.

namespace locus::counter_machine {

// Limits. RESOURCE_EXHAUSTED names the one that was met; a counter that is there can always be
// used.
inline constexpr size_t kMostCounters = 1 << 18;
inline constexpr size_t kMostNameBytes = 16 << 20;  // of all names
inline constexpr size_t kLongestName = 768;         // prefix and key
inline constexpr absl::Duration kLongestTtl = absl::Hours(24 * 36500);
// Counters that are forgotten with one call.
inline constexpr size_t kMostForgotten = 64;

// A call of one of Sequencer's protected methods, which an engine implements.
struct Call {
  enum class Kind : uint8_t { kTake, kStore, kStoreNew, kLoad, kPutBack };
  Kind kind = Kind::kLoad;
  std::string name;
  // kTake: count * step, at least 1. kStore, kStoreNew and kPutBack: the value. Otherwise 0.
  int64_t number = 0;
  // Of kTake, otherwise 0: what a counter that is unknown or starts again is at afterwards
  // (sequencer_rules::LastOfFirst), the highest number (SequencerOptions::max_value), and whether
  // to start again behind it.
  int64_t last_of_first = 0;
  int64_t max_value = 0;
  bool wraps = false;
  // 0: the counter is kept. Whole milliseconds.
  absl::Duration ttl = absl::ZeroDuration();
  // Of kPutBack, otherwise 0: the write after which the counter must not have been written.
  int64_t last = 0;
  uint64_t version = 0;

  friend bool operator==(const Call&, const Call&) = default;
};

struct Reply {
  // kStoreNew and kPutBack: it was written. Of the others true.
  bool done = true;
  // kTake: the last number. kLoad: the value; nullopt: unknown.
  std::optional<int64_t> value;
  uint64_t version = 0;  // kTake only

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
class Counters {
 public:
  // `changed` becomes whether a value was written. Errors change nothing. OUT_OF_RANGE: the limit
  // is met. RESOURCE_EXHAUSTED: there are kMostCounters.
  // `keeps_ends`: no call but kStore forgets a counter earlier than calls before it would.
  absl::StatusOr<Reply> Apply(const Call& call, absl::Time now, bool& changed,
                              bool keeps_ends = false);
  // Whether the call, were it carried out now without `keeps_ends`, would forget one earlier.
  bool ForgetsEarlier(const Call& call, absl::Time now) const;
  // Forgets at most kMostForgotten of the counters that are due. Apply treats the remaining ones as
  // forgotten, so the limit bounds the work, not the result.
  void Sweep(absl::Time now);
  // The time is set ahead: the time left until counters are forgotten stays. Looks at each that is
  // forgotten some time.
  void Leap(absl::Time from, absl::Time to);
  // Whether a counter is forgotten some time.
  bool forgets() const { return !due_.empty(); }

  // Nothing was ever written.
  bool untouched() const { return writes_ == 0; }
  size_t size() const { return counters_.size(); }

  // In a snapshot, at most kMostSnapshotBytes.
  void Put(internal::ByteWriter& writer) const;
  void Get(internal::ByteReader& reader);
  static constexpr size_t kMostSnapshotBytes = 8 + 4 + kMostCounters * (4 + 3 * 8) + kMostNameBytes;

 private:
  struct Counter {
    int64_t value = 0;
    uint64_t version = 0;
    absl::Time forgotten_at = absl::InfiniteFuture();
  };
  using ByName = std::map<std::string, Counter>;

  ByName::iterator Find(const std::string& name, absl::Time now);
  absl::Status CheckRoom(const Call& call) const;
  uint64_t Write(ByName::iterator known, const Call& call, int64_t value, absl::Time forgotten_at);
  void SetForgotten(ByName::iterator counter, absl::Time at);
  void Forget(ByName::iterator counter);

  ByName counters_;
  // Over all counters, so that no version comes again in a counter's next life.
  uint64_t writes_ = 0;

  // Follow from the above.
  size_t name_bytes_ = 0;
  std::set<std::pair<absl::Time, std::string>> due_;  // of counters with a ttl
};

}  // namespace locus::counter_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_COUNTER_COUNTERS_H_
