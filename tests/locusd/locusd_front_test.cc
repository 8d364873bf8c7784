// SPDX-License-Identifier: Apache-2.0
#include <future>
#include <set>

#include "absl/strings/str_cat.h"
#include "apps/locusd/front/front.h"
#include "apps/locusd/front/media_types.h"
#include "apps/locusd/front/request_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using http::ServerAnswer;
using http::ServerRequest;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Headers = std::vector<std::pair<std::string, std::string>>;

constexpr char kShop[] = "the-token-of-the-shop";
constexpr char kAudit[] = "the-token-of-the-audit";

TokenRule Rule(const std::string& name, const std::string& token, Scopes scopes) {
  TokenRule rule;
  rule.name = name;
  rule.token = {internal::SecretBytes::Allocate(token.size()).value(), token.size()};
  internal::CopySecret(token.data(), rule.token.memory.data(), token.size());
  rule.scopes = scopes;
  return rule;
}

ServerRequest Request(const std::string& method, const std::string& path,
                      const Headers& headers = {}) {
  ServerRequest request;
  request.method = method;
  request.path = path;
  request.headers = headers;
  if (request.Header("Host").empty()) request.headers.emplace_back("Host", "127.0.0.1:7070");
  request.peer = "127.0.0.1";
  return request;
}
Headers Bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

unsigned StatusOf(const AccessControl::Decision& decision) {
  return decision.refusal ? decision.refusal->status : 200;
}

TEST(AccessControlTest, Token_AllowsItsScopesAndNoOthers) {
  std::vector<TokenRule> rules;
  rules.push_back(Rule("shop", kShop, {Scope::kIds, Scope::kRoute}));
  rules.push_back(Rule("audit", kAudit, {Scope::kDecode}));
  auto access = AccessControl::Make(std::move(rules), {}).value();
  const absl::Time now = absl::UnixEpoch();
  auto decide = [&](const Headers& headers, Scopes any_of) {
    return access->Decide(Request("GET", "/", headers), any_of, now, absl::ZeroDuration());
  };
  EXPECT_EQ(StatusOf(decide(Bearer(kShop), {Scope::kIds})), 200u);
  EXPECT_EQ(decide(Bearer(kShop), {Scope::kIds}).access.client, "shop");
  EXPECT_EQ(StatusOf(decide(Bearer(kShop), {Scope::kRead, Scope::kRoute})), 200u);
  const AccessControl::Decision forbidden = decide(Bearer(kShop), {Scope::kDecode});
  EXPECT_EQ(StatusOf(forbidden), 403u);
  EXPECT_THAT(forbidden.refusal->body,
              HasSubstr("the token shop has the scopes ids, route; this needs decode"));
  EXPECT_THAT(forbidden.refusal->body, HasSubstr(R"("code":"PERMISSION_DENIED")"));
  EXPECT_THAT(decide({}, {Scope::kIds}).refusal->body, HasSubstr(R"("code":"UNAUTHENTICATED")"));
  EXPECT_EQ(StatusOf(decide(Bearer(kAudit), {Scope::kDecode})), 200u);
  EXPECT_EQ(StatusOf(decide(Bearer(std::string(kShop) + "x"), {Scope::kIds})), 401u);
  EXPECT_EQ(StatusOf(decide({}, {Scope::kIds})), 401u);
  EXPECT_THAT(decide({}, {Scope::kIds}).refusal->headers,
              Contains(Pair("WWW-Authenticate", "Bearer")));
  EXPECT_EQ(StatusOf(decide({{"Authorization", "Basic abc"}}, {Scope::kIds})), 401u);
  // What nobody needs a token for; a wrong one is told so.
  EXPECT_EQ(StatusOf(decide({}, {})), 200u);
  EXPECT_TRUE(decide({}, {}).access.scopes.empty());
  EXPECT_EQ(decide(Bearer(kShop), {}).access.scopes, (Scopes{Scope::kIds, Scope::kRoute}));
  EXPECT_EQ(StatusOf(decide(Bearer("a-token-of-nobody"), {})), 401u);
  const std::string metrics = access->Metrics();
  EXPECT_THAT(metrics,
              HasSubstr("locusd_token_refused_total{token=\"shop\",reason=\"scope\"} 1\n"));
  EXPECT_THAT(metrics, Not(HasSubstr(kShop)));
}

