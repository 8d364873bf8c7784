// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_api.h"

#include <openssl/sha.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/locusd/front/access.h"
#include "apps/locusd/front/media_types.h"
#include "apps/locusd/front/replaceable.h"
#include "apps/locusd/ids/id_jobs.h"
#include "locus/internal/deadline.h"
#include "locus/routing/metrics.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/call.h"
#include "src/metrics/metrics.h"

namespace locus::locusd {

using cluster_api::ProblemAnswer;
using http::Server;
using http::ServerAnswer;
using http::ServerRequest;

namespace {

constexpr size_t kMostKeyBytes = 256;
// How soon a request that waits for a store sees that the service ends.
constexpr absl::Duration kSlice = absl::Milliseconds(100);

// What the service failed with: a store that did not answer is to be asked again; for the rest
// somebody has to do something.
ServerAnswer FailureAnswer(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return ProblemAnswer(status);
    case absl::StatusCode::kAborted:  // the request and the type say different things
      return ProblemAnswer(absl::FailedPreconditionError(status.message()));
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ProblemAnswer(absl::UnavailableError(status.message()));
    default:
      return ProblemAnswer(status, 500);
  }
}

std::string DigestOf(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

size_t CountOf(const ServerRequest& request, absl::string_view name) {
  size_t count = 0;
  for (const auto& header : request.headers) count += absl::EqualsIgnoreCase(header.first, name);
  return count;
}

// All that the answer depends on.
std::string TextOf(const ServerRequest& request) {
  return absl::StrCat(request.method, " ", request.path, "?", request.query, "\n",
                      internal::ToAbsl(request.Header("Accept")), "\n", request.body);
}

// Why a part gives nothing any more although it was opened, and does not come back by itself.
absl::Status WhyNoSnowflakes(const IdParts& parts) {
  if (!parts.snowflake || parts.snowflake->held()) return absl::OkStatus();
  return parts.snowflake->Next().status();  // for its reason
}
absl::Status WhyNoOrderIds(const IdParts& parts) {
  if (!parts.orders) return absl::OkStatus();
  const GeneratorStats stats = parts.orders->Stats();
  // A store that does not answer is away for all that share it.
  if (stats.last_store_error.ok() || IsAway(stats.last_store_error)) return absl::OkStatus();
  const bool has_some =
      stats.autonomy > absl::ZeroDuration() && stats.autonomy < absl::InfiniteDuration();
  return has_some ? absl::OkStatus() : stats.last_store_error;
}

}  // namespace

absl::Status IdApiOptions::Check() const {
  if (wait < absl::Milliseconds(1) || wait > absl::Minutes(10)) {
    return absl::InvalidArgumentError(
        absl::StrCat("wait is ", absl::FormatDuration(wait), "; it must be in 1ms .. 10m"));
  }
  if (waiters < 1 || waiters > 256) {
    return absl::InvalidArgumentError(
        absl::StrCat("waiters is ", waiters, "; it must be in 1 .. 256"));
  }
  return absl::OkStatus();
}

class IdApi::Rep {
 public:
  Rep(std::shared_ptr<const IdParts> parts, const IdApiOptions& options)
      : parts_(std::move(parts)),
        options_(options),
        memory_(options.memory),
        waiters_(options.waiters) {}
  ~Rep() {
    EndWaiting(absl::ZeroDuration());
    waiters_.join();
  }

  void EndWaiting(absl::Duration within) {
    end_.store(internal::DeadlineAfter(within), std::memory_order_relaxed);
  }

  void Replace(std::shared_ptr<const IdParts> parts) { parts_.store(std::move(parts)); }
  std::shared_ptr<const IdParts> parts() const { return parts_.load(); }

