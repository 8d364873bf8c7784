// SPDX-License-Identifier: Apache-2.0
// The console beside a real move: two MariaDB servers, a runner, a move file; and a routing table
// whose place is MariaDB.
#include <sys/stat.h>

#include <fstream>

#include "locus/routing/open.h"
#include "tests/console/console_fixture.h"
#include "tests/run/move_fixture.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ConsoleMoveTest : public MoveFixture {
 protected:
  void SetUp() override {
    MoveFixture::SetUp();
    // As the file names it.
    move_.name = "peak.1>2";
    const std::string password = directory_ / "password";
    ASSERT_TRUE(internal::WritePrivateFile(password, "s3cret\n", true).ok());
    std::ofstream(directory_ / "peak.toml")
        << "name = \"peak\"\ntable = \"file:" << directory_ / "table.json"
        << "\"\nmovers = [\"mover@127.0.0.1\"]\n"
           "[[tables]]\nname = \"orders\"\n"
           "[[tables]]\nname = \"items\"\nprimary_key = [\"order_id\", \"line\"]\n"
           "[accounts.mover]\nuser = \"mover\"\npassword_file = \""
        << password << "\"\n";
    auto parts = std::make_shared<IdParts>();
    RouterOptions router;
    router.confirm_every = absl::Milliseconds(200);
    parts->router =
        Router::Open(OpenTableSource(absl::StrCat("file:", directory_ / "table.json")).value(),
                     router)
            .value();
    parts_ = std::move(parts);
  }
  ConsoleParts Parts() {
    ConsoleParts parts;
    parts.ids = [this] { return parts_; };
    parts.move_file = directory_ / "peak.toml";
    return parts;
  }
  void Fits(const std::string& name, const json& value) {
    EXPECT_EQ(types_.Misfit(name, value), "");
  }

  const ApiTypes types_ = ApiTypes::Load();
  std::shared_ptr<const IdParts> parts_;
};

// Opening it would wait for a writer, at the start and at every reload.
TEST(ConsoleMoveFileTest, Fifo_IsRefused_AndNotWaitedFor) {
  const TemporaryDirectory directory;
  ConsoleParts parts;
  parts.move_file = directory / "fifo";
  ASSERT_EQ(mkfifo(parts.move_file.c_str(), 0600), 0);
  ConsoleServer server({}, {});
  const std::string fifo = parts.move_file;
  EXPECT_THAT(std::string(server.console().Replace(std::move(parts)).message()),
              ::testing::AllOf(HasSubstr(fifo), HasSubstr("is not a regular file")));
}

TEST_F(ConsoleMoveTest, MoveUnderWay_IsToldAsTheCommandShowsIt) {
  ConsoleServer server(Parts(), {});
  const json before = server.Get("/v1/moves");
  Fits("MovesAnswer", before);
  ASSERT_EQ(before["moves"].size(), 1u) << before.dump(1);
  EXPECT_EQ(before["moves"][0]["state"], "not begun");
  EXPECT_THAT(before["moves"][0].value("next", ""), HasSubstr("locus move preflight"));
  EXPECT_EQ(before["file"], directory_ / "peak.toml");
  EXPECT_TRUE(before["error"].is_null());

  for (int i = 0; i < 200; ++i) {
    Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (",
                        uint64_t{50} << 47 | static_cast<uint64_t>(i + 1), ", ", i, ")"));
  }
  EventReader events(server);
  Begin();
  const auto runner = StartRunner("one");
  WaitForPhase(internal::Phase::kReady);
  Ask([](internal::Wish& wish) { wish.goal = 5000; });
  const json moving = events.NextOf("moves", [](const json& told) {
    return !told["moves"].empty() && told["moves"][0]["share"] == 5000 &&
           told["moves"][0].contains("figures") && told["moves"][0]["figures"].contains("gates");
  });
  ASSERT_FALSE(moving.is_null());
  Fits("MovesAnswer", moving);
  const json& move = moving["moves"][0];
  Fits("MoveStatus", move);
  Fits("MoveSide", move["source"]);
  Fits("MoveFigures", move["figures"]);
  Fits("MoveStream", move["figures"]["forth"]);
  EXPECT_EQ(move["move"], "peak.1>2");
  EXPECT_EQ(move["vnodes"], json({{0, 99}, {200, 299}}));
  // What both shards accept is disjoint and complete.
  EXPECT_EQ(move["source"]["fence"]["own_lo"], 5000);
  EXPECT_EQ(move["target"]["fence"]["own_hi"], 5000);
  ASSERT_FALSE(move["figures"]["gates"].empty());
  EXPECT_TRUE(move["figures"]["gates"][0].contains("threshold"));
  EXPECT_TRUE(move["figures"]["gates"][0].contains("value"));
  EXPECT_LT(move["runner"]["silent_ms"], 120'000);
  EXPECT_EQ(moving["table_moves"].size(), 2u);

  // The load is what the shards count. Here the move alone writes, and no ID comes from this
  // process.
  EXPECT_TRUE(WaitUntil([&] {
    const json shards = server.Get("/v1/shards");
    Fits("ShardsAnswer", shards);
    if (shards["load"]["writes_window_ms"] == 0) return false;
    const json& written = shards["shards"][0]["writes"];
    return written.is_object() && written["per_second"] > 0 && written["portion"] > 0 &&
           written["portion"] <= 1 && shards["shards"][1]["writes"].is_object();
  }));

  // A shard that does not answer is said to, and the rest stands as it was known.
  servers_[1]->Stop();
  const json half = events.NextOf("moves", [](const json& told) {
    return !told["moves"].empty() && told["moves"][0]["target"]["fence"].contains("trouble") &&
           told["moves"][0]["share"].is_null();
  });
  EXPECT_FALSE(half.is_null());
  servers_[0]->Stop();
  const json blind =
      events.NextOf("moves", [](const json& told) { return !told["error"].is_null(); });
  EXPECT_FALSE(blind.is_null());
  EXPECT_EQ(server.Get("/v1/table")["epoch"], blind["epoch"]);
}

