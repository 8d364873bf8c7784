// SPDX-License-Identifier: Apache-2.0
#include "locus/strict_sequencer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/backoff.h"
#include "src/base/fork_guard.h"
#include "src/base/load_driver.h"
#include "src/base/mutex.h"
#include "src/base/random_word.h"
#include "src/strict/drawing.h"
#include "src/strict/section.h"
#include "src/strict/strict_rules.h"
#include "src/strict/ticking.h"

namespace locus {

using internal::MutexLock;
using strict::Draw;
using strict::Section;

namespace {

constexpr std::string_view kObject = "a strict sequencer";
constexpr absl::Duration kFirstRetry = absl::Milliseconds(50);
constexpr absl::Duration kLongestRetry = absl::Seconds(1);
// Threads wait by a clock that stands still while the machine is suspended; so they look again.
constexpr absl::Duration kLongestWait = absl::Seconds(1);

}  // namespace

class StrictSequencer::Rep {
 public:
  using Kind = StrictEvent::Kind;

  Rep(std::shared_ptr<StrictStore> store, const StrictSequencerOptions& options, uint64_t instance)
      : store_(std::move(store)),
        options_(options),
        set_(options.options),
        owner_{options.name, options.address, instance},
        usable_for_(strict::UsableFor<strict::NoFlaw>(set_.ttl)),
        drawing_(set_, *options_.clock),
        ticking_(*options_.clock),
        retries_({.first = kFirstRetry, .longest = kLongestRetry}) {
    auto tend = [this] { return Tend(); };
    driver_ = options_.executor == nullptr
                  ? internal::LoadDriver::OnThread(tend)
                  : internal::LoadDriver::OnExecutor(*options_.executor, tend);
  }

  bool forked() const { return home_.forked(); }
  absl::Status CheckHome() const { return home_.Check(kObject); }
  const StrictSetOptions& set() const { return set_; }
  const StrictOwner& owner() const { return owner_; }

  absl::StatusOr<uint64_t> TryNext(uint64_t uid) {
    if (home_.forked()) [[unlikely]]
      return CheckHome();
    uint64_t number = 0;
    const Draw draw = drawing_.One(uid, number);
    if (draw == Draw::kTaken) [[likely]]
      return number;
    if (draw != Draw::kTakenNearTheEnd) return Refusal(uid, draw);
    driver_->Wake();
    return number;
  }

  absl::StatusOr<uint64_t> Next(uint64_t uid, std::chrono::steady_clock::time_point deadline) {
    while (true) {
      const uint64_t before = answers_.load();
      absl::StatusOr<uint64_t> number = TryNext(uid);
      if (!absl::IsUnavailable(number.status())) return number;
      MutexLock lock(mutex_);
      while (answers_.load() == before) {
        if (std::chrono::steady_clock::now() >= deadline) return number;
        answered_.WaitUntil(mutex_, deadline);
      }
    }
  }

  absl::Status TryNextBatch(std::span<const uint64_t> uids, std::span<uint64_t> numbers) {
    LOCUS_RETURN_IF_ERROR(CheckHome());
    if (numbers.size() < uids.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is room for ", numbers.size(), " numbers of ", uids.size(), " uids"));
    }
    absl::Status first;
    drawing_.Many(
        uids, numbers, [&](uint64_t uid, Draw draw) { first.Update(Refusal(uid, draw)); },
        [this] { driver_->Wake(); });
    return first;
  }

  absl::StatusOr<StrictReply<StrictGrant>> Take(std::span<const uint32_t> sections) {
    MutexLock change(change_mutex_);
    StrictTake request;
    request.owner = owner_;
    {
      MutexLock lock(mutex_);
      for (uint32_t section : Once(sections)) {
        LOCUS_RETURN_IF_ERROR(CheckSection(section));
        if (!held_.contains(section)) request.wishes.push_back({section, SeenOf(section)});
      }
      if (request.wishes.empty()) return StrictReply<StrictGrant>{table_version_.load(), false, {}};
      LOCUS_RETURN_IF_ERROR(strict::Check(set_, request));
      for (const StrictTake::Wish& wish : request.wishes) {
        if (drawing_[wish.section].cells.Make(set_.section_size)) continue;
        return absl::ResourceExhaustedError(absl::StrCat("the system has no memory for the ",
                                                         set_.section_size, " uids of section ",
                                                         wish.section));
      }
    }
    const absl::Duration sent = Now();
    LOCUS_ASSIGN_OR_RETURN(StrictReply<StrictGrant> reply,
                           store_->Take(options_.set, set_, request));
    LOCUS_RETURN_IF_ERROR(CheckAnswer(request.wishes, reply.items));
    {
      MutexLock lock(mutex_);
      NoteReply(reply.table_version, reply.loss_noticed);
      for (const StrictGrant& grant : reply.items) Granted(grant, sent);
      Answered();
    }
    Report();
    driver_->Wake();
    return reply;
  }

