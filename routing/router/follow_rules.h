// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_FOLLOW_RULES_H_
#define LOCUS_ROUTING_ROUTER_FOLLOW_RULES_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/routing/router.h"
#include "locus/routing/routing_table.h"

namespace locus {

// What becomes of a table that a router is offered.
struct TableVerdict {
  enum class Kind {
    kInstall,
    kConfirm,  // it is the one in force
    kRefuse,   // `reason` says why; the one in force stays
  };
  Kind kind = Kind::kRefuse;
  uint64_t epoch = 0;  // of the table offered; 0: it could not be read
  absl::Status reason;

  bool accepted() const { return kind != Kind::kRefuse; }
};

// `in_force` nullptr: there is none yet.
TableVerdict JudgeTable(const RoutingTable* in_force, const RoutingTable& offered);
// A document that is no table.
TableVerdict RefuseDocument(const absl::Status& why);

// What a follower makes of each answer of its source: what to tell, what to ask for next and when.
// Does no I/O and reads no clock. Times are since boot, random numbers lie in [0, 1).
// Thread safety: none.
class FollowRules {
 public:
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
  // Nobody's wish cuts a pause down further.
  static constexpr absl::Duration kLeastPause = absl::Milliseconds(10);

  struct Step {
    absl::Duration pause;             // before the source is asked again, unless somebody wishes
    std::vector<RouterEvent> events;  // to be told in this order
    bool source_has_it_in_force = false;  // it gave, or confirmed, the table in force
  };

  explicit FollowRules(absl::Duration longest_pause) : longest_pause_(longest_pause) {}

  // The table in force comes from the last good file.
  void BeganFromFile(uint64_t epoch) { file_epoch_ = epoch; }

  // The source has no other document than known(); it said so at `asked_at` or later, which is all
  // that is known. `early`: before the deadline, unasked.
  Step NoNews(bool early, absl::Duration asked_at, double random);
  // It gave a document of this version, which fared so. `at` is by the wall clock.
  Step Offered(const std::string& version, const TableVerdict& verdict, absl::Duration now,
               absl::Time at, double random);
  Step Failed(const absl::Status& status, double random);

  // What to ask the source from; empty: from nothing.
  const std::string& known() const { return known_; }
  // What the source, which is at `place`, said last: for messages.
  std::string LastWord(const std::string& place) const;
  // The members that the source decides, where `epoch` is in force.
  void Fill(uint64_t epoch, absl::Duration now, RouterStats& stats) const;

 private:
  static constexpr size_t kKeptRefusals = 8;

  void Answered(Step& step);
  absl::Duration PauseAfter(int fruitless, double random) const;
  void NoteRefusal(const std::string& version, const TableVerdict& verdict, absl::Time at);

  const absl::Duration longest_pause_;
  std::string known_;
  // Whether the document of version known_ was accepted: hearing of no other confirms it.
  bool known_accepted_ = false;
  int fruitless_ = 0;  // answers in a row that brought nothing new
  absl::Status source_error_;
  std::optional<absl::Duration> confirmed_at_;
  uint64_t file_epoch_ = 0;  // 0: not from the file, or confirmed
  uint64_t refusals_ = 0;
  std::deque<TableRefusal> last_refusals_;
};

// A status that shares nothing with `status`: the packaged Abseil counts references where TSan
// cannot see.
absl::Status Unshared(const absl::Status& status);

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTER_FOLLOW_RULES_H_
