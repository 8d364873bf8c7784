// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_STRICT_STORE_H_
#define LOCUS_STRICT_STORE_H_

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

namespace locus {

// The largest StrictSetOptions::step, 2^20: so a loss of the store is covered even if each section
// changes its owner every second (kStrictFloorRate).
inline constexpr uint64_t kMostStrictStep = uint64_t{1} << 20;

// One set of strict sequences: a range of uids, cut into sections of neighbouring uids. All of it
// is stored with the set, and every owner that opens the set passes the same values. Sets with
// stores and owners of their own fail independently of each other.
struct StrictSetOptions {
  // The uids of the set: first_uid .. first_uid + uids - 1. uids: 1 to 2^40;
  // first_uid: at most 2^63 - 2^40 - 1.
  uint64_t first_uid = 0;
  uint64_t uids = uint64_t{1} << 32;
  // How many neighbouring uids share one stored number and one owner. 64 to 2^24. Smaller: more
  // rows and more store writes. Larger: more keys without answers when an owner dies. The set has
  // at most 2^20 sections.
  uint32_t section_size = 100'000;
  // By how much the stored number is raised at once, ahead of use. 1 to kMostStrictStep. Larger:
  // fewer store writes, and larger jumps of the numbers when a section changes its owner.
  uint64_t step = 10'000;
  // How long an owner may answer without having reached the store, and how long the keys of a dead
  // owner are without answers. 3 s to 10 min, in whole milliseconds.
  absl::Duration ttl = absl::Seconds(10);

  uint32_t sections() const;
  bool Contains(uint64_t uid) const { return uid >= first_uid && uid - first_uid < uids; }
  // The section of a uid of this set.
  uint32_t SectionOf(uint64_t uid) const;
  // The uid of a text key: XXH64(text, seed 0) x uids / 2^64 + first_uid. Texts with one uid share
  // its numbers, which still rise strictly for each text, with larger gaps. Give a set of texts 1
  // to 2 uids for each expected text.
  uint64_t UidOf(std::string_view text) const;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
  friend bool operator==(const StrictSetOptions&, const StrictSetOptions&) = default;
};

// The past of a set, as far as the caller of StrictStore::Create knows it. The default assumes
// nothing: the set may replace a lost one whose owners are alive.
struct StrictSetPast {
  // No number of this set was ever given out, neither here nor in a store that this one replaces,
  // so numbers begin at 1, at once. If that is wrong, numbers repeat.
  bool first_ever = false;
};

// An owner of sections.
struct StrictOwner {
  // 1 to 64 characters of a-z, 0-9, '_', '.' and '-'. Two processes must not have one name.
  std::string name;
  // Where callers find it, as text: at most 256 printable characters, or empty.
  std::string address;
  // Drawn at random by each process that begins; not 0.
  uint64_t instance = 0;

