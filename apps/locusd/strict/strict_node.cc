// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::locusd {

using internal::MutexLock;

StrictNode::StrictNode(const StrictSettings& settings,
                       std::function<void(const StrictEvent&)> on_event, Clock& clock)
    : settings_(settings),
      on_event_(std::move(on_event)),
      clock_(clock),
      loads_(settings.options.sections()),
      table_(std::make_shared<const StrictTable>(settings.options.sections())),
      peers_(settings.name, settings.advertise) {}

absl::Status StrictNode::OpenSet(const Open& open) {
  LOCUS_CHECK(sequencer() == nullptr);
  absl::Status opened = TryToOpen(open);
  MutexLock lock(mutex_);
  open_error_ = opened;
  return opened;
}

absl::Status StrictNode::TryToOpen(const Open& open) {
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<StrictStore> store, open());
  if (settings_.create) {
    LOCUS_RETURN_IF_ERROR(store->Create(settings_.set, settings_.options, StrictSetPast()));
  }
  StrictSequencerOptions options;
  options.set = settings_.set;
  options.options = settings_.options;
  options.name = settings_.name;
  options.address = settings_.advertise;
  options.most_memory = settings_.memory_bytes;
  options.on_event = on_event_;
  options.clock = &clock_;
  LOCUS_ASSIGN_OR_RETURN(sequencer_, StrictSequencer::Open(std::move(store), options));
  opened_.store(sequencer_.get(), std::memory_order_release);
  return absl::OkStatus();
}

absl::Status StrictNode::NotOpen() const {
  MutexLock lock(mutex_);
  return absl::UnavailableError(
      absl::StrCat("the set of strict sequences is not open yet",
                   open_error_.ok() ? "" : absl::StrCat(": ", open_error_.message())));
}

absl::Status StrictNode::Ready() const {
  if (sequencer() == nullptr) return NotOpen();
  const StrictSequencerStats stats = sequencer()->Stats();
  if (stats.owned > 0 && stats.left < absl::ZeroDuration()) {
    return absl::UnavailableError(absl::StrCat(
        "sections of this node are not served: the store has not renewed the leases "
        "of its ",
        stats.owned, ", of which the first ended ",
        absl::FormatDuration(absl::Trunc(-stats.left, absl::Milliseconds(1))), " ago"));
  }
  const absl::Duration rest = Rest();
  MutexLock lock(mutex_);
  if (!view_) return absl::UnavailableError("the table of strict sections was not read yet");
  if (stats.owned == 0 && takes() && rest > absl::ZeroDuration()) {
    return absl::UnavailableError(
        absl::StrCat("the set of strict sequences rests after a loss for another ",
                     absl::FormatDuration(absl::Trunc(rest, absl::Milliseconds(1)))));
  }
  const auto late = std::count_if(wanted_.begin(), wanted_.end(), [this](const auto& one) {
    return Now() - one.second > kTakeOver;
  });
  if (late == 0 || !takes()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      late, " sections that no node has are this node's part, and it could not take them for ",
      absl::FormatDuration(kTakeOver)));
}

void StrictNode::SetTable(std::shared_ptr<const StrictTable> table) {
  table_version_.store(table->version(), std::memory_order_relaxed);
  table_.store(std::move(table));
}

void StrictNode::Note(std::span<const uint32_t> sections, const StrictTable::Owner* owner,
                      uint64_t version) {
  MutexLock lock(mutex_);
  auto table = std::make_shared<StrictTable>(*table_.load());
  table->Set(sections, owner, version);
  SetTable(std::move(table));
}

absl::StatusOr<StrictNode::Change> StrictNode::Take(std::span<const uint32_t> sections) {
  StrictSequencer* const sequencer = this->sequencer();
  if (sequencer == nullptr) return NotOpen();
  const StrictTable::Owner self = {settings_.name, settings_.advertise};
  Change change;
  while (!sections.empty()) {
    const size_t count = std::min(sections.size(), kMostSectionsAtOnce);
    LOCUS_ASSIGN_OR_RETURN(const StrictReply<StrictGrant> reply,
                           sequencer->Take(sections.first(count)));
    sections = sections.subspan(count);
    std::vector<uint32_t> granted;
    std::map<std::string, std::pair<StrictTable::Owner, std::vector<uint32_t>>> held;
    for (const StrictGrant& grant : reply.items) {
      if (grant.verdict == StrictGrant::Verdict::kGranted) {
        granted.push_back(grant.section);
      } else if (!grant.holder.name.empty()) {
        auto& of = held[grant.holder.name];
        of.first = {grant.holder.name, grant.holder.address};
        of.second.push_back(grant.section);
      }
    }
    Note(granted, &self, reply.table_version);
    for (const auto& [name, of] : held) Note(of.second, &of.first, reply.table_version);
    change.table_version = reply.table_version;
    change.sections += granted.size();
    MutexLock lock(mutex_);
    stats_.taken += granted.size();
    for (const uint32_t section : granted) wanted_.erase(section);
  }
  return change;
}

