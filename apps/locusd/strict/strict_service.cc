// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_service.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/locusd/ids/id_places.h"
#include "apps/locusd/strict/peer_calls.h"
#include "apps/locusd/strict/round_times.h"
#include "locus/open.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"
#include "src/base/os/random_word.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"
#include "src/http/tls_context.h"

namespace locus::locusd {

using internal::MutexLock;

namespace {

constexpr absl::Duration kRound = absl::Seconds(1);
// While sections have no owner that this node leaves to another one.
constexpr absl::Duration kSoon = absl::Milliseconds(300);
// Where the store did not grant what its table shows as free, yet.
constexpr absl::Duration kVerySoon = absl::Milliseconds(30);
// A node that takes longer to answer counts as dead, and its leases say when its sections are free.
constexpr absl::Duration kTellTimeout = absl::Milliseconds(500);
constexpr absl::Duration kTakeTimeout = absl::Seconds(2);
// As long as it takes the node that is asked to have them taken.
constexpr absl::Duration kAskTimeout = absl::Seconds(3);
// No further ones are asked for in a round; less than the others wait for news of a node.
constexpr absl::Duration kAskFor = absl::Seconds(1);
// To hand sections over, while nodes that were to take them do not.
constexpr int kMostAttempts = 3;
constexpr char kNotOpen[] = "the set of strict sequences is not open yet";
constexpr internal::Backoff::Policy kPauses = {.first = absl::Milliseconds(100),
                                               .longest = absl::Seconds(5)};

absl::Status Refusal(const absl::Status& status) {
  const std::string message = absl::StrCat("strict.store: ", status.message());
  return absl::IsInvalidArgument(status) ? absl::InvalidArgumentError(message)
                                         : absl::FailedPreconditionError(message);
}

}  // namespace

class StrictService::Rep {
 public:
  using Level = IdServiceEvent::Level;
  using Change = StrictNode::Change;

  Rep(const StrictSettings& settings, StrictServiceOptions options)
      : options_(std::move(options)),
        node_(
            settings, [this](const StrictEvent& event) { OnSection(event); }, *options_.clock),
        times_(settings.options.ttl) {}

  ~Rep() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
    api_.reset();
  }

  absl::Status Open() {
    LOCUS_ASSIGN_OR_RETURN(calls_, PeerCalls::Make(node_.settings(), options_.tls));
    StrictApiOptions of_api;
    of_api.hand_over = [this](std::optional<std::vector<uint32_t>> sections,
                              const std::string& to) { return HandOver(std::move(sections), to); };
    of_api.come_back = [this] {
      node_.SetTakes(true);
      Wake();
    };
    of_api.on_news = [this] { Wake(); };
    of_api.on_refused = [this](const absl::Status& why) {
      TellOnce("a sequence-node that called was refused", why);
    };
    LOCUS_ASSIGN_OR_RETURN(api_, StrictApi::Make(node_, std::move(of_api)));
    if (options_.opens_later) return absl::OkStatus();
    const absl::Status opened = OpenSet();
    if (!opened.ok() && !IsAway(opened)) return Refusal(opened);
    if (!opened.ok()) TellOnce(kNotOpen, opened);
    return absl::OkStatus();
  }

  absl::Status Begin() {
    try {
      thread_ = std::thread([this] { Loop(); });
    } catch (const std::system_error& thrown) {
      return absl::UnavailableError(absl::StrCat("a thread of strict sequences: ", thrown.what()));
    }
    return absl::OkStatus();
  }

  StrictApi& api() { return *api_; }

  void Leave() {
    if (node_.sequencer() == nullptr) return;
    absl::StatusOr<Change> change = HandOver(std::nullopt, "");
    // What it was taking just then.
    if (change.ok() && !node_.sequencer()->Owned().empty()) change = HandOver(std::nullopt, "");
    if (!change.ok()) {
      Tell(Level::kWarn, "strict sections were not handed over; they rest until their leases end",
           change.status());
    }
  }

 private:
  absl::Status OpenSet() {
    const StrictSettings& settings = node_.settings();
    return node_.OpenSet([&settings] {
      return OpenStrictStore(settings.place.uri,
                             {.password = AskFor(settings.place), .create = settings.create});
    });
  }

  void Loop() {
    internal::Backoff backoff(kPauses);
    bool asks_now = options_.opens_later;
    while (node_.sequencer() == nullptr) {
      TakeNews();  // other nodes call meanwhile, and change nothing here
      if (!asks_now && !Pause(backoff.Next(internal::RandomWord().value_or(0)))) return;
      asks_now = false;
      TellOnce(kNotOpen, OpenSet());
    }
    Tell(Level::kInfo, "strict sequences can be had", absl::OkStatus());
    while (true) {
      const absl::Duration pause = Round();
      if (!Pause(pause)) return;
    }
  }

