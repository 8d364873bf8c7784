// SPDX-License-Identifier: Apache-2.0
#include "buyers.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "locus/buyer_key.h"
#include "locus/shard_gene.h"

namespace shop {
namespace {

bool IsOf(Vnodes vnodes, uint64_t buyer) {
  const uint16_t gene = locus::ShardGene::Of(locus::BuyerKey::Uint64(buyer)).value();
  return gene >= vnodes.first && gene <= vnodes.last;
}

// The fields of a line. Quoted fields may hold commas and doubled quotes, but no line break.
std::vector<std::string> FieldsOf(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      const bool doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (doubled) {
        fields.back().push_back(line[++i]);
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back().push_back(c);
    }
  }
  return fields;
}

}  // namespace

std::vector<BuyerRow> MakeBuyers(Vnodes vnodes, size_t count) {
  std::vector<BuyerRow> buyers;
  for (uint64_t buyer = 10000; buyers.size() < count; ++buyer) {
    if (IsOf(vnodes, buyer)) buyers.push_back({buyer, static_cast<int64_t>(buyer % 10000 + 1)});
  }
  return buyers;
}

absl::StatusOr<std::vector<BuyerRow>> ReadBuyers(const std::string& path, Vnodes vnodes) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    return absl::NotFoundError(absl::StrCat(path, " is missing or has no line"));
  }
  const std::vector<std::string> header = FieldsOf(line);
  auto column = [&](const char* name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const size_t customer = column("CustomerID"), total = column("total");
  if (customer == header.size() || total == header.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " needs the columns CustomerID and total; its first line is ", line));
  }
  std::vector<BuyerRow> buyers;
  for (size_t number = 2; std::getline(file, line); ++number) {
    const std::vector<std::string> fields = FieldsOf(line);
    if (fields.size() != header.size()) {
      return absl::InvalidArgumentError(absl::StrCat(path, " line ", number, " has ", fields.size(),
                                                     " fields, the first line ", header.size()));
    }
    if (fields[customer].empty()) continue;
    BuyerRow row;
    double amount = 0;
    if (!absl::SimpleAtoi(fields[customer], &row.buyer) ||
        !absl::SimpleAtod(fields[total], &amount) || std::abs(amount) > 1e9) {
      return absl::InvalidArgumentError(absl::StrCat(path, " line ", number,
                                                     ": CustomerID must be a number, total one"
                                                     " below 1e9"));
    }
    row.amount = std::llround(amount * 100);
    if (row.amount >= 0 && IsOf(vnodes, row.buyer)) buyers.push_back(row);
  }
  if (buyers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no buyer of the vnodes ", vnodes.first, " to ", vnodes.last));
  }
  return buyers;
}

}  // namespace shop
