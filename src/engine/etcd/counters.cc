// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/engine/etcd.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"
#include "src/counter/callers_clock.h"
#include "src/counter/sequencer_rules.h"
#include "src/engine/etcd/connection.h"
#include "src/engine/etcd/sequence_value.h"
#include "src/engine/etcd/turn.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;
using internal::Quoted;

namespace {

using etcd::SequenceValue;
using etcd::TimePoint;
using etcd::Txn;
using etcd::TxnAnswer;

constexpr size_t kMostRemembered = 100'000;
constexpr size_t kTurns = 64;

// A counter as this process knows it; other processes may have written it since.
struct Entry {
  SequenceValue value;
  std::string text;          // empty: the key does not exist
  int64_t mod_revision = 0;  // 0: the key does not exist

  uint64_t version() const {
    return static_cast<uint64_t>(value.version != 0 ? value.version : mod_revision);
  }
};

// The result of a decision about an entry: a value to write, or nothing.
using Decide = std::function<absl::StatusOr<std::optional<SequenceValue>>(
    const Entry& entry, bool live, int64_t now_ms)>;

}  // namespace

class EtcdSequencer::Rep {
 public:
  Rep(const EtcdOptions& options, const SequencerOptions& sequencer_options,
      std::unique_ptr<etcd::Connection> connection, Clock& clock)
      : prefix_(options.prefix + "/seq/"),
        options_(sequencer_options),
        ttl_ms_(absl::ToInt64Milliseconds(sequencer_options.ttl)),
        connection_(std::move(connection)),
        clock_(clock, sequencer_options.ttl) {}

