// SPDX-License-Identifier: Apache-2.0
#include "locus/key_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/text/text.h"
#include "src/order/key_ring_text.h"

namespace locus {

using internal::KeyRingText;
using internal::Quoted;

namespace {

using testing::HasSubstr;
using testing::Not;
using State = KeyRing::State;

KeyVersion Version(int value) { return KeyVersion::FromInt(value).value(); }

// Base64 of 32 bytes 'k' and of 32 bytes 'l'.
constexpr char kKeyK[] = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=";
constexpr char kKeyL[] = "bGxsbGxsbGxsbGxsbGxsbGxsbGxsbGxsbGxsbGxsbGw=";

std::string TextOf(const KeyRing& ring) {
  return std::string(KeyRingText::Print(ring).value().view());
}

std::string WithKeyK(const std::string& before, const std::string& after) {
  return before + kKeyK + after;
}

class KeyRingFileTest : public testing::Test {
 protected:
  KeyRingFileTest() {
    std::string name = testing::TempDir() + "key_ring_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~KeyRingFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name = "keys") const { return directory_ + "/" + name; }
  std::string Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(Path()) << text;
    EXPECT_EQ(chmod(Path().c_str(), mode), 0);
    return Path();
  }
  std::string Read(const std::string& path) const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  std::string directory_;
};

TEST(KeyRingTest, Generate_IsOneActiveKeyThatDiffersEachTime) {
  KeyRing ring = KeyRing::Generate().value(), other = KeyRing::Generate().value();
  EXPECT_EQ(ring.active(), Version(1));
  ASSERT_EQ(ring.entries().size(), 1u);
  EXPECT_EQ(ring.entries()[0].state, State::kActive);
  EXPECT_EQ(ring.key(Version(1)).value().size(), KeyRing::kKeyBytes);
  EXPECT_NE(ring.key(Version(1)).value(), other.key(Version(1)).value());
}

TEST(KeyRingTest, KeyOfOtherLength_IsRefused) {
  for (size_t size : {0u, 31u, 33u}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(KeyRing::FromKey(Version(1), std::string(size, 'k')).status()));
    KeyRing ring = KeyRing::Generate().value();
    EXPECT_TRUE(absl::IsInvalidArgument(ring.AddKey(Version(2), std::string(size, 'k'))));
    EXPECT_TRUE(absl::IsNotFound(ring.key(Version(2)).status()));
  }
}

TEST(KeyRingTest, Rotation_AddsActivatesRetires) {
  KeyRing ring = KeyRing::FromKey(Version(1), std::string(32, 'k')).value();
  EXPECT_EQ(ring.Add().value(), Version(2));
  EXPECT_EQ(ring.active(), Version(1));
  ASSERT_TRUE(ring.Activate(Version(2)).ok());
  ASSERT_TRUE(ring.Retire(Version(1)).ok());
  EXPECT_TRUE(ring.Retire(Version(1)).ok()) << "again";
  EXPECT_EQ(ring.active(), Version(2));
  std::vector<KeyRing::Entry> entries = ring.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].version, Version(1));
  EXPECT_EQ(entries[0].state, State::kRetired);
  EXPECT_EQ(entries[1].state, State::kActive);
  EXPECT_TRUE(absl::IsNotFound(ring.key(Version(1)).status()));
  EXPECT_THAT(TextOf(ring), HasSubstr("\n1 retired\n"));
}

TEST(KeyRingTest, VersionUnknownOrInTheWrongState_IsRefused) {
  KeyRing ring = KeyRing::Generate().value();
  ASSERT_TRUE(ring.Add().ok());
  ASSERT_TRUE(ring.Retire(Version(2)).ok());
  EXPECT_TRUE(absl::IsNotFound(ring.Activate(Version(3))));
  EXPECT_TRUE(absl::IsFailedPrecondition(ring.Activate(Version(2))));
  EXPECT_TRUE(absl::IsNotFound(ring.Retire(Version(3))));
  EXPECT_TRUE(absl::IsFailedPrecondition(ring.Retire(Version(1))));
  EXPECT_EQ(ring.active(), Version(1));
}

