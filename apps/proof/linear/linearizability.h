// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_LINEAR_LINEARIZABILITY_H_
#define LOCUS_APPS_PROOF_LINEAR_LINEARIZABILITY_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace locus::linear {

// An operation as its client saw it.
template <typename Operation>
struct Call {
  int64_t called = 0;
  // None: the client never learned the answer. It may take effect at any time after `called`, or
  // never.
  std::optional<int64_t> returned;
  Operation operation;  // with its answer
};

enum class Verdict {
  kLinearizable,
  kNotLinearizable,
  kGaveUp,  // after the most steps
};

struct Report {
  Verdict verdict = Verdict::kLinearizable;
  uint64_t steps = 0;
  // kNotLinearizable: the call that could not be placed in the longest order found; all that were
  // placed before it. Indexes into the history.
  size_t stuck = 0;
  std::vector<size_t> order;
};

// Whether there is an order of the calls in which each takes effect between its call and its
// return, and a sequential object would have given these answers. The search is that of Wing and
// Gong with Lowe's cache of tried states ("Testing for linearizability", 2017): each set of placed
// calls with each state is tried once. Exponential at worst, in the number of calls that overlap;
// split a history into parts that share no state, and check each part.
//
// The sequential object:
//   struct Model {
//     using Operation = ...;
//     using State = ...;               // a copy is cheap; State() is the beginning
//     // Whether the operation with this answer may come next, and what it does. `answered` false:
//     // whatever its answer was.
//     static bool Step(State& state, const Operation& operation, bool answered);
//     static std::string Key(const State& state);  // equal only for equal states
//     // Whether Step does the same for both where they are not answered.
//     static bool Same(const Operation& one, const Operation& other);
//   };
template <typename Model>
class Search {
 public:
  using History = std::vector<Call<typename Model::Operation>>;

  explicit Search(const History& history) : history_(history), is_placed_(history.size()) {
    std::vector<std::pair<int64_t, size_t>> events;  // time; 2 × index + (1: the return)
    for (size_t i = 0; i < history.size(); ++i) {
      if (!history[i].returned) continue;
      events.push_back({history[i].called, 2 * i});
      events.push_back({*history[i].returned, 2 * i + 1});
      ++open_;
    }
    // Events of the same time overlap: calls come first.
    std::sort(events.begin(), events.end(), [](const auto& one, const auto& other) {
      return std::make_tuple(one.first, one.second % 2, one.second) <
             std::make_tuple(other.first, other.second % 2, other.second);
    });
    // A ring through all events; the last element is its head.
    head_ = 2 * history.size();
    links_.resize(head_ + 1, {head_, head_});
    size_t last = head_;
    for (const auto& [time, event] : events) {
      links_[last].next = event;
      links_[event] = {last, head_};
      last = event;
    }
    links_[head_].before = last;
    NoteUnanswered();
  }

  Report Run(uint64_t most_steps) {
    Report report;
    Next next{links_[head_].next, 0};
    while (open_ > 0) {
      if (++report.steps > most_steps) {
        report.verdict = Verdict::kGaveUp;
        return report;
      }
      bool placed = false;
      if (next.event % 2 == 0) {
        placed = Place(next.event / 2);
        if (!placed) next.event = links_[next.event].next;
      } else if (next.unanswered < unanswered_.size() &&
                 CalledBefore(unanswered_[next.unanswered], next.event)) {
        // A return: its call has to be placed before anything further; or one without an answer.
        placed = PlaceUnanswered(next.unanswered);
        if (!placed) ++next.unanswered;
      } else {
        if (report.order.size() <= placed_.size()) Note(next.event / 2, report);
        if (placed_.empty()) {
          report.verdict = Verdict::kNotLinearizable;
          return report;
        }
        next = TakeBack();
      }
      if (placed) next = {links_[head_].next, 0};
    }
    return report;
  }

 private:
  struct Link {
    size_t before = 0;
    size_t next = 0;
  };
  // The next step to try: the call of this event; or, if it is a return, a call without an answer.
  struct Next {
    size_t event = 0;
    size_t unanswered = 0;  // index into unanswered_
  };
  struct Placed {
    size_t call = 0;
    size_t unanswered = 0;
    typename Model::State before;
  };
  struct Unanswered {
    size_t call = 0;
    std::optional<size_t> twin;  // the latest before it that does the same
  };

