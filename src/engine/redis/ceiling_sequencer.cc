// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/counter/sequencer_rules.h"
#include "src/engine/redis/ceiling_store.h"

namespace locus {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;
using internal::Quoted;

namespace {

using ceiling::Block;
using ceiling::DrawCall;
using ceiling::Drawn;
using redis::CeilingStore;
using redis::Deadline;
using redis::SingleFlight;

constexpr int kMostSteps = 64;  // of a call, while others use up what it raises
constexpr size_t kMostKeys = 1 << 16;
constexpr auto kPauseAfterError = std::chrono::milliseconds(100);
constexpr auto kLongestRaise = std::chrono::minutes(1);

std::string RandomLife() {
  std::random_device random;
  uint64_t life = uint64_t{random()} << 32 | random();
  return absl::StrCat(absl::Hex(life, absl::kZeroPad16));
}

Deadline Now() { return std::chrono::steady_clock::now(); }

}  // namespace

class CeilingSequencer::Rep {
 public:
  Rep(std::unique_ptr<redis::Client> client, const SequencerOptions& options,
      std::shared_ptr<Sequencer> durable, const Options& blocks)
      : store_(std::move(client), std::move(durable)),
        options_(options),
        limit_(sequencer_rules::Limit(options)),
        most_(std::max<int64_t>(1, std::min(blocks.max_block, limit_ / options.step / 64))),
        least_(std::min(blocks.block, most_)),
        raiser_([this] { RaiseAhead(); }) {}

