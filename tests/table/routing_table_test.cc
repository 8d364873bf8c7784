// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/routing_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/table/random_table.h"

namespace locus {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kDocument[] = R"({ "epoch": 12,
  "shards": [ {"id": 1, "name": "orders-a", "endpoint": "mysql://127.0.0.1:3306/orders",
               "weight": 100, "labels": {"tier": "hot"}},
              {"id": 2, "name": "orders-b", "endpoint": "mysql://127.0.0.1:3307/orders"} ],
  "ranges": [ {"last": 16383, "shard": 1}, {"last": 65000, "shard": 2} ],
  "moves":  [ {"first": 16384, "last": 16400, "to": 1, "permyriad": 500} ] })";

ShardGene Gene(int value) { return ShardGene::FromUint16(static_cast<uint16_t>(value)); }

std::string Refusal(const std::string& text) {
  absl::Status status = RoutingTable::Parse(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(status.message());
}

// kDocument with the only occurrence of `from` replaced.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kDocument;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " is there twice";
  return text.replace(at, from.size(), to);
}

struct Case {
  std::string from;
  std::string to;
  std::string message;
};

TEST(RoutingTableTest, Document_IsRead) {
  RoutingTable table = RoutingTable::Parse(kDocument).value();
  EXPECT_EQ(table.epoch(), 12u);
  ASSERT_EQ(table.shards().size(), 2u);
  EXPECT_EQ(table.shards()[0].labels.at("tier"), "hot");
  EXPECT_EQ(table.shards()[1].weight, 100u);
  EXPECT_EQ(table.OwnerOf(Gene(16383)).id, 1u);
  EXPECT_EQ(table.OwnerOf(Gene(16384)).id, 2u);
  EXPECT_EQ(table.OwnerOf(Gene(65000)).id, 2u);
  EXPECT_EQ(table.OwnerOf(Gene(65001)).id, 1u) << "above the highest last it wraps";
  EXPECT_EQ(table.MoveOf(Gene(16383)), nullptr);
  EXPECT_EQ(table.MoveOf(Gene(16384))->to, 1u);
  EXPECT_EQ(table.MoveOf(Gene(16400))->permyriad, 500u);
  EXPECT_EQ(table.MoveOf(Gene(16401)), nullptr);
  EXPECT_EQ(table.FindShard(2)->name, "orders-b");
  EXPECT_EQ(table.FindShard(3), nullptr);
}

TEST(RoutingTableTest, TableIdAndStep_AreReadAndWrittenWhereThereAreAny) {
  RoutingTable without = RoutingTable::Parse(kDocument).value();
  EXPECT_EQ(without.table_id(), "");
  EXPECT_EQ(without.moves()[0].step, 0u);
  EXPECT_EQ(without.ToJson().find("table_id"), std::string::npos);
  EXPECT_EQ(without.ToJson().find("step"), std::string::npos);
  std::string text = With("12,", "12, \"table_id\": \"9F1C02d7b5a64e38\",");
  text.replace(text.find("500}"), 4, "500, \"step\": 7}");
  RoutingTable with = RoutingTable::Parse(text).value();
  EXPECT_EQ(with.table_id(), "9f1c02d7b5a64e38");
  EXPECT_EQ(with.moves()[0].step, 7u);
  EXPECT_NE(with, without);
  EXPECT_THAT(with.ToJson(), HasSubstr("\n  \"table_id\": \"9f1c02d7b5a64e38\",\n"));
  EXPECT_THAT(with.ToJson(), HasSubstr("\"permyriad\": 500, \"step\": 7}"));
  EXPECT_EQ(RoutingTable::Parse(with.ToJson()).value(), with);
}

TEST(RoutingTableTest, NewTableIds_AreValidAndDiffer) {
  std::string one = RoutingTable::NewTableId().value();
  EXPECT_NE(one, RoutingTable::NewTableId().value());
  EXPECT_EQ(RoutingTable::MakeEven({{"a", "h"}}, one)->table_id(), one);
}

TEST(RoutingTableTest, LongestEndpoint_MayBeWrittenInEscapes) {
  const std::string endpoint = "mysql://127.0.0.1:3307/orders";
  std::string escaped;
  for (size_t i = 0; i < RoutingTable::kMaxTextBytes; ++i) escaped += "\\u0061";
  EXPECT_EQ(RoutingTable::Parse(With(endpoint, escaped))->shards()[1].endpoint,
            std::string(RoutingTable::kMaxTextBytes, 'a'));
  EXPECT_THAT(Refusal(With(endpoint, escaped + "a")),
              HasSubstr("a string or number of more than 12288 bytes"));
}