TEST(KeyRingTest, VersionGivenBefore_IsNeverGivenAgain) {
  KeyRing ring = KeyRing::Generate().value();
  ASSERT_TRUE(ring.AddKey(Version(5), std::string(32, 'k')).ok());
  ASSERT_TRUE(ring.Retire(Version(5)).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(ring.AddKey(Version(5), std::string(32, 'l'))));
  EXPECT_TRUE(absl::IsAlreadyExists(ring.AddKey(Version(1), std::string(32, 'l'))));
  EXPECT_EQ(ring.Add().value(), Version(6));
  // The same after a save and a load.
  ASSERT_TRUE(ring.Retire(Version(6)).ok());
  EXPECT_EQ(KeyRing::Parse(TextOf(ring)).value().Add().value(), Version(7));
}

TEST(KeyRingTest, AllVersionsGiven_AddTakesTheGapsThenRefuses) {
  KeyRing ring = KeyRing::FromKey(Version(126), std::string(32, 'k')).value();
  ASSERT_TRUE(ring.AddKey(Version(1), std::string(32, 'k')).ok());
  EXPECT_EQ(ring.Add().value(), Version(127));
  EXPECT_EQ(ring.Add().value(), Version(0));
  EXPECT_EQ(ring.Add().value(), Version(2));
  for (int i = 3; i < 126; ++i) ASSERT_EQ(ring.Add().value(), Version(i));
  EXPECT_TRUE(absl::IsOutOfRange(ring.Add().status()));
  std::string text = TextOf(ring);
  EXPECT_LT(text.size(), KeyRingText::kMaxBytes);
  EXPECT_EQ(TextOf(KeyRing::Parse(text).value()), text);
}

TEST(KeyRingTest, TextOfAFile_IsRead) {
  std::string text =
      std::string("locus-key-ring 1\nactive 2\n1 ") + kKeyK + "\n2 " + kKeyL + "\n0 retired\n";
  KeyRing ring = KeyRing::Parse(text).value();
  EXPECT_EQ(ring.active(), Version(2));
  EXPECT_EQ(ring.key(Version(1)).value(), std::string(32, 'k'));
  EXPECT_EQ(ring.key(Version(2)).value(), std::string(32, 'l'));
  std::vector<State> states;
  for (const KeyRing::Entry& entry : ring.entries()) states.push_back(entry.state);
  EXPECT_THAT(states, testing::ElementsAre(State::kRetired, State::kReadable, State::kActive));
  EXPECT_EQ(TextOf(ring), std::string("locus-key-ring 1\nactive 2\n0 retired\n1 ") + kKeyK +
                              "\n2 " + kKeyL + "\n");
}

struct Refused {
  std::string text;
  int line;
};

