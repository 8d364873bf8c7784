// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/console_api.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locusd/console/console_places.h"
#include "apps/locusd/console/console_request.h"
#include "apps/locusd/console/moves_watch.h"
#include "apps/locusd/console/page.h"
#include "apps/locusd/console/stats_history.h"
#include "apps/locusd/console/table_answers.h"
#include "apps/locusd/console/types_answer.h"
#include "apps/locusd/front/access.h"
#include "apps/locusd/ids/query.h"
#include "locus/version.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/cluster/api/call.h"
#include "src/metrics/metrics.h"

namespace locus::locusd {

namespace json = boost::json;

using cluster_api::ProblemAnswer;
using http::Server;
using http::ServerAnswer;
using http::ServerRequest;
using http_api::RouteTable;
using http_api::RouteTo;
using internal::MutexLock;

namespace {

// How often the table in force is looked at.
constexpr absl::Duration kLook = absl::Milliseconds(500);
// Moves are looked at so long after somebody has watched them.
constexpr absl::Duration kInterest = absl::Seconds(5);

ServerAnswer Guarded(ServerAnswer answer) {
  AddSecurityHeaders(answer);
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

ServerAnswer AnswerOf(absl::StatusOr<std::string> body) {
  if (body.ok()) return Guarded(cluster_api::JsonAnswer(200, *std::move(body)));
  const absl::Status& status = body.status();
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return Guarded(ProblemAnswer(absl::UnavailableError(status.message())));
    case absl::StatusCode::kFailedPrecondition:
      return Guarded(ProblemAnswer(status, 409));
    default:
      return Guarded(ProblemAnswer(status));
  }
}

// The parts, and who looks at their moves.
struct Shown {
  explicit Shown(ConsoleParts parts) : places(std::move(parts)) {}

  ConsolePlaces places;
  std::unique_ptr<MovesWatch> moves;  // nullptr: there is no move file
};

}  // namespace

absl::Status ConsoleOptions::Check() const {
  if (waiters < 1 || waiters > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("waiters is ", waiters, "; it must be in 1 .. 64"));
  }
  if (events.most_streams < 1 || events.most_streams > 10'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("most_streams is ", events.most_streams, "; it must be in 1 .. 10000"));
  }
  return absl::OkStatus();
}

class ConsoleApi::Rep {
 public:
  explicit Rep(const ConsoleOptions& options)
      : options_(options), hub_(options.events), stats_(absl::Now()), waiters_(options.waiters) {}
  ~Rep() {
    {
      MutexLock lock(mutex_);
      ends_ = true;
      ended_.NotifyAll();
    }
    if (ticker_.joinable()) ticker_.join();
    waiters_.join();
    shown_.store(nullptr);  // its watch tells the hub
  }

  absl::Status Start(ConsoleParts parts) {
    LOCUS_RETURN_IF_ERROR(Replace(std::move(parts)));
    Look();
    Count();
    ticker_ = std::thread([this] { Tick(); });
    return absl::OkStatus();
  }

