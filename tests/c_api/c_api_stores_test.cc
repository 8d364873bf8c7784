// SPDX-License-Identifier: Apache-2.0
// What works with stores and places.
#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "locus/engine/sqlite.h"
#include "locus/open.h"
#include "locus/routing/router.h"
#include "locus/shard_gene.h"
#include "tests/c_api/c_api_fixture.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class CApiStoresTest : public CApiTest {
 protected:
  // With a store that is made where it is missing.
  locus_generator* Generator() {
    locus_generator_options options = LOCUS_GENERATOR_OPTIONS_INIT;
    options.create = 1;
    locus_generator* generator = nullptr;
    EXPECT_EQ(locus_generator_open(Store().c_str(), &options, &generator, &error_), LOCUS_OK)
        << error_.message;
    return generator;
  }
  std::string Table(const RoutingTable& table) {
    const std::string path = directory_ / "table.json";
    std::ofstream(path + ".new") << table.ToJson();
    std::filesystem::rename(path + ".new", path);
    return "file:" + path;
  }
};

// A message ends between two characters, however long what it names is.
TEST_F(CApiStoresTest, LongMessages_AreCutOffBetweenCharacters) {
  for (size_t more = 0; more < 4; ++more) {
    std::string uri = "sqlite:/nowhere/" + std::string(more, 'x');
    for (int i = 0; i < 400; ++i) uri += "\xE4\xBA\xAC";
    locus_generator* generator = nullptr;
    ASSERT_NE(locus_generator_open(uri.c_str(), nullptr, &generator, &error_), LOCUS_OK);
    const std::string message = error_.message;
    EXPECT_LE(message.size(), size_t{LOCUS_MESSAGE_BYTES - 1});
    EXPECT_GE(message.size(), size_t{LOCUS_MESSAGE_BYTES - 4});
    const size_t tail = message.find("\xE4\xBA\xAC");
    ASSERT_NE(tail, std::string::npos);
    EXPECT_EQ((message.size() - tail) % 3, 0u) << message;
    EXPECT_EQ(generator, nullptr);
  }
}

