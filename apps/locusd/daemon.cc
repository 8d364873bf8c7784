// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/daemon.h"

#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "apps/locusd/audit.h"
#include "apps/locusd/check_files.h"
#include "apps/locusd/cluster_role.h"
#include "apps/locusd/console_role.h"
#include "apps/locusd/data_directory.h"
#include "apps/locusd/front/front.h"
#include "apps/locusd/ids/id_places.h"
#include "apps/locusd/ids/id_service.h"
#include "apps/locusd/ids/running.h"
#include "apps/locusd/openapi/openapi.h"
#include "apps/locusd/strict/strict_service.h"
#include "locus/audit_hooks.h"
#include "locus/version.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/run/seldom.h"
#include "src/base/text/text.h"
#include "src/http/endpoint.h"
#include "src/http/server.h"
#include "src/http/tls_context.h"
#include "src/metrics/metrics.h"

namespace locus::locusd {

using internal::Quoted;

namespace {

// For answers that are under way when the daemon ends, and for the waits of these.
constexpr absl::Duration kDrain = absl::Seconds(5);
constexpr absl::Duration kLongestWait = absl::Seconds(4);

absl::StatusOr<std::unique_ptr<http::TlsContext>> LoadApiTls(const Config::TlsPaths& paths) {
  return http::TlsContext::Load(
      {.ca_file = "", .certificate_file = paths.certificate, .key_file = paths.key});
}

}  // namespace

class Daemon::Rep {
 public:
  Rep(const Config& config, Log& log, std::function<void()> on_end)
      : config_(config), log_(log), on_end_(std::move(on_end)) {}

  ~Rep() {
    // The server's threads call the front, which calls the handlers; those ask the front.
    server_.reset();
    console_.reset();
    strict_.reset();
    ids_.reset();
    leases_.reset();
  }

  absl::Status Open(Start start) {
    LOCUS_RETURN_IF_ERROR(CheckFiles(config_));
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<AccessControl> access, MakeAccess(config_));
    const size_t tokens = access->tokens();
    if (config_.api.tls) {
      LOCUS_ASSIGN_OR_RETURN(tls_, LoadApiTls(*config_.api.tls));
      api_certificate_ends_ = absl::ToUnixSeconds(tls_->not_after());
    }
    if (config_.raft.tls) {
      const Config::TlsPaths& raft = *config_.raft.tls;
      LOCUS_ASSIGN_OR_RETURN(const std::unique_ptr<http::TlsContext> tls,
                             http::TlsContext::Load({raft.authority, raft.certificate, raft.key}));
      raft_certificate_ends_ = absl::ToUnixSeconds(tls->not_after());
    }
    MakeFront(std::move(access));
    if (config_.cluster_node) {
      const ClusterRole::Door door = {[this](const http::ServerRequest& request, Scopes any_of) {
                                        return front_->Decide(request, any_of);
                                      },
                                      front_->rate()};
      LOCUS_ASSIGN_OR_RETURN(leases_, ClusterRole::Open(config_, start, door, log_, on_end_));
      front_->Add(*leases_);
    }
    LOCUS_RETURN_IF_ERROR(OpenAudit());
    if (config_.id_service) {
      IdServiceOptions options;
      options.clusters_later = config_.cluster_node;
      options.on_event = [this](const IdServiceEvent& event) { TellOf(event); };
      LOCUS_ASSIGN_OR_RETURN(ids_, IdService::Start(*config_.ids, std::move(options)));
      front_->Add(ids_->api());
    }
    if (config_.sequence_node) LOCUS_RETURN_IF_ERROR(OpenStrict());
    const Running running = MakeRunning();
    ConsoleOptions console = ConsoleOptionsOf(running, config_);
    console.on_publication = [this](const ConsolePublication& by) { TellOf(by); };
    LOCUS_ASSIGN_OR_RETURN(console_, ConsoleApi::Make(ConsolePartsOf(running, config_), console));
    front_->Add(*console_);
    // More handlers are made here, from MakeRunning(), and added in the same way.
    http::ServerOptions server = config_.api.server;
    server.tls = tls_.get();
    server.reads_body = [this](const http::ServerRequest& request) {
      return front_->ReadsBody(request);
    };
    server.on_accept_failure = [this](const std::string& why) {
      log_.Error("takes no connections", {{"why", why}});
    };
    server.on_handshake_failure = [this](const std::string& peer, const std::string& why,
                                         uint64_t more) {
      log_.Warn("a TLS handshake failed", {{"peer", peer}, {"why", why}, {"and_before", more}});
    };
    server.on_connection_refused = [this](const std::string& peer) {
      ++connections_refused_;
      const std::optional<uint64_t> more = refusals_told_.Next();
      if (!more) return;
      log_.Warn("closed a connection, as there are too many",
                {{"peer", peer}, {"and_before", *more}});
    };
    server.on_refusal = [this](const std::string& peer, http::ServerAnswer& answer) {
      front_->Refused(peer, answer);
    };
    LOCUS_ASSIGN_OR_RETURN(server_, http::Server::Start(server, [this](http::ServerRequest request,
                                                                       http::Server::Respond to) {
                             front_->Handle(std::move(request), std::move(to));
                           }));
    // Not before others reach it: a process whose port is taken has no sections.
    if (strict_ != nullptr) LOCUS_RETURN_IF_ERROR(strict_->Begin());
    log_.Info("serves", {{"version", Version()},
                         {"roles", RolesText(config_)},
                         {"listen", config_.api.server.listen},
                         {"tls", config_.api.tls ? "yes" : "no"},
                         {"tokens", tokens}});
    TellWhatHasEnded(config_);
    if (leases_ != nullptr) leases_->TellPlace();
    return absl::OkStatus();
  }

