// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/probe/holder_probe.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"
#include "src/cluster/probe/health_url.h"
#include "src/cluster/probe/plan.h"
#include "src/http/fetcher.h"

namespace locus::holder_probe {

using cluster_machine::HeldLease;
using cluster_node::ClusterNode;
using http::FetchRequest;
using http::HttpAnswer;
using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {

// Whether the node leads is asked this often: a leader that was replaced probes on for so long.
constexpr absl::Duration kAskEvery = absl::Milliseconds(100);
constexpr absl::Duration kLeastWait = absl::Microseconds(100);

absl::Duration Now() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

absl::Status StatusOf(const absl::StatusOr<HttpAnswer>& answer) {
  if (!answer.ok()) return answer.status();
  if (answer->status >= 200 && answer->status < 300) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("HTTP ", answer->status));
}

template <typename T>
absl::Status CheckRange(const char* name, const T& value, const T& least, const T& most) {
  if (value >= least && value <= most) return absl::OkStatus();
  std::string shown, low, high;
  if constexpr (std::is_same_v<T, absl::Duration>) {
    shown = absl::FormatDuration(value);
    low = absl::FormatDuration(least);
    high = absl::FormatDuration(most);
  } else {
    shown = absl::StrCat(value);
    low = absl::StrCat(least);
    high = absl::StrCat(most);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", shown, "; it must be between ", low, " and ", high));
}

absl::StatusOr<std::vector<AddressBlock>> BlocksOf(const std::vector<std::string>& texts) {
  std::vector<AddressBlock> blocks;
  for (const std::string& text : texts) {
    LOCUS_ASSIGN_OR_RETURN(AddressBlock block, AddressBlock::Parse(text));
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace

absl::Status HolderProbeOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(BlocksOf(allowed).status());
  LOCUS_RETURN_IF_ERROR(CheckRange("interval", interval, absl::Milliseconds(100), absl::Hours(1)));
  LOCUS_RETURN_IF_ERROR(CheckRange("timeout", timeout, absl::Milliseconds(10), interval));
  LOCUS_RETURN_IF_ERROR(CheckRange("failures", failures, 1, 1000));
  LOCUS_RETURN_IF_ERROR(CheckRange<size_t>("at_once", at_once, 2, 1024));
  return CheckRange("per_second", per_second, 0.1, 10'000.0);
}

// Shared with the callbacks that are still to come.
class HolderProbe::Rep : public std::enable_shared_from_this<Rep> {
 public:
  Rep(ClusterNode& node, const HolderProbeOptions& options, std::vector<AddressBlock> allowed,
      uint64_t seed)
      : node_(node),
        options_(options),
        allowed_(std::move(allowed)),
        plan_({options.interval, options.failures, options.at_once, options.per_second}, seed) {}

  absl::Status Start() {
    if (allowed_.empty()) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(fetcher_, http::Fetcher::Start());
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error& thrown) {
      return absl::UnavailableError(absl::StrCat("a thread for probes: ", thrown.what()));
    }
    return absl::OkStatus();
  }

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      wake_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
    fetcher_.reset();  // its answers find stopping_
  }

  Stats stats() const {
    MutexLock lock(mutex_);
    Stats stats = stats_;
    stats.targets = plan_.targets();
    return stats;
  }

 private:
  void Run() {
    absl::Duration asked = -absl::InfiniteDuration(), looked = asked;
    bool leads = false;
    while (true) {
      if (Now() - asked >= kAskEvery) {
        asked = Now();
        leads = node_.Status().leads_for_sure;
        if (!leads) looked = -absl::InfiniteDuration();
      }
      if (leads && Now() - looked >= options_.interval) {
        looked = Now();
        Look();
      }
      std::optional<std::vector<HeldLease>> found;
      std::optional<Probe> probe;
      {
        MutexLock lock(mutex_);
        if (stopping_) return;
        found.swap(found_);
        if (!leads) plan_.Clear();
        if (leads && !found) probe = plan_.Next(Now());
        if (!probe && !found) {
          const absl::Duration wait =
              std::min(leads ? plan_.NextDue() - Now() : kAskEvery, kAskEvery);
          wake_.WaitUntil(mutex_, std::chrono::steady_clock::now() +
                                      absl::ToChronoNanoseconds(std::max(wait, kLeastWait)));
        }
      }
      if (found && leads) Take(*found);
      if (probe) Begin(*std::move(probe));
    }
  }

  // Whom to probe. The node's thread only copies the texts.
  void Look() {
    node_.Holders("\"health\"",
                  [self = shared_from_this()](absl::StatusOr<std::vector<HeldLease>> holders) {
                    if (!holders.ok()) return;
                    MutexLock lock(self->mutex_);
                    self->found_ = *std::move(holders);
                    self->wake_.NotifyAll();
                  });
  }

  void Take(const std::vector<HeldLease>& holders) {
    std::vector<Target> targets;
    uint64_t refused = 0;
    std::string why;
    for (const HeldLease& held : holders) {
      const std::optional<std::string> member = HealthMemberOf(held.holder);
      if (!member) continue;
      absl::StatusOr<HealthUrl> url = HealthUrl::Parse(*member, allowed_);
      if (url.ok() && url->tls && options_.tls == nullptr) {
        url = absl::InvalidArgumentError("https is not set up for probes");
      }
      if (url.ok()) {
        targets.push_back({{held.space, held.worker, held.token}, *std::move(url), held.unhealthy});
      } else {
        ++refused;
        why = absl::StrCat("space ", held.space.str(), ", worker ", held.worker, ": ",
                           url.status().message());
      }
    }
    MutexLock lock(mutex_);
    stats_.refused = refused;
    stats_.last_refusal = std::move(why);
    plan_.Update(targets, Now());
  }

  void Begin(Probe probe) {
    FetchRequest request;
    request.endpoint = probe.url.endpoint;
    if (probe.url.tls) request.tls = options_.tls;
    request.target = probe.url.target;
    request.headers = {{"User-Agent", "locusd"}, {"Accept", "*/*"}};
    request.most_body_bytes = FetchRequest::kHeadOnly;
    request.timeout = options_.timeout;
    fetcher_->Fetch(std::move(request), [self = shared_from_this(), probe = std::move(probe)](
                                            const absl::StatusOr<HttpAnswer>& answer) {
      self->Answered(probe, StatusOf(answer));
    });
  }

  void Answered(const Probe& probe, const absl::Status& status) {
    std::optional<Opinion> opinion;
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      ++stats_.probes;
      stats_.failures += !status.ok();
      opinion = plan_.Answered(probe, status, Now());
      wake_.NotifyAll();
    }
    if (opinion) Tell(*std::move(opinion));
  }

  void Tell(Opinion opinion) {
    cluster_machine::Verdict verdict;
    verdict.worker = opinion.lease.worker;
    verdict.token = opinion.lease.token;
    verdict.healthy = opinion.healthy;
    constexpr size_t kMost = cluster_machine::kMostWhyBytes;
    verdict.why = internal::Printable(opinion.why, kMost).substr(0, kMost);
    const SpaceName space = opinion.lease.space;
    node_.Submit(
        {std::nullopt, space, verdict},
        [self = shared_from_this(), opinion = std::move(opinion)](
            const cluster_machine::Answer& answer) { self->Told(opinion, answer.status); });
  }

  void Told(const Opinion& opinion, const absl::Status& status) {
    {
      MutexLock lock(mutex_);
      plan_.Told(opinion, status);
      if (status.ok()) ++(opinion.healthy ? stats_.healthy : stats_.unhealthy);
    }
    if (!status.ok() || !options_.on_verdict) return;
    options_.on_verdict({opinion.lease.space, opinion.lease.worker, opinion.lease.token,
                         opinion.healthy, opinion.why});
  }

  ClusterNode& node_;
  const HolderProbeOptions options_;
  const std::vector<AddressBlock> allowed_;
  std::unique_ptr<http::Fetcher> fetcher_;

  mutable Mutex mutex_;
  CondVar wake_;
  Plan plan_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::vector<HeldLease>> found_ ABSL_GUARDED_BY(mutex_);  // by the last look
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

HolderProbe::HolderProbe(std::shared_ptr<Rep> rep) : rep_(std::move(rep)) {}
HolderProbe::~HolderProbe() { rep_->Stop(); }

absl::StatusOr<std::unique_ptr<HolderProbe>> HolderProbe::Start(ClusterNode& node,
                                                                const HolderProbeOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(std::vector<AddressBlock> allowed, BlocksOf(options.allowed));
  auto rep =
      std::make_shared<Rep>(node, options, std::move(allowed), internal::RandomWord().value_or(1));
  LOCUS_RETURN_IF_ERROR(rep->Start());
  return std::unique_ptr<HolderProbe>(new HolderProbe(std::move(rep)));
}

HolderProbe::Stats HolderProbe::stats() const { return rep_->stats(); }

}  // namespace locus::holder_probe
