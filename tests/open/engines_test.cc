// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "routing/open/tables.h"
#include "src/open/engine.h"

namespace locus::internal {
namespace {

using ::testing::HasSubstr;

std::string ReadFile(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

const Engine& Named(std::string_view name) {
  for (const Engine& engine : Engines()) {
    if (engine.name == name) return engine;
  }
  std::abort();
}

std::string StartOf(const Engine& engine, const UriScheme& scheme) {
  return std::string(scheme.name) + (engine.is_file ? ":" : "://");
}

TEST(EnginesTest, Engine_OpensExactlyWhatItKeeps) {
  for (const Engine& engine : Engines()) {
    SCOPED_TRACE(engine.name);
    const bool keeps_stores = engine.Has(kAnyStore);
    if (engine.option.empty()) EXPECT_EQ(engine.openers != nullptr, keeps_stores);
    if (const Openers* openers = engine.openers) {
      EXPECT_EQ(openers->segments != nullptr, engine.Has(kSegments));
      EXPECT_EQ(openers->leases != nullptr, engine.Has(kWorkerLeases));
      EXPECT_EQ(openers->counters != nullptr, engine.Has(kCounters));
      EXPECT_EQ(openers->types != nullptr, engine.Has(kSequenceTypes));
      EXPECT_EQ(openers->strict != nullptr, engine.Has(kStrictSets));
      EXPECT_EQ(openers->members != nullptr, engine.Has(kMembers));
      EXPECT_EQ(openers->value_under_ceiling != nullptr, engine.takes_ceiling);
    }
    const TableOpeners* const tables = TablesOf(engine);
    const bool is_built = engine.option.empty() || engine.openers != nullptr || !keeps_stores;
    if (is_built && engine.name != "http") EXPECT_EQ(tables != nullptr, engine.Has(kTables));
    if (tables == nullptr) continue;
    EXPECT_NE(tables->source, nullptr);
    EXPECT_EQ(tables->publisher != nullptr, engine.Has(kTablePublishing));
  }
}

TEST(EnginesTest, Schemes_AreOfOneEngineAndBeginTheirForms) {
  std::set<std::string_view> names;
  for (const Engine& engine : Engines()) {
    ASSERT_FALSE(engine.schemes.empty());
    ASSERT_FALSE(engine.schemes.front().form.empty());
    for (const UriScheme& scheme : engine.schemes) {
      EXPECT_TRUE(names.insert(scheme.name).second) << scheme.name;
      if (scheme.form.empty()) continue;
      EXPECT_TRUE(scheme.form.starts_with(StartOf(engine, scheme))) << scheme.form;
    }
  }
}

TEST(EnginesTest, LeftOut_NamesTheOption) {
  EXPECT_EQ(Absent(Named("redis"), "redis://h").message(),
            "redis://h: this locus was built without the engine; build it with -DLOCUS_REDIS=ON");
}

TEST(EnginesTest, NotKept_NamesTheEnginesThatKeepIt) {
  EXPECT_EQ(CheckKeeps(Named("zookeeper"), kCounters).message(),
            "zookeeper has no sequences; they are kept in sqlite, mysql, redis, etcd and locusd "
            "only");
  EXPECT_EQ(CheckCeiling(Named("redis"), Named("etcd")).message(),
            "a ceiling must be an sqlite or mysql store");
}

// The table of docs/run/engines.md.
std::string MarkdownTable() {
  std::string table =
      "| engine | URI | CMake option | order IDs | worker IDs | counters, sequence types | strict "
      "sequences | routing tables |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Engine& engine : Engines()) {
    absl::StrAppend(&table, "| ", std::string(engine.title), " | ");
    std::string forms;
    for (const UriScheme& scheme : engine.schemes) {
      const std::string form(scheme.form.empty() ? absl::StrCat(std::string(scheme.name), "://...")
                                                 : std::string(scheme.form));
      absl::StrAppend(&forms, forms.empty() ? "`" : ", `", form, "`");
    }
    absl::StrAppend(&table, forms, " | ",
                    engine.option.empty() ? "always built"
                                          : absl::StrCat("`", std::string(engine.option), "`"));
    for (const Content content : {kSegments, kWorkerLeases, kCounters, kStrictSets}) {
      absl::StrAppend(&table, " | ", engine.Has(content) ? "yes" : "");
    }
    absl::StrAppend(&table, " | ",
                    engine.Has(kTablePublishing) ? "yes"
                    : engine.Has(kTables)        ? "followed only"
                                                 : "",
                    " |\n");
  }
  return table;
}

TEST(EnginesTest, Page_HasTheTable) {
  const std::string page = ReadFile(LOCUS_ENGINES_PAGE);
  const std::string begin = "<!-- engines -->\n";
  const size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos) << LOCUS_ENGINES_PAGE;
  const size_t from = at + begin.size();
  EXPECT_EQ(page.substr(from, page.find("<!-- end of engines -->") - from), MarkdownTable())
      << "paste this between the marks of " << LOCUS_ENGINES_PAGE << ":\n"
      << MarkdownTable();
}

TEST(EnginesTest, ManPage_HasEachScheme) {
  const std::string page = ReadFile(LOCUS_MAN_PAGE);
  const size_t from = page.find("\n.SH URI\n");
  ASSERT_NE(from, std::string::npos);
  const std::string section = page.substr(from, page.find("\n.SH ", from + 1) - from);
  for (const Engine& engine : Engines()) {
    for (const UriScheme& scheme : engine.schemes) {
      EXPECT_THAT(section, HasSubstr(StartOf(engine, scheme)));
    }
  }
}

}  // namespace
}  // namespace locus::internal
