// SPDX-License-Identifier: Apache-2.0
#include "locus/order_id_generator.h"

#include <array>
#include <bit>
#include <random>

#include "absl/strings/str_cat.h"
#include "src/check.h"
#include "src/counters.h"
#include "src/gene_hash.h"
#include "src/lease_rules.h"
#include "src/load_driver.h"
#include "src/mutex.h"
#include "src/order_id_assembler.h"
#include "src/segment_loader.h"

namespace locus {

using Deadline = std::chrono::steady_clock::time_point;

class OrderIdGenerator::Rep {
 public:
  Rep(std::shared_ptr<SegmentStore> store, Options options, const SpaceOptions& space)
      : store_(std::move(store)),
        options_(std::move(options)),
        counters_(space.section_size,
                  (options_.wide ? OrderId::kMaxSequence : OrderId::kMaxNarrowSequence) + 1),
        loader_(space, options_.horizon, counters_, std::random_device()()) {
    auto job = [this] { return Load(); };
    driver_ = options_.executor == nullptr ? LoadDriver::OnThread(job)
                                           : LoadDriver::OnExecutor(*options_.executor, job);
  }

  bool forked() const { return counters_.forked(); }

  absl::StatusOr<OrderId> TryNext(uint16_t gene) {
    uint64_t sequence = counters_.Take(gene);
    if (sequence == Counters::kNone) [[unlikely]] {
      LOCUS_RETURN_IF_ERROR(TakeSlowly(gene, sequence));
    }
    return OrderIdAssembler::Of(ShardGene::FromUint16(gene), sequence);
  }

  absl::StatusOr<size_t> TryBatch(std::span<const BuyerKey> buyers, std::span<OrderId> ids) {
    constexpr size_t kBlock = 256;
    std::array<ShardGene, kBlock> genes;
    size_t done = 0;
    while (done < buyers.size()) {
      size_t size = std::min(kBlock, buyers.size() - done);
      auto block = std::span(genes).first(size);
      ShardGene::OfEach(buyers.subspan(done, size), block);
      absl::Status status;
      size_t taken = TakeBlock(block, ids.data() + done, status);
      done += taken;
      if (taken == size) continue;
      if (absl::IsUnavailable(status)) AskForAll(buyers.subspan(done));
      if (done > 0) return done;
      return status;
    }
    return buyers.size();
  }

  // Calls `attempt` until it returns anything but UNAVAILABLE, or `deadline` has passed.
  template <typename Attempt>
  auto Waiting(Deadline deadline, Attempt attempt) -> decltype(attempt()) {
    uint64_t news = News();
    auto result = attempt();
    if (!absl::IsUnavailable(result.status())) return result;
    waits_.fetch_add(1, std::memory_order_relaxed);
    waiters_.fetch_add(1, std::memory_order_acq_rel);
    do {
      result = attempt();
    } while (absl::IsUnavailable(result.status()) && WaitForNews(news, deadline));
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    if (absl::IsUnavailable(result.status())) return DeadlineError();
    return result;
  }

  // A forked child has a copy of a lock that nobody may ever release.
  absl::Status Refusal() const {
    if (forked()) {
      return absl::FailedPreconditionError(
          "this is a forked child: a generator belongs to the process that made it");
    }
    MutexLock lock(mutex_);
    if (!absl::IsFailedPrecondition(last_store_error_)) return absl::OkStatus();
    return last_store_error_;
  }

  GeneratorStats Stats() const {
    GeneratorStats stats;
    if (forked()) return stats;
    stats.waits = waits_.load(std::memory_order_relaxed);
    MutexLock lock(mutex_);
    SegmentLoader::Totals totals = loader_.totals();
    stats.leases = totals.granted;
    stats.store_calls = store_calls_;
    stats.store_failures = store_failures_;
    stats.starved = totals.starved;
    stats.losses = totals.losses;
    stats.dropped = totals.dropped + counters_.overtaken();
    stats.autonomy = loader_.Autonomy(options_.clock->SinceBoot());
    if (totals.granted > 0) stats.lead = totals.lead;
    stats.last_store_error = last_store_error_;
    return stats;
  }

