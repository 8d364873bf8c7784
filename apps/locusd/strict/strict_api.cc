// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_api.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/locusd/front/media_types.h"
#include "apps/locusd/strict/strict_draw.h"
#include "apps/locusd/strict/strict_metrics.h"
#include "apps/locusd/strict/strict_request.h"
#include "locus/internal/deadline.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/bodies.h"
#include "src/cluster/api/call.h"
#include "src/http/api/problem.h"

namespace locus::locusd {

using cluster_api::JsonAnswer;
using cluster_api::ProblemAnswer;
using http::Server;
using http::ServerAnswer;
using http::ServerRequest;
using http_api::FindRoute;
using http_api::RouteTable;
using http_api::RouteTo;

namespace {

// Changes of sections that wait for the one before.
constexpr size_t kMostChanges = 64;
constexpr size_t kLongestNumber = 20;

ServerAnswer NumbersAnswer(uint64_t table_version, const std::vector<uint64_t>& numbers) {
  std::string text = absl::StrCat("{\"table_version\":\"", table_version, "\",\"numbers\":[");
  const size_t head = text.size();
  text.resize(head + numbers.size() * (kLongestNumber + 3) + 2);
  char* at = text.data() + head;
  for (const uint64_t number : numbers) {
    *at++ = '"';
    at = std::to_chars(at, at + kLongestNumber, number).ptr;
    *at++ = '"';
    *at++ = ',';
  }
  --at;  // there is a number
  *at++ = ']';
  *at++ = '}';
  text.resize(static_cast<size_t>(at - text.data()));
  return JsonAnswer(200, std::move(text));
}

// The sections that this node does not own, each with its owner; null: the node knows of none.
ServerAnswer ElsewhereAnswer(const StrictNode& node, const std::vector<uint32_t>& sections) {
  const std::shared_ptr<const StrictTable> table = node.table();
  boost::json::array owners;
  for (const uint32_t section : sections) {
    const StrictTable::Owner* owner = table->OwnerOf(section);
    boost::json::value known;
    // The table may still name this node just after it lost a section.
    if (owner != nullptr && !owner->address.empty() && owner->name != node.settings().name) {
      known = {{"name", owner->name}, {"address", owner->address}};
    }
    owners.push_back({{"section", section}, {"owner", std::move(known)}});
  }
  const std::string others =
      sections.size() == 1 ? ""
                           : absl::StrCat(", nor ", sections.size() - 1, " more of the request");
  ServerAnswer answer = ProblemAnswer(
      absl::AbortedError(absl::StrCat(node.settings().name, " does not own section ",
                                      sections.front(), others, "; \"sections\" says who does")),
      421);
  http_api::AddToProblem(
      answer, {{"table_version", absl::StrCat(table->version())}, {"sections", std::move(owners)}});
  return answer;
}

ServerAnswer ChangeAnswer(const absl::StatusOr<StrictNode::Change>& change) {
  if (!change.ok()) {
    const bool is_asked = absl::IsNotFound(change.status()) || absl::IsUnavailable(change.status());
    return is_asked ? ProblemAnswer(change.status()) : ProblemAnswer(change.status(), 500);
  }
  return JsonAnswer(200, absl::StrCat("{\"table_version\":\"", change->table_version,
                                      "\",\"sections\":", change->sections, "}"));
}

}  // namespace

class StrictApi::Rep {
 public:
  Rep(StrictNode& node, StrictApiOptions options)
      : node_(node), options_(std::move(options)), waiters_(2), takes_(1), hand_overs_(1) {}
  ~Rep() {
    ends_ = true;
    waiters_.join();
    takes_.join();
    hand_overs_.join();
  }

  void Handle(const ServerRequest& request, Server::Respond respond) {
    const auto* const route = FindRoute<Handler>(Table(), request.method, request.path);
    if (std::optional<ServerAnswer> refusal = RefuseTypes(request, Answers::kJson)) {
      if (route != nullptr && route->handler == &Rep::Next) {
        ++counts_.requests;
        ++counts_.refused;
      }
      return respond(*std::move(refusal));
    }
    if (route != nullptr) return (this->*route->handler)(request, std::move(respond));
    respond(ProblemAnswer(
        absl::NotFoundError(absl::StrCat("there is no ", internal::Quoted(request.path)))));
  }

  static const RouteTable& Table();

