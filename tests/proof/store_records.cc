// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/store_records.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace locus::proof {
namespace {

using Kind = StoreRecord::Kind;

// Beyond its timeout a call may be kept from the processor, on a machine that does much else.
const int64_t kMostNanoseconds = absl::ToInt64Nanoseconds(kCallTimeout + absl::Seconds(20));

// Each read must be of what was altered or read before it began, or of something later.
std::string StaleRead(std::vector<TakenRange> known, std::vector<TakenRange> reads) {
  known.insert(known.end(), reads.begin(), reads.end());
  std::sort(known.begin(), known.end(),
            [](const TakenRange& a, const TakenRange& b) { return a.ended < b.ended; });
  std::sort(reads.begin(), reads.end(),
            [](const TakenRange& a, const TakenRange& b) { return a.began < b.began; });
  uint64_t highest = 0;
  size_t next = 0;
  for (const TakenRange& read : reads) {
    for (; next < known.size() && known[next].ended < read.began; ++next) {
      highest = std::max(highest, known[next].last);
    }
    if (read.last < highest) {
      return absl::StrCat("version ", read.last, " was read after version ", highest);
    }
  }
  return "";
}

}  // namespace

std::string LineOf(const StoreRecord& record) {
  const TakenRange& taken = record.taken;
  return absl::StrCat(std::string(1, static_cast<char>(record.kind)), " ", taken.began, " ",
                      taken.ended, " ", taken.first, " ", taken.last, " ", record.error, "\n");
}

std::optional<StoreRecord> ParseStoreRecord(const std::string& line) {
  std::istringstream in(line);
  char kind = 0;
  StoreRecord record;
  TakenRange& taken = record.taken;
  if (!(in >> kind >> taken.began >> taken.ended >> taken.first >> taken.last)) return std::nullopt;
  if (std::string("nsaore").find(kind) == std::string::npos) return std::nullopt;
  record.kind = static_cast<Kind>(kind);
  std::getline(in >> std::ws, record.error);
  return record;
}

void StoreRecords::ReadMore() {
  std::ifstream in(path_, std::ios::binary);
  if (!in.seekg(static_cast<std::streamoff>(at_))) return;
  std::string line;
  while (std::getline(in, line) && !in.eof()) {
    at_ += line.size() + 1;
    std::optional<StoreRecord> record = ParseStoreRecord(line);
    if (!record) record = StoreRecord{Kind::kError, {}, "no record: " + line};
    all_.push_back(*std::move(record));
  }
}

std::vector<std::string> WrongOf(const std::vector<StoreRecord>& records) {
  std::vector<std::string> wrong;
  std::map<Kind, std::vector<TakenRange>> taken;
  for (const StoreRecord& record : records) {
    const int64_t took = record.taken.ended - record.taken.began;
    if (took > kMostNanoseconds) {
      wrong.push_back(absl::StrCat("a call took ", took / 1'000'000, " ms: ", LineOf(record)));
    }
    if (record.kind != Kind::kError) {
      taken[record.kind].push_back(record.taken);
    } else if (!record.error.starts_with("UNAVAILABLE")) {
      wrong.push_back(record.error);
    }
  }
  auto note = [&](const char* what, const std::string& flaw) {
    if (!flaw.empty()) wrong.push_back(absl::StrCat(what, ": ", flaw));
  };
  note("numbers", FlawOf(taken[Kind::kNumbers]));
  note("sequences", FlawOf(taken[Kind::kSegment]));
  note("versions", FlawOf(taken[Kind::kAltered]));
  note("types", StaleRead(taken[Kind::kAltered], taken[Kind::kRead]));
  return wrong;
}

}  // namespace locus::proof
