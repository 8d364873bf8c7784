// SPDX-License-Identifier: Apache-2.0
// The console over HTTP: an ID service in memory, a routing table in a file.
#include "apps/locusd/console/console_api.h"

#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/match.h"
#include "locus/routing/rebalance.h"
#include "tests/console/console_api_fixture.h"
#include "tests/support/private_server.h"

namespace locus::locusd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST_F(ConsoleApiTest, Session_SaysWhatTheTokenAllows_AndNothingWithoutOne) {
  const json nobody = server_->Get("/v1/console/session", "");
  EXPECT_EQ(nobody, json({{"scopes", json::array()}, {"mode", "configured"}}));
  const json reader = server_->Get("/v1/console/session");
  Fits("Session", reader);
  EXPECT_EQ(reader["scopes"], json({"read"}));
  EXPECT_EQ(reader["client"], "reader");
  EXPECT_EQ(reader["offers"]["publish"], true);
  EXPECT_EQ(reader["offers"]["moves"], false);
  EXPECT_THAT(reader["absent"].value("moves", ""), HasSubstr("no move file"));
  EXPECT_EQ(server_->Get("/v1/console/session", ConsoleServer::kPublisher)["scopes"],
            json({"read", "publish", "decode"}));
  EXPECT_EQ(server_->Ask("GET", "/v1/console/session", "unknown-token-0123456").status, 401u);
}

TEST_F(ConsoleApiTest, Session_NamesTheEnvironment_ToReadersOnly) {
  EXPECT_FALSE(server_->Get("/v1/console/session").contains("environment"));
  ConsoleParts parts;
  parts.environment = "production";
  parts.colour = "red";
  const ConsoleServer named(std::move(parts), {});
  const json reader = named.Get("/v1/console/session");
  Fits("Session", reader);
  EXPECT_EQ(reader["environment"], "production");
  EXPECT_EQ(reader["colour"], "red");
  EXPECT_FALSE(named.Get("/v1/console/session", "").contains("environment"));
}

TEST_F(ConsoleApiTest, WithoutTheScope_NothingIsShown) {
  for (const char* path :
       {"/v1/table", "/v1/table/history", "/v1/table/diff?before=1", "/v1/shards", "/v1/moves",
        "/v1/events", "/v1/stats", "/v1/inspect?text=1", "/v1/leases", "/v1/members"}) {
    EXPECT_EQ(server_->Ask("GET", path, "").status, 401u) << path;
    EXPECT_EQ(server_->Ask("GET", path, ConsoleServer::kMaker).status, 403u) << path;
  }
  EXPECT_EQ(server_->Post("/v1/plan", {}, ConsoleServer::kMaker).status, 403u);
  EXPECT_EQ(server_->Post("/v1/plan:publish", {}, ConsoleServer::kReader).status, 403u);
  EXPECT_EQ(server_->Post("/v1/plan:publish", {}, "").status, 401u);
}

TEST_F(ConsoleApiTest, Page_NeedsNoToken) {
  const http::HttpAnswer page = server_->Ask("GET", "/", "");
  EXPECT_EQ(page.status, 200u);
  EXPECT_THAT(page.body, HasSubstr("<script"));
  EXPECT_THAT(std::string(page.Header("Content-Security-Policy")), HasSubstr("default-src 'none'"));
  EXPECT_EQ(server_->Ask("GET", "/nothing", "").status, 401u);
}