  absl::StatusOr<StrictReply<StrictExtended>> HandOver(std::span<const uint32_t> sections,
                                                       std::string_view successor) {
    MutexLock change(change_mutex_);
    StrictRelease request;
    request.owner = owner_;
    request.successor = std::string(successor);
    {
      MutexLock lock(mutex_);
      for (uint32_t section : Once(sections)) {
        LOCUS_RETURN_IF_ERROR(CheckSection(section));
        auto held = held_.find(section);
        auto leaving = leaving_.find(section);
        if (held == held_.end() && leaving == leaving_.end()) continue;
        const uint64_t token = held == held_.end() ? leaving->second : held->second;
        request.sections.push_back({section, token, SeenOf(section)});
      }
      if (request.sections.empty()) {
        return StrictReply<StrictExtended>{table_version_.load(), false, {}};
      }
      LOCUS_RETURN_IF_ERROR(strict::Check(set_, request));
      for (const StrictRelease::Section& section : request.sections) {
        // Before the store, and so anybody else, can learn of it.
        if (held_.contains(section.section)) CloseSection(section.section);
        leaving_[section.section] = section.token;
      }
    }
    LOCUS_ASSIGN_OR_RETURN(StrictReply<StrictExtended> reply,
                           store_->Release(options_.set, set_, request));
    LOCUS_RETURN_IF_ERROR(CheckAnswer(request.sections, reply.items));
    {
      MutexLock lock(mutex_);
      NoteReply(reply.table_version, reply.loss_noticed);
      for (const StrictRelease::Section& section : request.sections) {
        leaving_.erase(section.section);
        holders_[section.section] = request.successor;
        events_.push_back({Kind::kReleased, section.section, section.token, absl::OkStatus()});
      }
      Answered();
    }
    Report();
    return reply;
  }

  bool LeaseHasEnded(uint64_t uid) {
    if (!set_.Contains(uid)) return false;
    const auto& section = drawing_[drawing_.SectionOf(uid)].section;
    return section.open() && absl::Nanoseconds(section.deadline_ns()) <= Now();
  }

  std::vector<uint32_t> Owned() {
    MutexLock lock(mutex_);
    std::vector<uint32_t> owned;
    for (const auto& [section, token] : held_) owned.push_back(section);
    return owned;
  }

  absl::StatusOr<StrictSetView> ReadTable() {
    LOCUS_ASSIGN_OR_RETURN(StrictSetView view, store_->Show(options_.set));
    LOCUS_RETURN_IF_ERROR(strict::CheckSame(options_.set, view.options, set_));
    MutexLock lock(mutex_);
    NoteReply(view.table_version, false);
    for (const StrictSectionView& section : view.sections) {
      if (section.section >= set_.sections()) continue;  // of no use to anybody
      holders_[section.section] = section.owner ? section.owner->name : section.successor;
    }
    return view;
  }

  StrictSequencerStats Stats() {
    MutexLock lock(mutex_);
    StrictSequencerStats stats = stats_;
    stats.owned = static_cast<uint32_t>(held_.size());
    stats.table_version = table_version_.load();
    stats.left = absl::InfiniteDuration();
    for (const auto& [section, token] : held_) {
      stats.left =
          std::min(stats.left, absl::Nanoseconds(drawing_[section].section.deadline_ns()) - Now());
    }
    return stats;
  }

 private:
  absl::Duration Now() const { return options_.clock->SinceBoot(); }