TEST(AccessControlTest, TokenAtItsEnd_IsRefusedAndNamed) {
  std::vector<TokenRule> rules;
  rules.push_back(Rule("shop", kShop, Scopes::All()));
  rules[0].expires = absl::FromUnixSeconds(1'000);
  auto access = AccessControl::Make(std::move(rules), {}).value();
  auto decide = [&](int64_t second) {
    return access->Decide(Request("GET", "/", Bearer(kShop)), {Scope::kIds},
                          absl::FromUnixSeconds(second), absl::ZeroDuration());
  };
  EXPECT_EQ(StatusOf(decide(999)), 200u);
  EXPECT_EQ(StatusOf(decide(1'000)), 401u);
  EXPECT_THAT(decide(1'000).refusal->body,
              HasSubstr("the token shop expired at 1970-01-01T00:16:40Z"));
}

TEST(AccessControlTest, Rate_IsOfEachTokenAlone) {
  std::vector<TokenRule> rules;
  rules.push_back(Rule("shop", kShop, Scopes::All()));
  rules.push_back(Rule("audit", kAudit, Scopes::All()));
  rules[0].per_second = 2;
  rules[0].burst = 3;
  auto access = AccessControl::Make(std::move(rules), {}).value();
  auto decide = [&](const char* token, absl::Duration at) {
    return access->Decide(Request("GET", "/", Bearer(token)), {Scope::kIds}, absl::UnixEpoch(), at);
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(StatusOf(decide(kShop, absl::Seconds(1))), 200u);
  const AccessControl::Decision limited = decide(kShop, absl::Seconds(1));
  EXPECT_EQ(StatusOf(limited), 429u);
  EXPECT_THAT(limited.refusal->headers, Contains(Pair("Retry-After", "1")));
  EXPECT_EQ(StatusOf(decide(kAudit, absl::Seconds(1))), 200u);
  EXPECT_EQ(StatusOf(decide(kShop, absl::Seconds(2))), 200u);
}

TEST(AccessControlTest, NoTokens_MeanThatAllIsAllowed) {
  auto access = AccessControl::Make({}, {}).value();
  const auto decision = access->Decide(Request("GET", "/", Bearer("whatever-it-is")),
                                       {Scope::kOperate}, absl::UnixEpoch(), absl::ZeroDuration());
  EXPECT_EQ(StatusOf(decision), 200u);
  EXPECT_EQ(decision.access.scopes, Scopes::All());
}

TEST(AccessControlTest, NamesAndTokensGivenTwice_AreRefusedWithoutTheToken) {
  std::vector<TokenRule> names;
  names.push_back(Rule("shop", kShop, {}));
  names.push_back(Rule("shop", kAudit, {}));
  EXPECT_TRUE(absl::IsInvalidArgument(AccessControl::Make(std::move(names), {}).status()));
  std::vector<TokenRule> tokens;
  tokens.push_back(Rule("shop", kShop, {}));
  tokens.push_back(Rule("audit", kShop, {}));
  const absl::Status status = AccessControl::Make(std::move(tokens), {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr(kShop)));
}

// Answers what it was asked, when the test says so.
class Echo : public Handler {
 public:
  const http_api::RouteTable& Routes() const override {
    static constexpr http_api::RouteTo<int> kRoutes[] = {
        {{"GET", "/echo", {Scope::kIds}, "getEcho"}, 0},
        {{"POST", "/echo", {Scope::kIds}, "postEcho"}, 0},
        {{"PUT", "/echo/{id}", {Scope::kIds}, "putEcho"}, 0},
        {{"DELETE", "/echo/{id}", {Scope::kIds}, "deleteEcho"}, 0},
    };
    static const http_api::RouteTable table(kRoutes);
    return table;
  }
  void Handle(ServerRequest request, const Access& access, http::Server::Respond respond) override {
    last = std::move(request);
    client = access.client;
    if (drops) return;
    if (keeps) {
      kept = std::move(respond);
      return;
    }
    respond({200, {}, "answer"});
  }
  absl::Status Ready() const override { return ready; }
  std::string Metrics() const override { return "echo 1\n"; }

  ServerRequest last;
  std::string client;
  absl::Status ready;
  bool drops = false;
  bool keeps = false;
  http::Server::Respond kept;
};

class FrontTest : public ::testing::Test {
 protected:
  void Open(FrontOptions options = {}, bool with_token = true) {
    std::vector<TokenRule> rules;
    if (with_token) {
      rules.push_back(Rule("shop", kShop, {Scope::kIds}));
      rules.push_back(Rule("audit", kAudit, {Scope::kRead}));
    }
    front_ = std::make_unique<Front>(AccessControl::Make(std::move(rules), {}).value(),
                                     std::move(options));
    front_->Add(echo_);
  }
  ServerAnswer Ask(ServerRequest request) {
    auto promise = std::make_shared<std::promise<ServerAnswer>>();
    std::future<ServerAnswer> answer = promise->get_future();
    front_->Handle(std::move(request),
                   [promise](ServerAnswer given) { promise->set_value(std::move(given)); });
    return answer.get();
  }
  ServerAnswer Get(const std::string& path, Headers headers = Bearer(kShop)) {
    return Ask(Request("GET", path, headers));
  }
  static std::string IdOf(const ServerAnswer& answer) {
    for (const auto& [name, value] : answer.headers) {
      if (name == "X-Request-Id") return value;
    }
    return "";
  }

  Echo echo_;
  std::unique_ptr<Front> front_;
};

TEST_F(FrontTest, Request_ComesToItsHandlerWithItsClient) {
  Open();
  EXPECT_EQ(Get("/echo").body, "answer");
  EXPECT_EQ(echo_.client, "shop");
  EXPECT_EQ(Get("/echo", {}).status, 401u);
  EXPECT_EQ(Get("/other").status, 404u);
  EXPECT_EQ(Get("/other", {}).status, 401u);
  EXPECT_EQ(Get("/metrics").status, 403u) << "needs the scope read";
  EXPECT_EQ(front_->under_way(), 0u);
}

TEST_F(FrontTest, RequestIds_AreTakenOverOrMade) {
  Open();
  Headers with_id = Bearer(kShop);
  with_id.emplace_back("X-Request-Id", "order-7:a.b");
  EXPECT_EQ(IdOf(Get("/echo", with_id)), "order-7:a.b");
  EXPECT_EQ(echo_.last.Header("X-Request-Id"), "order-7:a.b");
  std::set<std::string> made;
  for (int i = 0; i < 100; ++i) made.insert(IdOf(Get("/echo")));
  EXPECT_EQ(made.size(), 100u);
  EXPECT_EQ(made.begin()->size(), 32u);
  for (const std::string& bad : {std::string("a b"), std::string("\"x\""), std::string(129, 'a')}) {
    Headers headers = Bearer(kShop);
    headers.emplace_back("X-Request-Id", bad);
    const std::string id = IdOf(Get("/echo", headers));
    EXPECT_TRUE(IsRequestId(id));
    EXPECT_NE(id, bad);
    EXPECT_EQ(echo_.last.Header("X-Request-Id"), id);
  }
  Headers of_refused = {{"X-Request-Id", "r1"}};
  EXPECT_THAT(Get("/echo", of_refused).body, HasSubstr(",\"request_id\":\"r1\"}"));
}

TEST_F(FrontTest, Log_HasNamesAndNeverTokens) {
  std::vector<AnsweredRequest> events;
  bool logged = true;
  FrontOptions options;
  options.on_request = [&events](const AnsweredRequest& event) { events.push_back(event); };
  options.is_logged = [&logged] { return logged; };
  Open(std::move(options));
  Headers headers = Bearer(kShop);
  headers.emplace_back("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  Get("/echo", headers);
  Get("/echo", Bearer("a-token-of-nobody"));
  logged = false;
  Get("/echo");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].client, "shop");
  EXPECT_EQ(events[0].status, 200u);
  EXPECT_EQ(events[0].trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_FALSE(events[0].id.empty());
  EXPECT_EQ(events[1].client, "");
  EXPECT_EQ(events[1].status, 401u);
}

TEST_F(FrontTest, HealthAndReadiness_FollowHandlersAndDrain) {
  Open();
  EXPECT_EQ(Get("/healthz", {}).status, 200u);
  EXPECT_EQ(Get("/readyz", {}).status, 200u);
  echo_.ready = absl::UnavailableError("no store yet");
  EXPECT_EQ(Get("/healthz", {}).status, 200u);
  EXPECT_EQ(Get("/readyz", {}).status, 503u);
  EXPECT_THAT(Get("/readyz", {}).body, Not(HasSubstr("no store yet")));
  EXPECT_THAT(Get("/readyz", Bearer(kAudit)).body, HasSubstr("no store yet"));
  echo_.ready = absl::OkStatus();
  front_->Drain();
  EXPECT_TRUE(front_->draining());
  EXPECT_EQ(Get("/readyz", {}).status, 503u);
  EXPECT_EQ(Get("/healthz", {}).status, 200u);
  EXPECT_EQ(Get("/echo").status, 200u) << "whoever still comes is served";
}

TEST_F(FrontTest, Limits_AreOfAddressesAndOfWhatIsUnderWay) {
  FrontOptions options;
  options.rate.per_second = 1;
  options.rate.burst = 2;
  Open(std::move(options));
  EXPECT_EQ(Get("/echo").status, 200u);
  EXPECT_EQ(Get("/echo", Bearer("a-token-of-nobody")).status, 401u);
  EXPECT_EQ(Get("/echo").status, 429u);
  EXPECT_EQ(Get("/readyz").status, 200u);

  FrontOptions narrow;
  narrow.most_under_way = 1;
  Open(std::move(narrow), /*with_token=*/false);
  echo_.drops = true;
  front_->Handle(Request("GET", "/echo"), [](ServerAnswer) {});
  EXPECT_EQ(front_->under_way(), 0u) << "a dropped request is under way no more";
  echo_.drops = false;
  echo_.keeps = true;
  front_->Handle(Request("GET", "/echo"), [](ServerAnswer) {});
  EXPECT_EQ(front_->under_way(), 1u);
  EXPECT_EQ(Get("/echo").status, 503u);
  EXPECT_EQ(Get("/healthz").status, 200u);
  echo_.kept({200, {}, ""});
  echo_.kept = nullptr;
  echo_.keeps = false;
  EXPECT_EQ(Get("/echo").status, 200u);
  EXPECT_THAT(Get("/metrics").body, HasSubstr("echo 1\n"));
}

// A page of the web has no token, but a browser that reaches the loopback.
TEST_F(FrontTest, PagesOfOthers_AreRefusedWhereNoTokenIsAskedFor) {
  FrontOptions options;
  options.only_loopback_hosts = true;
  Open(std::move(options), /*with_token=*/false);
  const Headers here = {{"Host", "127.0.0.1:7070"}};
  auto post = [&](Headers headers) {
    headers.insert(headers.end(), here.begin(), here.end());
    return Ask(Request("POST", "/echo", headers)).status;
  };
  EXPECT_EQ(post({}), 200u);
  EXPECT_EQ(post({{"Origin", "http://127.0.0.1:7070"}}), 200u);
  EXPECT_EQ(post({{"Origin", "https://evil.example"}}), 403u);
  EXPECT_EQ(post({{"Origin", "null"}}), 403u);
  EXPECT_EQ(post({{"Sec-Fetch-Site", "cross-site"}}), 403u);
  EXPECT_EQ(post({{"Sec-Fetch-Site", "same-origin"}}), 200u);
  EXPECT_EQ(Ask(Request("GET", "/echo", {{"Host", "evil.example"}})).status, 403u);
  EXPECT_EQ(Ask(Request("GET", "/echo", {{"Host", "[::1]:7070"}})).status, 200u);
}

// Without tokens, of a configured service: tokens may come and go by a reload.
TEST_F(FrontTest, WhoeverComesWithoutToken_IsNoPageOfTheWeb) {
  Open({}, /*with_token=*/false);
  EXPECT_EQ(Ask(Request("GET", "/echo")).status, 200u);
  EXPECT_EQ(Ask(Request("GET", "/echo", {{"Host", "evil.example:7070"}})).status, 403u);
  // A GET uses IDs up.
  const Headers image = {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}};
  EXPECT_EQ(Ask(Request("GET", "/echo", image)).status, 403u);
  EXPECT_EQ(Ask(Request("GET", "/healthz", image)).status, 200u);
  // Handlers that admit themselves ask the front.
  const ServerRequest foreign = Request("POST", "/echo", {{"Origin", "https://evil.example"}});
  EXPECT_EQ(StatusOf(front_->Decide(foreign, {Scope::kLeases})), 403u);
  EXPECT_EQ(StatusOf(front_->Decide(Request("POST", "/echo"), {Scope::kLeases})), 200u);
  // With a token it is somebody's program.
  Open();
  EXPECT_EQ(
      Get("/echo", {{"Authorization", absl::StrCat("Bearer ", kShop)}, {"Host", "locusd.example"}})
          .status,
      200u);
}

TEST_F(FrontTest, Bodies_AreReadOnlyForWhoeverIsLetIn) {
  Open();
  EXPECT_TRUE(front_->ReadsBody(Request("POST", "/echo", Bearer(kShop))));
  EXPECT_FALSE(front_->ReadsBody(Request("POST", "/echo", Bearer(kAudit))));
  EXPECT_FALSE(front_->ReadsBody(Request("POST", "/echo")));
  EXPECT_FALSE(front_->ReadsBody(Request("POST", "/nothing", Bearer(kShop))));
  EXPECT_FALSE(front_->ReadsBody(Request("GET", "/healthz", Bearer(kShop))));
  // Tokens that were replaced since: what comes without its body is not carried out.
  ServerRequest request = Request("POST", "/echo", Bearer(kShop));
  request.body_unread = true;
  EXPECT_EQ(Ask(std::move(request)).status, 503u);
  EXPECT_EQ(echo_.last.path, "");
}

TEST_F(FrontTest, WrongTokens_AreToldOfOnceASecond) {
  std::vector<std::string> told;
  FrontOptions options;
  options.on_unauthorized = [&](const std::string& peer, std::string_view id, uint64_t more) {
    told.push_back(absl::StrCat(peer, " ", id.size() > 0 ? "id" : "", " ", more));
  };
  Open(std::move(options));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Get("/echo", Bearer("a-guess")).status, 401u);
  ASSERT_GE(told.size(), 1u);
  EXPECT_LT(told.size(), 50u);
  EXPECT_EQ(told[0], "127.0.0.1 id 0");
}

TEST_F(FrontTest, BodiesThatAreEncoded_Get415) {
  Open();
  Headers headers = Bearer(kShop);
  headers.emplace_back("Content-Encoding", "gzip");
  const ServerAnswer answer = Ask(Request("POST", "/echo", headers));
  EXPECT_EQ(answer.status, 415u);
  EXPECT_THAT(answer.headers, Contains(Pair("Accept-Encoding", "identity")));
  headers.back().second = "Identity";
  EXPECT_EQ(Ask(Request("POST", "/echo", headers)).status, 200u);
}

TEST_F(FrontTest, OptionsOfTheServer_HasAllMethods) {
  Open();
  const ServerAnswer answer = Ask(Request("OPTIONS", "*"));
  EXPECT_EQ(answer.status, 204u);
  EXPECT_THAT(answer.headers, Contains(Pair("Allow", "DELETE, GET, HEAD, OPTIONS, POST, PUT")));
}

TEST_F(FrontTest, RefusalOfTheServerItself_GetsARequestId) {
  std::vector<AnsweredRequest> seen;
  FrontOptions options;
  options.on_request = [&](const AnsweredRequest& request) { seen.push_back(request); };
  Open(std::move(options));
  ServerAnswer answer = {431, {{"Content-Type", "application/problem+json"}}, "{\"status\":431}\n"};
  front_->Refused("10.0.0.9", answer);
  EXPECT_NE(IdOf(answer), "");
  EXPECT_EQ(answer.body, "{\"status\":431,\"request_id\":\"" + IdOf(answer) + "\"}\n");
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].peer, "10.0.0.9");
  EXPECT_EQ(seen[0].status, 431u);
}

TEST(MediaTypesTest, Accept_GoesByWeights) {
  const auto status = [](const std::string& accept) {
    const auto refusal =
        RefuseTypes(Request("GET", "/", {{"Accept", accept}}), Answers::kJsonOrLines);
    return refusal ? refusal->status : 200u;
  };
  const auto lines = [](const std::string& accept) {
    return WantsLines(Request("GET", "/", {{"Accept", accept}}));
  };
  EXPECT_EQ(status("application/json;q=0"), 406u);
  EXPECT_EQ(status("text/html, application/JSON;q=0.001"), 200u);
  EXPECT_EQ(status("*/*, application/json;q=0, application/x-ndjson;q=0"), 406u);
  EXPECT_EQ(status("application/jsonx"), 406u);
  EXPECT_EQ(status("text/html, */*;q=0.1"), 200u);
  EXPECT_EQ(status("application/*; q=0.0"), 406u);
  EXPECT_TRUE(lines("application/json;q=0.5, application/x-ndjson"));
  EXPECT_FALSE(lines("application/x-ndjson;q=0.2, application/json;q=0.9"));
  EXPECT_TRUE(lines("application/x-ndjson, application/json"));
  EXPECT_FALSE(lines("application/json, application/x-ndjson"));
  EXPECT_FALSE(lines("*/*"));
  EXPECT_TRUE(lines("*/*, application/x-ndjson"));
  EXPECT_FALSE(lines("application/x-ndjson;q=0"));
  EXPECT_TRUE(lines("application/json;q=0, */*"));
}

TEST_F(FrontTest, AccessThatIsReplaced_IsThatOfTheNextRequest) {
  Open();
  std::vector<TokenRule> rules;
  rules.push_back(Rule("audit", kAudit, Scopes::All()));
  front_->Replace(AccessControl::Make(std::move(rules), {}).value());
  EXPECT_EQ(Get("/echo").status, 401u);
  EXPECT_EQ(Get("/echo", Bearer(kAudit)).status, 200u);
  EXPECT_EQ(echo_.client, "audit");
}

// Otherwise each reload, whatever it is for, gives a token that is used up its burst once more.
TEST_F(FrontTest, AccessThatIsReplaced_GoesOnWithWhatTokensHaveUsed) {
  Open();
  auto replace = [this](const std::string& name, const char* token, double burst) {
    std::vector<TokenRule> rules;
    rules.push_back(Rule(name, token, {Scope::kIds}));
    rules[0].per_second = 0.001;
    rules[0].burst = burst;
    front_->Replace(AccessControl::Make(std::move(rules), {}).value());
  };
  replace("shop", kShop, 2);
  EXPECT_EQ(Get("/echo").status, 200u);
  EXPECT_EQ(Get("/echo").status, 200u);
  EXPECT_EQ(Get("/echo").status, 429u);
  replace("shop", kShop, 2);
  EXPECT_EQ(Get("/echo").status, 429u);
  // The same client with a new secret.
  replace("shop", kAudit, 2);
  EXPECT_EQ(Get("/echo", Bearer(kAudit)).status, 429u);
  EXPECT_EQ(Get("/echo").status, 401u);
  // Another limit begins anew; the counts go on.
  replace("shop", kShop, 3);
  EXPECT_EQ(Get("/echo").status, 200u);
  std::vector<TokenRule> rules;
  rules.push_back(Rule("shop", kShop, Scopes::All()));
  front_->Replace(AccessControl::Make(std::move(rules), {}).value());
  const std::string metrics = Get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("locusd_token_requests_total{token=\"shop\"} 7\n"));
  EXPECT_THAT(metrics, HasSubstr("locusd_token_refused_total{token=\"shop\",reason=\"rate\"} 3\n"));
  EXPECT_THAT(metrics, HasSubstr("locusd_unauthorized_total{reason=\"unknown\"} 1\n"));
  // Another client has his own.
  replace("audit", kAudit, 2);
  EXPECT_EQ(Get("/echo", Bearer(kAudit)).status, 200u);
}

}  // namespace
}  // namespace locus::locusd