  bool Works() { return leases_ == nullptr || leases_->Works(); }
  absl::Status FilesInPlace() {
    return leases_ == nullptr ? absl::OkStatus() : leases_->FilesInPlace();
  }
  void Tell() {
    if (leases_ != nullptr) leases_->Tell();
    if (audit_ != nullptr) audit_->Tell(log_);
  }
  bool removed() { return leases_ != nullptr && leases_->removed(); }
  absl::Status failure() { return leases_ == nullptr ? absl::OkStatus() : leases_->failure(); }

  absl::Status Reload(const absl::StatusOr<Config>& config) {
    const absl::Status status = config.ok() ? TakeOver(*config) : config.status();
    if (status.ok()) {
      ++reloads_;
      reloaded_at_ = absl::ToUnixSeconds(absl::Now());
    } else {
      ++reload_failures_;
    }
    reload_fails_ = !status.ok();
    return status;
  }

  void Close() {
    front_->Drain();
    server_->CloseAfterAnswers();
    if (config_.api.drain_delay > absl::ZeroDuration()) {
      std::this_thread::sleep_for(absl::ToChronoMilliseconds(config_.api.drain_delay));
    }
    // It answers meanwhile, and says who has the sections now.
    if (strict_ != nullptr) strict_->Leave();
    if (ids_ != nullptr) ids_->api().EndWaiting(kLongestWait);
    if (leases_ == nullptr) {
      server_->Drain(kDrain);
      if (ids_ != nullptr) ids_->Release();
      return;
    }
    // Perhaps it is this node that takes the worker ID back.
    if (ids_ != nullptr) ids_->Release();
    leases_->HandOver();
    server_->Drain(kDrain);
  }

 private:
  static std::string RolesText(const Config& config) {
    std::vector<std::string> roles;
    if (config.cluster_node) roles.emplace_back("cluster-node");
    if (config.id_service) roles.emplace_back("id-service");
    if (config.sequence_node) roles.emplace_back("sequence-node");
    return absl::StrJoin(roles, ",");
  }

  absl::Status OpenAudit() {
    if (leases_ != nullptr || !config_.audit) return absl::OkStatus();
    LOCUS_RETURN_IF_ERROR(MakeDataDirectory(config_.data));
    LOCUS_ASSIGN_OR_RETURN(audit_, Audit::Open(config_));
    return absl::OkStatus();
  }
  // nullptr: nothing is recorded.
  Audit* audit() const { return leases_ == nullptr ? audit_.get() : leases_->audit(); }

  absl::Status OpenStrict() {
    StrictServiceOptions options;
    options.tls = config_.api.tls.has_value();
    options.opens_later = config_.cluster_node && IsCluster(config_.strict->place);
    options.on_event = [this](const IdServiceEvent& event) { TellOf(event); };
    if (audit() != nullptr) {
      const StrictSettings& strict = *config_.strict;
      options.on_section = AuditStrict(
          audit()->sink(), {.space = strict.set, .place = strict.place.uri}, strict.name);
    }
    LOCUS_ASSIGN_OR_RETURN(strict_, StrictService::Open(*config_.strict, std::move(options)));
    front_->Add(strict_->api());
    return absl::OkStatus();
  }