  absl::Status Ready() const { return node_.Ready(); }
  std::string Metrics() const { return StrictMetrics(node_, counts_); }

 private:
  using Handler = void (Rep::*)(const ServerRequest&, Server::Respond);

  ServerAnswer NotOpen() const { return ProblemAnswer(node_.NotOpen()); }

  void ShowTable(const ServerRequest&, Server::Respond respond) {
    if (node_.sequencer() == nullptr) return respond(NotOpen());
    respond(JsonAnswer(200, node_.table()->ToJson(node_.settings().set, node_.settings().options)));
  }

  void ShowStatus(const ServerRequest&, Server::Respond respond) {
    respond(JsonAnswer(200, ToJson(node_.Status())));
  }

  void Next(const ServerRequest& request, Server::Respond respond) {
    ++counts_.requests;
    StrictSequencer* const sequencer = node_.sequencer();
    if (sequencer == nullptr) {
      ++counts_.unavailable;
      return respond(NotOpen());
    }
    absl::StatusOr<StrictNextRequest> parsed =
        request.query.empty()
            ? ParseStrictNext(request.body, node_.settings().options)
            : absl::InvalidArgumentError(absl::StrCat("POST /v1/strict/next takes no query, but ",
                                                      internal::Quoted(request.query), " came"));
    if (!parsed.ok()) {
      ++counts_.refused;
      return respond(ProblemAnswer(parsed.status()));
    }
    StrictDraw draw(std::move(parsed->uids));
    const absl::Status status = draw.Try(*sequencer);
    if (!absl::IsUnavailable(status) || draw.WaitsForTheStore(*sequencer)) {
      return Finish(draw, status, respond);
    }
    if (waiting_.fetch_add(1) >= options_.most_waiting) {
      --waiting_;
      return Finish(draw,
                    absl::UnavailableError(absl::StrCat(
                        options_.most_waiting, " requests wait for numbers, which is the most")),
                    respond);
    }
    boost::asio::post(waiters_,
                      [this, sequencer, draw = std::move(draw), respond = std::move(respond),
                       deadline = internal::DeadlineAfter(options_.wait)]() mutable {
                        absl::Status late = absl::UnavailableError("this process ends");
                        while (!ends_) {
                          late = draw.Wait(*sequencer, deadline);
                          if (!absl::IsUnavailable(late) || draw.WaitsForTheStore(*sequencer) ||
                              std::chrono::steady_clock::now() >= deadline) {
                            break;
                          }
                        }
                        --waiting_;
                        Finish(draw, late, respond);
                      });
  }

  void Finish(const StrictDraw& draw, const absl::Status& status, const Server::Respond& respond) {
    if (status.ok()) {
      const StrictSetOptions& set = node_.settings().options;
      for (const uint64_t uid : draw.uids()) node_.loads().Count(set.SectionOf(uid), 1);
      counts_.numbers += draw.uids().size();
      return respond(NumbersAnswer(node_.table_version(), draw.numbers()));
    }
    if (absl::IsAborted(status)) {
      const std::vector<uint32_t> sections = draw.Elsewhere(*node_.sequencer());
      if (!sections.empty()) {
        ++counts_.elsewhere;
        return respond(ElsewhereAnswer(node_, sections));
      }
      // They came meanwhile.
    }
    if (absl::IsOutOfRange(status)) {
      ++counts_.failed;
      return respond(ProblemAnswer(status));
    }
    const bool passes = absl::IsAborted(status) || absl::IsUnavailable(status);
    ++(passes ? counts_.unavailable : counts_.failed);
    respond(passes ? ProblemAnswer(absl::UnavailableError(status.message()))
                   : ProblemAnswer(status, 500));
  }

  void Nodes(const ServerRequest& request, Server::Respond respond) {
    const absl::StatusOr<StrictNews> news = ParseStrictNews(request.body);
    const absl::StatusOr<bool> changed = news.ok() ? node_.Heard(*news) : news.status();
    if (!changed.ok()) {
      if (news.ok() && options_.on_refused) options_.on_refused(changed.status());
      return respond(ProblemAnswer(changed.status()));
    }
    if (*changed) options_.on_news();
    respond(JsonAnswer(200, ToJson(node_.News(news->wants_loads))));
  }

