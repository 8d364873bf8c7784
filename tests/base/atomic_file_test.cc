// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/atomic_file.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus::internal {

namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct stat Facts(const std::string& path) {
  struct stat facts = {};
  EXPECT_EQ(stat(path.c_str(), &facts), 0) << path;
  return facts;
}

mode_t Permissions(const std::string& path) { return Facts(path).st_mode & 07777; }

class ReplaceFileTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = umask(022); }
  void TearDown() override { umask(before_); }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "file";
  mode_t before_ = 0;
};

TEST_F(ReplaceFileTest, NewFile_HasTheModeLessTheUmask) {
  ASSERT_TRUE(ReplaceFile(path_, "one", 0666).ok());
  EXPECT_EQ(Permissions(path_), 0644u);
  EXPECT_EQ(Read(path_), "one");
}

TEST_F(ReplaceFileTest, ReplacedFile_KeepsItsPermissions) {
  for (mode_t kept : {0600u, 0640u, 0444u, 0664u}) {
    ASSERT_TRUE(ReplaceFile(path_, "one", 0644).ok());
    ASSERT_EQ(chmod(path_.c_str(), kept), 0);
    ASSERT_TRUE(ReplaceFile(path_, "two", 0644).ok());
    EXPECT_EQ(Permissions(path_), kept);
    EXPECT_EQ(Read(path_), "two");
  }
}

TEST_F(ReplaceFileTest, BehindASymbolicLink_TheFileKeepsItsPermissions) {
  ASSERT_TRUE(ReplaceFile(path_, "one", 0600).ok());
  std::string link = directory_ / "link";
  ASSERT_EQ(symlink("file", link.c_str()), 0);
  ASSERT_TRUE(ReplaceFile(link, "two", 0644).ok());
  EXPECT_EQ(Permissions(path_), 0600u);
  EXPECT_EQ(Read(path_), "two");
}

TEST_F(ReplaceFileTest, SecretFile_LosesPermissionsOfOthers) {
  ASSERT_TRUE(ReplaceFile(path_, "one", 0644).ok());
  ASSERT_TRUE(ReplaceFile(path_, "two", 0600, 0600).ok());
  EXPECT_EQ(Permissions(path_), 0600u);
}

// Root may give files away, other users may not: the test checks the case of its own user.
TEST_F(ReplaceFileTest, OwnerAndGroup_AreKeptWhereTheProcessMay) {
  ASSERT_TRUE(ReplaceFile(path_, "one", 0644).ok());
  bool given = chown(path_.c_str(), 12345, 54321) == 0;
  EXPECT_EQ(given, geteuid() == 0);
  struct stat before = Facts(path_);
  ASSERT_TRUE(ReplaceFile(path_, "two", 0644).ok());
  EXPECT_EQ(Facts(path_).st_uid, before.st_uid);
  EXPECT_EQ(Facts(path_).st_gid, before.st_gid);
}

}  // namespace
}  // namespace locus::internal