  static std::set<uint32_t> Once(std::span<const uint32_t> sections) {
    return {sections.begin(), sections.end()};
  }
  absl::Status NoSuchUid(uint64_t uid) const {
    return absl::InvalidArgumentError(absl::StrCat("uid ", uid, " is not one of set ",
                                                   options_.set.str(), ", which has ", set_.uids,
                                                   " uids from ", set_.first_uid, " on"));
  }
  absl::Status CheckSection(uint32_t section) const {
    if (section < set_.sections()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("section ", section, " is not one of set ",
                                                   options_.set.str(), ", which has ",
                                                   set_.sections(), " sections"));
  }
  std::string Place(uint32_t section) const {
    return absl::StrCat("set ", options_.set.str(), ", section ", section);
  }
  absl::Status Refusal(uint64_t uid, Draw draw) {
    if (draw == Draw::kNoSuchUid) return NoSuchUid(uid);
    const uint32_t section = drawing_.SectionOf(uid);
    if (draw == Draw::kNotHeld) return NotOurs(section);
    return draw == Draw::kUsedUp ? UsedUp(section) : Ended(section);
  }
  absl::Status NotOurs(uint32_t section) {
    MutexLock lock(mutex_);
    auto holder = holders_.find(section);
    const bool known = holder != holders_.end() && !holder->second.empty();
    return absl::AbortedError(absl::StrCat(
        Place(section), " is not ", owner_.name, "'s; table version ", table_version_.load(),
        known ? " says it is " : " knows of no owner", known ? holder->second + "'s" : ""));
  }
  absl::Status UsedUp(uint32_t section) {
    drawing_[section].section.Want();
    driver_->Wake();
    return absl::UnavailableError(absl::StrCat(Place(section), ": the numbers stored ahead, up to ",
                                               drawing_[section].section.max_seq(),
                                               ", are used up; more are asked for"));
  }
  absl::Status Ended(uint32_t section) {
    if (!drawing_[section].section.open()) return NotOurs(section);
    driver_->Wake();
    MutexLock lock(mutex_);
    return absl::UnavailableError(
        absl::StrCat(Place(section), ": its lease was not renewed in time",
                     last_.ok() ? "" : absl::StrCat("; the last answer: ", last_.ToString())));
  }

  template <typename Asked, typename Answer>
  absl::Status CheckAnswer(const std::vector<Asked>& asked, const std::vector<Answer>& items) {
    bool same = asked.size() == items.size();
    for (size_t i = 0; same && i < asked.size(); ++i) same = asked[i].section == items[i].section;
    if (same) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("set ", options_.set.str(),
                                            ": the store answered for other sections than the ",
                                            asked.size(), " that it was asked for"));
  }