  // Until the next round.
  absl::Duration Round() {
    node_.Measure();
    Greet();
    const absl::Duration now = options_.clock->SinceBoot();
    const bool news = TakeNews();
    const bool spreads = news || times_.SpreadIsDue(now);
    bool looks = news || !free_.empty() || times_.LookIsDue(now) || node_.LooksOld();
    if (looks && !Look()) {
      TellPeers(/*with_loads=*/false);  // so that nodes do not forget each other
      return kRound;
    }
    const bool all_answered = TellPeers(spreads);
    // What another node says may be newer.
    if (!looks && node_.LooksOld()) {
      looks = true;
      if (!Look()) return kRound;
    }
    if (!looks && !spreads) return std::min(kRound, times_.UntilLook(now));
    const absl::StatusOr<RoundPlan> plan = node_.Plan(spreads && all_answered);
    if (!plan.ok()) return kRound;
    free_ = plan->free;
    const bool got_all = Act(*plan);
    times_.Ended(now, looks, plan->next_end, spreads && all_answered);
    const absl::Duration longest = !got_all                                ? kVerySoon
                                   : plan->free.size() > plan->take.size() ? kSoon
                                                                           : kRound;
    return std::clamp(times_.UntilLook(options_.clock->SinceBoot()), absl::Milliseconds(1),
                      longest);
  }

  // Once it has reached itself, not again. No answer is no refusal: behind a proxy others may reach
  // it where it does not.
  void Greet() {
    if (greeted_) return;
    const absl::Status said = calls_->Greet(node_.settings().advertise, kTellTimeout);
    greeted_ = said.ok();
    const bool refused = absl::IsFailedPrecondition(said);
    node_.SetIsRefused(refused);
    TellOnce("nobody can call this node by its certificate; it leaves sections to other nodes",
             refused ? said : absl::OkStatus());
  }

