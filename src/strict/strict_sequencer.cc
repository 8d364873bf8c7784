// SPDX-License-Identifier: Apache-2.0
#include "locus/strict_sequencer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/random_word.h"
#include "src/base/run/backoff.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"
#include "src/strict/drawing.h"
#include "src/strict/owned_sections.h"
#include "src/strict/refusals.h"
#include "src/strict/strict_rules.h"

namespace locus {

using internal::MutexLock;
using strict::Draw;

namespace {

constexpr std::string_view kObject = "a strict sequencer";
constexpr absl::Duration kFirstRetry = absl::Milliseconds(50);
constexpr absl::Duration kLongestRetry = absl::Seconds(1);
// Threads wait by a clock that stops while the machine is suspended, so they look at the time this
// often.
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
        refusals_(options_.set, set_, options_.name),
        drawing_(set_, *options_.clock, options_.most_memory),
        owned_(set_, *options_.clock, drawing_),
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
    Draw draw = drawing_.One(uid, number);
    if (draw == Draw::kTaken) [[likely]]
      return number;
    if (IsOpenAgain(uid, draw)) draw = drawing_.One(uid, number);
    if (draw == Draw::kTaken) return number;
    if (draw != Draw::kTakenNearTheEnd) return Refusal(uid, draw);
    driver_->Wake();
    return number;
  }