std::vector<Refused> RefusedTexts() {
  const std::string title = "locus-key-ring 1\n", head = title + "active 1\n";
  std::string other_padding_bits = kKeyK;
  other_padding_bits[42] = 't';
  return {
      {"", 1},
      {"\n", 1},
      {"locus-key-ring 2\nactive 1\n", 1},
      {" locus-key-ring 1\n", 1},
      {"locus-key-ring 1\r\nactive 1\r\n", 1},
      {"\xEF\xBB\xBFlocus-key-ring 1\n", 1},
      {"locus-key-ring 1", 1},
      {title, 2},
      {title + "active 1", 2},
      {WithKeyK(title + "1 ", "\n"), 2},
      {WithKeyK(title + "active 128\n1 ", "\n"), 2},
      {WithKeyK(title + "active 01\n1 ", "\n"), 2},
      {WithKeyK(title + "active  1\n1 ", "\n"), 2},
      {WithKeyK(title + "active 1 \n1 ", "\n"), 2},
      {WithKeyK(title + "active -1\n1 ", "\n"), 2},
      {head, 2},
      {WithKeyK(head + "2 ", "\n"), 2},
      {head + "1 retired\n", 2},
      {WithKeyK(head + "1 ", ""), 3},
      {WithKeyK(head + "1 ", "\r\n"), 3},
      {WithKeyK(head + "1 ", " \n"), 3},
      {WithKeyK(head + "1  ", "\n"), 3},
      {WithKeyK(head + "1\t", "\n"), 3},
      {WithKeyK(head + " 1 ", "\n"), 3},
      {WithKeyK(head + "128 ", "\n"), 3},
      {WithKeyK(head + "01 ", "\n"), 3},
      {WithKeyK(head, "\n"), 3},
      {head + "1\n", 3},
      {head + "1 \n", 3},
      {head + "1 RETIRED\n", 3},
      {head + "1 " + std::string(kKeyK).substr(0, 43) + "\n", 3},
      {head + "1 " + std::string(kKeyK).substr(0, 40) + "\n", 3},
      {head + "1 " + std::string(43, 'a') + "\n", 3},
      {head + "1 " + std::string(44, 'a') + "\n", 3},
      {head + "1 " + std::string(42, 'a') + "==\n", 3},
      {head + "1 " + std::string(44, '*') + "\n", 3},
      {head + "1 " + std::string(43, ' ') + "=\n", 3},
      {head + "1 " + other_padding_bits + "\n", 3},
      {WithKeyK(head + "1 ", "\n\n"), 4},
      {WithKeyK(head + "1 ", "\n# note\n"), 4},
      {WithKeyK(head + "1 ", "\nactive 1\n"), 4},
      {WithKeyK(head + "1 ", "\n1 retired\n"), 4},
      {WithKeyK(WithKeyK(head + "1 ", "\n1 "), "\n"), 4},
      {WithKeyK(head + "1 ", std::string("\n\0", 2)), 4},
  };
}

TEST(KeyRingTest, AnythingElse_IsRefusedWithItsLineAndWithoutItsContent) {
  for (const Refused& refused : RefusedTexts()) {
    absl::Status status = KeyRing::Parse(refused.text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << Quoted(refused.text);
    std::string message(status.message());
    EXPECT_THAT(message, HasSubstr("line " + std::to_string(refused.line) + ":"))
        << Quoted(refused.text);
    EXPECT_THAT(message, Not(HasSubstr("a2tra")));
  }
}

TEST_F(KeyRingFileTest, SavedRing_IsLoadedAgain) {
  KeyRing ring = KeyRing::Generate().value();
  ASSERT_TRUE(ring.Add().ok());
  ASSERT_TRUE(ring.Retire(Version(2)).ok());
  umask(0);
  ASSERT_TRUE(ring.Save(Path()).ok());
  struct stat file;
  ASSERT_EQ(stat(Path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600u);
  EXPECT_EQ(TextOf(KeyRing::Load(Path()).value()), TextOf(ring));
  EXPECT_THAT(Names(), testing::ElementsAre("keys"));
}

TEST_F(KeyRingFileTest, SaveOverAFile_ReplacesItAndLeavesReadersTheOldOne) {
  KeyRing old_ring = KeyRing::Generate().value(), ring = KeyRing::Generate().value();
  ASSERT_TRUE(old_ring.Save(Path()).ok());
  std::ifstream reader(Path());
  ASSERT_TRUE(ring.Save(Path()).ok());
  EXPECT_EQ(TextOf(KeyRing::Load(Path()).value()), TextOf(ring));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), TextOf(old_ring));
  EXPECT_THAT(Names(), testing::ElementsAre("keys"));
}

TEST_F(KeyRingFileTest, SaveWhereNothingMayBe_RefusesToReplace) {
  KeyRing ring = KeyRing::Generate().value();
  ASSERT_TRUE(ring.Save(Path(), /*must_not_exist=*/true).ok());
  EXPECT_EQ(TextOf(KeyRing::Load(Path()).value()), TextOf(ring));
  absl::Status again = KeyRing::Generate().value().Save(Path(), /*must_not_exist=*/true);
  EXPECT_TRUE(absl::IsAlreadyExists(again));
  EXPECT_THAT(std::string(again.message()), HasSubstr(Path()));
  EXPECT_EQ(TextOf(KeyRing::Load(Path()).value()), TextOf(ring));
  EXPECT_THAT(Names(), testing::ElementsAre("keys"));
}