// A byte order mark before the document is skipped, anything else that JSON does not have is not.
TEST(RoutingTableTest, ByteOrderMark_IsSkippedOnce) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(RoutingTable::Parse(mark + kDocument).value(), RoutingTable::Parse(kDocument).value());
  EXPECT_THAT(Refusal(mark + mark + kDocument), HasSubstr("(byte 4)"));
  EXPECT_THAT(Refusal(kDocument + mark), HasSubstr("syntax error"));
}

TEST(RoutingTableTest, WrongValue_IsRefusedAtItsPointer) {
  const std::vector<Case> cases = {
      {"12,", "0,", "/epoch: 0 is not from 1 to 9223372036854775807"},
      {"12,", "9223372036854775808,",
       "/epoch: 9223372036854775808 is not from 1 to 9223372036854775807"},
      {"12,", "12.0,", "/epoch: 12.0 is not an integer from 0 to 18446744073709551615"},
      {"12,", "1e3,", "/epoch: 1000.0 is not an integer from 0 to 18446744073709551615"},
      {"12,", "-12,", "/epoch: -12 is not an integer from 0 to 18446744073709551615"},
      {"12,", "-0,", "/epoch: -0 is not an integer from 0 to 18446744073709551615"},
      {"12,", "\"12\",", "/epoch: it is not an integer from 0 to 18446744073709551615"},
      {"\"id\": 1", "\"id\": 0", "/shards/0/id: 0 is not an id; the first is 1"},
      {"\"id\": 1", "\"id\": 4294967296",
       "/shards/0/id: 4294967296 is not an integer from 0 to 4294967295"},
      {"\"id\": 2", "\"id\": 1", "/shards/1/id: 1 is also the id of /shards/0"},
      {"\"orders-b\"", "\"orders-a\"",
       "/shards/1/name: \"orders-a\" is also the name of /shards/0"},
      {"\"orders-b\"", "\"\"", "/shards/1/name: it is empty"},
      {"\"orders-b\"", "7", "/shards/1/name: it is of type number, not string"},
      {"\"orders-b\"", "\"orders\u200b-b\"",
       "/shards/1/name: it has U+200B, which is invisible or changes the direction"},
      {"\"orders-b\"", "\"orders\u202e-b\"",
       "/shards/1/name: it has U+202E, which is invisible or changes the direction"},
      {"\"orders-b\"", "\"a\\tb\"", "/shards/1/name: it has control characters, or is not UTF-8"},
      {"\"orders-b\"", "\"" + std::string(65, 'x') + "\"", "/shards/1/name: 65 bytes; at most 64"},
      {"7/orders", "6/orders",
       "/shards/1/endpoint: /shards/0 has the same endpoint; two shards are two databases"},
      {"\"weight\": 100", "\"weight\": 1000001",
       "/shards/0/weight: 1000001 is not from 0 to 1000000"},
      {"\"weight\": 100", "\"weight\": null",
       "/shards/0/weight: it is not an integer from 0 to 4294967295"},
      {"\"hot\"", "1", "/shards/0/labels/tier: it is of type number, not string"},
      {"\"tier\": \"hot\"", "\"a/b~c\": \"\\u0007\"",
       "/shards/0/labels/a~1b~0c: it has control characters, or is not UTF-8"},
      {"\"tier\"", "\"\"", "/shards/0/labels/: it is empty"},
      {"65000", "16383", "/ranges/1/last: 16383 is not above 16383, the one before it"},
      {"65000", "5", "/ranges/1/last: 5 is not above 16383, the one before it"},
      {"65000", "65536", "/ranges/1/last: 65536 is not an integer from 0 to 65535"},
      {"\"shard\": 2", "\"shard\": 3", "/ranges/1/shard: no shard has id 3"},
      {"\"to\": 1", "\"to\": 9", "/moves/0/to: no shard has id 9"},
      {"\"to\": 1", "\"to\": 2", "/moves/0/to: shard 2 already owns vnode 16384"},
      {"\"first\": 16384", "\"first\": 16383", "/moves/0/to: shard 1 already owns vnode 16383"},
      {"16400", "65535", "/moves/0/to: shard 1 already owns vnode 65001"},
      {"16400", "16000", "/moves/0/first: 16384 is above last, 16000"},
      {": 500", ": 10001", "/moves/0/permyriad: 10001 is not from 0 to 10000"},
      {"500}", "500}, {\"first\": 16400, \"last\": 16500, \"to\": 1, \"permyriad\": 0}",
       "/moves/1: vnode 16400 is also in /moves/0"},
  };
  for (const Case& c : cases) EXPECT_EQ(Refusal(With(c.from, c.to)), c.message);
}

