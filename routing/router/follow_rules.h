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
#include "src/base/run/backoff.h"

namespace locus::internal {

// The decision of a router about an offered table.
struct TableJudgement {
  enum class Kind {
    kInstall,
    kConfirm,  // it is the one in force
    kRefuse,   // `reason` says why; the one in force stays
  };
  Kind kind = Kind::kRefuse;
  uint64_t epoch = 0;  // of the table offered; 0: it could not be read
  absl::Status reason;
  bool nearly_full = false;  // installing it brought the router close to kMaxDescriptions

  bool accepted() const { return kind != Kind::kRefuse; }
};

// `in_force` nullptr: there is none yet.
TableJudgement JudgeTable(const RoutingTable* in_force, const RoutingTable& offered);
// FAILED_PRECONDITION: both have a table_id, and not the same.
absl::Status CheckSameTable(const RoutingTable& in_force, const RoutingTable& offered);
// For a document that is no routing table.
TableJudgement RefuseDocument(const absl::Status& why);
// ABORTED.
absl::Status EpochNotGreater(uint64_t offered, uint64_t in_force);

// Decides what follows from each answer of a source: the events to report, what to ask for next and
// after which pause. Does no I/O and reads no clock. Times are since boot.
// Thread safety: none.
class FollowRules {
 public:
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(50);

  struct Step {
    absl::Duration pause;  // before the source is asked again, unless a caller of Refresh waits
    std::vector<RouterEvent> events;      // to report, in this order
    bool source_has_it_in_force = false;  // it gave, or confirmed, the table in force
    bool installed = false;
  };

  explicit FollowRules(absl::Duration longest_pause)
      : backoff_({.first = kFirstPause, .longest = longest_pause}) {}

  // The table in force comes from the last-good file.
  void BeganFromFile(uint64_t epoch) { file_epoch_ = epoch; }

  // The source has no other document than known(), as of a moment after `asked_at`. `early`: it
  // answered before the deadline without LookNow.
  Step NoNews(bool early, absl::Duration asked_at, uint64_t random_word);
  // It gave a document of this version, which was judged so. `at` is by the wall clock.
  Step Offered(const std::string& version, const TableJudgement& judgement, absl::Duration now,
               absl::Time at, uint64_t random_word);
  Step Failed(const absl::Status& status, uint64_t random_word);

  // The version to ask the source for news since; empty: ask for any document that it has.
  const std::string& known() const { return known_; }
  // For messages: the last answer of the source, which is at `place`.
  std::string LastAnswer(const std::string& place) const;
  // Sets the members about the source and its refusals, given that `epoch` is in force.
  void Fill(uint64_t epoch, absl::Duration now, RouterStats& stats) const;

 private:
  static constexpr size_t kKeptRefusals = 8;

  void Answered(Step& step);
  void NoteRefusal(const std::string& version, const TableJudgement& judgement, absl::Time at);

  Backoff backoff_;  // counts answers in a row that brought nothing new
  std::string known_;
  // Whether the document of version known_ was accepted: then "no news" confirms it.
  bool known_accepted_ = false;
  absl::Status source_error_;
  std::optional<absl::Duration> confirmed_at_;
  uint64_t file_epoch_ = 0;  // 0: not from the file, or confirmed
  uint64_t reads_ = 0;
  uint64_t read_failures_ = 0;
  uint64_t refusals_ = 0;
  std::deque<TableRefusal> last_refusals_;
};

// A copy that shares no memory with `status`: the packaged Abseil counts references where TSan
// cannot see it.
absl::Status Unshared(const absl::Status& status);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_ROUTER_FOLLOW_RULES_H_