  void Handle(ServerRequest request, const std::string& client, Server::Respond respond) {
    ++requests_;
    if (auto refusal = RefuseTypes(request, Answers::kJsonOrLines)) {
      ++refused_;
      return respond(*std::move(refusal));
    }
    absl::StatusOr<IdRequest> understood = Understand(request, parts_.load());
    if (!understood.ok()) {
      Count(understood.status());
      return respond(FailureAnswer(understood.status()));
    }
    const std::string_view given = request.Header("Idempotency-Key");
    if (given.empty() || !understood->makes_ids) {
      return Start(*std::move(understood), std::move(respond));
    }
    if (given.size() > kMostKeyBytes) {
      ++refused_;
      return respond(ProblemAnswer(absl::InvalidArgumentError(
          absl::StrCat("the Idempotency-Key has ", given.size(), " bytes, and at most ",
                       kMostKeyBytes, " are taken"))));
    }
    if (CountOf(request, "Idempotency-Key") > 1) {
      ++refused_;
      return respond(ProblemAnswer(absl::InvalidArgumentError("there are two Idempotency-Keys")));
    }
    // Of the token itself, without its scheme: another one may come under its name by a reload.
    std::string_view token = request.Header("Authorization");
    token.remove_prefix(token.find(' ') + 1);
    const std::string key =
        absl::StrCat(DigestOf(token), "\n", client, "\n", internal::ToAbsl(given));
    const absl::StatusOr<bool> first = memory_.Ask(key, TextOf(request), SteadyNow(), respond);
    if (!first.ok()) {
      ++refused_;
      return respond(
          ProblemAnswer(first.status(), absl::IsInvalidArgument(first.status()) ? 422 : 503));
    }
    if (!*first) return;
    Start(*std::move(understood), [this, key, respond = std::move(respond)](ServerAnswer answer) {
      if (answer.status == 200) {
        memory_.Answer(key, answer, SteadyNow());
      } else {
        memory_.Forget(key, answer);
      }
      respond(std::move(answer));
    });
  }

  std::string Metrics() const {
    PrometheusText text;
    const std::shared_ptr<const IdParts> parts = parts_.load();
    if (parts->orders) text.Add(parts->orders->Stats());
    if (parts->router) text.Add(parts->router->Stats());
    if (parts->snowflake) {
      const LeasedSnowflakeStats stats = parts->snowflake->Stats();
      text.Add(stats.ids);
      text.Add(stats.lease);
    }
    if (parts->sequences) {
      parts->sequences->ForEach([&text](const std::string& name, const SegmentSequence& sequence) {
        text.Add(sequence.Stats(), {{"sequence", name}});
      });
      if (const TypedNumbers* const typed = parts->sequences->typed()) {
        typed->ForEach([&text](const std::string& type, const std::string& key,
                               const NumberGenerator& generator) {
          text.Add(generator.Stats(), {{"type", type}, {"key", key}});
        });
      }
    }
    const AnswerMemory::Stats memory = memory_.stats();
    metrics::MetricsText own;
    own.Add(metrics::locus_id_requests_total, requests_.load());
    own.Add(metrics::locus_id_requests_refused_total, refused_.load());
    own.Add(metrics::locus_sequence_type_refusals_total, contradictions_.load());
    own.Add(metrics::locus_id_requests_failed_total, failed_.load());
    own.Add(metrics::locus_id_requests_unavailable_total, unavailable_.load());
    own.Add(metrics::locus_id_requests_waiting, waiting_.load());
    own.Add(metrics::locus_idempotent_repeats_total, memory.repeated);
    own.Add(metrics::locus_idempotent_evictions_total, memory.evicted);
    own.Add(metrics::locus_idempotent_answers_bytes, memory.bytes);
    return text.ToString() + own.ToString();
  }

 private:
  // Answers at once where nothing is waited for.
  void Start(IdRequest request, Server::Respond respond) {
    absl::StatusOr<std::string> body = request.job(std::nullopt);
    // Errors without a message get one where one may wait.
    const bool waits =
        absl::IsUnavailable(body.status()) || (!body.ok() && body.status().message().empty());
    if (!waits) return Finish(request, std::move(body), respond);
    if (waiting_.fetch_add(1) >= options_.most_waiting) {
      --waiting_;
      return Finish(request,
                    absl::UnavailableError(absl::StrCat(
                        options_.most_waiting, " requests wait for a store, which is the most")),
                    respond);
    }
    const Deadline deadline = internal::DeadlineAfter(options_.wait);
    boost::asio::post(waiters_, [this, request = std::move(request), respond = std::move(respond),
                                 deadline]() mutable {
      absl::StatusOr<std::string> late = Wait(request, deadline);
      --waiting_;
      Finish(request, std::move(late), respond);
    });
  }