  friend bool operator==(const StrictOwner&, const StrictOwner&) = default;
};

struct StrictTake {
  struct Wish {
    uint32_t section = 0;
    // The highest max_seq that this process ever got for the section. A store that knows a lower
    // one has lost data.
    uint64_t seen = 0;
  };
  StrictOwner owner;
  std::vector<Wish> wishes;  // no section twice; at most kMostSectionsAtOnce
};

struct StrictGrant {
  enum class Verdict {
    kGranted,
    kHeld,     // by `holder`, which may renew its ownership
    kResting,  // the store lost data, and forgotten owners may still answer until `wait` has passed
  };
  uint32_t section = 0;
  Verdict verdict = Verdict::kHeld;
  StrictOwner holder;   // the owner, or the named successor
  absl::Duration wait;  // after which another attempt may succeed
  // Where it was granted:
  uint64_t token = 0;    // rises with each grant of the section
  uint64_t start = 0;    // numbers of all keys are above it
  uint64_t max_seq = 0;  // and at most this; equal to `start`: they are used up, at 2^63 - 1
};

struct StrictExtend {
  struct Section {
    uint32_t section = 0;
    uint64_t token = 0;
    uint64_t max_seq = 0;   // the highest that the owner was answered
    uint64_t raise_to = 0;  // 0: only the ownership is renewed
  };
  StrictOwner owner;
  std::vector<Section> sections;  // no section twice; at most kMostSectionsAtOnce
};

struct StrictExtended {
  uint32_t section = 0;
  bool held = false;     // false: the section is lost
  uint64_t max_seq = 0;  // if it is owned; less than raise_to only at the limits of a raise
};

struct StrictRelease {
  struct Section {
    uint32_t section = 0;
    uint64_t token = 0;
    uint64_t max_seq = 0;  // as of StrictExtend
  };
  StrictOwner owner;
  std::vector<Section> sections;  // no section twice; at most kMostSectionsAtOnce
  // The name of the owner that should take them; for kHandOverRest no other owner may. Empty: any
  // owner.
  std::string successor;
};

template <typename Item>
struct StrictReply {
  uint64_t table_version = 0;
  bool loss_noticed = false;  // this call found that the store had lost data
  std::vector<Item> items;    // one for each section, in the order of the request
};

// One section that was ever owned.
struct StrictSectionView {
  uint32_t section = 0;
  uint64_t max_seq = 0;
  uint64_t token = 0;
  std::optional<StrictOwner> owner;  // nullopt: it was released
  std::string successor;             // the named successor, until it takes the section
  absl::Time ends_at;                // of the ownership, by the store's clock
};

struct StrictSetView {
  StrictSetOptions options;
  absl::Time now;         // the store's
  absl::Time rest_until;  // nothing is granted before; later than `now` after a loss
  // How often the store noticed that it had lost data. A set that was not created as the first ever
  // begins with one.
  uint64_t losses = 0;
  // Rises with each change of an owner, and by a loss above every value that was ever returned.
  uint64_t table_version = 0;
  std::vector<StrictSectionView> sections;  // ascending
};

// The most sections that one call may name.
inline constexpr size_t kMostSectionsAtOnce = 4096;
// After a loss every stored number is at least
//   (seconds since 2023-01-01T00:00:00Z) x kStrictFloorRate + kStrictLossMargin,
// which is above every forgotten number, unless a section rose by more than kStrictFloorRate a
// second for long. A section rises by the numbers of one key, and by a step for each change of its
// owner. The floor is some 10^14 in 2026, and below 2^53 for 270 years.
inline constexpr uint64_t kStrictFloorRate = uint64_t{1} << 20;
static_assert(kMostStrictStep <= kStrictFloorRate);
inline constexpr uint64_t kStrictLossMargin = uint64_t{1} << 40;
// How long a section that was handed over is reserved for its successor.
inline constexpr absl::Duration kHandOverRest = absl::Seconds(1);

// Where the sections of strict sequences are owned: for each, one stored number, max_seq, and one
// owner, under a token, until ends_at. The rules (src/strict/strict_rules.h):
//
//   take     now is after ends_at:             start = max_seq; max_seq += step
//                                              token = max(token + 1, now in ms since 1970)
//                                              ends_at = now + ttl
//   extend   same token and owner, not ended:  max_seq = max(max_seq, raise_to)
//                                              ends_at = now + ttl
//   release  same token and owner:             token + 1; ends at once. If a successor is
//                                              named, all others wait for kHandOverRest
//
// One call raises a max_seq to 2^60 at most, or by kMostStrictStep where it is above that, so that
// no caller can use a section up. At 2^63 - 1 it rises no more: the section is granted and renewed
// with the numbers that are left; this does not affect the other sections of the call.
//
// Numbers are used only up to a max_seq that is stored, and the next owner starts above it: so no
// number of a key is ever given out twice, whatever clocks do. That they also rise in real time
// across owners needs ends_at (locus/strict_sequencer.h).
//
// A loss is noticed by a changed identity of the server, and when an owner knows a grant or a
// number that the store does not. Then every stored number is raised above all forgotten ones
// (kStrictFloorRate), and nothing is granted until the ownership of every forgotten owner has
// ended. Not covered: grants after the store returned to an older state that changed no identity,
// and before that was noticed; keys that drew more than kStrictFloorRate numbers a second since the
// previous loss; a store whose clock was set back since the previous loss; an old store that still
// grants beside the new one; a set that was created as the first ever and was not (StrictSetPast).
//
// Errors of every method: UNAVAILABLE: the store did not answer; the call may have been carried out
// nevertheless. NOT_FOUND: there is no such set. FAILED_PRECONDITION: the set has other options, or
// the store refuses until the cause is repaired. INVALID_ARGUMENT: a bad argument; the message
// names it. DATA_LOSS: the stored state contradicts itself. One call is one transaction: it is
// carried out for all of its sections or for none. Thread safety: all methods may be called from
// any thread. They block, up to a bound that the engine states.
class StrictStore {
 public:
  virtual ~StrictStore() = default;

  // Creates the set if it does not exist. It then begins as after a loss, above all numbers of a
  // set that it may replace, and rests for a ttl, unless `past` says that there was no such set.
  // FAILED_PRECONDITION: it exists with other options.
  virtual absl::Status Create(const SpaceName& set, const StrictSetOptions& options,
                              const StrictSetPast& past) = 0;
  // Records a loss: an operator calls it after the store was put back to an older state.
  virtual absl::Status DeclareRestored(const SpaceName& set) = 0;

  virtual absl::StatusOr<StrictReply<StrictGrant>> Take(const SpaceName& set,
                                                        const StrictSetOptions& options,
                                                        const StrictTake& request) = 0;
  virtual absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& set,
                                                             const StrictSetOptions& options,
                                                             const StrictExtend& request) = 0;
  // Sections that the caller does not own any more stay unchanged.
  virtual absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& set,
                                                              const StrictSetOptions& options,
                                                              const StrictRelease& request) = 0;
  virtual absl::StatusOr<StrictSetView> Show(const SpaceName& set) = 0;
};

}  // namespace locus

#endif  // LOCUS_STRICT_STORE_H_
