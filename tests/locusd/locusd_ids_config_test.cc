// SPDX-License-Identifier: Apache-2.0
// What a configuration says of roles, of the ID service and of tokens.
#include <sys/stat.h>

#include <fstream>

#include "apps/locusd/config/config.h"
#include "apps/locusd/config/config_template.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kService[] = R"(roles = ["id-service"]
[api]
listen = "127.0.0.1:7070"
[ids]
)";

std::string Refusal(const std::string& text) {
  auto config = ParseConfig(text, "ids.toml");
  EXPECT_FALSE(config.ok()) << text;
  EXPECT_TRUE(absl::IsInvalidArgument(config.status())) << config.status();
  return std::string(config.status().message());
}
Config Good(const std::string& text) {
  auto config = ParseConfig(text, "ids.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config();
}

TEST(LocusdIdsConfigTest, Roles_DecideWhichSectionsThereAre) {
  const Config service = Good(kService);
  EXPECT_TRUE(service.id_service);
  EXPECT_FALSE(service.cluster_node);
  EXPECT_TRUE(service.ids);
  EXPECT_FALSE(service.ids->orders);

  const std::string node =
      "cluster = \"c\"\ndata = \"d\"\n[raft]\nlisten = \"127.0.0.1:1\"\n"
      "[api]\nlisten = \"127.0.0.1:2\"\n";
  EXPECT_TRUE(Good(node).cluster_node) << "files of before are of nodes";
  EXPECT_FALSE(Good(node).id_service);
  EXPECT_THAT(Refusal(node + "[ids]\n"), HasSubstr("ids.toml:7:1: ids is for the role id-service"));
  const Config both = Good("roles = [\"cluster-node\", \"id-service\"]\n" + node + "[ids]\n");
  EXPECT_TRUE(both.cluster_node && both.id_service);

  EXPECT_THAT(
      Refusal("cluster = \"c\"\n" + std::string(kService) + "[raft]\nlisten = \"127.0.0.1:1\"\n"),
      AllOf(HasSubstr("ids.toml:1:11: cluster is for the role cluster-node"),
            HasSubstr("ids.toml:6:1: raft is for the role cluster-node")));
  EXPECT_THAT(
      Refusal("roles = [\"leader\"]\n[api]\nlisten = \"127.0.0.1:1\"\n"),
      HasSubstr(
          "roles is \"leader\"; it must be \"cluster-node\", \"id-service\" or \"sequence-node\""));
  EXPECT_THAT(Refusal("roles = []\n" + node), HasSubstr("roles has no role"));
  EXPECT_THAT(Refusal("roles = [\"id-service\"]\n[api]\nlisten = \"127.0.0.1:1\"\n"),
              HasSubstr("ids is missing"));
  EXPECT_THAT(Refusal("roles = [\"id-service\"]\n[api]\nlisten = \"127.0.0.1:1\"\n"
                      "advertise = \"a:1\"\n[ids]\n"),
              HasSubstr("ids.toml:4:13: api.advertise is for the role cluster-node"));
}

TEST(LocusdIdsConfigTest, WrongRole_IsAllThatIsSaid) {
  EXPECT_EQ(Refusal("roles = [\"id-servce\"]\nwat = 1\n[api]\nlisten = \"127.0.0.1:1\"\n[ids]\n"),
            "ids.toml:1:10: roles is \"id-servce\"; it must be \"cluster-node\", \"id-service\" or "
            "\"sequence-node\"");
  EXPECT_EQ(
      Refusal("roles = \"id-service\"\n[api]\nlisten = \"127.0.0.1:1\"\n[ids]\n"),
      "ids.toml:1:9: roles is the text \"id-service\"; it must be a list of texts, [\"...\"]");
}

TEST(LocusdIdsConfigTest, WrongFile_IsToldWithThePlaceOfItsKey) {
  const TemporaryDirectory directory;
  const Config config = Good(std::string(kService) + "[[token]]\nname = \"a\"\nfile = \"" +
                             (directory / "none") + "\"\nscopes = [\"ids\"]\n");
  const absl::Status tokens = ReadTokens(config).status();
  EXPECT_TRUE(absl::IsNotFound(tokens)) << tokens;
  EXPECT_THAT(std::string(tokens.message()),
              AllOf(HasSubstr("ids.toml:7:8: token[0].file: "), HasSubstr(directory / "none")));
  EXPECT_TRUE(config.At("ids.keys", absl::OkStatus()).ok());
  EXPECT_EQ(config.At("no.key", absl::UnavailableError("away")),
            absl::UnavailableError("no.key: away"));
}

TEST(LocusdIdsConfigTest, EveryKeyOfIds_IsRead) {
  const Config config = Good(std::string(kService) + R"(buyers = "text"
space = "shop"
keys = "ring"
wait = "1s"
waiters = 2
waiting = 3
remember = "5m"
remember_bytes = 2000000
[ids.orders]
store = "mysql://locus@127.0.0.1:3306/ids"
password_file = "p1"
create = true
wide = true
horizon = "1m"
[ids.sequences]
store = "redis://127.0.0.1:6379"
password_file = "p2"
ceiling = "sqlite:ceiling.db"
ceiling_password_file = "p3"
create = true
names = ["a", "b"]
most = 5
horizon = "2m"
[ids.snowflake]
leases = "locusd://127.0.0.1:7070"
password_file = "p4"
space = "workers"
create = true
ttl = "1m"
max_skew = "2s"
datacenter = 3
[ids.table]
place = "etcd://127.0.0.1:2379/locus"
password_file = "p5"
last_good_file = "good"
confirm_every = "1s"
)");
  const IdSettings& ids = *config.ids;
  EXPECT_TRUE(ids.text_buyers);
  EXPECT_EQ(ids.space.str(), "shop");
  EXPECT_EQ(ids.keys, "ring");
  EXPECT_EQ(ids.wait, absl::Seconds(1));
  EXPECT_EQ(ids.waiters, 2u);
  EXPECT_EQ(ids.waiting, 3u);
  EXPECT_EQ(ids.remember, absl::Minutes(5));
  EXPECT_EQ(ids.remember_bytes, 2'000'000u);
  ASSERT_EQ(ids.orders->members.size(), 1u);
  EXPECT_EQ(ids.orders->members[0].place,
            (PlaceSettings{"mysql://locus@127.0.0.1:3306/ids", "p1"}));
  EXPECT_TRUE(ids.orders->create && ids.orders->wide);
  EXPECT_EQ(ids.orders->horizon, absl::Minutes(1));
  EXPECT_EQ(ids.sequences->place, (PlaceSettings{"redis://127.0.0.1:6379", "p2"}));
  EXPECT_EQ(ids.sequences->ceiling, (PlaceSettings{"sqlite:ceiling.db", "p3"}));
  EXPECT_THAT(ids.sequences->names, ElementsAre("a", "b"));
  EXPECT_EQ(ids.sequences->most, 5u);
  EXPECT_EQ(ids.sequences->horizon, absl::Minutes(2));
  EXPECT_EQ(ids.snowflake->leases, (PlaceSettings{"locusd://127.0.0.1:7070", "p4"}));
  EXPECT_EQ(ids.snowflake->space.str(), "workers");
  EXPECT_EQ(ids.snowflake->ttl, absl::Minutes(1));
  EXPECT_EQ(ids.snowflake->max_skew, absl::Seconds(2));
  EXPECT_EQ(ids.snowflake->datacenter, 3u);
  EXPECT_EQ(ids.table->place, (PlaceSettings{"etcd://127.0.0.1:2379/locus", "p5"}));
  EXPECT_EQ(ids.table->last_good_file, "good");
  EXPECT_EQ(ids.table->confirm_every, absl::Seconds(1));
}

TEST(LocusdIdsConfigTest, SetOfStores_IsReadInItsOrder) {
  const std::string set = std::string(kService) + R"([ids.orders]
layout = 2
[[ids.orders.member]]
name = "a"
store = "sqlite:a.db"
last_section = 127
[[ids.orders.member]]
name = "b"
store = "sqlite:b.db"
last_section = 255
)";
  const Config config = Good(set);
  EXPECT_EQ(config.ids->orders->layout, 2u);
  ASSERT_EQ(config.ids->orders->members.size(), 2u);
  EXPECT_EQ(config.ids->orders->members[1].name, "b");
  EXPECT_EQ(config.ids->orders->members[1].last_section, 255);
  std::string fallen = set;
  fallen.replace(fallen.find("255"), 3, "127");
  EXPECT_THAT(Refusal(fallen), HasSubstr("ids.orders.member must have last_section values"));
  EXPECT_THAT(Refusal(std::string(kService) + "[ids.orders]\nstore = \"sqlite:a\"\nlayout = 2\n"),
              HasSubstr("ids.toml:7:10: ids.orders.layout is of a set"));
}