TEST_F(ConsoleApiTest, TableHistoryAndDiff_AreThoseOfThePlace) {
  const json table = server_->Get("/v1/table");
  Fits("TableAnswer", table);
  Fits("TableDocument", table["document"]);
  Fits("TableSourceState", table["source"]);
  EXPECT_EQ(table["epoch"], 2);
  EXPECT_EQ(table["source"]["state"], "following");
  EXPECT_EQ(RoutingTable::Parse(table["document"].dump()).value(), publisher_->Current().value());

  const json first = server_->Get("/v1/table?epoch=1");
  EXPECT_EQ(first["document"]["epoch"], 1);
  EXPECT_TRUE(first["source"].is_null());
  ExpectProblem(server_->Ask("GET", "/v1/table?epoch=9"), 404, "NOT_FOUND", "9");
  ExpectProblem(server_->Ask("GET", "/v1/table?epoch=x"), 400, "INVALID_ARGUMENT", "epoch");
  ExpectProblem(server_->Ask("GET", "/v1/table?table=1"), 400, "INVALID_ARGUMENT", "table");

  const json history = server_->Get("/v1/table/history?most=10");
  Fits("TableHistory", history);
  ASSERT_EQ(history["tables"].size(), 2u);
  EXPECT_EQ(history["tables"][0]["epoch"], 2);

  const json diff = server_->Get("/v1/table/diff?before=1");
  Fits("TableDiff", diff);
  EXPECT_EQ(diff["before"]["epoch"], 1);
  EXPECT_EQ(diff["after"]["moves"].size(), 1u);
  EXPECT_THAT(diff["text"].get<std::string>(), HasSubstr("0..9999"));
  ExpectProblem(server_->Ask("GET", "/v1/table/diff"), 400, "INVALID_ARGUMENT", "before");
}