TEST_F(KeyRingFileTest, SaveThatCannotSucceed_LeavesNothing) {
  KeyRing ring = KeyRing::Generate().value();
  EXPECT_TRUE(absl::IsNotFound(ring.Save(Path("none/keys"))));
  ASSERT_EQ(mkdir(Path("folder").c_str(), 0700), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(ring.Save(Path("folder"))));
  EXPECT_TRUE(absl::IsAlreadyExists(ring.Save(Path("folder"), /*must_not_exist=*/true)));
  EXPECT_THAT(Names(), testing::ElementsAre("folder"));
  EXPECT_TRUE(std::filesystem::is_empty(Path("folder")));
}

TEST_F(KeyRingFileTest, SymbolicLink_IsFollowed) {
  KeyRing ring = KeyRing::Generate().value(), newer = KeyRing::Generate().value();
  ASSERT_TRUE(ring.Save(Path()).ok());
  ASSERT_EQ(symlink("keys", Path("link").c_str()), 0);
  EXPECT_EQ(TextOf(KeyRing::Load(Path("link")).value()), TextOf(ring));
  ASSERT_TRUE(newer.Save(Path("link")).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(TextOf(KeyRing::Load(Path()).value()), TextOf(newer));
  EXPECT_TRUE(absl::IsAlreadyExists(newer.Save(Path("link"), /*must_not_exist=*/true)));
}

TEST_F(KeyRingFileTest, PermissionsForGroupOrOthers_AreRefused) {
  std::string text = TextOf(KeyRing::Generate().value());
  for (mode_t mode : {0600, 0400, 0700}) {
    EXPECT_TRUE(KeyRing::Load(Write(text, mode)).ok()) << mode;
    ASSERT_EQ(unlink(Path().c_str()), 0);
  }
  for (mode_t mode : {0644, 0640, 0620, 0610, 0604, 0602, 0601}) {
    absl::Status status = KeyRing::Load(Write(text, mode)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << mode;
    EXPECT_THAT(std::string(status.message()), HasSubstr(Path()));
    ASSERT_EQ(unlink(Path().c_str()), 0);
  }
}

TEST_F(KeyRingFileTest, FileOfAnotherUser_IsRefused) {
  Write(TextOf(KeyRing::Generate().value()));
  constexpr uid_t kNobody = 65534;
  if (chown(Path().c_str(), kNobody, kNobody) != 0) {
    // Only root may give files away. A user cannot open the file of another user.
    ASSERT_NE(geteuid(), 0u);
    ASSERT_EQ(chmod(Path().c_str(), 0), 0);
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(KeyRing::Load(Path()).status()));
}

TEST_F(KeyRingFileTest, NotARegularFile_IsRefusedAtOnce) {
  EXPECT_TRUE(absl::IsNotFound(KeyRing::Load(Path()).status()));
  EXPECT_TRUE(absl::IsNotFound(KeyRing::Load(Path("none/keys")).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(KeyRing::Load(directory_).status()));
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(KeyRing::Load(Path("fifo")).status()));
}

TEST_F(KeyRingFileTest, BrokenFile_IsRefusedByPathAndLine) {
  absl::Status status =
      KeyRing::Load(Write(WithKeyK("locus-key-ring 1\nactive 1\n1 ", "x\n"))).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(Path() + "\", line 3:"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("a2tra")));
}

TEST_F(KeyRingFileTest, FileLongerThanAnyRing_IsRefused) {
  std::string text = TextOf(KeyRing::Generate().value());
  Write(text + std::string(KeyRingText::kMaxBytes, '\n'));
  EXPECT_TRUE(absl::IsInvalidArgument(KeyRing::Load(Path()).status()));
}

}  // namespace
}  // namespace locus
