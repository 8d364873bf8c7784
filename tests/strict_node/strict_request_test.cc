// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_request.h"

#include "absl/strings/str_cat.h"
#include "apps/locusd/strict/section_list.h"
#include "apps/locusd/strict/strict_news.h"
#include "apps/locusd/strict/strict_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

StrictSetOptions Small() {
  StrictSetOptions options;
  options.first_uid = 1000;
  options.uids = 1000;
  options.section_size = 100;
  return options;
}

std::vector<uint64_t> Uids(const std::string& body) {
  const auto request = ParseStrictNext(body, Small());
  EXPECT_TRUE(request.ok()) << body << ": " << request.status();
  return request.ok() ? request->uids : std::vector<uint64_t>();
}

std::string WhyNot(const std::string& body) {
  const auto request = ParseStrictNext(body, Small());
  EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << body;
  return std::string(request.status().message());
}

TEST(StrictNextTest, UidsAndTextsWithACount_AreOneUidForEachNumber) {
  EXPECT_THAT(Uids(R"({"uids":["1000","1999"]})"), ElementsAre(1000, 1999));
  EXPECT_THAT(Uids(R"({ "count" : 2, "uids" : ["1001", "1002"] })"),
              ElementsAre(1001, 1001, 1002, 1002));
  EXPECT_THAT(Uids(R"({"texts":["alice"]})"), ElementsAre(Small().UidOf("alice")));
  EXPECT_THAT(Uids(R"({"texts":["\u4eac"],"count":1})"), ElementsAre(Small().UidOf("京")));
}

TEST(StrictNextTest, Flaws_AreNamedWithTheirPlace) {
  EXPECT_THAT(WhyNot("x"), HasSubstr("no JSON object"));
  EXPECT_THAT(WhyNot("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(WhyNot(R"({"uids":["1000","x"]})"), AllOf(HasSubstr("\"uids\"[1]"), HasSubstr("x")));
  EXPECT_THAT(WhyNot(R"({"uids":["999"]})"), HasSubstr("no uid 999, but 1000 to 1999"));
  EXPECT_THAT(WhyNot(R"({"uids":[1000]})"), HasSubstr("\"uids\"[0] is 1000, which is no text"));
  EXPECT_THAT(WhyNot(R"({"uids":[]})"), HasSubstr("no list of 1 to 10000 texts"));
  EXPECT_THAT(WhyNot(R"({"uids":"1000"})"), HasSubstr("no list of 1 to 10000 texts"));
  EXPECT_THAT(WhyNot(R"({"texts":[""]})"), HasSubstr("a key has 0 bytes"));
  EXPECT_THAT(WhyNot(absl::StrCat(R"({"texts":[")", std::string(1025, 'a'), R"("]})")),
              HasSubstr("a key has 1025 bytes; it must have 1 to 1024"));
  EXPECT_THAT(WhyNot("{}"), HasSubstr("either \"uids\" or \"texts\""));
  EXPECT_THAT(WhyNot(R"({"uids":["1000"],"texts":["a"]})"), HasSubstr("either"));
  EXPECT_THAT(WhyNot(R"({"uids":["1000"],"more":1})"), HasSubstr("\"more\" is unknown"));
  for (const char* const twice :
       {R"({"uids":["1000"],"uids":["1001"]})", R"({"uids":["1000"],"\u0075ids":["1001"]})",
        R"({"count":1,"uids":["1000"],"count":2})"}) {
    EXPECT_THAT(WhyNot(twice), HasSubstr("names a member twice")) << twice;
  }
  // Texts that only look like one.
  EXPECT_THAT(Uids(R"({"texts":[":\":{","\\"],"count":1})"), SizeIs(2));
  for (const char* const count : {"0", "10001", "-1", "1.5", "\"2\"", "null"}) {
    EXPECT_THAT(WhyNot(absl::StrCat(R"({"uids":["1000"],"count":)", count, "}")),
                HasSubstr("must be a number of 1 to 10000"))
        << count;
  }
  EXPECT_THAT(WhyNot(R"({"uids":["1000","1001"],"count":5001})"),
              HasSubstr("2 keys with \"count\" 5001 are more than 10000 numbers"));
}