TEST_F(ConsoleMoveTest, TableInMariadb_IsShownAndPublishedTo) {
  servers_[0]->Sql(
      "CREATE DATABASE routing; CREATE USER router@'127.0.0.1' IDENTIFIED BY 's3cret';"
      "GRANT ALL ON routing.* TO router@'127.0.0.1'");
  const std::string place =
      absl::StrCat("mysql://router@127.0.0.1:", servers_[0]->port(), "/routing");
  const TableUriOptions options{.password = [] { return std::string_view("s3cret"); }};
  ASSERT_TRUE(CreateTablePlace(place, options).ok());
  auto publisher = OpenTablePublisher(place, options).value();
  ASSERT_TRUE(publisher->Publish(TableAt(1, {}), 0).ok());
  auto followed = std::make_shared<IdParts>();
  followed->router = Router::Open(OpenTableSource(place, options).value(), {}).value();
  ConsoleParts parts;
  parts.ids = [followed] { return followed; };
  parts.table_place = place;
  parts.open_publisher = [&] { return OpenTablePublisher(place, options); };
  ConsoleServer server(std::move(parts), {});

  EXPECT_EQ(server.Get("/v1/table/history")["tables"].size(), 1u);
  EventReader events(server);
  const http::HttpAnswer planned = server.Post("/v1/plan", {{"weights", {{"orders-b", 100}}}});
  ASSERT_EQ(planned.status, 200u) << planned.body;
  const json plan = json::parse(planned.body);
  ASSERT_FALSE(plan["next"].is_null());
  const json publication = {
      {"epoch", 1}, {"plan", plan["plan"]}, {"digest", plan["next"]["digest"]}};
  EXPECT_EQ(server.Post("/v1/plan:publish", publication).status, 200u);
  EXPECT_EQ(publisher->Current()->epoch(), 2u);
  events.NextOf("table", [](const json& told) { return told["epoch"] == 2; });
  const json diff = server.Get("/v1/table/diff?before=1&after=2");
  EXPECT_EQ(diff["after"]["moves"], plan["next"]["diff"]["after"]["moves"]);
  // Somebody else publishes between plan and publication.
  const json late = json::parse(server.Post("/v1/plan", {{"weights", {{"orders-b", 50}}}}).body);
  ASSERT_TRUE(publisher->Publish(WithEpoch(*publisher->Current(), 3).value(), 2).ok());
  const http::HttpAnswer conflict = server.Post(
      "/v1/plan:publish", {{"epoch", 2}, {"plan", late["plan"]}, {"digest", std::string(64, '0')}});
  EXPECT_EQ(conflict.status, 409u) << conflict.body;
  events.NextOf("table", [](const json& told) { return told["epoch"] == 3; });
  // The place goes away: the table in force stays, and the console says what is wrong.
  servers_[0]->Stop();
  events.NextOf("table", [](const json& told) { return told["source"]["state"] == "failing"; });
  EXPECT_EQ(server.Get("/v1/table")["epoch"], 3);
  EXPECT_EQ(server.Ask("GET", "/v1/table/history").status, 503u);
}

}  // namespace
}  // namespace locus::locusd