  etcd::Connection& connection() { return *connection_; }

  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) {
    Taken taken;
    LOCUS_ASSIGN_OR_RETURN(
        Entry written, Call(name,
                            [&](const Entry& entry, bool live,
                                int64_t now_ms) -> absl::StatusOr<std::optional<SequenceValue>> {
                              std::optional<int64_t> current;
                              if (live) current = entry.value.number;
                              LOCUS_ASSIGN_OR_RETURN(
                                  taken.last,
                                  sequencer_rules::Advance(current, span, options_, KeyOf(name)));
                              return Later(taken.last, entry, live, now_ms);
                            }));
    taken.version = written.version();
    return taken;
  }

  absl::Status Store(const std::string& name, int64_t value) {
    return Call(name, [&](const Entry&, bool, int64_t now_ms) { return New(value, now_ms); })
        .status();
  }

  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) {
    bool stored = false;
    LOCUS_RETURN_IF_ERROR(Call(name, [&](const Entry& entry, bool live, int64_t now_ms) {
                            stored = !live;
                            return stored ? New(value, now_ms) : Refreshed(entry, now_ms);
                          }).status());
    return stored;
  }

  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) {
    std::optional<int64_t> value;
    LOCUS_RETURN_IF_ERROR(Call(name,
                               [&](const Entry& entry, bool live,
                                   int64_t now_ms) -> absl::StatusOr<std::optional<SequenceValue>> {
                                 value.reset();
                                 if (!live) return std::nullopt;
                                 value = entry.value.number;
                                 return Refreshed(entry, now_ms);
                               })
                              .status());
    return value;
  }

  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken, int64_t value) {
    bool put_back = false;
    LOCUS_RETURN_IF_ERROR(Call(name,
                               [&](const Entry& entry, bool live,
                                   int64_t now_ms) -> absl::StatusOr<std::optional<SequenceValue>> {
                                 put_back = live && entry.value.number == taken.last &&
                                            entry.version() == taken.version;
                                 if (!put_back) return std::nullopt;
                                 return Later(value, entry, live, now_ms);
                               })
                              .status());
    return put_back;
  }

 private:
  std::string_view KeyOf(std::string_view name) const {
    return name.substr(options_.key_prefix.size());
  }

  absl::StatusOr<std::optional<SequenceValue>> New(int64_t number, int64_t now_ms) const {
    return SequenceValue{number, ttl_ms_ == 0 ? 0 : now_ms + ttl_ms_, 0};
  }
  // Of a counter that stays, the later end counts: others may hold numbers by a longer ttl.
  int64_t LaterEnd(const Entry& entry, bool live, int64_t now_ms) const {
    const bool for_good = ttl_ms_ == 0 || (live && entry.value.expires_at == 0);
    if (for_good) return 0;
    return live ? std::max(entry.value.expires_at, now_ms + ttl_ms_) : now_ms + ttl_ms_;
  }
  absl::StatusOr<std::optional<SequenceValue>> Later(int64_t number, const Entry& entry, bool live,
                                                     int64_t now_ms) const {
    return SequenceValue{number, LaterEnd(entry, live, now_ms), 0};
  }
  // nullopt: without a ttl, a call that changes nothing leaves the counter as it is.
  absl::StatusOr<std::optional<SequenceValue>> Refreshed(const Entry& entry, int64_t now_ms) const {
    if (ttl_ms_ == 0) return std::nullopt;
    return SequenceValue{entry.value.number, LaterEnd(entry, true, now_ms),
                         static_cast<int64_t>(entry.version())};
  }

  // Calls `decide` with the remembered entry and writes its value if the counter is unchanged;
  // otherwise reads the counter and decides again. A decision not to write, and an error, count
  // only if the counter was read in this call. Returns the counter's state afterwards.
  absl::StatusOr<Entry> Call(const std::string& name, const Decide& decide) {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    TimePoint deadline = connection_->Deadline();
    etcd::TurnHold turn(turns_[std::hash<std::string>()(name) % kTurns], deadline);
    if (!turn.held()) return Busy(name);
    Entry entry = Recall(name);
    bool fresh = false;
    internal::Backoff backoff(etcd::kConflictPauses);
    bool first_conflict = true;
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(int64_t now_ms, NowMs(entry, deadline));
      // By the servers' clock and this process': what one of them alone takes for past, since it
      // jumped ahead, may be held by a process still.
      const int64_t earlier_ms = absl::ToUnixMillis(clock_.Earlier());
      const int64_t own_ms = absl::ToUnixMillis(clock_.Wall());
      bool live =
          entry.mod_revision != 0 &&
          (entry.value.expires_at == 0 || entry.value.expires_at > std::min(now_ms, earlier_ms));
      // A new expiry is by the later one: a clock that is behind may be set at any moment.
      absl::StatusOr<std::optional<SequenceValue>> decided =
          decide(entry, live, std::max(now_ms, own_ms));
      if (decided.ok() && *decided) {
        // No lease of this process lives until a later end than its own.
        const bool own_end = (*decided)->expires_at == std::max(now_ms, own_ms) + ttl_ms_;
        LOCUS_ASSIGN_OR_RETURN(bool written, Write(name, **decided, own_end, entry, deadline));
        if (written) return entry;
        connection_->CountConflict();
        if (!std::exchange(first_conflict, false) && !SleepBeforeRetry(backoff, deadline)) {
          return Busy(name);
        }
      } else {
        if (fresh) {
          LOCUS_RETURN_IF_ERROR(decided.status());
          return entry;
        }
        Txn read;
        LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer,
                               connection_->Commit(read.Get(KeyFor(name)), deadline));
        LOCUS_ASSIGN_OR_RETURN(entry, Found(name, answer));
      }
      fresh = true;
    }
  }

  // True: written; `entry` is the new state. False: not written; `entry` is the state that was
  // read.
  absl::StatusOr<bool> Write(const std::string& name, const SequenceValue& value, bool own_end,
                             Entry& entry, TimePoint deadline) {
    std::string key = KeyFor(name);
    for (bool lease_was_lost = false;; lease_was_lost = true) {
      int64_t lease = 0;
      if (own_end) {
        LOCUS_ASSIGN_OR_RETURN(lease, LeaseId(deadline));
      }
      Txn txn;
      txn.IfRevision(key, entry.mod_revision).Put(key, value.Text(), lease).Get(key);
      // After a rewind a revision occurs again, with another value.
      if (entry.mod_revision != 0) txn.IfValue(key, entry.text);
      absl::StatusOr<TxnAnswer> answer = connection_->Commit(txn, deadline);
      if (absl::IsNotFound(answer.status()) && lease != 0 && !lease_was_lost) {
        ForgetLease(lease);
        continue;
      }
      if (!answer.ok()) {
        Forget(name);
        return answer.status();
      }
      if (!answer->succeeded) {
        LOCUS_ASSIGN_OR_RETURN(entry, Found(name, *answer));
        return false;
      }
      entry = {value, value.Text(), answer->header.revision};
      Remember(name, entry);
      return true;
    }
  }

  absl::StatusOr<Entry> Found(const std::string& name, const TxnAnswer& answer) {
    Forget(name);
    if (answer.ranges.empty() || answer.ranges[0].empty()) return Entry();
    const etcd::KeyValue& pair = answer.ranges[0][0];
    std::optional<SequenceValue> value = SequenceValue::Parse(pair.value);
    if (!value) return sequencer_rules::NoNumber(connection_->place(), KeyOf(name), pair.value);
    Entry entry{*value, pair.value, pair.mod_revision};
    Remember(name, entry);
    return entry;
  }

  // 0 where nothing expires.
  absl::StatusOr<int64_t> NowMs(const Entry& entry, TimePoint deadline) {
    if (ttl_ms_ == 0 && entry.value.expires_at == 0) return 0;
    LOCUS_ASSIGN_OR_RETURN(etcd::TimeSpan now, connection_->Now(deadline));
    return absl::ToUnixMillis(now.Nearest(absl::Now()));
  }

  absl::Status Busy(const std::string& name) const {
    return absl::UnavailableError(absl::StrCat(connection_->place(), ": key ", Quoted(KeyOf(name)),
                                               " was written by other processes each time"));
  }

  std::string KeyFor(const std::string& name) const { return prefix_ + name; }

  Entry Recall(const std::string& name) {
    MutexLock lock(mutex_);
    auto at = entries_.find(name);
    return at == entries_.end() ? Entry() : at->second;
  }
  void Remember(const std::string& name, const Entry& entry) {
    MutexLock lock(mutex_);
    if (entries_.size() >= kMostRemembered) entries_.erase(entries_.begin());
    entries_[name] = entry;
  }
  void Forget(const std::string& name) {
    MutexLock lock(mutex_);
    entries_.erase(name);
  }

  // The etcd lease of new values; 0 without a ttl. A lease is used for a quarter of the ttl and
  // lives until the last value written with it has expired.
  absl::StatusOr<int64_t> LeaseId(TimePoint deadline) {
    if (ttl_ms_ == 0) return 0;
    absl::Duration used_for = std::max(options_.ttl / 4, absl::Minutes(1));
    absl::Duration now = Clock::System().SinceBoot();
    {
      MutexLock lock(mutex_);
      if (lease_ != 0 && now < lease_used_until_) return lease_;
    }
    absl::Duration lives = options_.ttl + used_for + absl::Minutes(1);
    LOCUS_ASSIGN_OR_RETURN(
        etcd::Answer answer,
        connection_->Post("/v3/lease/grant", etcd::LeaseGrantJson(absl::ToInt64Seconds(lives) + 1),
                          etcd::Repeat::kAllowed, deadline));
    LOCUS_ASSIGN_OR_RETURN(int64_t lease, etcd::ReadLeaseGrant(answer.body));
    MutexLock lock(mutex_);
    lease_ = lease;
    lease_used_until_ = now + used_for;
    return lease;
  }
  void ForgetLease(int64_t lease) {
    MutexLock lock(mutex_);
    if (lease_ == lease) lease_ = 0;
  }

  const std::string prefix_;
  const SequencerOptions options_;
  const int64_t ttl_ms_;
  const std::unique_ptr<etcd::Connection> connection_;
  internal::CallersClock clock_;
  std::array<etcd::Turn, kTurns> turns_;
  Mutex mutex_;
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  int64_t lease_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration lease_used_until_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<EtcdSequencer>> EtcdSequencer::Open(
    const EtcdOptions& options, const SequencerOptions& sequencer_options, Clock& clock) {
  LOCUS_RETURN_IF_ERROR(sequencer_options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto connection, etcd::Connection::Open(options));
  return std::unique_ptr<EtcdSequencer>(new EtcdSequencer(
      sequencer_options,
      std::make_unique<Rep>(options, sequencer_options, std::move(connection), clock)));
}

EtcdSequencer::EtcdSequencer(const SequencerOptions& sequencer_options, std::unique_ptr<Rep> rep)
    : Sequencer(sequencer_options), rep_(std::move(rep)) {}

EtcdSequencer::~EtcdSequencer() {
  if (rep_->connection().forked()) rep_.release();
}

absl::StatusOr<Sequencer::Taken> EtcdSequencer::Take(const std::string& name, int64_t span) {
  return rep_->Take(name, span);
}

absl::Status EtcdSequencer::Store(const std::string& name, int64_t value) {
  return rep_->Store(name, value);
}

absl::StatusOr<bool> EtcdSequencer::StoreNew(const std::string& name, int64_t value) {
  return rep_->StoreNew(name, value);
}

absl::StatusOr<std::optional<int64_t>> EtcdSequencer::Load(const std::string& name) {
  return rep_->Load(name);
}

absl::StatusOr<bool> EtcdSequencer::PutBack(const std::string& name, const Taken& taken,
                                            int64_t value) {
  return rep_->PutBack(name, taken, value);
}

EtcdStats EtcdSequencer::Stats() const { return rep_->connection().Stats(); }

}  // namespace locus