  // What handlers may ask of this process. It is used as long as the roles live.
  Running MakeRunning() {
    Running running;
    running.is_id_service = ids_ != nullptr;
    running.is_cluster_node = leases_ != nullptr;
    running.is_sequence_node = strict_ != nullptr;
    if (leases_ != nullptr) running.node = &leases_->node();
    if (config_.ids && config_.ids->snowflake) running.lease_space = config_.ids->snowflake->space;
    running.parts = [this] {
      static const auto none = std::make_shared<const IdParts>();
      return ids_ == nullptr ? none : ids_->parts();
    };
    running.open_publisher = [this]() -> absl::StatusOr<std::unique_ptr<TablePublisher>> {
      if (ids_ != nullptr) return ids_->OpenPublisher();
      return absl::NotFoundError("this process has no routing table: it is no id-service");
    };
    running.open_leases = [this]() -> absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> {
      if (ids_ != nullptr) return ids_->OpenLeases();
      return absl::NotFoundError("this process has no worker lease: it is no id-service");
    };
    return running;
  }

  void MakeFront(std::shared_ptr<AccessControl> access) {
    FrontOptions options;
    options.document = OpenApiText;
    options.rate.per_second = static_cast<double>(config_.api.rate);
    options.rate.burst = static_cast<double>(config_.api.burst);
    options.most_under_way = config_.api.under_way;
    options.is_logged = [this] { return log_.Shows(LogLevel::kDebug); };
    options.on_request = [this](const AnsweredRequest& request) {
      log_.Debug("request", {{"method", request.method},
                             {"path", request.path},
                             {"status", request.status},
                             {"us", absl::ToInt64Microseconds(request.duration)},
                             {"peer", request.peer},
                             {"client", request.client},
                             {"id", request.id},
                             {"trace", request.trace_id}});
    };
    options.on_unauthorized = [this](const std::string& peer, std::string_view id, uint64_t more) {
      log_.Warn("a token is missing, unknown or expired",
                {{"peer", peer}, {"id", id}, {"and_before", more}});
    };
    options.metrics = [this] { return Metrics(); };
    front_.emplace(std::move(access), std::move(options));
  }

