// SPDX-License-Identifier: Apache-2.0
// A program of its own: it searches all memory of the process.
#include "gtest/gtest.h"
#include "locus/routing/file_table.h"
#include "migration/run/move_control.h"
#include "tests/run/move_setup.h"
#include "tests/support/password_search.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

TEST(MovePasswordTest, RunnerAndControl_LeaveNoPasswordWhereCoreDumpsLook) {
  TemporaryDirectory directory;
  auto publisher = FileTablePublisher::Open(directory / "table.json").value();
  Move move = TestMove(1, 2);
  mysql::RunnerOptions options = TestRunner("one", directory / "");
  options.source_candidates = {move.source.server};
  for (MysqlOptions* server :
       {&move.source.server, &move.target.server, &options.source_candidates[0]}) {
    Fill(server->password);
  }
  ASSERT_GE(Search().dumped, 3u) << "the caller's own: the search works";
  auto runner = mysql::MoveRunner::Create(move, options, *publisher);
  ASSERT_TRUE(runner.ok()) << runner.status();
  auto control = mysql::MoveControl::Create(move);
  ASSERT_TRUE(control.ok()) << control.status();
  for (MysqlOptions* server :
       {&move.source.server, &move.target.server, &options.source_candidates[0]}) {
    explicit_bzero(server->password.data(), server->password.size());
  }
  EXPECT_EQ(Search().dumped, 0u);
}

}  // namespace
}  // namespace locus
