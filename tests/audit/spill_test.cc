// SPDX-License-Identifier: Apache-2.0
#include "src/audit/spill.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus::audit {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMost = 1 << 20;

class SpillTest : public ::testing::Test {
 protected:
  std::unique_ptr<Spill> Open(uint64_t most = kMost) {
    auto spill = Spill::Open(path_, most);
    EXPECT_TRUE(spill.ok()) << spill.status();
    return spill.ok() ? *std::move(spill) : nullptr;
  }
  static Batch BatchOf(int number, size_t bytes = 20) {
    std::string rows = absl::StrCat(number, " ");
    rows.resize(bytes, '\n');
    return {rows, static_cast<uint64_t>(number), 0};
  }
  static int NumberOf(const Batch& batch) { return std::stoi(batch.rows); }
  std::vector<int> Drain(Spill& spill) {
    std::vector<int> numbers;
    while (auto batch = spill.Front()) {
      numbers.push_back(NumberOf(*batch));
      spill.Pop();
    }
    return numbers;
  }
  std::vector<fs::path> Files() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".spill") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "spill";
};

TEST_F(SpillTest, Batches_ComeInOrder_AlsoAcrossFilesAndRestarts) {
  std::vector<int> all;
  for (int i = 1; i <= 60; ++i) all.push_back(i);
  {
    auto spill = Open();
    EXPECT_TRUE(spill->empty());
    for (int i = 1; i <= 30; ++i) ASSERT_TRUE(spill->Append(BatchOf(i, 9000)).ok());
    EXPECT_GT(Files().size(), 2u);
  }
  auto spill = Open();
  for (int i = 31; i <= 60; ++i) ASSERT_TRUE(spill->Append(BatchOf(i, 9000)).ok());
  EXPECT_EQ(Drain(*spill), all);
  EXPECT_TRUE(spill->empty());
  EXPECT_EQ(spill->bytes(), 0u);
  EXPECT_TRUE(Files().empty());
  EXPECT_EQ(spill->TakeLoss().records, 0u);
}

TEST_F(SpillTest, FrontWithoutPop_IsTheSame_AndAppendsMeanwhileAreSeen) {
  auto spill = Open();
  ASSERT_TRUE(spill->Append(BatchOf(1)).ok());
  EXPECT_EQ(NumberOf(*spill->Front()), 1);
  ASSERT_TRUE(spill->Append(BatchOf(2)).ok());
  EXPECT_EQ(NumberOf(*spill->Front()), 1);
  EXPECT_EQ(Drain(*spill), (std::vector<int>{1, 2}));
}

TEST_F(SpillTest, Full_DropsTheOldestAndCountsTheirRecords) {
  auto spill = Open();
  for (int i = 1; i <= 300; ++i) ASSERT_TRUE(spill->Append(BatchOf(i, 9000)).ok());
  EXPECT_LE(spill->bytes(), kMost);
  const std::vector<int> kept = Drain(*spill);
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back(), 300);
  uint64_t kept_records = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i], kept[0] + static_cast<int>(i));
    kept_records += static_cast<uint64_t>(kept[i]);
  }
  EXPECT_EQ(spill->TakeLoss().records + kept_records, 300u * 301 / 2);
}

TEST_F(SpillTest, BatchWithoutAnyRoom_IsRefusedAndTheOthersStay) {
  auto spill = Open();
  ASSERT_TRUE(spill->Append(BatchOf(1)).ok());
  EXPECT_FALSE(spill->Append(BatchOf(2, kMost)).ok());
  EXPECT_EQ(Drain(*spill), (std::vector<int>{1}));
}

// Every length that a crash can leave of the last frame.
TEST_F(SpillTest, FileCutAnywhere_KeepsTheWholeFramesBefore) {
  std::string text;
  {
    auto spill = Open();
    for (int i = 1; i <= 3; ++i) ASSERT_TRUE(spill->Append(BatchOf(i, 40)).ok());
  }
  const fs::path file = Files().at(0);
  {
    std::ifstream in(file, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t size = 0; size <= text.size(); ++size) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text.substr(0, size);
    auto spill = Open();
    ASSERT_TRUE(spill->Append(BatchOf(9)).ok());
    std::vector<int> expected;
    for (size_t i = 1; i <= size * 3 / text.size(); ++i) expected.push_back(static_cast<int>(i));
    expected.push_back(9);
    EXPECT_EQ(Drain(*spill), expected) << size;
  }
}

TEST_F(SpillTest, FrameWithAChangedByte_IsLeftOut) {
  {
    auto spill = Open();
    ASSERT_TRUE(spill->Append(BatchOf(1, 40)).ok());
  }
  std::fstream(Files().at(0), std::ios::in | std::ios::out | std::ios::binary).seekp(30).put('x');
  EXPECT_TRUE(Drain(*Open()).empty());
}

TEST_F(SpillTest, DamagedFrame_IsCountedAndLosesNoOther) {
  const Batch damaged = {"{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n", 3, 0};
  {
    auto spill = Open();
    ASSERT_TRUE(spill->Append(BatchOf(1)).ok());
    ASSERT_TRUE(spill->Append(damaged).ok());
    ASSERT_TRUE(spill->Append(BatchOf(3)).ok());
  }
  std::fstream file(Files().at(0), std::ios::in | std::ios::out | std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  file.clear();
  file.seekp(static_cast<std::streamoff>(text.find("\"b\""))).put('x');
  file.close();
  auto spill = Open();
  EXPECT_EQ(Drain(*spill), (std::vector<int>{1, 3}));
  EXPECT_EQ(spill->TakeLoss().records, 3u);
  EXPECT_EQ(spill->TakeLoss().records, 0u);
}

TEST_F(SpillTest, GapThatIsDropped_IsReportedAgain_AlsoAfterARestart) {
  Batch gap = BatchOf(2, 9000);
  gap.told = 500;
  ASSERT_TRUE(Open()->Append(gap).ok());
  auto spill = Open();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(spill->Append(BatchOf(1, 9000)).ok());
  EXPECT_EQ(spill->TakeLoss().told, 500u);
}

TEST_F(SpillTest, DirectoryOfAnotherProcess_IsRefused_AndItsFilesArePrivate) {
  auto spill = Open();
  ASSERT_TRUE(spill->Append(BatchOf(1)).ok());
  const absl::Status status = Spill::Open(path_, kMost).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(status.message().find(path_), absl::string_view::npos) << status;
  struct stat facts;
  ASSERT_EQ(stat(Files().at(0).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(SpillTest, StrangersFiles_AreLeftAlone) {
  fs::create_directory(path_);
  std::ofstream(path_ + "/notes.txt") << "mine";
  std::ofstream(path_ + "/1.spill") << "mine";
  EXPECT_TRUE(Drain(*Open()).empty());
  EXPECT_TRUE(fs::exists(path_ + "/notes.txt"));
  EXPECT_TRUE(fs::exists(path_ + "/1.spill"));
}

}  // namespace
}  // namespace locus::audit