TEST(RoutingTableTest, WrongMembers_AreRefusedAtTheirPointer) {
  const std::vector<Case> cases = {
      {"\"epoch\": 12,", "", "member \"epoch\" is missing"},
      {"\"ranges\": [ {\"last\": 16383, \"shard\": 1}, {\"last\": 65000, \"shard\": 2} ],", "",
       "member \"ranges\" is missing"},
      {"\"name\": \"orders-a\",", "", "/shards/0: member \"name\" is missing"},
      {", \"endpoint\": \"mysql://127.0.0.1:3307/orders\"", "",
       "/shards/1: member \"endpoint\" is missing"},
      {"\"last\": 65000, ", "", "/ranges/1: member \"last\" is missing"},
      {", \"permyriad\": 500", "", "/moves/0: member \"permyriad\" is missing"},
      {"\"moves\"", "\"mo/ves\"", "/mo~1ves: unknown member"},
      {"\"weight\"", "\"w\\u0001~\"", "/shards/0/w\\x01~0: unknown member"},
      {"\"epoch\": 12,", "\"epoch\": 12, \"epoch\": 12,", "/epoch: the member occurs twice"},
      {"\"id\": 2", "\"id\": 2, \"id\": 3", "/shards/1/id: the member occurs twice"},
      {"\"tier\": \"hot\"", "\"x/y\": \"1\", \"x\\/y\": \"2\"",
       "/shards/0/labels/x~1y: the member occurs twice"},
      {"\"tier\"", "\"" + std::string(256, 'x') + "\"",
       "/shards/0/labels: a member name of 256 bytes; at most 64"},
      {"12,", "12, \"table_id\": 7,", "/table_id: it is of type number, not string"},
      {"12,", "12, \"table_id\": \"\",", "/table_id: it is empty"},
      {"12,", "12, \"table_id\": \"9f1c02d7b5a64e3\",",
       "/table_id: it is not 16 hex digits, as `locus table new` makes them"},
      {"12,", "12, \"table_id\": \"9f1c02d7b5a64e3g\",",
       "/table_id: it is not 16 hex digits, as `locus table new` makes them"},
      {"500}", "500, \"step\": 9223372036854775808}",
       "/moves/0/step: 9223372036854775808 is not from 0 to 9223372036854775807"},
      {"500}", "500, \"step\": -1}",
       "/moves/0/step: -1 is not an integer from 0 to 18446744073709551615"},
      {"{\"last\": 16383, \"shard\": 1}", "[]", "/ranges/0: it is of type array, not object"},
      {"{\"tier\": \"hot\"}", "[]", "/shards/0/labels: it is of type array, not object"},
      {"\"hot\"", "[[[[[[[[]]]]]]]]", "/shards/0/labels/tier: it is of type array, not string"},
  };
  for (const Case& c : cases) EXPECT_EQ(Refusal(With(c.from, c.to)), c.message);
}

TEST(RoutingTableTest, EmptyArrays_AreRefused) {
  EXPECT_EQ(Refusal(R"({"epoch": 1, "shards": [], "ranges": []})"), "/shards: there is no shard");
  EXPECT_EQ(Refusal(R"({"epoch": 1, "ranges": [],
                        "shards": [{"id": 1, "name": "a", "endpoint": "b"}]})"),
            "/ranges: there is no range");
  EXPECT_EQ(Refusal(R"({"epoch": 1, "shards": {}, "ranges": []})"),
            "/shards: it is of type object, not array");
  EXPECT_EQ(Refusal("[]"), "it is of type array, not object");
}

