// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEGMENT_STORE_H_
#define LOCUS_SEGMENT_STORE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/space.h"
#include "locus/str.h"

namespace locus {

// Sequences [first, first + length). first is a multiple of 64, length is 64 times a power of two.
struct Segment {
  uint64_t first = 0;
  uint64_t length = 0;  // 0: no segment

  uint64_t end() const { return first + length; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

// The options of a space, fixed when it is created. The store keeps them and compares them with
// those of every allocation.
struct SpaceOptions {
  // How many adjacent vnodes allocate segments together: a power of two, 1..65536. Larger: fewer
  // allocations, but a busy vnode makes the segments of all its neighbours longer.
  uint32_t section_size = 256;
  // The floor is the sequence that time alone has reached: (now - floor_epoch) * floor_rate, with
  // fractional seconds. At 16,384 a second, 47 bits last 272 years.
  absl::Time floor_epoch = absl::FromUnixSeconds(1672531200);  // 2023-01-01T00:00:00Z
  uint64_t floor_rate = 16384;                                 // sequences a second, 1..2^20
  // How many sequences a section's allocations may be ahead of the floor, which is its largest
  // burst. A multiple of 4,096.
  uint64_t max_lead = uint64_t{1} << 24;

  friend bool operator==(const SpaceOptions&, const SpaceOptions&) = default;
};

struct SegmentRequest {
  uint16_t section = 0;
  uint64_t length = 64;  // 64 times a power of two
  // The highest end of all segments granted to this process in this section; 0: none yet.
  uint64_t seen = 0;
};

struct SegmentGrant {
  // May be shorter than requested. Length 0: no segment fits below max_lead now.
  Segment segment;
  // Without a segment: the time until one of length 64 fits. InfiniteDuration: the sequences are
  // used up.
  absl::Duration wait;
  // How far the section's allocations are ahead of the floor: the time until the floor reaches
  // them.
  absl::Duration lead;
  // How much further they could be ahead, base and max_lead considered: 0 to max_lead, in the time
  // that the floor takes for it.
  absl::Duration room;
};

struct SegmentReply {
  std::vector<SegmentGrant> grants;  // one for each request, in their order
  absl::Time granted_at;             // the store's time
  bool loss_noticed = false;  // this call found that the store lost allocations, and raised base
};

// The state of one space in a store.
struct SpaceView {
  struct Section {
    uint16_t section = 0;
    uint64_t head = 0;  // the first sequence never allocated
    absl::Duration lead;
    absl::Time granted_at;
  };
  SpaceOptions options;
  uint64_t base = 0;              // no allocation after the last loss starts below it
  uint64_t losses = 0;            // how often a loss raised base, creation included
  absl::Time now;                 // the store's time
  std::vector<Section> sections;  // sections with an allocation, in order
};

// How far Raise may raise base. The sequences below base are lost for good: with a base above
// 2^47 - 1 a space has no narrow order IDs left.
enum class RaiseReach {
  kNearFloor,  // to at most 1 % of the 2^47 narrow sequences above the floor
  kAnywhere,   // up to 2^56 - 1, which ends the space
};

// "near_floor", "anywhere".
std::string_view ToString(RaiseReach reach);
template <typename Sink>
void AbslStringify(Sink& sink, RaiseReach reach) {
  sink.Append(std::string(ToString(reach)));
}

// The value of base before and after Raise.
struct BaseRaise {
  uint64_t before = 0;
  uint64_t after = 0;
};

// A durable place from which sections allocate segments. The rules (docs/inside/segments.md):
//
//   top   = max(floor(now), base) + max_lead
//   first = max(head, seen, floor(now), base), rounded up to 64
//   end   = first + length, where length falls until end fits below top
//
// A loss means that the store may have forgotten allocations: the space was created, the store's
// identity differs from the recorded one, `seen` is above everything that the store knows, or
// DeclareRestored was called. Each loss raises base, so that no allocation granted after a loss was
// noticed overlaps an allocation granted before that loss. docs/run/store-loss.md lists what this
// does not cover.
//
// `caller_now` is the wall time of the calling process. If it differs from the store's by more than
// 60 s, nothing is allocated, created or raised (FAILED_PRECONDITION), since one wrong clock would
// use up sequences for good.
//
// Errors of every method: UNAVAILABLE: the store did not answer, or is busy; an allocation may have
// been granted nevertheless. FAILED_PRECONDITION: the store refuses until the cause is repaired (a
// wrong clock, a read-only store, another schema version). DATA_LOSS: the stored state contradicts
// itself. Thread safety: all methods may be called from any thread. They block, up to a bound that
// the engine states.
class SegmentStore {
 public:
  virtual ~SegmentStore() = default;

  // Creates the space if it does not exist. INVALID_ARGUMENT: bad options. FAILED_PRECONDITION: it
  // exists with other options.
  virtual absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                              absl::Time caller_now) = 0;
  // Reads the options that the space was created with. NOT_FOUND: there is no such space.
  virtual absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) = 0;
  // Allocates a segment for each request, all in one atomic step: every request gets its grant, or
  // the call fails. The requests name different sections. `options` are those that the caller read
  // when it began to use the space. FAILED_PRECONDITION: the space has other options now, because
  // it was lost and created again. INVALID_ARGUMENT: a bad section or length. Cost: one round trip
  // or transaction for any number of sections.
  virtual absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                                std::span<const SegmentRequest> requests,
                                                absl::Time caller_now) = 0;
  // The state of the space. NOT_FOUND: there is no such space.
  virtual absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time caller_now) = 0;
  // Records a loss. Call it after an older state of the store was restored.
  virtual absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) = 0;
  // Sets base to max(base, to), so that new allocations lie above IDs that already exist.
  // Generators continue with the segments they hold: restart them, or wait two horizons.
  // INVALID_ARGUMENT: `to` is above 2^56 - 1, or further above the floor than `reach` allows.
  virtual absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                          absl::Time caller_now) = 0;
};

}  // namespace locus

#endif  // LOCUS_SEGMENT_STORE_H_
