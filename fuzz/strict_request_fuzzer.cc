// SPDX-License-Identifier: Apache-2.0
// What a sequence-node reads of its clients and of other nodes, and what StrictClient reads of it:
// a digit that says which, and the body. What is taken keeps its limits; what a node tells, it
// reads.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "apps/locusd/strict/strict_news.h"
#include "apps/locusd/strict/strict_request.h"
#include "apps/locusd/strict/strict_table.h"
#include "nlohmann/json.hpp"
#include "src/engine/locusd/strict/strict_answers.h"

namespace {

using namespace locus::locusd;  // NOLINT

void Check(bool right) {
  if (!right) std::abort();
}

locus::StrictSetOptions Set() {
  locus::StrictSetOptions options;
  options.first_uid = 5;
  options.uids = 1000;
  options.section_size = 100;
  return options;
}

template <typename T>
bool Taken(const absl::StatusOr<T>& read, absl::StatusCode otherwise) {
  if (read.ok()) return true;
  Check(read.status().code() == otherwise && !read.status().message().empty());
  return false;
}

void ReadByNode(char kind, std::string_view body) {
  constexpr auto kWrong = absl::StatusCode::kInvalidArgument;
  if (kind == '0') {
    const auto next = ParseStrictNext(body, Set());
    if (!Taken(next, kWrong)) return;
    Check(!next->uids.empty() && next->uids.size() <= StrictNextRequest::kMost);
    for (const uint64_t uid : next->uids) Check(Set().Contains(uid));
  } else if (kind == '1') {
    const auto request = ParseStrictSections(body, Set(), true);
    if (!Taken(request, kWrong) || !request->sections) return;
    const std::vector<uint32_t>& sections = *request->sections;
    Check(std::is_sorted(sections.begin(), sections.end()) && sections.back() < 10);
  } else {
    const auto news = ParseStrictNews(body);
    if (!Taken(news, kWrong)) return;
    const std::string told = ToJson(*news);
    Check(nlohmann::json::accept(told));
    // Told names lack what is no printable ASCII. One that has nothing else is empty then, and is
    // not taken again.
    const auto again = ParseStrictNews(told);
    if (again.ok()) Check(again->loads == news->loads);
  }
}

void ReadByClient(char kind, std::string_view body) {
  constexpr auto kWrong = absl::StatusCode::kDataLoss;
  if (kind == '3') {
    std::array<uint64_t, 3> numbers = {};
    if (!Taken(ParseStrictNumbers(body, numbers), kWrong)) return;
    for (const uint64_t number : numbers) Check(number != 0 && number <= INT64_MAX);
  } else if (kind == '4') {
    const auto table = ParseStrictTable(body);
    if (!Taken(table, kWrong)) return;
    for (const auto& range : table->ranges) {
      Check(range.first <= range.last && range.last < table->options.sections());
      Check(range.owner < table->addresses.size());
    }
  } else {
    const auto elsewhere = ParseStrictElsewhere(body, 10);
    if (!Taken(elsewhere, kWrong)) return;
    for (const auto& [section, address] : elsewhere->sections) Check(section < 10);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.empty()) return 0;
  if (text[0] >= '0' && text[0] <= '2') ReadByNode(text[0], text.substr(1));
  if (text[0] >= '3' && text[0] <= '5') ReadByClient(text[0], text.substr(1));
  return 0;
}