absl::StatusOr<StrictNode::Change> StrictNode::HandOver(std::span<const uint32_t> sections,
                                                        const StrictTable::Owner* successor) {
  {
    MutexLock lock(mutex_);
    ++handing_over_;
    ++hand_overs_;
  }
  absl::StatusOr<Change> change = HandOverNow(sections, successor);
  MutexLock lock(mutex_);
  --handing_over_;
  return change;
}

absl::StatusOr<StrictNode::Change> StrictNode::HandOverNow(std::span<const uint32_t> sections,
                                                           const StrictTable::Owner* successor) {
  StrictSequencer* const sequencer = this->sequencer();
  if (sequencer == nullptr) return NotOpen();
  Change change;
  while (!sections.empty()) {
    const std::span<const uint32_t> some =
        sections.first(std::min(sections.size(), kMostSectionsAtOnce));
    sections = sections.subspan(some.size());
    // From now on, refused requests are sent to the successor.
    Note(some, successor, 0);
    LOCUS_ASSIGN_OR_RETURN(
        const StrictReply<StrictExtended> reply,
        sequencer->HandOver(some, successor == nullptr ? std::string_view() : successor->name));
    Note(some, successor, reply.table_version);
    change.table_version = reply.table_version;
    change.sections += reply.items.size();
    MutexLock lock(mutex_);
    stats_.handed_over += reply.items.size();
  }
  return change;
}

absl::Status StrictNode::Look() {
  StrictSequencer* const sequencer = this->sequencer();
  if (sequencer == nullptr) return NotOpen();
  const absl::Duration asked = Now();
  std::optional<uint64_t> hand_overs;
  {
    MutexLock lock(mutex_);
    if (handing_over_ == 0) hand_overs = hand_overs_;
  }
  absl::StatusOr<StrictSetView> view = sequencer->ReadTable();
  looked_well_.store(view.ok(), std::memory_order_relaxed);
  MutexLock lock(mutex_);
  ++stats_.looks;
  if (!view.ok()) {
    ++stats_.failed_looks;
    return view.status();
  }
  looked_ = asked;
  // What this node changed meanwhile is newer.
  if (view->table_version >= table_version()) {
    SetTable(std::make_shared<const StrictTable>(
        *view, [this](const std::string& name)
                   ABSL_NO_THREAD_SAFETY_ANALYSIS { return peers_.AddressOf(name); }));
  }
  for (const StrictSectionView& section : view->sections) {
    if (section.owner) peers_.Rumour(section.owner->address);
  }
  view_ = *std::move(view);
  hand_overs_of_view_ = hand_overs;
  return absl::OkStatus();
}

std::optional<absl::Time> StrictNode::RestsUntil() const {
  MutexLock lock(mutex_);
  if (!view_ || RestOf(*view_) == absl::ZeroDuration()) return std::nullopt;
  return view_->rest_until;
}

absl::Duration StrictNode::Rest() const {
  MutexLock lock(mutex_);
  if (!view_) return absl::ZeroDuration();
  return std::max(RestOf(*view_) - (Now() - looked_), absl::ZeroDuration());
}

std::optional<uint64_t> StrictNode::Losses() const {
  MutexLock lock(mutex_);
  if (!view_) return std::nullopt;
  return view_->losses;
}

absl::Duration StrictNode::LookAge() const {
  MutexLock lock(mutex_);
  return Now() - looked_;
}

StrictPeer StrictNode::Self() const {
  const bool takes_more = takes() && !is_refused_.load(std::memory_order_relaxed) &&
                          settings_.sections.empty() && sequencer() != nullptr &&
                          looked_well_.load(std::memory_order_relaxed);
  return {settings_.name, settings_.advertise, takes_more ? settings_.weight : 0};
}

StrictNews StrictNode::News(bool with_loads) const {
  StrictNews news;
  news.self = Self();
  news.set = settings_.set.str();
  news.table_version = table_version();
  MutexLock lock(mutex_);
  news.others = peers_.Live(Now());
  if (with_loads) news.loads = rates_;
  return news;
}

absl::StatusOr<bool> StrictNode::Heard(const StrictNews& news) {
  if (news.set != settings_.set.str()) {
    return absl::InvalidArgumentError(
        absl::StrCat(internal::Quoted(news.self.name), " at ", news.self.address, " is of the set ",
                     internal::Quoted(news.set), "; this node is of ", settings_.set.str()));
  }
  if (news.self.name == settings_.name) {
    if (news.self.address == settings_.advertise) return false;  // this node itself
    return SharedName(news.self, settings_.advertise);
  }
  MutexLock lock(mutex_);
  return peers_.Heard(news, Now());
}