  uint64_t SeenOf(uint32_t section) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto seen = seen_.find(section);
    return seen == seen_.end() ? 0 : seen->second;
  }
  void NoteReply(uint64_t table_version, bool loss_noticed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    table_version_ = std::max(table_version_.load(), table_version);
    if (loss_noticed) events_.push_back({Kind::kLossNoticed, 0, 0, absl::OkStatus()});
  }
  void Granted(const StrictGrant& grant, absl::Duration sent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (grant.verdict != StrictGrant::Verdict::kGranted) {
      holders_[grant.section] = grant.holder.name;
      return;
    }
    held_[grant.section] = grant.token;
    leaving_.erase(grant.section);
    holders_[grant.section] = owner_.name;
    seen_[grant.section] = std::max(SeenOf(grant.section), grant.max_seq);
    Section& section = drawing_[grant.section].section;
    section.Open(++grants_, grant.start, grant.max_seq, DeadlineNs(sent));
    section.SetTick(ticking_.TickOf(section.deadline_ns()));
    renew_due_ = std::min(renew_due_, sent + set_.ttl / 3);
    events_.push_back({Kind::kTaken, grant.section, grant.token, absl::OkStatus()});
  }
  int64_t DeadlineNs(absl::Duration sent) const {
    return absl::ToInt64Nanoseconds(sent + usable_for_);
  }
  // The memory goes back after the section was closed: no number of it is answered any more.
  void CloseSection(uint32_t section) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    drawing_[section].section.Close();
    drawing_[section].cells.Drop();
    held_.erase(section);
  }
  void Answered() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++answers_;
    answered_.NotifyAll();
  }

  // Renews what is due, and raises what runs low.
  absl::Duration Tend() {
    std::vector<StrictExtend> requests;
    {
      MutexLock lock(mutex_);
      SetTicks();
      const absl::Duration now = Now();
      if (now < retry_at_) return std::min(retry_at_ - now, kLongestWait);
      const bool renew = now >= renew_due_;
      for (const auto& [section, token] : held_) {
        const Section& of = drawing_[section].section;
        if (!renew && !of.wanted()) continue;
        if (requests.empty() || requests.back().sections.size() == kMostSectionsAtOnce) {
          requests.push_back({owner_, {}});
        }
        requests.back().sections.push_back(
            {section, token, of.max_seq(), of.wanted() ? of.max_seq() + set_.step : 0});
      }
    }
    bool all = true;
    const absl::Duration began = Now();
    for (const StrictExtend& request : requests) all = Extend(request) && all;
    Report();
    MutexLock lock(mutex_);
    const absl::Duration now = Now();
    if (!all) {
      retry_at_ = now + retries_.Next(internal::RandomWord().value_or(0));
      return retry_at_ - now;
    }
    retries_.Reset();
    if (held_.empty()) {
      renew_due_ = absl::InfiniteDuration();
    } else if (began >= renew_due_) {
      renew_due_ = began + set_.ttl / 3;
    }
    return std::min(renew_due_ - now, held_.empty() ? absl::InfiniteDuration() : kLongestWait);
  }

  void SetTicks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ticking_.Measure()) return;
    for (const auto& [index, token] : held_) {
      Section& section = drawing_[index].section;
      section.SetTick(ticking_.TickOf(section.deadline_ns()));
    }
  }

  // False: no answer.
  bool Extend(const StrictExtend& request) {
    const absl::Duration sent = Now();
    absl::StatusOr<StrictReply<StrictExtended>> reply = store_->Extend(options_.set, set_, request);
    absl::Status status = reply.status();
    if (status.ok()) status = CheckAnswer(request.sections, reply->items);
    MutexLock lock(mutex_);
    ++stats_.extends;
    last_ = status;
    if (!status.ok()) {
      ++stats_.failures;
      events_.push_back({Kind::kExtendFailed, 0, 0, status});
      Answered();
      return false;
    }
    NoteReply(reply->table_version, reply->loss_noticed);
    for (size_t i = 0; i < request.sections.size(); ++i) {
      Extended(request.sections[i], reply->items[i], sent);
    }
    Answered();
    return true;
  }

  void Extended(const StrictExtend::Section& asked, const StrictExtended& answer,
                absl::Duration sent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto held = held_.find(asked.section);
    if (held == held_.end() || held->second != asked.token) return;  // handed over meanwhile
    if (!answer.held) {
      ++stats_.lost;
      holders_.erase(asked.section);
      CloseSection(asked.section);
      events_.push_back({Kind::kLost, asked.section, asked.token,
                         absl::AbortedError("the store says that the section has another owner")});
      return;
    }
    seen_[asked.section] = std::max(SeenOf(asked.section), answer.max_seq);
    Section& section = drawing_[asked.section].section;
    section.Extend(answer.max_seq, DeadlineNs(sent));
    if (asked.raise_to == 0) return;
    ++stats_.raises;
    section.Raised();
  }

  // Events are told in their order, one at a time.
  void Report() {
    MutexLock one(report_mutex_);
    std::vector<StrictEvent> events;
    {
      MutexLock lock(mutex_);
      events.swap(events_);
    }
    if (!options_.on_event) return;
    for (const StrictEvent& event : events) options_.on_event(event);
  }

  const std::shared_ptr<StrictStore> store_;
  const StrictSequencerOptions options_;
  const StrictSetOptions set_;
  const StrictOwner owner_;
  const absl::Duration usable_for_;
  const internal::ForkGuard home_;
  strict::Drawing drawing_;

  // Takes and hand-overs, one at a time, so that what a take answers is the last grant that this
  // process was given. Before the others.
  internal::Mutex change_mutex_;
  internal::Mutex report_mutex_;  // before mutex_
  internal::Mutex mutex_;
  internal::CondVar answered_;
  std::atomic<uint64_t> answers_{0};  // of the store; raised under mutex_
  std::atomic<uint64_t> table_version_{0};
  std::map<uint32_t, uint64_t> held_ ABSL_GUARDED_BY(mutex_);     // tokens
  std::map<uint32_t, uint64_t> leaving_ ABSL_GUARDED_BY(mutex_);  // closed, and not yet released
  std::map<uint32_t, uint64_t> seen_ ABSL_GUARDED_BY(mutex_);     // the highest max_seq
  std::map<uint32_t, std::string> holders_ ABSL_GUARDED_BY(mutex_);
  uint64_t grants_ ABSL_GUARDED_BY(mutex_) = 0;
  strict::Ticking ticking_ ABSL_GUARDED_BY(mutex_);
  absl::Duration renew_due_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  absl::Duration retry_at_ ABSL_GUARDED_BY(mutex_);
  internal::Backoff retries_ ABSL_GUARDED_BY(mutex_);
  absl::Status last_ ABSL_GUARDED_BY(mutex_);  // of the last Extend
  std::vector<StrictEvent> events_ ABSL_GUARDED_BY(mutex_);
  StrictSequencerStats stats_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<internal::LoadDriver> driver_;  // last: its thread uses the others
};