TEST_F(ConsoleApiTest, Shards_HaveTheirSharesAndMoves) {
  const json answer = server_->Get("/v1/shards");
  Fits("ShardsAnswer", answer);
  ASSERT_EQ(answer["shards"].size(), 2u);
  const json& a = answer["shards"][0];
  EXPECT_EQ(a["vnodes"], 32'768);
  EXPECT_EQ(a["portion"], 0.5);
  EXPECT_EQ(a["weight_portion"], 0.5);
  EXPECT_EQ(a["moving_out"], 10'000);
  EXPECT_EQ(answer["shards"][1]["moving_in"], 10'000);
  EXPECT_EQ(a["labels"]["tier"], "hot");
  EXPECT_TRUE(a["load"].is_null());
  EXPECT_THAT(answer["load"].value("why_absent", ""), HasSubstr("long enough"));
}

TEST_F(ConsoleApiTest, Moves_WithoutAFile_AreThoseOfTheTable) {
  const json moves = server_->Get("/v1/moves");
  Fits("MovesAnswer", moves);
  ASSERT_EQ(moves["table_moves"].size(), 1u);
  EXPECT_EQ(moves["table_moves"][0]["from"], 1);
  EXPECT_EQ(moves["table_moves"][0]["to"], 2);
  EXPECT_EQ(moves["moves"], json::array());
}

TEST_F(ConsoleApiTest, Plan_IsThatOfTheCommand_AndPublishesNothing) {
  const json answer = Plan(AddC());
  Fits("PlanAnswer", answer);
  Fits("Plan", answer["plan"]);
  Fits("TableDiff", answer["next"]["diff"]);
  EXPECT_THAT(answer["svg"].get<std::string>(), HasSubstr("<svg"));
  RebalanceRequest request;
  request.add.push_back({.name = "c", .endpoint = "mysql://127.0.0.1:3/c"});
  const RebalancePlan plan = PlanRebalance(Table(2, {{0, 9'999, 2, 0, 0}}), request).value();
  EXPECT_EQ(answer["plan"], json::parse(PlanAsJson(plan)));
  EXPECT_EQ(answer["next"]["diff"]["shards_added"][0]["name"], "c");
  EXPECT_EQ(publisher_->Current()->epoch(), 2u);

  const json nothing = Plan({{"epoch", 2}, {"plan", Plan({{"weights", {{"a", 100}}}})["plan"]}});
  EXPECT_EQ(nothing["epoch"], 2);
}

TEST_F(ConsoleApiTest, BadPlans_AreRefused_AndSayWhy) {
  auto refuse = [&](const json& body, unsigned status, const char* code, const char* why) {
    ExpectProblem(server_->Post("/v1/plan", body), status, code, why);
  };
  refuse({{"remove", {"x"}}}, 400, "INVALID_ARGUMENT", "x");
  refuse({{"weights", {{"a", 0}, {"b \"2\"", 0}}}}, 400, "INVALID_ARGUMENT", "weight");
  refuse({{"epoch", 1}}, 409, "ABORTED", "epoch 2 is the newest");
  refuse({{"load", "ids"}}, 400, "INVALID_ARGUMENT", "no order IDs");
  refuse({{"plan", {{"epoch", 1}}}}, 400, "INVALID_ARGUMENT", "");
  const http::HttpAnswer text =
      server_->Ask("POST", "/v1/plan", ConsoleServer::kReader,
                   "{\"add\":", {{"Content-Type", "application/json"}, {"Locus-Console", "1"}});
  ExpectProblem(text, 400, "INVALID_ARGUMENT", "not JSON");
}

TEST_F(ConsoleApiTest, Publication_BeginsTheMoves_OnceHoweverOftenItIsSent) {
  const json plan = Plan(AddC());
  json publication = PublicationOf(plan);
  publication["reason"] = "ticket 4711";
  const http::HttpAnswer answer = server_->Post("/v1/plan:publish", publication);
  ASSERT_EQ(answer.status, 200u) << answer.body;
  const json published = json::parse(answer.body);
  Fits("PublishAnswer", published);
  EXPECT_EQ(published["epoch"], 3);
  EXPECT_EQ(published["already"], false);
  EXPECT_EQ(published["diff"], plan["next"]["diff"]);
  const RoutingTable now = publisher_->Current().value();
  EXPECT_EQ(now.epoch(), 3u);
  EXPECT_EQ(now.shards().size(), 3u);
  EXPECT_EQ(now.moves().size(), 1 + plan["next"]["begins"].get<size_t>());

  {
    internal::MutexLock lock(told_mutex_);
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_NE(told_[0].client, "");
    EXPECT_EQ(told_[0].peer, "127.0.0.1");
    EXPECT_EQ(told_[0].request_id, answer.Header("X-Request-Id"));
    EXPECT_EQ(told_[0].answer.value() + "\n", answer.body);
    EXPECT_EQ(told_[0].reason, "ticket 4711");
    EXPECT_EQ(publisher_->History(1).value()[0].note,
              (PublicationNote{told_[0].client, "ticket 4711"}));
    EXPECT_EQ(told_[0].change, published["diff"]["text"]);
    EXPECT_EQ(told_[0].epoch, 3u);
    EXPECT_EQ(told_[0].place, absl::StrCat("file:", directory_ / "table.json"));
  }
  // The answer was lost, and the page sends it again.
  const http::HttpAnswer again = server_->Post("/v1/plan:publish", PublicationOf(plan));
  ASSERT_EQ(again.status, 200u) << again.body;
  EXPECT_EQ(json::parse(again.body)["already"], true);
  EXPECT_EQ(json::parse(again.body)["diff"], plan["next"]["diff"]);
  EXPECT_EQ(publisher_->Current()->epoch(), 3u);
  EXPECT_THAT(server_->console().Metrics(), HasSubstr("locusd_console_publications_total 1"));
  internal::MutexLock lock(told_mutex_);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_FALSE(told_[0].already);
  EXPECT_TRUE(told_[1].already);
}

TEST_F(ConsoleApiTest, Publication_AfterSomebodyElses_IsRefused) {
  const json plan = Plan(AddC());
  ASSERT_TRUE(
      publisher_->Publish(Table(3, {{0, 9'999, 2, 500, 1}}), 2, {.moves = {{0, 9'999}}}).ok());
  ExpectProblem(server_->Post("/v1/plan:publish", PublicationOf(plan)), 409, "ABORTED",
                "has epoch 3, and the plan was made from epoch 2");
  EXPECT_EQ(publisher_->Current()->epoch(), 3u);
  EXPECT_EQ(publisher_->Current()->shards().size(), 2u);
}

TEST_F(ConsoleApiTest, Publication_OfAnotherChangeThanWasShown_IsRefused) {
  const json plan = Plan(AddC());
  json changed = PublicationOf(plan);
  changed["most_per_shard"] = 100;
  const http::HttpAnswer answer = server_->Post("/v1/plan:publish", changed);
  if (plan["next"]["waits"] != 0) {
    ExpectProblem(answer, 409, "ABORTED", "digest");
  }
  json other = PublicationOf(plan);
  other["digest"] = std::string(64, '0');
  ExpectProblem(server_->Post("/v1/plan:publish", other), 409, "ABORTED", "digest");
  json tampered = PublicationOf(plan);
  tampered["plan"]["shards"][2]["endpoint"] = "mysql://127.0.0.1:9/evil";
  ExpectProblem(server_->Post("/v1/plan:publish", tampered), 409, "ABORTED", "digest");
  EXPECT_EQ(publisher_->Current()->epoch(), 2u);
}

// What a form or a script of another page can send without being asked.
TEST_F(ConsoleApiTest, ForeignPages_ChangeNothing) {
  const std::string body = AddC().dump();
  auto send = [&](const ConsoleServer::Headers& headers) {
    return server_->Ask("POST", "/v1/plan", ConsoleServer::kReader, body, headers).status;
  };
  EXPECT_EQ(send({}), 415u);
  EXPECT_EQ(send({{"Content-Type", "text/plain"}, {"Locus-Console", "1"}}), 415u);
  EXPECT_EQ(send({{"Content-Type", "application/json"}}), 403u);
  const ConsoleServer::Headers page = {{"Content-Type", "application/json"},
                                       {"Locus-Console", "1"}};
  auto with = [&](const char* name, const std::string& value) {
    ConsoleServer::Headers headers = page;
    headers.emplace_back(name, value);
    return send(headers);
  };
  EXPECT_EQ(with("Sec-Fetch-Site", "cross-site"), 403u);
  EXPECT_EQ(with("Sec-Fetch-Site", "same-site"), 403u);
  EXPECT_EQ(with("Sec-Fetch-Site", "same-origin"), 200u);
  EXPECT_EQ(with("Origin", "http://evil.example"), 403u);
  EXPECT_EQ(with("Origin", "null"), 403u);
  EXPECT_EQ(with("Origin", absl::StrCat("http://127.0.0.1:", server_->server().port())), 200u);
}

// By the document of the API.
TEST_F(ConsoleApiTest, OtherMethods_AreToldThoseThatThereAre) {
  auto allow = [&](const char* method, const char* path) {
    const http::HttpAnswer answer = server_->Ask(method, path);
    return absl::StrCat(answer.status, " ", std::string(answer.Header("Allow")));
  };
  EXPECT_EQ(allow("GET", "/v1/plan"), "405 POST, OPTIONS");
  for (const char* path : {"/", "/v1/table", "/v1/moves", "/v1/events", "/v1/stats"}) {
    EXPECT_EQ(allow("DELETE", path), "405 GET, HEAD, OPTIONS") << path;
  }
}

// A name of the attacker's that resolves to 127.0.0.1.
TEST_F(ConsoleApiTest, WithoutTokens_AnotherHost_GetsNothing) {
  ConsoleServer open(Parts(), {.laptop = true}, /*tokens=*/false);
  EXPECT_EQ(open.Get("/v1/console/session", "")["mode"], "laptop");
  EXPECT_EQ(open.Get("/v1/console/session", "")["scopes"].size(), 3u);
  const int fd = ConnectToLoopback(open.server().port());
  const std::string request =
      "GET /v1/table HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  char answer[64] = {};
  ASSERT_GT(recv(fd, answer, sizeof answer - 1, MSG_WAITALL), 0);
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 403 "));
  close(fd);
}

TEST_F(ConsoleApiTest, Stats_AreThoseOfTheProcess_WithTheirHistory) {
  for (uint64_t buyer = 0; buyer < 100; ++buyer) TakeId(buyer);
  ASSERT_TRUE((*parts_->sequences->Find("invoices"))->Next(absl::Seconds(60)).ok());
  ASSERT_TRUE(parts_->snowflake->Next().ok());
  json stats;
  // The figures are those of the console's last look, which may lie between two of the calls above.
  ASSERT_TRUE(WaitUntil([&] {
    stats = server_->Get("/v1/stats");
    const json& current = stats["current"];
    return current["orders"]["ids"] == 100 && current["snowflake"]["ids"] == 1 &&
           stats["history"]["at_ms"].size() >= 2;
  })) << stats;
  Fits("StatsAnswer", stats);
  Fits("Stats", stats["current"]);
  Fits("StatsHistory", stats["history"]);
  Fits("StoreStats", stats["current"]["orders"]["stores"][0]);
  Fits("Latency", stats["current"]["orders"]["store_latency"]);
  EXPECT_EQ(stats["current"]["sequences"][0]["name"], "invoices");
}

TEST_F(ConsoleApiTest, Inspect_AnswersAsTheCommandDoes_AndDecodesForFew) {
  const std::string text = TakeId(12345);
  const OrderId id = OrderId::Parse(text).value();
  const json of_id = server_->Get("/v1/inspect?text=" + text);
  Fits("InspectAnswer", of_id);
  EXPECT_EQ(of_id["kind"], "order_id");
  EXPECT_EQ(of_id["gene"], id.gene().value());
  EXPECT_EQ(of_id["cohort"], id.cohort());
  EXPECT_FALSE(of_id.contains("order_no"));
  EXPECT_TRUE(of_id.contains("shard"));

  const std::string number = codec_->Encode(id)->ToString();
  const json hidden = server_->Get("/v1/inspect?text=" + number);
  Fits("InspectAnswer", hidden);
  EXPECT_EQ(hidden["gene"], id.gene().value());
  EXPECT_FALSE(hidden.contains("order_id"));
  EXPECT_FALSE(hidden.contains("sequence"));
  const json decoded = server_->Get("/v1/inspect?text=" + number, ConsoleServer::kPublisher);
  EXPECT_EQ(decoded["order_id"], text);

  const json gene = server_->Get("/v1/inspect?text=gene:7");
  Fits("InspectAnswer", gene);
  EXPECT_EQ(gene["shard"], "a");
  EXPECT_EQ(gene["permyriad"], 0);
  EXPECT_EQ(server_->Get("/v1/inspect?text=buyer:12345")["gene"], id.gene().value());
  const int64_t snowflake = parts_->snowflake->Next().value();
  const json flake = server_->Get(absl::StrCat("/v1/inspect?text=snowflake:", snowflake));
  Fits("InspectAnswer", flake);
  EXPECT_EQ(flake["kind"], "snowflake");
  for (const char* bad : {"", "?text=", "?text=gene:70000", "?text=buyer:x", "?text=xyz",
                          "?text=%zz", "?text=1&text=2"}) {
    EXPECT_EQ(server_->Ask("GET", absl::StrCat("/v1/inspect", bad)).status, 400u) << bad;
  }
}

TEST_F(ConsoleApiTest, LeasesOfTheService_AreListed_AndMembersAreAbsent) {
  const json leases = server_->Get("/v1/leases");
  Fits("LeasesAnswer", leases);
  ASSERT_EQ(leases["workers"].size(), 1u);
  EXPECT_EQ(server_->Get("/v1/leases?from=1024")["workers"].size(), 0u);
  EXPECT_EQ(server_->Ask("GET", "/v1/leases?space=A!").status, 400u);
  ExpectProblem(server_->Ask("GET", "/v1/members"), 404, "NOT_FOUND", "no cluster");
}

TEST_F(ConsoleApiTest, WithoutAnIdService_SaysSo) {
  server_.emplace(ConsoleParts(), options_);
  const json session = server_->Get("/v1/console/session");
  EXPECT_EQ(session["offers"]["table"], false);
  EXPECT_EQ(session["offers"]["stats"], false);
  ExpectProblem(server_->Ask("GET", "/v1/table"), 404, "NOT_FOUND", "no ID service");
  EXPECT_TRUE(server_->Get("/v1/stats")["current"]["orders"].is_null());
}

TEST_F(ConsoleApiTest, ManyThreads_AskAndPublish_AndOneWins) {
  const json plan = Plan(AddC());
  std::vector<std::thread> threads;
  std::atomic<int> won = 0, already = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const char* path : {"/v1/table", "/v1/shards", "/v1/stats", "/v1/moves"}) {
        EXPECT_EQ(server_->Ask("GET", path).status, 200u);
      }
      const http::HttpAnswer answer = server_->Post("/v1/plan:publish", PublicationOf(plan));
      EXPECT_EQ(answer.status, 200u) << answer.body;
      ++(absl::StrContains(answer.body, "\"already\":true") ? already : won);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(won, 1);
  EXPECT_EQ(publisher_->Current()->epoch(), 3u);
}

}  // namespace
}  // namespace locus::locusd