 private:
  // ids[i] = the next of genes[i] from the front; returns how many before `status` was not OK.
  size_t TakeBlock(std::span<const ShardGene> genes, OrderId* ids, absl::Status& status) {
    size_t taken = 0;
    while (true) {
      auto rest = genes.subspan(taken);
      taken += counters_.TakeEach(rest, [&](size_t i, uint64_t sequence) {
        ids[taken + i] = OrderIdAssembler::Of(rest[i], sequence);
      });
      if (taken == genes.size()) return taken;
      uint64_t sequence;
      status = TakeSlowly(genes[taken].value(), sequence);
      if (!status.ok()) return taken;
      ids[taken] = OrderIdAssembler::Of(genes[taken], sequence);
      ++taken;
    }
  }

  // The vnode found nothing in its section's segment: moves on to the next one and takes from it,
  // or tells the loader. Statuses without a message, so that nothing is allocated.
  absl::Status TakeSlowly(uint16_t gene, uint64_t& sequence) {
    if (forked()) return absl::Status(absl::StatusCode::kFailedPrecondition, "");
    uint32_t section = counters_.SectionOf(gene);
    while (true) {
      SegmentWord segment = counters_.Current(section);
      if (counters_.UsedUp(gene, segment)) {
        if (counters_.PastLimit(gene)) return absl::Status(absl::StatusCode::kOutOfRange, "");
        bool moved = counters_.MoveOn(section, segment, options_.clock->SinceBoot());
        if (counters_.AskFor(section, moved ? Counters::kMore : Counters::kStarved)) {
          driver_->Wake();
        }
        // Whoever found nothing while this one was moving on may wait for no other news. A waiter
        // raises waiters_ before its attempt: either it is seen here, or it sees the move.
        if (moved && waiters_.fetch_add(0, std::memory_order_acq_rel) > 0) Announce();
        if (!moved) {
          auto code = refused_.load(std::memory_order_relaxed)
                          ? absl::StatusCode::kFailedPrecondition
                          : absl::StatusCode::kUnavailable;
          return absl::Status(code, "");
        }
      }
      sequence = counters_.Take(gene);
      if (sequence != Counters::kNone) return absl::OkStatus();
    }
  }

  void Announce() {
    MutexLock lock(mutex_);
    ++news_;
    news_came_.NotifyAll();
  }

  // So that one transaction leases for all sections that a batch needs.
  void AskForAll(std::span<const BuyerKey> buyers) {
    bool news = false;
    for (BuyerKey buyer : buyers) {
      uint16_t gene = ShardGene::Of(buyer).value();
      uint32_t section = counters_.SectionOf(gene);
      SegmentWord segment = counters_.Current(section);
      if (counters_.UsedUp(gene, segment) && !counters_.PeekNext(section)) {
        news |= counters_.AskFor(section, Counters::kStarved);
      }
    }
    if (news) driver_->Wake();
  }

  // One pass of the loader, on its thread.
  absl::Duration Load() {
    std::vector<LeaseRequest> requests;
    uint64_t starved_before;
    uint64_t starved;
    {
      MutexLock lock(mutex_);
      starved_before = loader_.totals().starved;
      requests = loader_.Collect(options_.clock->SinceBoot());
      starved = loader_.totals().starved - starved_before;
    }
    if (starved > 0) Tell(GeneratorEvent::Kind::kStarved, static_cast<uint32_t>(starved));
    if (!requests.empty()) {
      absl::StatusOr<LeaseReply> reply =
          store_->Lease(options_.space, requests, options_.clock->Now());
      if (reply.ok()) reply = Checked(requests, *std::move(reply));
      if (reply.ok()) {
        Granted(requests, *reply);
      } else {
        Failed(requests, reply.status());
      }
    }
    MutexLock lock(mutex_);
    return std::max(absl::ZeroDuration(), loader_.NextDue() - options_.clock->SinceBoot());
  }