TEST_F(CApiStoresTest, Generators_NeverMakeAnIdTwice) {
  std::set<std::string> made;
  for (int life = 0; life < 3; ++life) {
    locus_generator* const generator = Generator();
    ASSERT_NE(generator, nullptr);
    EXPECT_EQ(locus_generator_warm(generator, 10'000, &error_), LOCUS_OK) << error_.message;
    std::vector<uint16_t> genes;
    for (uint16_t i = 0; i < 1000; ++i) genes.push_back(static_cast<uint16_t>(i % 10 * 6000));
    std::vector<locus_order_id> ids(genes.size());
    size_t count = 0;
    ASSERT_EQ(locus_generator_next_batch(generator, genes.data(), genes.size(), 10'000, ids.data(),
                                         &count, &error_),
              LOCUS_OK)
        << error_.message;
    ASSERT_EQ(count, genes.size());
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(Id(ids[i]).gene().value(), genes[i]);
      EXPECT_TRUE(made.insert(TextOf(ids[i])).second);
    }
    std::array<std::vector<locus_order_id>, 4> of_threads;
    std::vector<std::thread> threads;
    for (auto& of : of_threads) {
      threads.emplace_back([&of, generator] {
        for (int i = 0; i < 500; ++i) {
          locus_order_id id = {};
          if (locus_generator_next(generator, 77, 10'000, &id, nullptr) == LOCUS_OK) {
            of.push_back(id);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& of : of_threads) {
      EXPECT_EQ(of.size(), 500u);
      for (const locus_order_id& id : of) EXPECT_TRUE(made.insert(TextOf(id)).second);
    }
    locus_generator_close(generator);
  }
}

TEST_F(CApiStoresTest, GeneratorThatCannotWait_SaysSo) {
  locus_generator* const generator = Generator();
  locus_order_id id = {7, 8};
  // Nothing is leased yet, and nothing can be: somebody else writes to the file.
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((directory_ / "store.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(locus_generator_next(generator, 1, 0, &id, &error_), LOCUS_DEADLINE_EXCEEDED);
  EXPECT_STRNE(error_.message, "");
  EXPECT_EQ(id.first, 7u);
  size_t made = 5;
  const uint16_t gene = 30'000;
  EXPECT_EQ(locus_generator_next_batch(generator, &gene, 1, 0, &id, &made, &error_),
            LOCUS_DEADLINE_EXCEEDED);
  EXPECT_EQ(made, 0u);
  sqlite3_close(other);
  EXPECT_EQ(locus_generator_next(generator, 1, 60'000, &id, &error_), LOCUS_OK) << error_.message;
  locus_generator_close(generator);
  locus_generator_options options = LOCUS_GENERATOR_OPTIONS_INIT;
  options.space = "Bad Space";
  locus_generator* none = nullptr;
  EXPECT_EQ(locus_generator_open(Store().c_str(), &options, &none, &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("Bad Space"));
  EXPECT_EQ(locus_generator_open("carrier-pigeon:x", nullptr, &none, &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CApiStoresTest, PasswordFiles_ArePrivateAndReadAtOnce) {
  const std::string path = directory_ / "password";
  auto open = [&](const char* password) {
    locus_generator_options options = LOCUS_GENERATOR_OPTIONS_INIT;
    options.password = password;
    options.password_file = path.c_str();
    locus_generator* generator = nullptr;
    const locus_code code =
        locus_generator_open("redis://127.0.0.1:1", &options, &generator, &error_);
    EXPECT_EQ(generator, nullptr);
    EXPECT_THAT(error_.message, ::testing::Not(HasSubstr("hunter2")));
    return code;
  };
  EXPECT_EQ(open(nullptr), LOCUS_NOT_FOUND);
  std::ofstream(path) << "hunter2\nmore\n";
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(open(nullptr), LOCUS_FAILED_PRECONDITION) << error_.message;
  EXPECT_THAT(error_.message, HasSubstr("permissions 640"));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(open(nullptr), LOCUS_UNAVAILABLE) << error_.message;
  EXPECT_EQ(open("hunter2"), LOCUS_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("both set"));
  EXPECT_EQ(open(""), LOCUS_UNAVAILABLE) << "an empty one is none: " << error_.message;
  for (const std::string& text :
       {std::string(), std::string("\nhunter2"), std::string(1025, 'x'), std::string(3000, 'x')}) {
    std::ofstream(path) << text;
    EXPECT_EQ(open(nullptr), LOCUS_INVALID_ARGUMENT) << text.size();
    EXPECT_THAT(error_.message, HasSubstr(path));
  }
  // The other three take it alike.
  std::filesystem::remove(path);
  locus_router_options of_router = LOCUS_ROUTER_OPTIONS_INIT;
  of_router.password_file = path.c_str();
  locus_router* router = nullptr;
  EXPECT_EQ(locus_router_open("etcd://127.0.0.1:1", &of_router, &router, &error_), LOCUS_NOT_FOUND);
  locus_sequence_options of_sequence = LOCUS_SEQUENCE_OPTIONS_INIT;
  of_sequence.password_file = path.c_str();
  locus_sequence* sequence = nullptr;
  EXPECT_EQ(locus_sequence_open("redis://127.0.0.1:1", "k", &of_sequence, &sequence, &error_),
            LOCUS_NOT_FOUND);
  locus_snowflake_options of_snowflake = LOCUS_SNOWFLAKE_OPTIONS_INIT;
  of_snowflake.password_file = path.c_str();
  locus_snowflake* snowflake = nullptr;
  EXPECT_EQ(locus_snowflake_open("redis://127.0.0.1:1", &of_snowflake, &snowflake, &error_),
            LOCUS_NOT_FOUND);
}

TEST_F(CApiStoresTest, Options_OfOtherVersions) {
  locus_generator* generator = nullptr;
  struct Longer {
    locus_generator_options options = LOCUS_GENERATOR_OPTIONS_INIT;
    uint64_t more = 0;
  } longer;
  longer.options.size = sizeof longer;
  longer.options.create = 1;
  ASSERT_EQ(locus_generator_open(Store().c_str(), &longer.options, &generator, &error_), LOCUS_OK)
      << error_.message;
  locus_generator_close(generator);
  generator = nullptr;
  longer.more = 1;
  EXPECT_EQ(locus_generator_open(Store().c_str(), &longer.options, &generator, &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("does not have"));
  locus_generator_options options = LOCUS_GENERATOR_OPTIONS_INIT;
  options.reserved = 1;
  EXPECT_EQ(locus_generator_open(Store().c_str(), &options, &generator, &error_),
            LOCUS_INVALID_ARGUMENT);
  for (const size_t size : {size_t{0}, sizeof options - 1, size_t{1} << 40}) {
    options.size = size;
    EXPECT_EQ(locus_generator_open(Store().c_str(), &options, &generator, &error_),
              LOCUS_INVALID_ARGUMENT);
    EXPECT_THAT(error_.message, HasSubstr(absl::StrCat("size ", size)));
  }
  EXPECT_EQ(generator, nullptr);
}

TEST_F(CApiStoresTest, Routes_AreThoseOfTheLibraryAndFollowTheTable) {
  const std::vector<Shard> shards = {
      {.id = 1, .name = "a", .endpoint = "mysql://127.0.0.1:1/a", .labels = {}},
      {.id = 2, .name = "b", .endpoint = "mysql://127.0.0.1:1/b", .labels = {}}};
  auto table = [&shards](uint64_t epoch, uint32_t permyriad) {
    return RoutingTable::Make(
               epoch, shards, {{32767, 1}, {65535, 2}},
               {{.first = 0, .last = 99, .to = 2, .permyriad = permyriad, .step = epoch}})
        .value();
  };
  const std::string uri = Table(table(1, 2500));
  const Router oracle(table(1, 2500));
  locus_router* router = nullptr;
  ASSERT_EQ(locus_router_open(uri.c_str(), nullptr, &router, &error_), LOCUS_OK) << error_.message;
  EXPECT_EQ(locus_router_epoch(router), 1u);
  locus_shard first = {};
  for (uint64_t i = 0; i < 2000; ++i) {
    locus_order_id id = {};
    ASSERT_EQ(locus_order_id_make(static_cast<uint16_t>(i * 33), i * 977, &id, nullptr), LOCUS_OK);
    locus_shard shard = {};
    ASSERT_EQ(locus_router_route(router, &id, &shard, &error_), LOCUS_OK) << error_.message;
    const RoutedShard& expected = oracle.Route(Id(id));
    EXPECT_EQ(shard.id, expected.id);
    EXPECT_EQ(shard.name, expected.name);
    EXPECT_EQ(shard.endpoint, expected.endpoint);
    if (i == 0) first = shard;
  }
  for (const uint16_t gene : {uint16_t{5}, uint16_t{40'000}}) {
    locus_buyer_route routes[2] = {};
    size_t count = 0;
    ASSERT_EQ(locus_router_routes_of(router, gene, routes, &count, &error_), LOCUS_OK);
    const BuyerRoutes expected = oracle.RoutesOf(ShardGene::FromUint16(gene));
    ASSERT_EQ(count, expected.size());
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(routes[i].shard.id, expected[i].shard->id);
      EXPECT_EQ(routes[i].first_cohort, expected[i].first_cohort);
      EXPECT_EQ(routes[i].end_cohort, expected[i].end_cohort);
    }
  }
  EXPECT_EQ(locus_router_refresh(router, 2, 0, &error_), LOCUS_DEADLINE_EXCEEDED);
  Table(table(2, 10000));
  EXPECT_EQ(locus_router_refresh(router, 2, 60'000, &error_), LOCUS_OK) << error_.message;
  EXPECT_EQ(locus_router_epoch(router), 2u);
  EXPECT_STREQ(first.endpoint, oracle.Route(OrderId()).endpoint.c_str()) << "still valid";
  locus_router_close(router);
  router = nullptr;
  locus_router_options options = LOCUS_ROUTER_OPTIONS_INIT;
  options.open_timeout_ms = 1;
  EXPECT_EQ(
      locus_router_open(("file:" + (directory_ / "none.json")).c_str(), &options, &router, &error_),
      LOCUS_NOT_FOUND)
      << error_.message;
  EXPECT_EQ(router, nullptr);
}

TEST_F(CApiStoresTest, SequenceOfATypesName_AlsoOfADroppedOne_IsNotCountedPlainly) {
  locus_generator_close(Generator());  // makes the file
  auto types = OpenSequenceTypeStore(Store(), {.password = nullptr, .create = true});
  ASSERT_TRUE(types.ok()) << types.status();
  SequenceType type;
  type.name = "tickets";
  type = (*types)->Create(type).value();
  for (const bool dropped : {false, true}) {
    if (dropped) {
      ASSERT_TRUE((*types)->Drop("tickets", type.version).ok());
    }
    for (const char* name : {"tickets", "tickets:", "tickets:north"}) {
      locus_sequence* sequence = nullptr;
      EXPECT_EQ(locus_sequence_open(Store().c_str(), name, nullptr, &sequence, &error_),
                LOCUS_FAILED_PRECONDITION)
          << name << ": " << error_.message;
      EXPECT_EQ(sequence, nullptr);
    }
  }
}

TEST_F(CApiStoresTest, SequenceWhoseNameIsNotComposed_IsRefused) {
  locus_generator_close(Generator());  // makes the file
  locus_sequence* sequence = nullptr;
  EXPECT_EQ(locus_sequence_open(Store().c_str(), "ko\u0308ln", nullptr, &sequence, &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("has U+0308"));
}

TEST_F(CApiStoresTest, Sequences_ContinueTheirCounter) {
  locus_generator_close(Generator());  // makes the file
  locus_sequence_options options = LOCUS_SEQUENCE_OPTIONS_INIT;
  options.increment = 10;
  options.max_value = 1000;
  int64_t last = 0;
  for (int life = 0; life < 2; ++life) {
    locus_sequence* sequence = nullptr;
    ASSERT_EQ(locus_sequence_open(Store().c_str(), "invoices", &options, &sequence, &error_),
              LOCUS_OK)
        << error_.message;
    int64_t number = 0;
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(locus_sequence_next(sequence, 10'000, &number, &error_), LOCUS_OK);
      EXPECT_EQ(number, last + 10);
      last = number;
    }
    int64_t count = 10;
    ASSERT_EQ(locus_sequence_next_block(sequence, 10'000, &number, &count, &error_), LOCUS_OK);
    EXPECT_EQ(number, last + 10);
    EXPECT_LE(count, 10);
    ASSERT_GE(count, 1);
    last += 10 * count;
    locus_sequence_close(sequence);  // gives the rest back
  }
  locus_sequence* sequence = nullptr;
  ASSERT_EQ(locus_sequence_open(Store().c_str(), "invoices", &options, &sequence, &error_),
            LOCUS_OK);
  locus_code code = LOCUS_OK;
  int64_t number = 0;
  while (code == LOCUS_OK) {
    code = locus_sequence_next(sequence, 10'000, &number, &error_);
  }
  EXPECT_EQ(code, LOCUS_OUT_OF_RANGE) << error_.message;
  EXPECT_EQ(number, 1000);
  int64_t count = 0;
  EXPECT_EQ(locus_sequence_next_block(sequence, 0, &number, &count, &error_),
            LOCUS_INVALID_ARGUMENT);
  locus_sequence_close(sequence);
  sequence = nullptr;
  EXPECT_EQ(locus_sequence_open(Store().c_str(), "", nullptr, &sequence, &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(sequence, nullptr);
}

TEST_F(CApiStoresTest, Snowflakes_LeaseTheirWorkerId) {
  const std::string path = directory_ / "leases.db";
  locus_snowflake* none = nullptr;
  EXPECT_EQ(locus_snowflake_open(("sqlite:" + path).c_str(), nullptr, &none, &error_),
            LOCUS_NOT_FOUND)
      << error_.message;
  {
    SqliteSegmentStore::Options create;
    create.create = true;
    auto store = SqliteWorkerLeaseStore::Open(path, create);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  }
  locus_snowflake_options options = LOCUS_SNOWFLAKE_OPTIONS_INIT;
  options.first_worker = 7;
  options.last_worker = 7;
  int64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    locus_snowflake* snowflake = nullptr;
    const absl::Time end = absl::Now() + absl::Minutes(1);
    locus_code code = LOCUS_OK;
    do {  // the ID rests until the last time that an ID of the life before has
      code = locus_snowflake_open(("sqlite:" + path).c_str(), &options, &snowflake, &error_);
    } while (code == LOCUS_RESOURCE_EXHAUSTED && absl::Now() < end);
    ASSERT_EQ(code, LOCUS_OK) << error_.message;
    uint64_t worker = 0;
    EXPECT_EQ(locus_snowflake_worker(snowflake, &worker, &error_), LOCUS_OK);
    EXPECT_EQ(worker, 7u);
    std::vector<int64_t> ids(10'000);
    size_t made = 0;
    ASSERT_EQ(locus_snowflake_next_batch(snowflake, ids.data(), ids.size(), &made, &error_),
              LOCUS_OK)
        << error_.message;
    ASSERT_EQ(made, ids.size());
    for (const int64_t id : ids) {
      EXPECT_GT(id, last);
      last = id;
    }
    int64_t id = 0;
    ASSERT_EQ(locus_snowflake_next(snowflake, &id, &error_), LOCUS_OK) << error_.message;
    EXPECT_GT(id, last);
    last = id;
    options.patience_ms = 1;
    EXPECT_EQ(locus_snowflake_open(("sqlite:" + path).c_str(), &options, &none, &error_),
              LOCUS_RESOURCE_EXHAUSTED)
        << error_.message;
    options.patience_ms = 0;
    locus_snowflake_close(snowflake);
  }
}

}  // namespace
}  // namespace locus