TEST(StrictNextTest, AsManyAsMayCome_AreTaken) {
  std::string body = R"({"uids":["1000")";
  for (size_t i = 1; i < StrictNextRequest::kMost; ++i) body += R"(,"1001")";
  EXPECT_THAT(Uids(body + "]}"), SizeIs(StrictNextRequest::kMost));
  EXPECT_THAT(WhyNot(body + R"(,"1001"]})"), HasSubstr("no list of 1 to 10000 texts"));
}

TEST(StrictSectionsTest, RangesAndAName_AreRead) {
  const auto request =
      ParseStrictSections(R"({"sections":["7-9","0","8"],"to":"node-2"})", Small(), true);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(*request->sections, ElementsAre(0, 7, 8, 9));
  EXPECT_EQ(request->to, "node-2");
  const auto none = ParseStrictSections("{}", Small(), true);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->sections.has_value());
  EXPECT_EQ(none->to, "");
}

TEST(StrictSectionsTest, Flaws_AreNamed) {
  for (const auto& [body, why] :
       {std::pair(R"({"sections":["10"]})", "section 10 is none of the set's, 0 to 9"),
        {R"({"sections":["9-8"]})", "\"9-8\" is neither a section"},
        {R"({"sections":["-"]})", "is neither a section"},
        {R"({"sections":["1-2-3"]})", "is neither a section"},
        {R"({"sections":[]})", "no list of 1 to 4096"},
        {R"({"sections":[1]})", "which is no text"},
        {R"({"to":""})", "\"to\" is no name"},
        {R"({"to":"a","to":"b"})", "names a member twice"},
        {R"({"too":""})", "is unknown"}}) {
    EXPECT_THAT(ParseStrictSections(body, Small(), true).status().message(), HasSubstr(why))
        << body;
  }
  EXPECT_THAT(ParseStrictSections(R"({"to":"a"})", Small(), false).status().message(),
              HasSubstr("\"to\" is unknown; there are \"sections\""));
}

TEST(StrictSectionsTest, ARangeThatIsNamedAgainAndAgain_IsThereOnce) {
  std::string body = R"({"sections":["0-9")";
  for (int i = 1; i < 4096; ++i) body += R"(,"0-9")";
  const auto request = ParseStrictSections(body + "]}", Small(), false);
  ASSERT_TRUE(request.ok());
  EXPECT_THAT(*request->sections, SizeIs(10));
}

TEST(SectionListTest, RunsOfNeighbours_AreOneTextEach) {
  EXPECT_THAT(SectionTexts(std::vector<uint32_t>{0, 1, 2, 4, 6, 7}),
              ElementsAre("0-2", "4", "6-7"));
  EXPECT_THAT(SectionTexts({}), IsEmpty());
}

TEST(StrictNewsTest, News_AreRead) {
  StrictNews news;
  news.self = {"a", "10.0.0.1:7070", 100};
  news.set = "orders";
  news.table_version = 17;
  news.others = {{"b", "10.0.0.2:7070", 0}};
  news.wants_loads = true;
  news.loads = {{3, 120}, {4, 0}};
  const auto read = ParseStrictNews(ToJson(news));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->self, news.self);
  EXPECT_EQ(read->set, "orders");
  EXPECT_EQ(read->table_version, 17u);
  EXPECT_EQ(read->others, news.others);
  EXPECT_TRUE(read->wants_loads);
  EXPECT_EQ(read->loads, news.loads);
}

TEST(StrictNewsTest, ImpossibleNews_AreRefused) {
  StrictNews news;
  news.self = {"a", "10.0.0.1:7070", 100};
  news.set = "orders";
  const std::string good = ToJson(news);
  EXPECT_TRUE(ParseStrictNews(good).ok());
  for (const auto& [from, to] : {std::pair("10.0.0.1:7070", "nowhere"),
                                 {"\"a\"", "\"\""},
                                 {"\"a\"", "\"A b\""},
                                 {"\"a\"", "7"},
                                 {"100", "-1"},
                                 {"\"loads\":[]", "\"loads\":[1]"},
                                 {"\"loads\":[]", "\"loads\":[1,\"2\"]"},
                                 {"\"loads\":[]", "\"loads\":[-1,2]"},
                                 {"\"loads\":[]", "\"loads\":[1048576,2]"},
                                 {"\"nodes\":[]", "\"nodes\":[7]"},
                                 {"\"table_version\":\"0\"", "\"table_version\":\"x\""}}) {
    std::string bad = good;
    bad.replace(bad.find(from), std::string(from).size(), to);
    EXPECT_TRUE(absl::IsInvalidArgument(ParseStrictNews(bad).status())) << bad;
  }
}