TEST(LocusdIdsConfigTest, WrongPlaces_AreNamedWithoutTheirPasswords) {
  auto orders = [](const std::string& lines) {
    return Refusal(std::string(kService) + "[ids.orders]\n" + lines);
  };
  EXPECT_THAT(orders(""), HasSubstr("ids.orders.store is missing"));
  EXPECT_THAT(orders("store = \"\"\n"), HasSubstr("ids.orders.store is empty"));
  EXPECT_THAT(orders("store = \"nonsense\"\n"),
              HasSubstr("ids.toml:6:9: ids.orders.store is wrong"));
  EXPECT_THAT(Refusal(std::string(kService) + "[ids.sequences]\nstore = \"zookeeper://h\"\n"),
              HasSubstr("zookeeper has no sequences"));
  EXPECT_THAT(Refusal(std::string(kService) +
                      "[ids.sequences]\nstore = \"sqlite:a\"\nnames = [\"cafe\u0301\"]\n"),
              HasSubstr("1 to 128 bytes in Unicode's normal form C"));
  EXPECT_THAT(orders("store = \"mysql://me:SECRET@127.0.0.1/db\"\n"),
              AllOf(HasSubstr("ids.orders.store is wrong"), Not(HasSubstr("SECRET"))));
  EXPECT_THAT(orders("store = \"sqlite:a\"\nhorizon = \"1ms\"\n"),
              HasSubstr("ids.orders.horizon: 1ms is not in 1s .. 24h"));
  EXPECT_THAT(Refusal(std::string(kService) +
                      "[ids.sequences]\nstore = \"sqlite:a\"\nceiling = \"sqlite:b\"\n"),
              HasSubstr("only redis needs a ceiling"));
  EXPECT_THAT(Refusal(std::string(kService) + "[ids.table]\nplace = \"redis://127.0.0.1\"\n"),
              HasSubstr("ids.table.place is wrong"));
  EXPECT_THAT(Refusal(std::string(kService) + "space = \"A B\"\n"),
              HasSubstr("ids.space is \"A B\"; it must be 1 to 64 of a-z"));
}