TEST(RoutingTableTest, Credentials_AreRefusedAndNeverShown) {
  for (std::string endpoint :
       {"mysql://root:hunter2@h/db", "root:hunter2@h", "mysql://root@h/hunter2",
        "mysql://u:hunter2/x@h/db", "mysql://h/db?Password=hunter2", "host=h PWD=hunter2"}) {
    std::string message = Refusal(With("mysql://127.0.0.1:3307/orders", endpoint));
    EXPECT_EQ(
        message,
        "/shards/1/endpoint: it contains a user or a password; an endpoint carries no credentials");
  }
}

TEST(RoutingTableTest, OtherwiseWrongEndpoints_AreNotShownEither) {
  const std::string where = "mysql://127.0.0.1:3307/orders";
  EXPECT_EQ(Refusal(With(where, "")), "/shards/1/endpoint: it is empty");
  EXPECT_EQ(Refusal(With(where, "a b")), "/shards/1/endpoint: it contains a space");
  EXPECT_EQ(Refusal(With(where, std::string(2049, 'x'))),
            "/shards/1/endpoint: 2049 bytes; at most 2048");
  for (std::string broken : {"hunter2\n", "hunter2\\u12", "hunter2\xFF", "hunter2\" x"}) {
    EXPECT_THAT(Refusal(With(where, broken)), Not(HasSubstr("hunter2")));
  }
}

TEST(RoutingTableTest, MalformedJson_IsRefusedWithLineColumnAndByte) {
  EXPECT_THAT(Refusal(""), StartsWith("line 1, column 1 (byte 1): syntax error"));
  EXPECT_THAT(Refusal("{\n  \"epoch\": }"), StartsWith("line 2, column 12 (byte 14): syntax"));
  EXPECT_THAT(Refusal("{\n  \"epoch\": 1e999}"), HasSubstr("a number is out of range"));
  EXPECT_THAT(Refusal(std::string(kDocument) + "x"), HasSubstr("(byte 405): syntax error"));
  EXPECT_THAT(Refusal(std::string(kDocument) + "{}"), HasSubstr("unexpected '{'"));
  EXPECT_EQ(Refusal(std::string(kDocument) + '\0' + "{}"),
            "line 6, column 77 (byte 405): there is a NUL byte");
  EXPECT_THAT(Refusal(With("orders-a", "\xC0\xAF")), HasSubstr("ill-formed UTF-8 byte"));
  EXPECT_THAT(Refusal(With("orders-a", "\\ud800")), HasSubstr("surrogate"));
  EXPECT_THAT(Refusal("// note\n{}"), StartsWith("line 1, column 1 (byte 1): syntax"));
  EXPECT_EQ(Refusal(std::string(100000, '[')), "it is of type array, not object");
}

TEST(RoutingTableTest, Make_RefusesLikeParse) {
  Shard shard{.id = 1, .name = "a", .endpoint = "b", .labels = {}};
  auto make = [](Shard with) {
    return std::string(RoutingTable::Make(1, {with}, {{0, 1}}).status().message());
  };
  EXPECT_EQ(make(shard), "");
  Shard invalid = shard;
  for (const char* name : {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x80\xA8",
                           "\xC2\x85", "\xEF\xBF\xBE", "\xE2\x82", "\x7F", "\x80"}) {
    invalid.name = name;
    EXPECT_EQ(make(invalid), "/shards/0/name: it has control characters, or is not UTF-8");
  }
  for (const char* name :
       {"caf\xC3\xA9", "\xE8\xAE\xA2\xE5\x8D\x95", "\xF0\x9F\x93\xA6", "a, \"b\""}) {
    invalid.name = name;
    EXPECT_EQ(make(invalid), "");
  }
  EXPECT_EQ(RoutingTable::Make(0, {shard}, {{0, 1}}).status().message(),
            "/epoch: 0 is not from 1 to 9223372036854775807");
}

TEST(RoutingTableTest, OrderOfShardsAndMoves_DoesNotMatter) {
  std::vector<Shard> shards = {{.id = 2, .name = "b", .endpoint = "b", .labels = {}},
                               {.id = 1, .name = "a", .endpoint = "a", .labels = {}}};
  std::vector<VnodeMove> moves = {{9, 9, 2, 1}, {0, 3, 2, 1}};
  RoutingTable one = RoutingTable::Make(1, shards, {{65535, 1}}, moves).value();
  std::swap(shards[0], shards[1]);
  std::swap(moves[0], moves[1]);
  EXPECT_EQ(RoutingTable::Make(1, shards, {{65535, 1}}, moves).value(), one);
  EXPECT_EQ(one.shards()[0].id, 1u);
  EXPECT_EQ(one.moves()[0].first, 0);
}