  // Engines may be the user's own: what would spoil the counters is not taken from them.
  static absl::StatusOr<LeaseReply> Checked(std::span<const LeaseRequest> requests,
                                            LeaseReply reply) {
    bool good = reply.grants.size() == requests.size();
    for (size_t i = 0; good && i < requests.size(); ++i) {
      const Segment& segment = reply.grants[i].segment;
      good = segment.length == 0 ||
             (segment.first % lease_rules::kUnit == 0 && segment.length % lease_rules::kUnit == 0 &&
              std::has_single_bit(segment.length) && segment.first >= requests[i].seen &&
              segment.first < lease_rules::kEndOfSequences &&
              segment.length <= lease_rules::kEndOfSequences - segment.first);
    }
    if (good) return reply;
    return absl::DataLossError("the store granted what was not asked for, or twice");
  }

  void Granted(std::span<const LeaseRequest> requests, const LeaseReply& reply) {
    uint32_t granted = 0;
    for (const LeaseGrant& grant : reply.grants) granted += grant.segment.length > 0;
    {
      MutexLock lock(mutex_);
      ++store_calls_;
      last_store_error_ = absl::OkStatus();
      refused_ = false;
      loader_.Granted(requests, reply, options_.clock->SinceBoot());
      ++news_;
      news_came_.NotifyAll();
    }
    if (reply.loss_noticed) Tell(GeneratorEvent::Kind::kLossNoticed, 0);
    if (granted > 0) Tell(GeneratorEvent::Kind::kLeased, granted);
    auto refused = static_cast<uint32_t>(requests.size()) - granted;
    if (refused > 0) Tell(GeneratorEvent::Kind::kLeadUsedUp, refused);
  }

  void Failed(std::span<const LeaseRequest> requests, const absl::Status& status) {
    {
      MutexLock lock(mutex_);
      ++store_calls_;
      ++store_failures_;
      last_store_error_ = status;
      // Data that contradicts itself needs repair just the same.
      refused_ = absl::IsFailedPrecondition(status) || absl::IsDataLoss(status) ||
                 absl::IsNotFound(status) || absl::IsInvalidArgument(status);
      if (refused_) last_store_error_ = absl::FailedPreconditionError(status.message());
      loader_.Failed(requests, options_.clock->SinceBoot());
      ++news_;
      news_came_.NotifyAll();
    }
    if (options_.on_event) {
      options_.on_event(
          {GeneratorEvent::Kind::kStoreFailed, status, static_cast<uint32_t>(requests.size())});
    }
  }

  void Tell(GeneratorEvent::Kind kind, uint32_t sections) {
    if (options_.on_event) options_.on_event({kind, absl::OkStatus(), sections});
  }

  uint64_t News() const {
    if (forked()) return 0;
    MutexLock lock(mutex_);
    return news_;
  }
  // Returns false at the deadline; otherwise something new came, noted in `news`.
  bool WaitForNews(uint64_t& news, Deadline deadline) {
    MutexLock lock(mutex_);
    while (news_ == news) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      news_came_.WaitUntil(mutex_, deadline);
    }
    news = news_;
    return true;
  }

  absl::Status DeadlineError() const {
    MutexLock lock(mutex_);
    if (!last_store_error_.ok()) return absl::DeadlineExceededError(last_store_error_.message());
    return absl::DeadlineExceededError(absl::StrCat(
        "space ", options_.space.str(), ": no sequence in time",
        loader_.lead_used_up() ? "; a section's leases are max_lead ahead of the floor, which "
                                 "rises with time"
                               : ""));
  }

  const std::shared_ptr<SegmentStore> store_;
  const Options options_;
  Counters counters_;
  std::atomic<uint64_t> waits_{0};
  std::atomic<int> waiters_{0};       // calls with a deadline that found nothing at first
  std::atomic<bool> refused_{false};  // the store's last answer was that somebody must repair it