  // All or nothing.
  absl::Status TakeOver(const Config& config) {
    // The file was checked for the address that it names, which may be another one.
    const std::string& listen = config_.api.server.listen;
    if (!config.AsksForTokens() && !internal::IsLoopback(http::Endpoint::Parse(listen)->host)) {
      return absl::FailedPreconditionError(
          absl::StrCat("there are no tokens for clients, and this node listens at ", Quoted(listen),
                       ", beyond loopback"));
    }
    LOCUS_RETURN_IF_ERROR(CheckFiles(config));
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<AccessControl> access, MakeAccess(config));
    std::shared_ptr<const http::TlsContext> tls;
    if (config_.api.tls && config.api.tls) {
      LOCUS_ASSIGN_OR_RETURN(tls, LoadApiTls(*config.api.tls));
    }
    std::optional<IdService::Reloaded> ids;
    if (ids_ != nullptr && config.ids) {
      LOCUS_ASSIGN_OR_RETURN(ids, ids_->Prepare(*config.ids));
    }
    LOCUS_RETURN_IF_ERROR(console_->Replace(ConsolePartsOf(MakeRunning(), config)));
    // From here on nothing fails.
    const size_t tokens = access->tokens();
    front_->Replace(std::move(access));
    if (tls != nullptr) {
      api_certificate_ends_ = absl::ToUnixSeconds(tls->not_after());
      server_->ReplaceTls(std::move(tls));
    }
    if (ids) ids_->Commit(*std::move(ids));
    log_.SetLevel(config.log_level);
    log_.Info("taken over", {{"tokens", tokens}});
    TellWhatHasEnded(config);
    const std::vector<std::string> keys = KeysThatNeedARestart(config_, config);
    if (!keys.empty()) log_.Warn("needs a restart", {{"keys", absl::StrJoin(keys, ", ")}});
    return absl::OkStatus();
  }

  void TellWhatHasEnded(const Config& config) {
    for (const std::string& line : WhatHasEnded(config, absl::Now())) {
      log_.Warn("no longer valid", {{"what", line}});
    }
  }

  std::string Metrics() const {
    metrics::MetricsText text;
    text.Add(metrics::locusd_reloads_total, reloads_);
    text.Add(metrics::locusd_reload_failures_total, reload_failures_);
    text.Add(metrics::locusd_reload_failing, reload_fails_.load());
    text.Add(metrics::locusd_reloaded_timestamp_seconds, reloaded_at_.load());
    text.Add(metrics::locusd_connections_refused_total, connections_refused_);
    text.Show(metrics::locusd_certificate_left_seconds);
    const int64_t now = absl::ToUnixSeconds(absl::Now());
    auto add = [&](const char* use, int64_t ends) {
      text.Add(metrics::locusd_certificate_left_seconds, ends - now, {{"use", use}});
    };
    if (config_.api.tls) add("api", api_certificate_ends_);
    if (config_.raft.tls) add("raft", raft_certificate_ends_);
    std::string all = text.ToString();
    if (ids_ != nullptr) all += ids_->Metrics();
    if (audit_ != nullptr) all += audit_->Metrics();
    return all;
  }

  void TellOf(const ConsolePublication& by) {
    constexpr size_t kMostOfDiff = 4096;
    if (by.answer.ok() && by.already) {
      log_.Info("routing table was in force already",
                {{"token", by.client}, {"peer", by.peer}, {"id", by.request_id}});
    } else if (by.answer.ok()) {
      if (audit() != nullptr) audit()->Record(by, by.place);
      log_.Info("routing table published", {{"token", by.client},
                                            {"peer", by.peer},
                                            {"id", by.request_id},
                                            {"reason", by.reason},
                                            {"change", by.answer->substr(0, kMostOfDiff)}});
    } else {
      log_.Warn("routing table not published", {{"token", by.client},
                                                {"peer", by.peer},
                                                {"id", by.request_id},
                                                {"why", by.answer.status().ToString()}});
    }
  }

  void TellOf(const IdServiceEvent& event) {
    switch (event.level) {
      case IdServiceEvent::Level::kInfo:
        return log_.Info(event.what);
      case IdServiceEvent::Level::kWarn:
        return log_.Warn(event.what, {{"why", event.why}});
      case IdServiceEvent::Level::kError:
        return log_.Error(event.what, {{"why", event.why}});
    }
  }

  const Config config_;  // of the start
  Log& log_;
  const std::function<void()> on_end_;
  std::unique_ptr<http::TlsContext> tls_;  // of the start
  std::optional<Front> front_;
  std::unique_ptr<ClusterRole> leases_;    // nullptr: not this role
  std::unique_ptr<IdService> ids_;         // likewise
  std::unique_ptr<Audit> audit_;           // where there is no leases_
  std::unique_ptr<StrictService> strict_;  // nullptr: not this role
  std::unique_ptr<ConsoleApi> console_;
  std::unique_ptr<http::Server> server_;
  // Unix seconds, which publish nothing else; where there is TLS.
  std::atomic<int64_t> api_certificate_ends_ = 0;
  int64_t raft_certificate_ends_ = 0;
  // Counts, which publish nothing else.
  std::atomic<int64_t> reloads_ = 0;
  std::atomic<int64_t> reload_failures_ = 0;
  std::atomic<bool> reload_fails_ = false;
  std::atomic<int64_t> connections_refused_ = 0;
  internal::Seldom refusals_told_;
  std::atomic<int64_t> reloaded_at_ = absl::ToUnixSeconds(absl::Now());
};

Daemon::Daemon(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Daemon::~Daemon() = default;

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Open(const Config& config, Start start, Log& log,
                                                     std::function<void()> on_end) {
  auto rep = std::make_unique<Rep>(config, log, std::move(on_end));
  LOCUS_RETURN_IF_ERROR(rep->Open(start));
  return std::unique_ptr<Daemon>(new Daemon(std::move(rep)));
}

bool Daemon::Works() { return rep_->Works(); }
absl::Status Daemon::FilesInPlace() { return rep_->FilesInPlace(); }
void Daemon::Tell() { rep_->Tell(); }
bool Daemon::removed() { return rep_->removed(); }
absl::Status Daemon::failure() { return rep_->failure(); }
absl::Status Daemon::Reload(const absl::StatusOr<Config>& config) { return rep_->Reload(config); }
void Daemon::Close() { rep_->Close(); }

}  // namespace locus::locusd