  absl::Status Replace(ConsoleParts parts) {
    auto shown = std::make_shared<Shown>(std::move(parts));
    const std::string file = shown->places.parts().move_file;
    if (!file.empty()) {
      LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<MoveLook> look, MoveLook::Open(file));
      const ConsolePlaces* const places = &shown->places;
      auto table = [places]() -> std::shared_ptr<const RoutingTable> {
        auto found = places->Table();
        return found.ok() ? *std::move(found) : nullptr;
      };
      shown->moves = std::make_unique<MovesWatch>(
          std::move(look), table, [this, table, file](const MovesWatch::State& state) {
            const std::shared_ptr<const RoutingTable> now = table();
            if (now == nullptr) return;
            hub_.Publish("moves", MovesJson(*now, file, state), SteadyNow());
          });
    }
    shown_.store(std::move(shown));
    return absl::OkStatus();
  }

  void Handle(ServerRequest request, const Access& access, Server::Respond respond) {
    const auto* const route = http_api::FindRoute<Handler>(Table(), request.method, request.path);
    if (route == nullptr) return respond(AnswerOf(absl::NotFoundError("there is no such path")));
    if (route->handler == &Rep::Page)
      return Page({std::move(request), {}, access, std::move(respond)});
    ++requests_;
    if (route->method == "POST") {
      if (auto refusal = RefuseForeign(request)) return respond(Guarded(*std::move(refusal)));
    }
    absl::StatusOr<Query> query = Query::Parse(request.query);
    if (!query.ok()) return respond(AnswerOf(query.status()));
    (this->*route->handler)({std::move(request), *std::move(query), access, std::move(respond)});
  }

  static const RouteTable& Table();

  std::string Metrics() const {
    const EventHub::Stats events = hub_.stats();
    metrics::MetricsText text;
    text.Add(metrics::locusd_console_requests_total, requests_.load());
    text.Add(metrics::locusd_console_streams, events.streams);
    text.Add(metrics::locusd_console_streams_slow_total, events.slow);
    text.Add(metrics::locusd_console_streams_refused_total, events.refused);
    text.Add(metrics::locusd_console_publications_total, publications_.load());
    return text.ToString();
  }

 private:
  using ShownPtr = std::shared_ptr<Shown>;
  using Job = std::function<absl::StatusOr<std::string>(Shown&)>;
  struct Asked {
    ServerRequest request;
    Query query;
    const Access& access;
    Server::Respond respond;
  };
  using Handler = void (Rep::*)(Asked);

  void Page(Asked a) {
    const PageFile* const file = FindPageFile(a.request.path);
    a.respond(file != nullptr ? AnswerWithPage(*file, a.request)
                              : AnswerOf(absl::NotFoundError("no page")));
  }
  void StreamEvents(Asked a) { a.respond(Events(a.request.head_only)); }
  void ShowStats(Asked a) { a.respond(AnswerOf(Stats())); }
  void ShowShards(Asked a) {
    Wait([this](Shown& s) { return Shards(s); }, std::move(a.respond));
  }
  void ShowMembers(Asked a) {
    Wait([](Shown& s) { return s.places.Members(); }, std::move(a.respond));
  }
  void Inspect(Asked a) {
    a.respond(
        AnswerOf(shown_.load()->places.Inspect(a.query, a.access.scopes.Has(Scope::kDecode))));
  }
  // What a place answers to a query.
  template <auto kLook>
  void Show(Asked a) {
    Wait([query = std::move(a.query)](Shown& s) { return (s.places.*kLook)(query); },
         std::move(a.respond));
  }
  void Plan(Asked a) {
    Wait([this,
          body = std::move(a.request.body)](Shown& s) { return s.places.Plan(body, Load().first); },
         std::move(a.respond));
  }
  void Publish(Asked a) {
    ConsolePublication by{.client = a.access.client,
                          .peer = a.request.peer,
                          .request_id = std::string(a.request.Header("X-Request-Id"))};
    Wait(
        [this, body = std::move(a.request.body), by = std::move(by)](Shown& s) mutable {
          by.answer = s.places.Publish(body, by);
          if (by.answer.ok()) {
            by.place = s.places.table_place();
            const json::value answer = json::parse(*by.answer);
            by.epoch = answer.at("epoch").to_number<uint64_t>();
            by.change = answer.at("diff").at("text").as_string();
            by.already = answer.at("already").as_bool();
            if (!by.already) ++publications_;
          }
          if (options_.on_publication) options_.on_publication(by);
          return by.answer;
        },
        std::move(a.respond));
  }

  // For what may take a while.
  void Wait(Job job, Server::Respond respond) {
    if (waiting_.fetch_add(1) >= options_.most_waiting) {
      --waiting_;
      return respond(AnswerOf(absl::UnavailableError(
          absl::StrCat(options_.most_waiting, " requests of consoles wait, which is the most"))));
    }
    boost::asio::post(waiters_,
                      [this, job = std::move(job), respond = std::move(respond)]() mutable {
                        const ShownPtr shown = shown_.load();
                        ServerAnswer answer = AnswerOf(job(*shown));
                        --waiting_;
                        respond(std::move(answer));
                      });
  }

  void Session(Asked a) { a.respond(AnswerOf(SessionOf(a.access))); }
  std::string SessionOf(const Access& access) const {
    json::array scopes;
    for (const Scope scope : {Scope::kRead, Scope::kPublish, Scope::kDecode}) {
      if (access.scopes.Has(scope)) scopes.push_back(json::string(std::string(ToString(scope))));
    }
    json::object session{{"scopes", scopes}, {"mode", options_.laptop ? "laptop" : "configured"}};
    if (!access.scopes.Has(Scope::kRead)) return json::serialize(session);
    const ShownPtr shown = shown_.load();
    const ConsoleParts& parts = shown->places.parts();
    const std::shared_ptr<const IdParts> ids = shown->places.ids();
    json::object offers, absent;
    auto offer = [&](const char* name, bool is, const char* why) {
      offers[name] = is;
      if (!is) absent[name] = why;
    };
    constexpr char kNoTable[] = "no routing table is configured";
    constexpr char kNoPlace[] = "no place is configured that keeps routing tables";
    const bool table = ids != nullptr && (ids->router || !ids->router.why_not().ok());
    const bool place = static_cast<bool>(parts.open_publisher);
    offer("table", table, kNoTable);
    offer("history", place, kNoPlace);
    offer("plan", table || place, kNoTable);
    offer("publish", place, kNoPlace);
    offer("moves", shown->moves != nullptr,
          "no move file is configured: moves are shown as the table has them");
    offer("leases", options_.leases_elsewhere || static_cast<bool>(parts.open_leases),
          "this service leases no worker IDs");
    offer("members", options_.leases_elsewhere || static_cast<bool>(parts.open_cluster),
          "this service leases from no cluster of lease nodes");
    offer("stats", ids != nullptr, "this process is no ID service");
    const absl::Status no_types = shown->places.WhyNoTypes();
    offer("types", !absl::IsNotFound(no_types), std::string(no_types.message()).c_str());
    offer("strict", options_.strict_elsewhere, "this process is no node of strict sequences");
    offer("decode", ids != nullptr && static_cast<bool>(ids->order_no_codec),
          "no keys of order_nos are configured");
    json::array roles;
    for (const std::string& role : options_.roles) roles.push_back(json::string(role));
    session["client"] = json::string(access.client);
    if (!parts.environment.empty()) {
      session["environment"] = json::string(parts.environment);
      session["colour"] = json::string(parts.colour.empty() ? "grey" : parts.colour);
    }
    session["version"] = json::string(std::string(Version()));
    session["roles"] = std::move(roles);
    session["now_ms"] = absl::ToUnixMillis(absl::Now());
    session["offers"] = std::move(offers);
    session["absent"] = std::move(absent);
    return json::serialize(session);
  }

  // Without a stream where only the head is wanted, which takes no place from others.
  ServerAnswer Events(bool head_only) {
    ServerAnswer answer;
    answer.headers.emplace_back("Content-Type", "text/event-stream");
    answer.headers.emplace_back("X-Accel-Buffering", "no");  // of proxies
    if (head_only) {
      // Nobody writes it; the head is that of a body whose length is not known, as of a GET.
      answer.stream = std::make_shared<http::BodyStream>(0);
      answer.stream->End();
      return Guarded(std::move(answer));
    }
    const absl::Duration now = SteadyNow();
    absl::StatusOr<std::shared_ptr<http::BodyStream>> stream = hub_.Open(now);
    if (!stream.ok()) return AnswerOf(stream.status());
    const ShownPtr shown = shown_.load();
    if (shown->moves != nullptr) shown->moves->Want(now + kInterest);
    answer.stream = *std::move(stream);
    return Guarded(std::move(answer));
  }

  void Moves(Asked a) {
    const Server::Respond respond = std::move(a.respond);
    const ShownPtr shown = shown_.load();
    const absl::StatusOr<std::shared_ptr<const RoutingTable>> table = shown->places.Table();
    if (!table.ok()) return respond(AnswerOf(table.status()));
    if (shown->moves == nullptr) return respond(AnswerOf(MovesJsonOfTable(**table)));
    shown->moves->Ask([table = *table, file = shown->places.parts().move_file,
                       respond](absl::StatusOr<MovesWatch::State> state) {
      if (!state.ok()) return respond(AnswerOf(state.status()));
      respond(AnswerOf(MovesJson(*table, file, *state)));
    });
  }

  std::string Stats() {
    MutexLock lock(mutex_);
    if (history_.empty()) history_ = stats_.HistoryJson();
    return absl::StrCat("{\"now_ms\":", absl::ToUnixMillis(absl::Now()), ",\"current\":", current_,
                        ",\"history\":", history_, "}");
  }

  // Of each vnode, and over which time.
  std::pair<std::vector<double>, absl::Duration> Load() {
    MutexLock lock(mutex_);
    return {load_.PerVnode(), load_.window()};
  }

  absl::StatusOr<std::string> Shards(Shown& shown) {
    LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<const RoutingTable> table, shown.places.Table());
    const std::shared_ptr<const IdParts> ids = shown.places.ids();
    const auto [load, window] = Load();
    return ShardsJson(*table, load, window,
                      ids == nullptr || !ids->orders
                          ? "this process gives out no order IDs"
                          : "order IDs have not been counted for long enough",
                      shown.moves == nullptr ? ShardWrites() : shown.moves->Writes());
  }

  void Tick() {
    absl::Duration counted = SteadyNow();
    while (true) {
      {
        MutexLock lock(mutex_);
        const auto next = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kLook);
        while (!ends_ && std::chrono::steady_clock::now() < next) ended_.WaitUntil(mutex_, next);
        if (ends_) return;
      }
      Look();
      const absl::Duration now = SteadyNow();
      if (now - counted >= StatsHistory::kStep) {
        counted = now;
        Count();
      }
      const ShownPtr shown = shown_.load();
      if (shown->moves != nullptr && hub_.stats().streams > 0) shown->moves->Want(now + kInterest);
      hub_.Tick(now);
    }
  }

  // Tells what is new about the table.
  void Look() {
    const ShownPtr shown = shown_.load();
    const std::shared_ptr<const IdParts> ids = shown->places.ids();
    const absl::StatusOr<std::shared_ptr<const RoutingTable>> table = shown->places.Table();
    if (!table.ok()) return;
    const RouterStats stats = ids->router->Stats();
    const std::string source = SourceJson(stats, shown->places.parts().table_place);
    const std::string event = TableEventJson(**table, source);
    // Counters and ages change all the time.
    std::string key = absl::StrCat((*table)->epoch(), " ", std::string(ToString(stats.source)), " ",
                                   stats.from_last_good_file, " ", stats.refusals, " ",
                                   stats.source_error.message());
    const absl::Duration now = SteadyNow();
    if (std::exchange(told_, key) != key) {
      hub_.Publish("table", event, now);
    } else {
      hub_.Keep("table", event);
    }
    if (shown->moves == nullptr || (*table)->epoch() != moves_of_) {
      moves_of_ = (*table)->epoch();
      if (shown->moves == nullptr) {
        hub_.Publish("moves", MovesJsonOfTable(**table), now);
      } else {
        shown->moves->Want(now + kInterest);
      }
    }
  }

  void Count() {
    const std::shared_ptr<const IdParts> ids = shown_.load()->places.ids();
    const absl::Duration now = SteadyNow();
    std::string current;
    {
      MutexLock lock(mutex_);
      current = stats_.Sample(ids.get(), hub_.stats(), hub_.most_streams(), absl::Now(), now);
      current_ = current;
      history_.clear();
      if (now - loaded_ >= LoadWindow::kStep) {
        loaded_ = now;
        load_.Add(
            ids != nullptr && ids->orders ? ids->orders->IdsBySection() : std::vector<uint64_t>(),
            now);
      }
    }
    hub_.Publish("stats", current, now);
    if (ids != nullptr && ids->sequences && ids->sequences->typed() != nullptr) {
      hub_.Publish("types", TypesEventJson(*ids->sequences->typed()), now);
    }
  }

  const ConsoleOptions options_;
  EventHub hub_;
  std::atomic<ShownPtr> shown_;
  // Of the ticker, after the start.
  std::string told_;
  uint64_t moves_of_ = 0;
  internal::Mutex mutex_;
  internal::CondVar ended_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  StatsHistory stats_ ABSL_GUARDED_BY(mutex_);
  std::string current_ ABSL_GUARDED_BY(mutex_);
  std::string history_ ABSL_GUARDED_BY(mutex_);  // of stats_; empty: nobody asked for it yet
  LoadWindow load_ ABSL_GUARDED_BY(mutex_);
  absl::Duration loaded_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  // Counts, which publish nothing else.
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<uint64_t> publications_ = 0;
  std::atomic<size_t> waiting_ = 0;
  boost::asio::thread_pool waiters_;
  std::thread ticker_;
};