TEST(StrictTableTest, ToJson_HasARangeForEachRunOfOneOwner) {
  StrictTable table(10);
  const StrictTable::Owner a = {"a", "h:1"}, b = {"b", "h:2"};
  table.Set(std::vector<uint32_t>{0, 1, 2, 8}, &a, 4);
  table.Set(std::vector<uint32_t>{3, 4}, &b, 3);
  EXPECT_EQ(table.ToJson(*SpaceName::Parse("s"), Small()),
            R"({"set":"s","table_version":"4","first_uid":"1000","uids":"1000","section_size":100,)"
            R"("step":"10000","ttl_ms":10000,"owners":[{"name":"a","address":"h:1"},)"
            R"({"name":"b","address":"h:2"}],"ranges":[{"first":0,"last":2,"owner":0},)"
            R"({"first":3,"last":4,"owner":1},{"first":8,"last":8,"owner":0}]})");
  table.Set(std::vector<uint32_t>{0}, nullptr, 5);
  EXPECT_EQ(table.OwnerOf(0), nullptr);
  EXPECT_EQ(table.OwnerOf(1)->name, "a");
  EXPECT_EQ(table.version(), 5u);
}

TEST(StrictTableTest, OfAView_NamesSuccessorsToo) {
  StrictSetView view;
  view.options = Small();
  view.table_version = 9;
  StrictSectionView owned, released, given;
  owned.section = 1;
  owned.owner = StrictOwner{"a", "h:1", 7};
  released.section = 2;
  given.section = 3;
  given.successor = "b";
  view.sections = {owned, released, given};
  const StrictTable table(view, [](const std::string& name) { return name + ":2"; });
  EXPECT_EQ(table.version(), 9u);
  EXPECT_EQ(table.OwnerOf(0), nullptr);
  EXPECT_EQ(*table.OwnerOf(1), (StrictTable::Owner{"a", "h:1"}));
  EXPECT_EQ(table.OwnerOf(2), nullptr);
  EXPECT_EQ(*table.OwnerOf(3), (StrictTable::Owner{"b", "b:2"}));
}

// As after a restart, before the other nodes are heard: clients refuse an address that is none.
TEST(StrictTableTest, OwnerWithoutAnAddress_CountsAsNone) {
  StrictSetView view;
  view.options = Small();
  StrictSectionView given;
  given.section = 3;
  given.successor = "b";
  view.sections = {given};
  StrictTable table(view, [](const std::string&) { return std::string(); });
  EXPECT_EQ(table.OwnerOf(3), nullptr);
  const StrictTable::Owner unknown = {"c", ""};
  table.Set(std::vector<uint32_t>{1}, &unknown, 9);
  EXPECT_EQ(table.OwnerOf(1), nullptr);
  EXPECT_EQ(table.ToJson(SpaceName(), view.options).find("\"address\":\"\""), std::string::npos);
}

TEST(StrictNewsTest, MemberNamedTwice_IsRefusedAtAnyDepth) {
  const std::string self =
      R"("name":"n9","address":"127.0.0.1:1","weight":0,"set":"orders","table_version":"1",)"
      R"("wants_loads":true,"loads":[1,2],)";
  const auto parse = [&](const std::string& rest) {
    return ParseStrictNews("{" + self + rest + "}").status();
  };
  EXPECT_TRUE(parse(R"("nodes":[{"name":"n8","address":"127.0.0.1:2","weight":0}])").ok());
  EXPECT_TRUE(parse(R"("nodes":[],"more":{"weight":1,"text":"a:\":b"})").ok());
  for (const char* const twice : {
           R"("nodes":[],"weight":1)",
           R"("nodes":[{"name":"n8","address":"127.0.0.1:2","weight":0,"weight":1}])",
           R"("nodes":[],"more":[{"a":{"b":1,"b":1}}])",
       }) {
    EXPECT_THAT(std::string(parse(twice).message()), HasSubstr("has a member twice")) << twice;
  }
}

}  // namespace
}  // namespace locus::locusd