  ~Rep() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
      wake_raiser_.NotifyAll();
    }
    raiser_.join();
  }

  bool forked() { return store_.client().forked(); }

  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Key> key, Find(name));
    DrawCall call;
    for (int step = 0; step < kMostSteps; ++step) {
      LOCUS_ASSIGN_OR_RETURN(Drawn drawn, Draw(*key, span));
      call.OnDrawn(drawn);
      switch (call.step()) {
        case DrawCall::Step::kDone:
          if (ceiling::RunsLow(drawn, BlockOf(*key) * options_.step)) AskAhead(key, call.life());
          return Taken{drawn.value + span, drawn.version};
        case DrawCall::Step::kAtLimit:
          return sequencer_rules::AtLimit(key->name.key, drawn.value, span, options_);
        default:
          LOCUS_RETURN_IF_ERROR(RaiseFor(*key, call, span, drawn.word == ceiling::Word::kLost));
      }
    }
    return absl::UnavailableError("other processes used up the numbers raised for this call");
  }

  absl::Status Store(const std::string& name, int64_t value) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Key> key, Find(name));
    return Raise(*key, value);
  }

  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Key> key, Find(name));
    LOCUS_ASSIGN_OR_RETURN(std::optional<int64_t> held, store_.Look(key->name, key->Seen()));
    if (held) return false;
    LOCUS_ASSIGN_OR_RETURN(bool is_new, store_.durable().SetIfNotExists(key->name.key, value));
    if (!is_new) return false;
    LOCUS_RETURN_IF_ERROR(Raise(*key, value));
    return true;
  }

  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Key> key, Find(name));
    LOCUS_ASSIGN_OR_RETURN(std::optional<int64_t> held, store_.Look(key->name, key->Seen()));
    if (held) return held;
    absl::Status known = store_.durable().Get(key->name.key).status();
    if (absl::IsNotFound(known)) return std::nullopt;
    LOCUS_RETURN_IF_ERROR(known);
    LOCUS_ASSIGN_OR_RETURN(Taken looked, Take(name, 0));
    return looked.last;
  }

  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken, int64_t value) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Key> key, Find(name));
    return store_.PutBack(key->name, key->Seen(), taken.last, taken.version, value);
  }

  CeilingStats Stats() {
    if (forked())
      return {};  // a thread of the parent may have held the lock at the fork: it would never be
                  // released
    MutexLock lock(mutex_);
    CeilingStats stats = stats_;
    stats.redis = store_.client().Stats();
    return stats;
  }

 private:
  struct Key {
    explicit Key(CeilingStore::Name name_in) : name(std::move(name_in)) {}
    uint64_t Seen() const { return seen.load(std::memory_order_relaxed); }
    void See(uint64_t version) {
      uint64_t known = Seen();
      while (known < version && !seen.compare_exchange_weak(known, version)) {
      }
    }
    const CeilingStore::Name name;
    std::atomic<uint64_t> seen{0};   // the highest version answered
    std::atomic<int64_t> block{0};   // of the last raise, in numbers; 0: none yet
    std::atomic<bool> asked{false};  // a raise ahead is queued or under way
    SingleFlight raise;
    std::atomic<Deadline> raised_at{};   // the last time
    std::atomic<Deadline> not_before{};  // a raise ahead, after an error
  };

  absl::StatusOr<std::shared_ptr<Key>> Find(const std::string& name) {
    if (forked()) {
      return internal::ForkGuard::Refusal(
          absl::StrCat("the sequencer of ", store_.client().place()));
    }
    MutexLock lock(mutex_);
    if (keys_.size() >= kMostKeys) {
      std::erase_if(keys_, [](const auto& entry) { return entry.second.use_count() == 1; });
    }
    std::shared_ptr<Key>& key = keys_[name];
    if (key == nullptr) {
      key = std::make_shared<Key>(store_.NameOf(name, options_.key_prefix.size()));
    }
    return key;
  }

  int64_t BlockOf(const Key& key) const {
    return std::max(least_, key.block.load(std::memory_order_relaxed));
  }

  absl::StatusOr<Drawn> Draw(Key& key, int64_t span) {
    LOCUS_ASSIGN_OR_RETURN(Drawn drawn,
                           store_.Draw(key.name, {span, limit_, key.Seen(), RandomLife()}));
    key.See(drawn.version);
    return drawn;
  }

  // Multiples of the step, so that blocks of processes with the same step meet.
  absl::StatusOr<Block> NewBlock(Key& key, int64_t least_span) {
    int64_t last = key.block.load(std::memory_order_relaxed);
    int64_t count =
        last == 0 ? least_ : ceiling::NextBlock(last, Now() - key.raised_at.load(), least_, most_);
    key.block.store(count, std::memory_order_relaxed);
    key.raised_at.store(Now());
    absl::StatusOr<Block> block = store_.Raise(key.name, least_span, count * options_.step);
    MutexLock lock(mutex_);
    ++(block.ok() ? stats_.raises : stats_.raise_errors);
    stats_.last_raise_error = block.status();
    return block;
  }

  // Raises and installs, unless another thread of this process is doing so for this key.
  absl::Status RaiseFor(Key& key, DrawCall& call, int64_t span, bool lost) {
    {
      MutexLock lock(mutex_);
      ++stats_.waits;
    }
    auto raise = [&]() -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(Block block, NewBlock(key, std::max(span, options_.step)));
      call.OnRaised(block);
      LOCUS_RETURN_IF_ERROR(store_.Install(key.name, call.life(), call.block()));
      call.OnInstalled();
      MutexLock lock(mutex_);
      stats_.losses += lost;
      return absl::OkStatus();
    };
    return key.raise.Do(raise, Now() + kLongestRaise);
  }

  // Later numbers are above `value`.
  absl::Status Raise(Key& key, int64_t value) {
    std::optional<Block> block;
    std::string life;
    for (int step = 0; step < kMostSteps; ++step) {
      LOCUS_ASSIGN_OR_RETURN(CeilingStore::SetTo set,
                             store_.Set(key.name, key.Seen(), value, life, block));
      block.reset();
      switch (set) {
        case CeilingStore::SetTo::kStored:
          return absl::OkStatus();
        case CeilingStore::SetTo::kBelow:
          return absl::FailedPreconditionError(
              absl::StrCat("key ", Quoted(key.name.key), " is above ", value,
                           " already, and numbers below a durable ceiling cannot be lowered"));
        default:
          break;
      }
      LOCUS_ASSIGN_OR_RETURN(Drawn drawn, Draw(key, 0));
      life = drawn.life;
      LOCUS_ASSIGN_OR_RETURN(block, BlockAbove(key, value));
    }
    return absl::UnavailableError("other processes used up the numbers raised for this call");
  }

  absl::StatusOr<Block> BlockAbove(Key& key, int64_t value) {
    absl::StatusOr<int64_t> stored = store_.durable().Get(key.name.key);
    if (!stored.ok() && !absl::IsNotFound(stored.status())) return stored.status();
    int64_t missing = std::max<int64_t>(0, value - stored.value_or(0));
    if (missing == 0) return NewBlock(key, options_.step);
    int64_t most = std::numeric_limits<int64_t>::max() - stored.value_or(0);
    return store_.Raise(key.name, missing,
                        std::min(most - missing, least_ * options_.step) + missing);
  }

  void AskAhead(const std::shared_ptr<Key>& key, const std::string& life) {
    // One request of a key is in the queue at a time.
    if (Now() < key->not_before.load() || key->asked.exchange(true)) return;
    MutexLock lock(mutex_);
    ahead_.push_back({key, life});
    wake_raiser_.NotifyAll();
  }

  // The thread that raises ceilings ahead of use.
  void RaiseAhead() {
    while (true) {
      std::pair<std::shared_ptr<Key>, std::string> next;
      {
        MutexLock lock(mutex_);
        while (ahead_.empty() && !stopped_) wake_raiser_.Wait(mutex_);
        if (stopped_) return;
        next = std::move(ahead_.front());
        ahead_.pop_front();
      }
      Key& key = *next.first;
      auto raise = [&]() -> absl::Status {
        LOCUS_ASSIGN_OR_RETURN(Block block, NewBlock(key, options_.step));
        return store_.Install(key.name, next.second, block);
      };
      if (!key.raise.Do(raise, Now() + kLongestRaise).ok()) {
        key.not_before.store(Now() + kPauseAfterError);
      }
      key.asked.store(false);
    }
  }

  CeilingStore store_;
  const SequencerOptions options_;
  const int64_t limit_;
  const int64_t most_;  // numbers of a block
  const int64_t least_;

  Mutex mutex_;
  CondVar wake_raiser_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<std::shared_ptr<Key>, std::string>> ahead_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Key>> keys_ ABSL_GUARDED_BY(mutex_);
  CeilingStats stats_ ABSL_GUARDED_BY(mutex_);
  std::thread raiser_;  // last: it uses the members above
};

