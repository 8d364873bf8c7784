// SPDX-License-Identifier: Apache-2.0
#include "locus/strict_sequencer.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/backoff.h"
#include "src/base/check.h"
#include "src/base/fork_guard.h"
#include "src/base/load_driver.h"
#include "src/base/mutex.h"
#include "src/base/random_word.h"
#include "src/base/text.h"
#include "src/strict/cells.h"
#include "src/strict/section.h"
#include "src/strict/strict_rules.h"

namespace locus {

using internal::MutexLock;
using strict::Cell;
using strict::Section;

namespace {

constexpr std::string_view kObject = "a strict sequencer";
constexpr size_t kBatchAtOnce = 64;  // as many cells are fetched side by side
constexpr absl::Duration kFirstRetry = absl::Milliseconds(50);
constexpr absl::Duration kLongestRetry = absl::Seconds(1);
// Threads wait by a clock that stands still while the machine is suspended; so they look again.
constexpr absl::Duration kLongestWait = absl::Seconds(1);

}  // namespace

std::string_view ToString(StrictEvent::Kind kind) {
  switch (kind) {
    case StrictEvent::Kind::kTaken:
      return "taken";
    case StrictEvent::Kind::kReleased:
      return "released";
    case StrictEvent::Kind::kLost:
      return "lost";
    case StrictEvent::Kind::kExtendFailed:
      return "extend_failed";
    case StrictEvent::Kind::kLossNoticed:
      return "loss_noticed";
  }
  return "?";
}

class StrictSequencer::Rep {
 public:
  using Kind = StrictEvent::Kind;