  // 128 bits identify a set of calls: the XOR of two numbers of each call.
  static uint64_t Mix(uint64_t word) {
    word += 0x9E3779B97F4A7C15;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return word ^ (word >> 31);
  }
  void Toggle(size_t call) {
    set_[0] ^= Mix(2 * call);
    set_[1] ^= Mix(2 * call + 1);
  }

  void NoteUnanswered() {
    for (size_t i = 0; i < history_.size(); ++i) {
      if (!history_[i].returned) unanswered_.push_back({i, std::nullopt});
    }
    std::stable_sort(unanswered_.begin(), unanswered_.end(),
                     [this](const auto& one, const auto& other) {
                       return history_[one.call].called < history_[other.call].called;
                     });
    for (size_t i = 0; i < unanswered_.size(); ++i) {
      for (size_t j = i; j > 0 && !unanswered_[i].twin; --j) {
        const size_t before = unanswered_[j - 1].call;
        if (Model::Same(history_[before].operation, history_[unanswered_[i].call].operation)) {
          unanswered_[i].twin = before;
        }
      }
    }
  }
  bool CalledBefore(const Unanswered& one, size_t event) const {
    return history_[one.call].called <= *history_[event / 2].returned;
  }

  bool Place(size_t call) {
    typename Model::State after = state_;
    if (!Model::Step(after, history_[call].operation, true)) return false;
    if (!Enter(call, 0, std::move(after))) return false;
    Unlink(2 * call);
    Unlink(2 * call + 1);
    --open_;
    return true;
  }
  // Of calls that do the same, only the earliest is tried: the others may wait. A call that changes
  // nothing is never tried: it can be left out.
  bool PlaceUnanswered(size_t number) {
    const Unanswered& one = unanswered_[number];
    if (is_placed_[one.call] || (one.twin && !is_placed_[*one.twin])) return false;
    typename Model::State after = state_;
    if (!Model::Step(after, history_[one.call].operation, false)) return false;
    if (Model::Key(after) == Model::Key(state_)) return false;
    return Enter(one.call, number, std::move(after));
  }
  bool Enter(size_t call, size_t number, typename Model::State after) {
    Toggle(call);
    std::string key(reinterpret_cast<const char*>(set_), sizeof set_);
    key += Model::Key(after);
    if (!tried_.insert(std::move(key)).second) {
      Toggle(call);
      return false;
    }
    is_placed_[call] = true;
    placed_.push_back({call, number, std::move(state_)});
    state_ = std::move(after);
    return true;
  }
  // The next step after the last one placed.
  Next TakeBack() {
    const auto [call, number, before] = std::move(placed_.back());
    placed_.pop_back();
    state_ = before;
    is_placed_[call] = false;
    Toggle(call);
    if (!history_[call].returned) {
      size_t first_return = links_[head_].next;
      while (first_return % 2 == 0) first_return = links_[first_return].next;
      return {first_return, number + 1};
    }
    LinkAgain(2 * call + 1);
    LinkAgain(2 * call);
    ++open_;
    return {links_[2 * call].next, 0};
  }
  void Note(size_t stuck, Report& report) const {
    report.stuck = stuck;
    report.order.clear();
    for (const Placed& one : placed_) report.order.push_back(one.call);
  }
  void Unlink(size_t event) {
    links_[links_[event].before].next = links_[event].next;
    links_[links_[event].next].before = links_[event].before;
  }
  void LinkAgain(size_t event) {
    links_[links_[event].before].next = event;
    links_[links_[event].next].before = event;
  }

  const History& history_;
  std::vector<bool> is_placed_;
  std::vector<Link> links_;
  size_t head_ = 0;
  size_t open_ = 0;  // calls with an answer that are not placed
  typename Model::State state_{};
  std::vector<Placed> placed_;
  std::vector<Unanswered> unanswered_;  // ascending by call
  uint64_t set_[2] = {0, 0};
  std::unordered_set<std::string> tried_;
};

template <typename Model>
Report Check(const std::vector<Call<typename Model::Operation>>& history,
             uint64_t most_steps = 100'000'000) {
  return Search<Model>(history).Run(most_steps);
}

}  // namespace locus::linear

#endif  // LOCUS_APPS_PROOF_LINEAR_LINEARIZABILITY_H_