void StrictNode::Silent(const std::string& address) {
  MutexLock lock(mutex_);
  peers_.Silent(address);
}

std::vector<std::string> StrictNode::AddressesToAsk() const {
  MutexLock lock(mutex_);
  const std::set<std::string> addresses = peers_.AddressesToAsk(Now());
  return {addresses.begin(), addresses.end()};
}

std::vector<StrictPeer> StrictNode::Live() const {
  MutexLock lock(mutex_);
  return peers_.Live(Now());
}

std::optional<StrictPeer> StrictNode::FindLive(const std::string& name) const {
  for (const StrictPeer& peer : Live()) {
    if (peer.name == name) return peer;
  }
  return std::nullopt;
}

bool StrictNode::OthersHaveSections() const {
  if (!view_) return false;
  return std::any_of(view_->sections.begin(), view_->sections.end(),
                     [this, now = view_->now](const StrictSectionView& section) {
                       return section.owner && section.owner->name != settings_.name &&
                              section.ends_at > now;
                     });
}

RoundInput StrictNode::InputOf() const {
  RoundInput input;
  if (sequencer() != nullptr) input.instance = sequencer()->owner().instance;
  input.others = peers_.Live(Now());
  const bool leaves_it = is_refused_.load(std::memory_order_relaxed) &&
                         (!input.others.empty() || OthersHaveSections());
  input.self = {settings_.name, settings_.advertise, takes() && !leaves_it ? settings_.weight : 0};
  input.view = view_ ? &*view_ : nullptr;
  input.loads = peers_.Loads(Now());
  for (const auto& [section, rate] : rates_) input.loads[section] = rate;
  input.free_before = free_;
  input.fixed = settings_.sections;
  return input;
}

absl::StatusOr<RoundPlan> StrictNode::Plan(bool by_load) {
  std::set<uint32_t> owned;
  if (sequencer() != nullptr) {
    const std::vector<uint32_t> sections = sequencer()->Owned();
    owned.insert(sections.begin(), sections.end());
  }
  MutexLock lock(mutex_);
  if (!view_) return absl::NotFoundError("the table was not read yet");
  RoundInput input = InputOf();
  input.by_load = by_load;
  if (hand_overs_of_view_ == hand_overs_) input.owned = std::move(owned);
  RoundPlan plan = PlanRound(input);
  free_ = plan.free;
  std::map<uint32_t, absl::Duration> wanted;
  for (const uint32_t section : plan.take) {
    const auto before = wanted_.find(section);
    wanted[section] = before == wanted_.end() ? Now() : before->second;
  }
  wanted_ = std::move(wanted);
  return plan;
}

std::map<std::string, std::vector<uint32_t>> StrictNode::Farewell(
    const std::vector<uint32_t>& sections) const {
  MutexLock lock(mutex_);
  return PlanFarewell(InputOf(), sections);
}

void StrictNode::Measure() {
  loads_.Measure(Now());
  if (sequencer() == nullptr) return;
  std::map<uint32_t, uint64_t> rates = loads_.rates(sequencer()->Owned());
  MutexLock lock(mutex_);
  rates_ = std::move(rates);
}

bool StrictNode::LooksOld() const {
  const uint64_t own = sequencer() == nullptr ? 0 : sequencer()->Stats().table_version;
  MutexLock lock(mutex_);
  const uint64_t seen = view_ ? view_->table_version : 0;
  return std::max(own, peers_.TableVersion(Now())) > seen;
}

StrictNodeStats StrictNode::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

StrictStatus StrictNode::Status() const {
  StrictStatus status;
  status.set = settings_.set;
  status.options = settings_.options;
  status.self = Self();
  status.open = sequencer() != nullptr;
  status.takes = takes();
  status.rests = Rest();
  if (status.open) {
    const StrictSequencerStats stats = sequencer()->Stats();
    if (stats.owned > 0) status.left = stats.left;
  }
  MutexLock lock(mutex_);
  status.table = table_.load();
  status.live = peers_.Live(Now());
  status.loads = peers_.Loads(Now());
  for (const auto& [section, rate] : rates_) status.loads[section] = rate;
  if (!view_) return status;
  status.losses = view_->losses;
  status.looked = Now() - looked_;
  // What changed since is not known that well.
  if (view_->table_version != status.table->version()) return status;
  for (const StrictSectionView& section : view_->sections) {
    if (!section.owner && !section.successor.empty()) {
      status.moving[section.section] = section.successor;
    }
  }
  return status;
}

}  // namespace locus::locusd