const RouteTable& ConsoleApi::Rep::Table() {
  static constexpr RouteTo<Handler> kRoutes[] = {
      {{"GET", "/v1/console/session", {}, "consoleSession", "", "ConsoleSession"}, &Rep::Session},
      {{"GET", "/v1/table", {Scope::kRead}, "table", "", "Table"},
       &Rep::Show<&ConsolePlaces::TableOf>},
      {{"GET", "/v1/table/history", {Scope::kRead}, "tableHistory", "", "TableHistory"},
       &Rep::Show<&ConsolePlaces::History>},
      {{"GET", "/v1/table/diff", {Scope::kRead}, "tableDiff", "", "TableDiff"},
       &Rep::Show<&ConsolePlaces::Diff>},
      {{"GET", "/v1/shards", {Scope::kRead}, "shards", "", "Shards"}, &Rep::ShowShards},
      {{"GET", "/v1/moves", {Scope::kRead}, "moves", "", "Moves"}, &Rep::Moves},
      {{"GET", "/v1/events", {Scope::kRead}, "events"}, &Rep::StreamEvents},
      {{"POST", "/v1/plan", {Scope::kRead}, "plan", "PlanRequest", "PlanAnswer"}, &Rep::Plan},
      {{"POST", "/v1/plan:publish", {Scope::kPublish}, "publish", "PublishRequest", "Published"},
       &Rep::Publish},
      {{"GET", "/v1/stats", {Scope::kRead}, "stats", "", "Stats"}, &Rep::ShowStats},
      {{"GET", "/v1/inspect", {Scope::kRead}, "inspect", "", "InspectedId"}, &Rep::Inspect},
      {{"GET", "/v1/types", {Scope::kRead}, "numberTypes", "", "NumberTypes"},
       &Rep::Show<&ConsolePlaces::Types>},
      // Of a cluster elsewhere; where this process is one of its nodes, the cluster's API answers.
      {{"GET", "/v1/leases", {Scope::kRead}, ""}, &Rep::Show<&ConsolePlaces::Leases>},
      {{"GET", "/v1/members", {Scope::kRead}, ""}, &Rep::ShowMembers},
      {{"GET", "/", {}, "consolePage"}, &Rep::Page},
      {{"GET", "/index.html", {}, "consoleIndex"}, &Rep::Page},
      {{"GET", "/console.js", {}, "consoleScript"}, &Rep::Page},
      {{"GET", "/console.css", {}, "consoleStyle"}, &Rep::Page},
      {{"GET", "/icon.svg", {}, "consoleIcon"}, &Rep::Page},
  };
  static const RouteTable* const table = new RouteTable(kRoutes);
  return *table;
}

ConsoleApi::ConsoleApi(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
ConsoleApi::~ConsoleApi() = default;

absl::StatusOr<std::unique_ptr<ConsoleApi>> ConsoleApi::Make(ConsoleParts parts,
                                                             const ConsoleOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  try {
    auto rep = std::make_unique<Rep>(options);
    LOCUS_RETURN_IF_ERROR(rep->Start(std::move(parts)));
    return std::unique_ptr<ConsoleApi>(new ConsoleApi(std::move(rep)));
  } catch (const std::system_error& thrown) {
    return absl::UnavailableError(absl::StrCat("a thread of the console: ", thrown.what()));
  }
}

absl::Status ConsoleApi::Replace(ConsoleParts parts) { return rep_->Replace(std::move(parts)); }
const RouteTable& ConsoleApi::Table() { return Rep::Table(); }
void ConsoleApi::Handle(ServerRequest request, const Access& access, Server::Respond respond) {
  rep_->Handle(std::move(request), access, std::move(respond));
}
std::string ConsoleApi::Metrics() const { return rep_->Metrics(); }

}  // namespace locus::locusd