  Rep(std::shared_ptr<StrictStore> store, const StrictSequencerOptions& options, uint64_t instance)
      : store_(std::move(store)),
        options_(options),
        set_(options.options),
        owner_{options.name, options.address, instance},
        size_(set_.section_size),
        reciprocal_(UINT64_MAX / set_.section_size + 1),
        ahead_(set_.step / 2),
        usable_for_(strict::UsableFor<strict::NoFlaw>(set_.ttl)),
        slots_(new Slot[set_.sections()]),
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
    const uint64_t offset = uid - set_.first_uid;
    if (offset >= set_.uids) [[unlikely]]
      return NoSuchUid(uid);
    const uint32_t index = IndexOf(offset);
    Slot& slot = slots_[index];
    const Section::Reading reading = slot.section.Read();
    if (reading.grant == 0) [[unlikely]]
      return NotOurs(index);
    Cell& cell = slot.cells.cells()[offset - uint64_t{index} * size_];
    const uint64_t number = Section::Advance(cell, reading);
    if (number == 0) [[unlikely]]
      return UsedUp(index);
    if (!slot.section.StillHeld(reading, NowNs())) [[unlikely]]
      return Ended(index);
    if (slot.section.WantsMore(number, reading, ahead_)) [[unlikely]]
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
    for (size_t from = 0; from < uids.size(); from += kBatchAtOnce) {
      const size_t count = std::min(kBatchAtOnce, uids.size() - from);
      first.Update(Draw(uids.subspan(from, count), numbers.subspan(from, count)));
    }
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
        if (slots_[wish.section].cells.Make(size_)) continue;
        return absl::ResourceExhaustedError(absl::StrCat("the system has no memory for the ", size_,
                                                         " uids of section ", wish.section));
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
          std::min(stats.left, absl::Nanoseconds(slots_[section].section.deadline_ns()) - Now());
    }
    return stats;
  }

 private:
  struct alignas(64) Slot {
    Section section;
    strict::Cells cells;
  };

  absl::Duration Now() const { return options_.clock->SinceBoot(); }
  int64_t NowNs() const { return absl::ToInt64Nanoseconds(options_.clock->SinceBoot()); }

  // offset / section_size. Exact, since offset < 2^40 and section_size <= 2^24; UINT64_MAX / 1 + 1
  // does not occur.
  uint32_t IndexOf(uint64_t offset) const {
    return static_cast<uint32_t>((static_cast<unsigned __int128>(offset) * reciprocal_) >> 64);
  }

  // At most kBatchAtOnce.
  absl::Status Draw(std::span<const uint64_t> uids, std::span<uint64_t> numbers) {
    struct Item {
      Slot* slot = nullptr;
      Cell* cell = nullptr;  // nullptr: refused
      Section::Reading reading;
    };
    std::array<Item, kBatchAtOnce> items;
    absl::Status first;
    for (size_t i = 0; i < uids.size(); ++i) {
      numbers[i] = 0;
      const uint64_t offset = uids[i] - set_.first_uid;
      if (offset >= set_.uids) [[unlikely]] {
        first.Update(NoSuchUid(uids[i]));
        continue;
      }
      const uint32_t index = IndexOf(offset);
      Item& item = items[i];
      item.slot = &slots_[index];
      item.reading = item.slot->section.Read();
      if (item.reading.grant == 0) [[unlikely]] {
        first.Update(NotOurs(index));
        continue;
      }
      item.cell = item.slot->cells.cells() + (offset - uint64_t{index} * size_);
      __builtin_prefetch(item.cell, 1);
    }
    for (size_t i = 0; i < uids.size(); ++i) {
      if (items[i].cell != nullptr) numbers[i] = Section::Advance(*items[i].cell, items[i].reading);
    }
    const int64_t now_ns = NowNs();  // after the last number was taken
    for (size_t i = 0; i < uids.size(); ++i) {
      if (items[i].cell == nullptr) continue;
      Slot& slot = *items[i].slot;
      if (numbers[i] == 0) [[unlikely]] {
        first.Update(UsedUp(SectionOf(slot)));
      } else if (!slot.section.StillHeld(items[i].reading, now_ns)) [[unlikely]] {
        numbers[i] = 0;
        first.Update(Ended(SectionOf(slot)));
      } else if (slot.section.WantsMore(numbers[i], items[i].reading, ahead_)) [[unlikely]] {
        driver_->Wake();
      }
    }
    return first;
  }
  uint32_t SectionOf(const Slot& slot) const { return static_cast<uint32_t>(&slot - slots_.get()); }

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
  absl::Status NotOurs(uint32_t section) {
    MutexLock lock(mutex_);
    auto holder = holders_.find(section);
    const bool known = holder != holders_.end() && !holder->second.empty();
    return absl::AbortedError(absl::StrCat(
        Place(section), " is not ", owner_.name, "'s; table version ", table_version_.load(),
        known ? " says it is " : " knows of no owner", known ? holder->second + "'s" : ""));
  }
  absl::Status UsedUp(uint32_t section) {
    slots_[section].section.Want();
    driver_->Wake();
    return absl::UnavailableError(absl::StrCat(Place(section), ": the numbers stored ahead, up to ",
                                               slots_[section].section.max_seq(),
                                               ", are used up; more are asked for"));
  }
  absl::Status Ended(uint32_t section) {
    if (!slots_[section].section.open()) return NotOurs(section);
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
    slots_[grant.section].section.Open(++grants_, grant.start, grant.max_seq, DeadlineNs(sent));
    renew_due_ = std::min(renew_due_, sent + set_.ttl / 3);
    events_.push_back({Kind::kTaken, grant.section, grant.token, absl::OkStatus()});
  }
  int64_t DeadlineNs(absl::Duration sent) const {
    return absl::ToInt64Nanoseconds(sent + usable_for_);
  }
  // The memory goes back after the section was closed: no number of it is answered any more.
  void CloseSection(uint32_t section) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    slots_[section].section.Close();
    slots_[section].cells.Drop();
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
      const absl::Duration now = Now();
      if (now < retry_at_) return std::min(retry_at_ - now, kLongestWait);
      const bool renew = now >= renew_due_;
      for (const auto& [section, token] : held_) {
        const Section& of = slots_[section].section;
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
    Section& section = slots_[asked.section].section;
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
  const uint64_t size_;
  const uint64_t reciprocal_;
  const uint64_t ahead_;
  const absl::Duration usable_for_;
  const internal::ForkGuard home_;
  const std::unique_ptr<Slot[]> slots_;  // by section

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