absl::StatusOr<std::unique_ptr<StrictSequencer>> StrictSequencer::Open(
    std::shared_ptr<StrictStore> store, const StrictSequencerOptions& options) {
  if (options.clock == nullptr)
    return absl::InvalidArgumentError("a strict sequencer needs a clock");
  const std::optional<uint64_t> instance = internal::RandomWord();
  if (!instance.has_value() || *instance == 0) {
    return absl::UnavailableError("the system has no randomness");
  }
  StrictTake probe;
  probe.owner = {options.name, options.address, *instance};
  probe.wishes = {{0, 0}};
  LOCUS_RETURN_IF_ERROR(strict::Check(options.options, probe));
  auto rep = std::make_unique<Rep>(std::move(store), options, *instance);
  LOCUS_RETURN_IF_ERROR(rep->ReadTable().status());
  return std::unique_ptr<StrictSequencer>(new StrictSequencer(std::move(rep)));
}

StrictSequencer::StrictSequencer(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
StrictSequencer::~StrictSequencer() { internal::AbandonIfForked(rep_); }

absl::StatusOr<uint64_t> StrictSequencer::TryNext(uint64_t uid) { return rep_->TryNext(uid); }

absl::StatusOr<uint64_t> StrictSequencer::Next(uint64_t uid,
                                               std::chrono::steady_clock::time_point deadline) {
  LOCUS_RETURN_IF_ERROR(rep_->CheckHome());
  return rep_->Next(uid, deadline);
}

absl::Status StrictSequencer::TryNextBatch(std::span<const uint64_t> uids,
                                           std::span<uint64_t> numbers) {
  return rep_->TryNextBatch(uids, numbers);
}

absl::StatusOr<StrictReply<StrictGrant>> StrictSequencer::Take(std::span<const uint32_t> sections) {
  LOCUS_RETURN_IF_ERROR(rep_->CheckHome());
  return rep_->Take(sections);
}

absl::StatusOr<StrictReply<StrictExtended>> StrictSequencer::HandOver(
    std::span<const uint32_t> sections, std::string_view successor) {
  LOCUS_RETURN_IF_ERROR(rep_->CheckHome());
  return rep_->HandOver(sections, successor);
}

bool StrictSequencer::LeaseHasEnded(uint64_t uid) const {
  return !rep_->forked() && rep_->LeaseHasEnded(uid);
}

std::vector<uint32_t> StrictSequencer::Owned() const {
  if (rep_->forked()) return {};
  return rep_->Owned();
}

absl::StatusOr<StrictSetView> StrictSequencer::ReadTable() {
  LOCUS_RETURN_IF_ERROR(rep_->CheckHome());
  return rep_->ReadTable();
}

const StrictSetOptions& StrictSequencer::options() const { return rep_->set(); }
const StrictOwner& StrictSequencer::owner() const { return rep_->owner(); }

StrictSequencerStats StrictSequencer::Stats() const {
  if (rep_->forked()) return {};
  return rep_->Stats();
}

}  // namespace locus