TEST(LocusdIdsConfigTest, Tokens_HaveNamesScopesRatesAndAnEnd) {
  const std::string token = R"([[token]]
name = "shop"
file = "t"
scopes = ["ids", "decode"]
expires = "2031-01-31T00:00:00Z"
rate = 7
burst = 8
)";
  const Config config = Good(kService + token);
  ASSERT_EQ(config.tokens.size(), 1u);
  EXPECT_EQ(config.tokens[0].scopes, (Scopes{Scope::kIds, Scope::kDecode}));
  EXPECT_EQ(config.tokens[0].expires, absl::FromUnixSeconds(1927584000));
  EXPECT_EQ(config.tokens[0].rate, 7u);
  EXPECT_EQ(config.tokens[0].burst, 8u);
  EXPECT_THAT(Refusal(kService + token + token),
              HasSubstr("token.name is \"shop\", as of a [[token]] before"));
  EXPECT_THAT(Refusal(std::string(kService) + "[[token]]\nname = \"a b\"\nscopes = [\"all\"]\n"),
              AllOf(HasSubstr("token.name is \"a b\""), HasSubstr("token.file is missing"),
                    HasSubstr("token.scopes is \"all\"; it must be one of ids, route, decode")));
  std::string beyond = kService + token;
  beyond.replace(beyond.find("127.0.0.1"), 9, "10.0.0.10");
  EXPECT_THAT(Refusal(beyond), HasSubstr("is beyond loopback"));
  beyond.insert(beyond.find("[ids]"), "certificate = \"c\"\nkey = \"k\"\n");
  EXPECT_TRUE(Good(beyond).AsksForTokens());
}