absl::StatusOr<std::unique_ptr<CeilingSequencer>> CeilingSequencer::Open(
    const RedisOptions& server, const SequencerOptions& options, std::shared_ptr<Sequencer> durable,
    const Options& blocks) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  if (options.at_max == SequencerOptions::AtMax::kWrap || options.ttl != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "a durable ceiling excludes repeated numbers: at_max must be kError and ttl 0");
  }
  if (sequencer_rules::FirstNumber(options) != options.step) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequencer option start is ", options.start,
                     "; numbers with a durable ceiling start at the step ", options.step));
  }
  if (blocks.block < 1 || blocks.max_block < blocks.block || blocks.max_block > int64_t{1} << 40) {
    return absl::InvalidArgumentError(
        absl::StrCat("ceiling option block is ", blocks.block, " and max_block ", blocks.max_block,
                     "; they must be 1 <= block <= max_block <= 2^40"));
  }
  if (durable == nullptr || durable->options().step != 1 || durable->options().max_value != 0 ||
      durable->options().ttl != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "a ceiling needs a durable sequencer with step 1, no max_value and no ttl");
  }
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<redis::Client> client, redis::Client::Open(server));
  try {
    auto rep = std::make_unique<Rep>(std::move(client), options, std::move(durable), blocks);
    return std::unique_ptr<CeilingSequencer>(new CeilingSequencer(options, std::move(rep)));
  } catch (const std::system_error& error) {
    return absl::UnavailableError(
        absl::StrCat("the thread of a ceiling cannot be started: ", error.what()));
  }
}

CeilingSequencer::CeilingSequencer(const SequencerOptions& options, std::unique_ptr<Rep> rep)
    : Sequencer(options), rep_(std::move(rep)) {}

CeilingSequencer::~CeilingSequencer() { internal::AbandonIfForked(rep_); }

absl::StatusOr<Sequencer::Taken> CeilingSequencer::Take(const std::string& name, int64_t span) {
  return rep_->Take(name, span);
}
absl::Status CeilingSequencer::Store(const std::string& name, int64_t value) {
  return rep_->Store(name, value);
}
absl::StatusOr<bool> CeilingSequencer::StoreNew(const std::string& name, int64_t value) {
  return rep_->StoreNew(name, value);
}
absl::StatusOr<std::optional<int64_t>> CeilingSequencer::Load(const std::string& name) {
  return rep_->Load(name);
}
absl::StatusOr<bool> CeilingSequencer::PutBack(const std::string& name, const Taken& taken,
                                               int64_t value) {
  return rep_->PutBack(name, taken, value);
}
CeilingSequencer::CeilingStats CeilingSequencer::Stats() const { return rep_->Stats(); }

}  // namespace locus