  void Take(const ServerRequest& request, Server::Respond respond) {
    auto parsed = ParseStrictSections(request.body, node_.settings().options, /*with_to=*/false);
    if (!parsed.ok()) return respond(ProblemAnswer(parsed.status()));
    if (!parsed->sections) {
      options_.come_back();
      return respond(ChangeAnswer(StrictNode::Change{node_.table_version(), 0}));
    }
    Change(takes_, std::move(respond), [this, sections = *std::move(parsed->sections)] {
      if (!node_.takes()) {
        return absl::StatusOr<StrictNode::Change>(absl::UnavailableError(
            absl::StrCat(node_.settings().name, " takes no sections any more")));
      }
      return node_.Take(sections);
    });
  }

  void HandOver(const ServerRequest& request, Server::Respond respond) {
    auto parsed = ParseStrictSections(request.body, node_.settings().options, /*with_to=*/true);
    if (!parsed.ok()) return respond(ProblemAnswer(parsed.status()));
    Change(hand_overs_, std::move(respond), [this, parsed = *std::move(parsed)] {
      return options_.hand_over(parsed.sections, parsed.to);
    });
  }

  // By a thread that may wait for the store.
  void Change(boost::asio::thread_pool& threads, Server::Respond respond,
              std::function<absl::StatusOr<StrictNode::Change>()> change) {
    if (changes_.fetch_add(1) >= kMostChanges) {
      --changes_;
      return respond(ProblemAnswer(absl::UnavailableError(
          absl::StrCat(kMostChanges, " changes of sections wait, which is the most"))));
    }
    boost::asio::post(threads, [this, respond = std::move(respond), change = std::move(change)] {
      const absl::StatusOr<StrictNode::Change> changed =
          ends_ ? absl::UnavailableError("this process ends") : change();
      --changes_;
      respond(ChangeAnswer(changed));
    });
  }

  StrictNode& node_;
  const StrictApiOptions options_;
  StrictCounts counts_;
  // They publish nothing else.
  std::atomic<bool> ends_ = false;
  std::atomic<size_t> waiting_ = 0;
  std::atomic<size_t> changes_ = 0;
  boost::asio::thread_pool waiters_;
  boost::asio::thread_pool takes_;       // apart from hand-overs: two nodes may wait for each other
  boost::asio::thread_pool hand_overs_;  // one after the other
};

const RouteTable& StrictApi::Rep::Table() {
  static constexpr RouteTo<Handler> kRoutes[] = {
      {{"POST",
        "/v1/strict/next",
        {Scope::kIds},
        "nextStrictNumbers",
        "StrictNext",
        "StrictNumbers"},
       &Rep::Next},
      {{"GET", "/v1/strict/table", {Scope::kIds, Scope::kRead}, "strictTable", "", "StrictTable"},
       &Rep::ShowTable},
      {{"GET", "/v1/strict/status", {Scope::kRead}, "strictStatus", "", "StrictStatus"},
       &Rep::ShowStatus},
      {{"POST",
        "/v1/strict/sections:hand_over",
        {Scope::kStrict},
        "handOverStrictSections",
        "StrictHandOver",
        "StrictChange"},
       &Rep::HandOver},
      {{"POST",
        "/v1/strict/sections:take",
        {Scope::kStrict},
        "takeStrictSections",
        "StrictTake",
        "StrictChange"},
       &Rep::Take},
      {{"POST", "/v1/strict/nodes", {Scope::kStrict}, "meetStrictNode", "StrictNews", "StrictNews"},
       &Rep::Nodes},
  };
  static const RouteTable* const table = new RouteTable(kRoutes);
  return *table;
}

absl::StatusOr<std::unique_ptr<StrictApi>> StrictApi::Make(StrictNode& node,
                                                           StrictApiOptions options) {
  try {
    return std::unique_ptr<StrictApi>(
        new StrictApi(std::make_unique<Rep>(node, std::move(options))));
  } catch (const std::system_error& thrown) {
    return absl::UnavailableError(absl::StrCat("a thread of the strict API: ", thrown.what()));
  }
}

StrictApi::StrictApi(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
StrictApi::~StrictApi() = default;

const RouteTable& StrictApi::Table() { return Rep::Table(); }

void StrictApi::Handle(ServerRequest request, const Access&, Server::Respond respond) {
  rep_->Handle(request, std::move(respond));
}

absl::Status StrictApi::Ready() const { return rep_->Ready(); }
std::string StrictApi::Metrics() const { return rep_->Metrics(); }

}  // namespace locus::locusd