TEST(LocusdIdsConfigTest, Templates_PassAsTheyAre) {
  for (const auto& [lease, ids] : {std::pair(true, false), {false, true}, {true, true}}) {
    const std::string text = ConfigTemplate({lease, ids});
    const Config config = Good(text);
    EXPECT_EQ(config.cluster_node, lease);
    EXPECT_EQ(config.id_service, ids);
    EXPECT_EQ(config.ids.has_value(), ids);
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      EXPECT_LE(end - at, 100u) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(LocusdIdsConfigTest, SequenceNode_HasASectionOfItsOwn) {
  const std::string node =
      "roles = [\"sequence-node\"]\n[api]\nlisten = \"127.0.0.1:7070\"\n[strict]\n"
      "name = \"n\"\nstore = \"sqlite:s.db\"\n";
  const Config plain = Good(node);
  EXPECT_TRUE(plain.sequence_node && !plain.cluster_node && !plain.id_service);
  EXPECT_EQ(plain.strict->advertise, "127.0.0.1:7070");
  EXPECT_EQ(plain.strict->options, StrictSetOptions());
  EXPECT_EQ(plain.strict->memory_bytes, uint64_t{1} << 30);
  const Config more = Good(node +
                           "advertise = \"a.example:1\"\nset = \"s\"\nfirst_uid = 1000\n"
                           "uids = 1000\nsection_size = 100\nstep = 7\nttl = \"3s\"\n"
                           "sections = [\"7-8\", \"0\"]\nweight = 3\ntoken_file = \"t\"\n");
  EXPECT_EQ(more.strict->options.sections(), 10u);
  EXPECT_EQ(more.strict->options.ttl, absl::Seconds(3));
  EXPECT_THAT(more.strict->sections, ElementsAre(0, 7, 8));
  EXPECT_THAT(KeysThatNeedARestart(plain, more),
              ElementsAre("strict.advertise", "strict.set", "strict.first_uid", "strict.uids",
                          "strict.section_size", "strict.step", "strict.ttl", "strict.sections",
                          "strict.weight", "strict.token_file"));
  const Config audited = Good("data = \"d\"\n" + node + "[audit]\nclickhouse = \"h:1\"\n");
  EXPECT_EQ(audited.data, "d");
  EXPECT_TRUE(audited.audit.has_value());
  EXPECT_THAT(Refusal("data = \"d\"\n" + node), HasSubstr("data is for [audit]"));
  const std::string service =
      "roles = [\"id-service\"]\n[api]\nlisten = \"127.0.0.1:7070\"\n[ids.orders]\nstore = "
      "\"sqlite:a\"\n";
  EXPECT_TRUE(Good("data = \"d\"\n" + service + "[audit]\nclickhouse = \"h:1\"\n").audit);
  EXPECT_THAT(Refusal("data = \"d\"\n" + service), HasSubstr("data is for [audit]"));
  const Config of_template = Good(ConfigTemplate({.sequence_node = true}));
  EXPECT_EQ(of_template.strict->name, "node-1");
  EXPECT_THAT(ConfigTemplate({.sequence_node = true}),
              HasSubstr("\n# set = \"" + of_template.strict->set.str() + "\" "));
  for (const auto& [text, why] :
       {std::pair("uids = 100\nsections = [\"1\"]\n", "section 1 is none of the set's, 0 to 0"),
        {"sections = [\"x\"]\n", "neither a section"},
        {"ttl = \"1s\"\n", "ttl is 1s; it must be"},
        {"section_size = 1\n", "section_size"},
        {"weight = 0\n", "0 is not in 1 .. 1000000"},
        {"memory_bytes = 4096\n", "4096 is not in 1048576 .. 70368744177664"},
        {"advertise = \"0.0.0.0:1\"\n", "nobody can reach"},
        {"[audit]\nclickhouse = \"h:1\"\n", "data is missing"},
        {"wat = 1\n", "wat"}}) {
    EXPECT_THAT(Refusal(node + text), HasSubstr(why)) << text;
  }
  std::string bad = node;
  bad.replace(bad.find("sqlite:s.db"), 11, "redis://h");
  EXPECT_THAT(Refusal(bad), HasSubstr("kept in sqlite, mysql, etcd and locusd only"));
  bad = node;
  bad.replace(bad.find("\"n\""), 3, "\"N\"");
  EXPECT_THAT(Refusal(bad), HasSubstr("1 to 64 of a-z"));
  EXPECT_THAT(Refusal(std::string(kService) + "[strict]\n"),
              HasSubstr("strict is for the role sequence-node"));
}

TEST(LocusdIdsConfigTest, KeysThatNeedARestart_AreAllButKeysTableAndTokens) {
  const Config running = Good(ConfigTemplate({.id_service = true}));
  Config read = running;
  read.ids->keys = "other";
  read.ids->table.emplace().place.uri = "file:t";
  read.tokens.push_back({.name = "n", .file = "f", .scopes = {}});
  EXPECT_THAT(KeysThatNeedARestart(running, read), ElementsAre());
  read.ids->orders->horizon = absl::Seconds(2);
  read.ids->snowflake.reset();
  read.ids->wait = absl::Seconds(1);
  read.api.drain_delay = absl::Seconds(1);
  EXPECT_THAT(KeysThatNeedARestart(running, read),
              ElementsAre("api.drain_delay", "ids.wait", "ids.orders.horizon", "ids.snowflake"));
}

TEST(LocusdIdsConfigTest, StoreSetOfOneMember_IsComparedAsASet) {
  const std::string one =
      "[ids.orders]\nlayout = 1\n[[ids.orders.member]]\nname = \"a\"\n"
      "store = \"sqlite:a\"\nlast_section = 255\n";
  const std::string service = "roles = [\"id-service\"]\n[api]\nlisten = \"127.0.0.1:7070\"\n";
  const Config running = Good(service + one);
  std::string other = one;
  other.replace(other.find("layout = 1"), 10, "layout = 2");
  EXPECT_THAT(KeysThatNeedARestart(running, Good(service + other)),
              ElementsAre("ids.orders.layout"));
  EXPECT_FALSE(KeysThatNeedARestart(running, Good(service + "[ids.orders]\nstore = \"sqlite:a\"\n"))
                   .empty());
}

TEST(LocusdIdsConfigTest, FilesToWatch_AreThoseThatAreTakenOver) {
  Config config = Good(ConfigTemplate({.id_service = true}));
  config.api.token_files = {"t1"};
  config.tokens.push_back({.name = "n", .file = "t2", .scopes = {}});
  config.api.tls = Config::TlsPaths{"", "c", "k"};
  config.ids->keys = "ring";
  EXPECT_THAT(FilesToWatch(config), ElementsAre("t2", "t1", "c", "k", "ring"));
}

}  // namespace
}  // namespace locus::locusd