  // A job that is asked again goes on with what it has.
  absl::StatusOr<std::string> Wait(const IdRequest& request, const Deadline& deadline) const {
    while (internal::DeadlineAfter(absl::ZeroDuration()) < end_.load(std::memory_order_relaxed)) {
      const Deadline slice = std::min(deadline, internal::DeadlineAfter(kSlice));
      absl::StatusOr<std::string> body = request.job(slice);
      if (!absl::IsDeadlineExceeded(body.status()) || slice == deadline) return body;
    }
    return absl::UnavailableError("this process ends");
  }

  void Finish(const IdRequest& request, absl::StatusOr<std::string> body,
              const Server::Respond& respond) {
    if (body.ok() && request.makes_ids && options_.confirm) {
      if (const absl::Status refused = options_.confirm(); !refused.ok()) body = refused;
    }
    if (!body.ok()) {
      Count(body.status());
      return respond(FailureAnswer(body.status()));
    }
    ServerAnswer answer;
    answer.headers.emplace_back("Content-Type",
                                request.lines ? "application/x-ndjson" : "application/json");
    // IDs are of one client, and of one call.
    answer.headers.emplace_back("Cache-Control", "no-store");
    answer.body = *std::move(body);
    respond(std::move(answer));
  }

  void Count(const absl::Status& status) {
    const bool contradicts = absl::IsAborted(status);
    contradictions_ += contradicts;
    const bool at_fault =
        contradicts || absl::IsInvalidArgument(status) || absl::IsNotFound(status);
    ++(at_fault ? refused_ : failed_);
    if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) ++unavailable_;
  }

  Replaceable<const IdParts> parts_;
  const IdApiOptions options_;
  AnswerMemory memory_;
  // Counts, which publish nothing else.
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> contradictions_ = 0;
  std::atomic<uint64_t> failed_ = 0;
  std::atomic<uint64_t> unavailable_ = 0;
  std::atomic<uint64_t> waiting_ = 0;
  std::atomic<Deadline> end_ = Deadline::max();  // of all waits; it publishes nothing else
  boost::asio::thread_pool waiters_;
};

IdApi::IdApi(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
IdApi::~IdApi() = default;

absl::StatusOr<std::unique_ptr<IdApi>> IdApi::Make(std::shared_ptr<const IdParts> parts,
                                                   const IdApiOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  try {
    return std::unique_ptr<IdApi>(new IdApi(std::make_unique<Rep>(std::move(parts), options)));
  } catch (const std::system_error& thrown) {
    return absl::UnavailableError(absl::StrCat("a thread of the ID service: ", thrown.what()));
  }
}

const http_api::RouteTable& IdApi::Routes() const { return IdRoutes(); }
void IdApi::Handle(ServerRequest request, const Access& access, Server::Respond respond) {
  rep_->Handle(std::move(request), access.client, std::move(respond));
}
absl::Status IdApi::Ready() const {
  const std::shared_ptr<const IdParts> parts = rep_->parts();
  absl::Status status;
  auto check = [&status](std::string_view what, const absl::Status& why_not) {
    if (!why_not.ok()) status.Update(absl::UnavailableError(WhyMissing(what, why_not).message()));
  };
  check("order IDs", parts->orders.why_not());
  check("sequences", parts->sequences.why_not());
  check("Snowflake IDs", parts->snowflake.why_not());
  check("routing table", parts->router.why_not());
  check("Snowflake IDs", WhyNoSnowflakes(*parts));
  check("order IDs", WhyNoOrderIds(*parts));
  return status;
}
void IdApi::EndWaiting(absl::Duration within) { rep_->EndWaiting(within); }
std::string IdApi::Metrics() const { return rep_->Metrics(); }
void IdApi::Replace(std::shared_ptr<const IdParts> parts) { rep_->Replace(std::move(parts)); }
std::shared_ptr<const IdParts> IdApi::parts() const { return rep_->parts(); }

}  // namespace locus::locusd