  absl::StatusOr<uint64_t> Next(uint64_t uid, std::chrono::steady_clock::time_point deadline) {
    while (true) {
      // Read before the attempt, so that an answer that comes during it is not missed.
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
        if (!owned_.Has(section)) request.wishes.push_back({section, owned_.SeenOf(section)});
      }
      if (request.wishes.empty()) return StrictReply<StrictGrant>{table_version_.load(), false, {}};
      LOCUS_RETURN_IF_ERROR(strict::Check(set_, request));
      for (const StrictTake::Wish& wish : request.wishes) {
        // Before the store is called: a section that was granted must be able to answer.
        if (drawing_[wish.section].cells.Make(set_.section_size)) continue;
        return refusals_.NoAddresses(wish.section);
      }
    }
    // Before the call: deadlines count from the time when it was sent, not from its answer.
    const absl::Duration sent = Now();
    LOCUS_ASSIGN_OR_RETURN(StrictReply<StrictGrant> reply,
                           store_->Take(options_.set, set_, request));
    LOCUS_RETURN_IF_ERROR(CheckAnswer(request.wishes, reply.items));
    {
      MutexLock lock(mutex_);
      NoteReply(reply, "take");
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
        const uint64_t token = owned_.TokenOf(section);
        if (token != 0) request.sections.push_back({section, token, owned_.SeenOf(section)});
      }
      if (request.sections.empty()) {
        return StrictReply<StrictExtended>{table_version_.load(), false, {}};
      }
      LOCUS_RETURN_IF_ERROR(strict::Check(set_, request));
      // Closed before the store is called: it may grant the section to the successor at once, and
      // two owners must never answer at the same time.
      for (const StrictRelease::Section& section : request.sections) {
        owned_.Leave(section.section, section.token);
      }
    }
    LOCUS_ASSIGN_OR_RETURN(StrictReply<StrictExtended> reply,
                           store_->Release(options_.set, set_, request));
    LOCUS_RETURN_IF_ERROR(CheckAnswer(request.sections, reply.items));
    {
      MutexLock lock(mutex_);
      NoteReply(reply, "release");
      for (const StrictRelease::Section& section : request.sections) {
        owned_.Left(section.section);
        holders_[section.section] = request.successor;
        events_.push_back({Kind::kReleased, section.section, section.token, absl::OkStatus()});
      }
      Answered();
    }
    Report();
    return reply;
  }

  bool OwnershipHasEnded(uint64_t uid) {
    if (!set_.Contains(uid)) return false;
    const uint32_t section = drawing_.SectionOf(uid);
    return drawing_[section].section.open() && HasEnded(section);
  }

  std::vector<uint32_t> Owned() {
    MutexLock lock(mutex_);
    return owned_.List();
  }

  absl::StatusOr<StrictSetView> ReadTable() {
    LOCUS_ASSIGN_OR_RETURN(StrictSetView view, store_->Show(options_.set));
    LOCUS_RETURN_IF_ERROR(strict::CheckSame(options_.set, view.options, set_));
    MutexLock lock(mutex_);
    NoteVersion(view.table_version);
    for (const StrictSectionView& section : view.sections) {
      if (section.section >= set_.sections()) continue;  // needed by no other thread
      holders_[section.section] = section.owner ? section.owner->name : section.successor;
    }
    return view;
  }

  StrictSequencerStats Stats() {
    MutexLock lock(mutex_);
    StrictSequencerStats stats = stats_;
    stats.owned = static_cast<uint32_t>(owned_.size());
    stats.raises = owned_.raises();
    stats.let_go = owned_.let_go();
    stats.memory_bytes = drawing_.budget().used_bytes();
    stats.table_version = table_version_.load();
    stats.left = owned_.FirstDeadline() - Now();
    return stats;
  }

 private:
  absl::Duration Now() const { return options_.clock->SinceBoot(); }

  static std::set<uint32_t> Once(std::span<const uint32_t> sections) {
    return {sections.begin(), sections.end()};
  }
  absl::Status CheckSection(uint32_t section) const {
    return section < set_.sections() ? absl::OkStatus() : refusals_.NoSuchSection(section);
  }
  absl::Status Refusal(uint64_t uid, Draw draw) {
    if (draw == Draw::kNoSuchUid) return refusals_.NoSuchUid(uid);
    const uint32_t section = drawing_.SectionOf(uid);
    if (draw == Draw::kNotHeld) return NotOurs(section);
    if (draw == Draw::kEnded) return Ended(section);
    if (draw == Draw::kUsedUp) {
      if (drawing_[section].section.max_seq() == strict::kMostNumber) {
        return refusals_.OutOfNumbers(section);
      }
      drawing_[section].section.Want();
    }
    driver_->Wake();
    if (draw == Draw::kNoMemory) return refusals_.NoMemory(section, options_.most_memory);
    return refusals_.UsedUp(section, drawing_[section].section.max_seq());
  }
  absl::Status NotOurs(uint32_t section) {
    MutexLock lock(mutex_);
    if (owned_.Has(section)) return refusals_.OpenedAnew(section);
    auto holder = holders_.find(section);
    return refusals_.NotOurs(section, table_version_.load(),
                             holder == holders_.end() ? "" : holder->second);
  }
  absl::Status Ended(uint32_t section) {
    if (!drawing_[section].section.open()) return NotOurs(section);
    driver_->Wake();
    MutexLock lock(mutex_);
    if (!HasEnded(section)) return refusals_.OpenedAnew(section);
    return refusals_.Ended(section, last_);
  }
  bool HasEnded(uint32_t section) const {
    return absl::Nanoseconds(drawing_[section].section.deadline_ns()) <= Now();
  }
  // While it frees memory, a section is closed for a moment.
  bool IsOpenAgain(uint64_t uid, Draw draw) {
    if (draw != Draw::kNotHeld && draw != Draw::kEnded) return false;
    const uint32_t section = drawing_.SectionOf(uid);
    MutexLock lock(mutex_);
    return owned_.Has(section) && !HasEnded(section);
  }

  template <typename Asked, typename Answer>
  absl::Status CheckAnswer(const std::vector<Asked>& asked, const std::vector<Answer>& items) {
    bool same = asked.size() == items.size();
    for (size_t i = 0; same && i < asked.size(); ++i) same = asked[i].section == items[i].section;
    return same ? absl::OkStatus() : refusals_.OtherSections(asked.size());
  }

  void NoteVersion(uint64_t table_version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    table_version_ = std::max(table_version_.load(), table_version);
  }
  template <typename Item>
  void NoteReply(const StrictReply<Item>& reply, std::string_view call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    NoteVersion(reply.table_version);
    if (!reply.loss_noticed) return;
    ++stats_.losses;
    events_.push_back({Kind::kLossNoticed, 0, 0,
                       refusals_.LossNoticed(call, reply.items.size(), reply.table_version)});
  }
  void NoteUsedUp(uint32_t section, uint64_t token) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    events_.push_back({Kind::kUsedUp, section, token, refusals_.OutOfNumbers(section)});
  }
  void Granted(const StrictGrant& grant, absl::Duration sent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (grant.verdict != StrictGrant::Verdict::kGranted) {
      holders_[grant.section] = grant.holder.name;
      return;
    }
    holders_[grant.section] = owner_.name;
    owned_.Open(grant, sent);
    renew_due_ = std::min(renew_due_, sent + set_.ttl / 3);
    events_.push_back({Kind::kTaken, grant.section, grant.token, absl::OkStatus()});
    if (grant.max_seq == strict::kMostNumber) NoteUsedUp(grant.section, grant.token);
  }
  void Answered() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++answers_;
    answered_.NotifyAll();
  }

  // Renews the sections that are due, and raises those that run low.
  absl::Duration Tend() {
    std::vector<StrictExtend> requests;
    std::set<uint32_t> let_go;
    {
      MutexLock lock(mutex_);
      owned_.SetTicks();
      const absl::Duration now = Now();
      if (now < retry_at_) return std::min(retry_at_ - now, kLongestWait);
      requests = owned_.Renewals(owner_, now >= renew_due_, now, let_go);
    }
    bool all = true;
    const absl::Duration began = Now();
    for (const StrictExtend& request : requests) all = Extend(request, let_go) && all;
    Report();
    MutexLock lock(mutex_);
    const absl::Duration now = Now();
    if (!all) {
      retry_at_ = now + retries_.Next(internal::RandomWord().value_or(0));
      return retry_at_ - now;
    }
    retries_.Reset();
    if (owned_.empty()) {
      renew_due_ = absl::InfiniteDuration();
      return renew_due_;
    }
    if (began >= renew_due_) renew_due_ = began + set_.ttl / 3;
    return std::min({renew_due_ - now, owned_.LetGoAt() - now, kLongestWait});
  }

  // False: no answer.
  bool Extend(const StrictExtend& request, const std::set<uint32_t>& let_go) {
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
    NoteReply(*reply, "extend");
    for (size_t i = 0; i < request.sections.size(); ++i) {
      Extended(request.sections[i], reply->items[i], sent,
               let_go.contains(request.sections[i].section));
    }
    Answered();
    return true;
  }

  void Extended(const StrictExtend::Section& asked, const StrictExtended& answer,
                absl::Duration sent, bool let_go) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool used_up =
        asked.max_seq < strict::kMostNumber && answer.max_seq == strict::kMostNumber;
    if (used_up && answer.held) NoteUsedUp(asked.section, asked.token);
    if (owned_.Renew(asked, answer, sent, let_go)) return;
    ++stats_.lost;
    holders_.erase(asked.section);
    events_.push_back({Kind::kLost, asked.section, asked.token,
                       absl::AbortedError("the section has another owner")});
  }

  // Events are reported in their order, one at a time.
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
  const internal::ForkGuard home_;
  const strict::Refusals refusals_;
  strict::Drawing drawing_;

  // Takes and hand-overs, one at a time, so that a take returns the last grant of this process.
  // Taken before the others.
  internal::Mutex change_mutex_;
  internal::Mutex report_mutex_;  // before mutex_
  internal::Mutex mutex_;
  internal::CondVar answered_;
  std::atomic<uint64_t> answers_{0};  // of the store; raised under mutex_
  std::atomic<uint64_t> table_version_{0};
  strict::OwnedSections owned_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, std::string> holders_ ABSL_GUARDED_BY(mutex_);
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
  LOCUS_RETURN_IF_ERROR(strict::CheckMemory(options.most_memory));
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

bool StrictSequencer::OwnershipHasEnded(uint64_t uid) const {
  return !rep_->forked() && rep_->OwnershipHasEnded(uid);
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