TEST(RoutingTableTest, RandomTables_SurviveJson) {
  RandomTable random(7);
  for (uint64_t epoch = 1; epoch <= 100; ++epoch) {
    RoutingTable table = random.Next(epoch);
    absl::StatusOr<RoutingTable> read = RoutingTable::Parse(table.ToJson());
    ASSERT_TRUE(read.ok()) << read.status() << table.ToJson();
    ASSERT_EQ(*read, table);
    ASSERT_EQ(read->ToJson(), table.ToJson());
  }
}

TEST(RoutingTableTest, ToJson_HasALineForEachElement) {
  EXPECT_EQ(RoutingTable::Parse(kDocument).value().ToJson(), R"({
  "epoch": 12,
  "shards": [
    {"id": 1, "name": "orders-a", "endpoint": "mysql://127.0.0.1:3306/orders", "weight": 100, "labels": {"tier": "hot"}},
    {"id": 2, "name": "orders-b", "endpoint": "mysql://127.0.0.1:3307/orders", "weight": 100}
  ],
  "ranges": [
    {"last": 16383, "shard": 1},
    {"last": 65000, "shard": 2}
  ],
  "moves": [
    {"first": 16384, "last": 16400, "to": 1, "permyriad": 500}
  ]
}
)");
}

std::vector<std::pair<std::string, std::string>> Names(size_t count) {
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; i < count; ++i) names.emplace_back(absl::StrCat("s", i), absl::StrCat("h", i));
  return names;
}

TEST(RoutingTableTest, MakeEven_CutsTheRingWhereDocumented) {
  auto lasts = [](size_t count) {
    std::vector<int> out;
    RoutingTable table = RoutingTable::MakeEven(Names(count)).value();
    EXPECT_EQ(table.epoch(), 1u);
    for (const VnodeRange& range : table.ranges()) {
      out.push_back(range.last);
      EXPECT_EQ(range.shard, out.size());
    }
    return out;
  };
  EXPECT_EQ(lasts(1), std::vector<int>({65535}));
  EXPECT_EQ(lasts(2), std::vector<int>({32767, 65535}));
  EXPECT_EQ(lasts(3), std::vector<int>({21844, 43689, 65535}));
  EXPECT_EQ(lasts(7), std::vector<int>({9361, 18723, 28085, 37448, 46810, 56172, 65535}));
  std::vector<int> all = lasts(65536);
  for (int i = 0; i < 65536; ++i) ASSERT_EQ(all[static_cast<size_t>(i)], i);
}

TEST(RoutingTableTest, MakeEvenOfNoneOrTooMany_IsRefused) {
  EXPECT_EQ(RoutingTable::MakeEven({}).status().message(), "/shards: there is no shard");
  EXPECT_EQ(RoutingTable::MakeEven(Names(65537)).status().message(),
            "/shards: more than 65536 shards");
}

std::vector<Shard> ShardsWithLabels(size_t shards, size_t labels_each, size_t value_bytes) {
  std::vector<Shard> made;
  for (uint32_t id = 1; id <= shards; ++id) {
    Shard shard{
        .id = id, .name = absl::StrCat("s", id), .endpoint = absl::StrCat("h", id), .labels = {}};
    for (size_t i = 0; i < labels_each; ++i) {
      shard.labels[absl::StrCat("l", i)] = std::string(value_bytes, 'x');
    }
    made.push_back(std::move(shard));
  }
  return made;
}

TEST(RoutingTableTest, LabelsAndTextsOfAllShards_AreLimitedTogether) {
  EXPECT_TRUE(RoutingTable::Make(1, ShardsWithLabels(256, 256, 1), {{0, 1}}).ok());
  EXPECT_EQ(RoutingTable::Make(1, ShardsWithLabels(256, 257, 1), {{0, 1}}).status().message(),
            "/shards: more than 65536 labels of all shards together");
  EXPECT_TRUE(RoutingTable::Make(1, ShardsWithLabels(40, 100, 2000), {{0, 1}}).ok());
  EXPECT_EQ(RoutingTable::Make(1, ShardsWithLabels(42, 100, 2000), {{0, 1}}).status().message(),
            "/shards: names, endpoints and labels of all shards have more than 8388608 bytes "
            "together");
}

}  // namespace
}  // namespace locus
