// SPDX-License-Identifier: Apache-2.0
// The memory that parsing a document takes, by counting the bytes of operator new: at most 8 times
// the memory of the largest legal table, for any document.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_source.h"

namespace {

size_t bytes_now = 0;  // tests run on one thread
size_t bytes_peak = 0;

void* Counted(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  bytes_now += malloc_usable_size(memory);
  bytes_peak = std::max(bytes_peak, bytes_now);
  return memory;
}

void Uncounted(void* memory) {
  if (memory != nullptr) bytes_now -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return Counted(size); }
void* operator new[](size_t size) { return Counted(size); }
void operator delete(void* memory) noexcept { Uncounted(memory); }
void operator delete[](void* memory) noexcept { Uncounted(memory); }
void operator delete(void* memory, size_t) noexcept { Uncounted(memory); }
void operator delete[](void* memory, size_t) noexcept { Uncounted(memory); }

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMost = TableSource::kMaxDocumentBytes;

// As much of everything as there may be, in characters that take two bytes each in a document.
RoutingTable LargestTable() {
  std::vector<Shard> shards;
  std::vector<VnodeRange> ranges;
  std::vector<VnodeMove> moves;
  for (uint32_t i = 0; i < RoutingTable::kMaxShards; ++i) {
    std::string number = absl::StrCat(i + 10000);
    Shard shard{.id = UINT32_MAX - i, .name = number, .endpoint = number, .labels = {}};
    shard.weight = RoutingTable::kMaxWeight;
    shard.labels[std::string(55, '"')] = "";
    shard.endpoint += std::string(128 - 55 - 2 * number.size(), '\\');
    shards.push_back(std::move(shard));
    ranges.push_back({static_cast<uint16_t>(i), UINT32_MAX - i});
    moves.push_back({static_cast<uint16_t>(i), static_cast<uint16_t>(i),
                     UINT32_MAX - (i + 1) % static_cast<uint32_t>(RoutingTable::kMaxShards), 10000,
                     RoutingTable::kMaxStep});
  }
  return RoutingTable::Make(RoutingTable::kMaxEpoch, shards, ranges, moves, "9f1c02d7b5a64e38")
      .value();
}

// Memory that parsing takes beyond the document.
size_t PeakOfParsing(const std::string& document, bool legal) {
  size_t before = bytes_now;
  bytes_peak = bytes_now;
  absl::Status status = RoutingTable::Parse(document).status();
  EXPECT_EQ(status.ok(), legal) << status;
  EXPECT_LT(status.message().size(), 500u);
  return bytes_peak - before;
}

class RoutingTableMemoryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    size_t before = bytes_now;
    largest_ = new RoutingTable(LargestTable());
    needed_ = bytes_now - before;
  }
  static void TearDownTestSuite() { delete largest_; }

  static const RoutingTable* largest_;
  static size_t needed_;
};

const RoutingTable* RoutingTableMemoryTest::largest_ = nullptr;
size_t RoutingTableMemoryTest::needed_ = 0;

TEST_F(RoutingTableMemoryTest, LargestTable_FitsTheLimitClosely) {
  std::string document = largest_->ToJson();
  EXPECT_LE(document.size(), kMost);
  EXPECT_GT(document.size(), kMost / 10 * 9) << "a lower limit would do";
  EXPECT_EQ(RoutingTable::Parse(document).value(), *largest_);
  size_t peak = PeakOfParsing(document, true);
  RecordProperty("needed", absl::StrCat(needed_));
  RecordProperty("peak", absl::StrCat(peak));
  EXPECT_LE(peak + document.size(), 8 * needed_);
}

// `head`, then `part` over and over, as long as a document may be.
std::string Repeated(std::string head, const std::string& part) {
  head.reserve(kMost);
  while (head.size() + part.size() <= kMost) head += part;
  return head;
}

TEST_F(RoutingTableMemoryTest, HostileDocuments_CostNoMoreThanTheLargestTable) {
  const std::string shard = R"({"id":1,"name":"a","endpoint":"b"},)";
  std::vector<std::string> documents = {
      Repeated("", "["),
      Repeated("", "{\"a\":"),
      Repeated("[", "{},"),
      Repeated("{\"shards\":[", "{},"),
      Repeated("{\"shards\":[", "[],"),
      Repeated("{\"shards\":[", "0,"),
      Repeated("{\"shards\":[", "null,"),
      Repeated("{\"shards\":[", shard),
      Repeated("{\"shards\":[{\"labels\":", "{"),
      Repeated("{\"ranges\":[", "{\"last\":1,\"shard\":1},"),
      Repeated("{\"moves\":[", "{\"first\":1,\"last\":1,\"to\":1,\"permyriad\":1},"),
      Repeated("{\"epoch\":", "1"),
      Repeated("{\"epoch\":0.", "1"),
      Repeated("{\"epoch\":1", " "),
      Repeated("{\"table_id\":\"", "a"),
      Repeated("{\"table_id\":\"", "\\\""),
      Repeated("{\"", "x"),
      Repeated("\"", "x"),
      Repeated("\"", "\x01"),
      Repeated("", "x"),
      Repeated("", " "),
      Repeated("", std::string(1, '\0')),
  };
  std::string labels = "{\"shards\":[{\"labels\":{", texts = "{\"shards\":[";
  for (size_t i = 0; labels.size() < kMost - 100; ++i)
    absl::StrAppend(&labels, "\"l", i, "\":\"\",");
  for (size_t i = 0; texts.size() < kMost - 3000; ++i) {
    absl::StrAppend(&texts, "{\"id\":", i + 1, ",\"name\":\"", i, "\",\"endpoint\":\"",
                    std::string(2000, 'x'), "\"},");
  }
  documents.push_back(std::move(labels));
  documents.push_back(std::move(texts));
  for (std::string& document : documents) {
    EXPECT_LE(PeakOfParsing(document, false) + document.size(), 8 * needed_)
        << document.substr(0, 60);
    document = {};
  }
}

TEST_F(RoutingTableMemoryTest, TooManyElements_AreRefusedWhereTheyBegin) {
  auto refusal = [](const std::string& document) {
    return std::string(RoutingTable::Parse(document).status().message());
  };
  EXPECT_EQ(refusal(Repeated("{\"ranges\":[", "{\"last\":1,\"shard\":1},")),
            "/ranges: more than 65536 elements");
  EXPECT_EQ(refusal(Repeated("{\"moves\":[", "{\"first\":1,\"last\":1,\"to\":1,\"permyriad\":1},")),
            "/moves: more than 65536 elements");
  EXPECT_EQ(refusal(Repeated("{\"shards\":[", "{\"id\":1,\"name\":\"a\",\"endpoint\":\"b\"},")),
            "/shards: more than 65536 elements");
  EXPECT_THAT(
      refusal(Repeated("{\"table_id\":\"", "a")),
      HasSubstr("line 1, column 13 (byte 13): a string or number of more than 12288 bytes"));
}

}  // namespace
}  // namespace locus
