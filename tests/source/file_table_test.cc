// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/file_table.h"

#include <filesystem>
#include <fstream>

#include "tests/source/table_publisher_contract.h"
#include "tests/source/table_source_contract.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

class FileUnderTest : public TablePlaceUnderTest {
 public:
  std::unique_ptr<TableSource> Follow() override { return FileTableSource::Open(path_).value(); }
  std::unique_ptr<TablePublisher> MakePublisher() override {
    return FileTablePublisher::Open(path_).value();
  }
  bool PutRaw(const std::string& document) override {
    std::ofstream(path_ + ".tmp") << document;
    std::filesystem::rename(path_ + ".tmp", path_);
    return true;
  }

 private:
  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "table.json";
};

const TablePlaceKind& File() {
  static const TablePlaceKind kind{"file", [] { return std::make_unique<FileUnderTest>(); }};
  return kind;
}
INSTANTIATE_TEST_SUITE_P(File, TableSourceContract, ::testing::Values(File()));
INSTANTIATE_TEST_SUITE_P(File, TablePublisherContract, ::testing::Values(File()));

}  // namespace
}  // namespace locus
