// SPDX-License-Identifier: Apache-2.0
// What locusd says of a configuration of the ID service: at its start, with --check, and of one
// that init wrote.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "tests/locusd/ids_process.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr char kRole[] = "roles = [\"id-service\"]\n";

TEST(LocusdIdsCheckTest, Mistakes_EndTheStartWithTheReason) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  auto refusal = [&](const std::string& rest, const std::string& arguments = "") {
    ids.Write(kRole, "", rest);
    const LocusdRun run = RunLocusd(absl::StrCat("--config ", ids.config(), arguments), directory);
    EXPECT_EQ(run.code, 2) << run.out;
    return run.out;
  };
  const std::string none = absl::StrCat("\"sqlite:", directory / "none.db", "\"\n");
  EXPECT_THAT(refusal("[ids]\n[ids.orders]\nstore = " + none), HasSubstr("none.db"));
  EXPECT_THAT(refusal("[ids]\n[ids.orders]\nstore = " + none, " --check"),
              HasSubstr(absl::StrCat("ids.toml:6:9: ids.orders.store: \"", directory / "none.db",
                                     "\" is missing; create = true makes it")));
  const std::string ring = "[ids]\nkeys = \"" + (directory / "ring") + "\"\n";
  for (const char* const arguments : {"", " --check"}) {
    EXPECT_THAT(refusal(ring, arguments), HasSubstr("ids.toml:5:8: ids.keys: "));
  }
  EXPECT_THAT(refusal("[ids]\n[ids.table]\nplace = \"file:" + (directory / "t.json") +
                          "\"\npassword_file = \"" + (directory / "p") + "\"\n",
                      " --check"),
              HasSubstr(directory / "p"));
  EXPECT_THAT(refusal("[ids]\nwat = 1\n", " --check"), HasSubstr("ids.toml:5:1: unknown key"));
}

TEST(LocusdIdsCheckTest, Check_JudgesTheTableOfAFileAndSaysWhatItDidNot) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  const std::string path = directory / "t.json";
  ids.Write(kRole, "",
            absl::StrCat("[ids]\n[ids.table]\nplace = \"file:", path,
                         "\"\n[ids.sequences]\nstore = \"redis://127.0.0.1:1\"\n"));
  auto check = [&] {
    return RunLocusd(absl::StrCat("--config ", ids.config(), " --check"), directory);
  };
  LocusdRun run = check();
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, HasSubstr("ids.toml:6:9: ids.table.place: "));
  EXPECT_THAT(run.out, HasSubstr(path));
  std::ofstream(path) << R"({"epoch": 1})";
  run = check();
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, HasSubstr("is refused: member \"shards\" is missing"));
  std::ofstream(path) << RoutingTable::Make(
                             1, {{.id = 1, .name = "a", .endpoint = "x://a", .labels = {}}},
                             {{65535, 1}})
                             ->ToJson();
  run = check();
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_EQ(run.out, absl::StrCat(ids.config(), ": ok\n", ids.config(),
                                  ": not judged, as only the start asks these: "
                                  "ids.sequences.store\n"));
}

TEST(LocusdIdsCheckTest, Init_WritesWhatCheckTakes_AndOverwritesNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory / "new.toml";
  for (const char* const roles :
       {"", "--role id-service", "--role cluster-node", "--role cluster-node --role id-service"}) {
    const std::string line = absl::StrCat("init ", roles, " --output ", path);
    EXPECT_EQ(RunLocusd(line, directory).code, 0) << roles;
    // A package makes /var/lib/locusd.
    ASSERT_EQ(std::system(
                  absl::StrCat("sed -i s:/var/lib/locusd:", directory / ".", ":g ", path).c_str()),
              0);
    const LocusdRun check = RunLocusd(absl::StrCat("--config ", path, " --check"), directory);
    EXPECT_EQ(check.code, 0) << check.out;
    const LocusdRun again = RunLocusd(line, directory);
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.out, HasSubstr("--force"));
    EXPECT_EQ(RunLocusd(line + " --force", directory).code, 0);
    std::remove(path.c_str());
  }
  EXPECT_THAT(RunLocusd("init", directory).out, HasSubstr("[ids.orders]"));
  EXPECT_EQ(RunLocusd("init --role leader", directory).code, 2);
}

}  // namespace
}  // namespace locus