  mutable Mutex mutex_;
  CondVar news_came_;
  SegmentLoader loader_ ABSL_GUARDED_BY(mutex_);
  uint64_t news_ ABSL_GUARDED_BY(mutex_) = 0;  // answers of the store so far
  uint64_t store_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t store_failures_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_store_error_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadDriver> driver_;  // last: its end waits for a Load under way
};

OrderIdGenerator::OrderIdGenerator(Rep* rep) : rep_(rep) {}

OrderIdGenerator::~OrderIdGenerator() {
  // A forked child touches no thread, lock or store of its parent; the memory is its copy's.
  if (!rep_->forked()) delete rep_;
}

absl::StatusOr<std::unique_ptr<OrderIdGenerator>> OrderIdGenerator::Create(
    std::shared_ptr<SegmentStore> store, Options options) {
  if (store == nullptr || options.clock == nullptr) {
    return absl::InvalidArgumentError("a generator needs a store and a clock");
  }
  if (options.horizon < absl::Seconds(1) || options.horizon > absl::Hours(24)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "horizon ", absl::FormatDuration(options.horizon), " is not between 1s and 24h"));
  }
  absl::StatusOr<SpaceOptions> space = store->Open(options.space);
  if (absl::IsNotFound(space.status()) && options.create_space) {
    SpaceOptions wanted = options.space_options.value_or(SpaceOptions());
    LOCUS_RETURN_IF_ERROR(store->Create(options.space, wanted, options.clock->Now()));
    space = store->Open(options.space);
  }
  if (!space.ok()) return space.status();
  if (options.space_options) {
    LOCUS_RETURN_IF_ERROR(
        lease_rules::CheckSameOptions(options.space, *space, *options.space_options));
  }
  return std::unique_ptr<OrderIdGenerator>(
      new OrderIdGenerator(new Rep(std::move(store), std::move(options), *space)));
}

absl::StatusOr<OrderId> OrderIdGenerator::TryNext(BuyerKey buyer) {
  // A uint64 key is hashed in line: beside the CAS the call would cost a tenth.
  return rep_->TryNext(buyer.is_uint64() ? GeneOf8(buyer.uint64()) : ShardGene::Of(buyer).value());
}

absl::StatusOr<OrderId> OrderIdGenerator::Next(BuyerKey buyer, Deadline deadline) {
  uint16_t gene = ShardGene::Of(buyer).value();
  absl::StatusOr<OrderId> id = rep_->Waiting(deadline, [&] { return rep_->TryNext(gene); });
  if (absl::IsFailedPrecondition(id.status())) LOCUS_RETURN_IF_ERROR(rep_->Refusal());
  return id;
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const BuyerKey> buyers,
                                                   std::span<OrderId> ids) {
  if (ids.size() < buyers.size()) {
    return absl::InvalidArgumentError(absl::StrCat("room for ", ids.size(), " order IDs is less ",
                                                   "than the batch's ", buyers.size()));
  }
  return rep_->TryBatch(buyers, ids);
}

absl::StatusOr<size_t> OrderIdGenerator::NextBatch(std::span<const BuyerKey> buyers,
                                                   std::span<OrderId> ids, Deadline deadline) {
  size_t done = 0;
  do {
    absl::StatusOr<size_t> filled =
        rep_->Waiting(deadline, [&] { return NextBatch(buyers.subspan(done), ids.subspan(done)); });
    if (!filled.ok()) {
      if (done > 0) return done;
      if (absl::IsFailedPrecondition(filled.status())) LOCUS_RETURN_IF_ERROR(rep_->Refusal());
      return filled;
    }
    done += *filled;
  } while (done < buyers.size());
  return done;
}

GeneratorStats OrderIdGenerator::Stats() const { return rep_->Stats(); }

}  // namespace locus
