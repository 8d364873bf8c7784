// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/fork_guard.h"

#include <memory>

#include "gtest/gtest.h"
#include "tests/support/child_process.h"

namespace locus::internal {
namespace {

TEST(ForkGuardTest, InItsOwnProcess_IsNotForked) {
  ForkGuard guard;
  EXPECT_FALSE(guard.forked());
  EXPECT_TRUE(guard.Check("a generator").ok());
}

TEST(ForkGuardTest, InAForkedChild_RefusesAndNamesTheObject) {
  ForkGuard guard;
  ForkGuard copy = guard;
  EXPECT_EQ(ChildProcess([&] {
              if (!guard.forked() || !copy.forked()) return 1;
              absl::Status refusal = guard.Check("a generator");
              if (!absl::IsFailedPrecondition(refusal)) return 2;
              return refusal.message() ==
                             "this is a forked child: a generator belongs to the process that made "
                             "it; make another one here"
                         ? 0
                         : 3;
            }).Wait(),
            0);
  EXPECT_FALSE(guard.forked());
}

TEST(ForkGuardTest, MadeInAChild_IsForkedInTheGrandchildOnly) {
  ForkGuard of_parent;
  EXPECT_EQ(ChildProcess([&] {
              ForkGuard of_child;
              if (of_child.forked() || !of_parent.forked()) return 1;
              int grandchild = ChildProcess([&] {
                                 ForkGuard of_grandchild;
                                 if (!of_child.forked() || !of_parent.forked()) return 1;
                                 return of_grandchild.forked() ? 2 : 0;
                               }).Wait();
              return grandchild == 0 && !of_child.forked() ? 0 : 3;
            }).Wait(),
            0);
}

// Siblings count on from the same number; neither may mistake the other for itself or the parent.
TEST(ForkGuardTest, MadeByTheParentAfterAFork_IsForkedInTheNextChild) {
  EXPECT_EQ(ChildProcess([] { return ForkGuard().forked() ? 1 : 0; }).Wait(), 0);
  ForkGuard later;
  EXPECT_EQ(ChildProcess([&] { return later.forked() ? 0 : 1; }).Wait(), 0);
}

struct Counted {
  ForkGuard guard;
  int* destroyed;
  bool forked() const { return guard.forked(); }
  ~Counted() { ++*destroyed; }
};

TEST(ForkGuardTest, AbandonIfForked_DestroysInTheParentAndLeaksInTheChild) {
  int destroyed = 0;
  auto object = std::unique_ptr<Counted>(new Counted{ForkGuard(), &destroyed});
  EXPECT_EQ(ChildProcess([&] {
              AbandonIfForked(object);
              return object == nullptr && destroyed == 0 ? 0 : 1;
            }).Wait(),
            0);
  AbandonIfForked(object);
  ASSERT_NE(object, nullptr);
  object.reset();
  EXPECT_EQ(destroyed, 1);
  AbandonIfForked(object);  // an empty one is left alone
}

}  // namespace
}  // namespace locus::internal