  bool Look() {
    const absl::Status looked = node_.Look();
    TellOnce("the table of strict sections cannot be read", looked);
    if (!looked.ok()) return false;
    const std::optional<absl::Time> rests = node_.RestsUntil();
    TellOnce("the set of strict sequences rests after a loss",
             rests ? absl::UnavailableError(absl::StrCat(
                         "its store grants no sections until ",
                         absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", *rests, absl::UTCTimeZone())))
                   : absl::OkStatus());
    return true;
  }

  // Whether all of them answered that are alive.
  bool TellPeers(bool with_loads) {
    StrictNews news = node_.News(/*with_loads=*/false);
    news.wants_loads = with_loads;
    const std::vector<std::string> addresses = node_.AddressesToAsk();
    const std::vector<absl::StatusOr<StrictNews>> answers =
        calls_->Tell(news, addresses, kTellTimeout);
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (!answers[i].ok()) {
        node_.Silent(addresses[i]);
        // Silence is not logged here: the sections that such a node loses are.
        if (!absl::IsUnavailable(answers[i].status())) {
          TellOnce(absl::StrCat("the sequence-node at ", addresses[i], " refuses"),
                   answers[i].status());
        }
        continue;
      }
      const absl::StatusOr<bool> heard = node_.Heard(*answers[i]);
      TellOnce(absl::StrCat("the sequence-node at ", addresses[i], " is refused"), heard.status());
      if (heard.ok() && *heard) {
        Wake();
        Tell(Level::kInfo,
             absl::StrCat("the sequence-node ", answers[i]->self.name, " at ", addresses[i],
                          " is heard"),
             absl::OkStatus());
      }
    }
    const std::vector<std::string> now = node_.AddressesToAsk();
    return std::includes(addresses.begin(), addresses.end(), now.begin(), now.end());
  }

  // Whether it got what it wanted to take.
  bool Act(const RoundPlan& plan) {
    bool got_all = true;
    if (!plan.take.empty() && node_.takes()) {
      absl::StatusOr<Change> taken = Change();
      {
        MutexLock one(give_mutex_);
        if (node_.takes()) taken = node_.Take(plan.take);
      }
      got_all = !taken.ok() || taken->sections == plan.take.size();
      if (!taken.ok()) {
        TellOnce("strict sections cannot be taken", taken.status());
      } else if (taken->sections > 0) {
        Tell(Level::kInfo, absl::StrCat(taken->sections, " strict sections taken"),
             absl::OkStatus());
      }
    }
    for (const auto& [name, sections] : plan.give) {
      const std::optional<StrictPeer> to = node_.FindLive(name);
      if (!to || stopping()) continue;
      const absl::StatusOr<Change> given = Give(sections, &*to);
      if (!given.ok()) TellOnce("strict sections cannot be handed over", given.status());
    }
    AskForOwn(plan);
    return got_all;
  }

  // For sections of this node's own choice that nodes of the spread have. What is not got is asked
  // for again when sections are next spread; at once, as long as some are handed over.
  void AskForOwn(const RoundPlan& plan) {
    const absl::Duration until = options_.clock->SinceBoot() + kAskFor;
    for (const auto& [name, sections] : plan.ask) {
      const std::optional<StrictPeer> holder = node_.FindLive(name);
      std::span<const uint32_t> left = sections;
      while (holder && !left.empty() && !stopping() && node_.takes()) {
        if (options_.clock->SinceBoot() >= until) return Wake();
        const std::span<const uint32_t> some = left.first(std::min(left.size(), kSectionsAtOnce));
        left = left.subspan(some.size());
        const absl::StatusOr<PeerCalls::Taken> got =
            calls_->AskFor(holder->address, some, node_.settings().name, kAskTimeout);
        TellOnce(absl::StrCat(name, " does not hand over the sections of this node"), got.status());
        if (!got.ok()) break;
      }
    }
  }

  // Hands them over, some at a time. nullptr: to anybody.
  absl::StatusOr<Change> Give(const std::vector<uint32_t>& sections, const StrictPeer* to) {
    MutexLock one(give_mutex_);
    Change all;
    std::span<const uint32_t> left = sections;
    while (!left.empty()) {
      const std::span<const uint32_t> some = left.first(std::min(left.size(), kSectionsAtOnce));
      left = left.subspan(some.size());
      if (to == nullptr) {
        LOCUS_ASSIGN_OR_RETURN(all, Added(all, node_.HandOver(some, nullptr)));
        continue;
      }
      const StrictTable::Owner owner = {to->name, to->address};
      LOCUS_ASSIGN_OR_RETURN(all, Added(all, node_.HandOver(some, &owner)));
      const absl::StatusOr<PeerCalls::Taken> taken = calls_->Take(to->address, some, kTakeTimeout);
      if (!taken.ok()) {
        // They are free to all once the time for the successor is over.
        Tell(Level::kWarn, absl::StrCat(to->name, " does not take the sections it was given"),
             taken.status());
        return taken.status();
      }
      all.table_version = std::max(all.table_version, taken->table_version);
    }
    if (all.sections > 0) {
      Tell(Level::kInfo,
           absl::StrCat(all.sections, " strict sections handed over to ",
                        to == nullptr ? "anybody" : to->name),
           absl::OkStatus());
    }
    return all;
  }

  static absl::StatusOr<Change> Added(const Change& before, const absl::StatusOr<Change>& change) {
    LOCUS_RETURN_IF_ERROR(change.status());
    return Change{std::max(before.table_version, change->table_version),
                  before.sections + change->sections};
  }

  absl::StatusOr<Change> HandOver(std::optional<std::vector<uint32_t>> sections,
                                  const std::string& to) {
    if (node_.sequencer() == nullptr) {
      return node_.NotOpen();
    }
    std::optional<StrictPeer> successor;
    if (!to.empty()) {
      successor = node_.FindLive(to);
      if (!successor) {
        return absl::NotFoundError(absl::StrCat("no node named ", to, " is heard"));
      }
    }
    if (!sections) {
      const bool took = node_.takes();
      node_.SetTakes(false);
      TellPeers(/*with_loads=*/false);  // so that nobody gives it any
      if (successor && !node_.FindLive(to)) {
        node_.SetTakes(took);
        Wake();
        return absl::UnavailableError(absl::StrCat(to, " does not answer; nothing was changed"));
      }
    }
    std::vector<uint32_t> given = node_.sequencer()->Owned();
    if (sections) {
      std::erase_if(given, [&](uint32_t section) {
        return !std::binary_search(sections->begin(), sections->end(), section);
      });
    }
    absl::StatusOr<Change> change = successor ? Give(given, &*successor) : GiveToAll(given);
    if (!change.ok()) Wake();  // what the store did not carry out is taken back
    if (change.ok() || sections) return change;
    return absl::Status(change.status().code(),
                        absl::StrCat(change.status().message(), "; ", node_.settings().name,
                                     " takes no sections now, until it is told to"));
  }

  // To those to whom the spread says; what one of them does not take goes to the others.
  absl::StatusOr<Change> GiveToAll(const std::vector<uint32_t>& given) {
    Change all = {node_.table_version(), 0};
    absl::Status first;
    std::vector<uint32_t> left = given;
    for (int attempt = 0; attempt < kMostAttempts && !left.empty(); ++attempt) {
      for (const auto& [name, sections] : node_.Farewell(left)) {
        const std::optional<StrictPeer> to = node_.FindLive(name);
        if (!to) continue;
        const absl::StatusOr<Change> change = Added(all, Give(sections, &*to));
        if (change.ok()) {
          all = *change;
        } else {
          first.Update(change.status());
          node_.Silent(to->address);
        }
      }
      left = StillOwned(given);
    }
    const absl::StatusOr<Change> rest = Added(all, Give(left, nullptr));
    LOCUS_RETURN_IF_ERROR(rest.status());
    return first.ok() ? rest : first;
  }

  std::vector<uint32_t> StillOwned(const std::vector<uint32_t>& sections) const {
    const std::vector<uint32_t> owned = node_.sequencer()->Owned();
    std::vector<uint32_t> left;
    std::set_intersection(sections.begin(), sections.end(), owned.begin(), owned.end(),
                          std::back_inserter(left));
    return left;
  }

  // --- The thread.

  void Wake() {
    MutexLock lock(mutex_);
    news_ = true;
    changed_.NotifyAll();
  }
  bool TakeNews() {
    MutexLock lock(mutex_);
    return std::exchange(news_, false);
  }
  bool stopping() const {
    MutexLock lock(mutex_);
    return stopping_;
  }
  // Until then, or until there are news. False: the service ends.
  bool Pause(absl::Duration pause) {
    const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(pause);
    MutexLock lock(mutex_);
    while (!stopping_ && !news_ && std::chrono::steady_clock::now() < until) {
      changed_.WaitUntil(mutex_, until);
    }
    return !stopping_;
  }

  // --- Log and audit.

  void OnSection(const StrictEvent& event) {
    if (options_.on_section) options_.on_section(event);
    switch (event.kind) {
      case StrictEvent::Kind::kTaken:
      case StrictEvent::Kind::kReleased:
        return;  // they are told together
      case StrictEvent::Kind::kLost:
        return Tell(Level::kWarn, absl::StrCat("strict section ", event.section, " was lost"),
                    event.status);
      case StrictEvent::Kind::kExtendFailed:
        return Tell(Level::kWarn, "leases of strict sections were not renewed; tried again",
                    event.status);
      case StrictEvent::Kind::kLossNoticed:
        return Tell(Level::kError,
                    "the store of strict sequences lost what it stored; all numbers were raised",
                    event.status);
      case StrictEvent::Kind::kUsedUp:
        return Tell(Level::kError,
                    absl::StrCat("strict section ", event.section, " comes to its last numbers"),
                    event.status);
    }
  }

  void Tell(Level level, std::string what, const absl::Status& why) {
    if (options_.on_event) {
      options_.on_event({level, std::move(what), why.ok() ? "" : why.ToString()});
    }
  }
  // Where it is another status than the last time.
  void TellOnce(const std::string& what, const absl::Status& status) {
    {
      MutexLock lock(mutex_);
      absl::Status& told = told_[what];
      if (told.code() == status.code()) return;
      told = status;
    }
    if (!status.ok()) Tell(Level::kWarn, what, status);
  }

  const StrictServiceOptions options_;
  std::unique_ptr<PeerCalls> calls_;
  StrictNode node_;
  std::unique_ptr<StrictApi> api_;
  // Of the thread.
  std::set<uint32_t> free_;
  RoundTimes times_;
  bool greeted_ = false;

  internal::Mutex give_mutex_;  // hand-overs, one at a time; before mutex_
  mutable internal::Mutex mutex_;
  internal::CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool news_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, absl::Status> told_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

StrictService::StrictService(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
StrictService::~StrictService() = default;

absl::StatusOr<std::unique_ptr<StrictService>> StrictService::Open(const StrictSettings& settings,
                                                                   StrictServiceOptions options) {
  auto rep = std::make_unique<Rep>(settings, std::move(options));
  LOCUS_RETURN_IF_ERROR(rep->Open());
  return std::unique_ptr<StrictService>(new StrictService(std::move(rep)));
}

StrictApi& StrictService::api() { return rep_->api(); }
absl::Status StrictService::Begin() { return rep_->Begin(); }
void StrictService::Leave() { rep_->Leave(); }

void CheckFiles(const StrictSettings& settings,
                const std::function<void(const std::string& key, const absl::Status&)>& tell) {
  tell("strict.password_file", CheckPassword(settings.place));
  tell("strict.store", CheckUri(settings.place));
  if (!settings.token_file.empty()) {
    tell("strict.token_file", internal::ReadPrivateFile(settings.token_file, 1026).status());
  }
  if (!settings.authority.empty()) {
    tell("strict.authority", http::TlsContext::Load({settings.authority, "", ""}).status());
  }
}

void CheckLocalPlaces(
    const StrictSettings& settings,
    const std::function<void(const std::string& key, const absl::Status&)>& tell) {
  tell("strict.store", CheckSqlitePlace(settings.place, settings.create));
}

}  // namespace locus::locusd
