// SPDX-License-Identifier: Apache-2.0
#include "src/engine/locusd/strict/strict_answers.h"

#include <boost/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/http/api/members.h"
#include "src/http/endpoint.h"

namespace locus::locusd {

namespace json = boost::json;

using cluster_api::Members;
using internal::ParseDecimal;

namespace {

constexpr size_t kMostOwners = 4096;
constexpr size_t kMostSections = size_t{1} << 20;
constexpr size_t kMostAddressBytes = 256;
constexpr size_t kMostDigits = 20;

absl::Status Wrong(const absl::Status& why) {
  return absl::DataLossError(
      absl::StrCat("the answer is none of a sequence-node: ", why.message()));
}

// A number of 64 bits as a text.
uint64_t NumberText(Members& members, const char* name, uint64_t most) {
  const std::optional<uint64_t> number = ParseDecimal(members.Text(name, kMostDigits), most);
  if (!number) members.Fail(absl::StrCat("\"", name, "\" is no number as a text"));
  return number.value_or(0);
}

absl::StatusOr<std::string> AddressOf(const json::value& value) {
  Members members(value, "an owner");
  members.AllowOthers();
  std::string address = members.Text("address", kMostAddressBytes);
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(http::Endpoint::Parse(address).status());
  return address;
}

absl::StatusOr<StrictTableAnswer> TableOf(std::string_view body) {
  Members members(body);
  members.AllowOthers();
  StrictTableAnswer table;
  table.version = NumberText(members, "table_version", INT64_MAX);
  table.options.first_uid = NumberText(members, "first_uid", UINT64_MAX);
  table.options.uids = NumberText(members, "uids", UINT64_MAX);
  table.options.section_size = static_cast<uint32_t>(members.Number("section_size", UINT32_MAX));
  table.options.step = NumberText(members, "step", UINT64_MAX);
  table.options.ttl = members.Duration("ttl_ms");
  const json::array* const owners = members.Array("owners", kMostOwners);
  const json::array* const ranges = members.Array("ranges", kMostSections);
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(table.options.Check());
  for (const json::value& owner : *owners) {
    LOCUS_ASSIGN_OR_RETURN(std::string address, AddressOf(owner));
    table.addresses.push_back(std::move(address));
  }
  const uint64_t last_section = table.options.sections() - 1;
  for (const json::value& value : *ranges) {
    Members of(value, "a range");
    of.AllowOthers();
    const auto first = of.Number("first", last_section);
    const auto last = of.Number("last", last_section);
    const auto owner = of.Number("owner", kMostOwners);
    LOCUS_RETURN_IF_ERROR(of.Finish());
    // In order, so that no answer takes long to be read.
    const bool follows = table.ranges.empty() || first > table.ranges.back().last;
    if (!follows || first > last || owner >= table.addresses.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the range ", first, " to ", last,
                                                     " of owner ", owner,
                                                     " is out of order, or has no owner"));
    }
    table.ranges.push_back(
        {static_cast<uint32_t>(first), static_cast<uint32_t>(last), static_cast<uint32_t>(owner)});
  }
  return table;
}

absl::StatusOr<uint64_t> NumbersOf(std::string_view body, std::span<uint64_t> numbers) {
  Members members(body);
  members.AllowOthers();
  const uint64_t version = NumberText(members, "table_version", INT64_MAX);
  const json::array* const array = members.Array("numbers", numbers.size());
  LOCUS_RETURN_IF_ERROR(members.Finish());
  if (array->size() != numbers.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", array->size(), " numbers for ", numbers.size(), " uids"));
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const json::string* const text = (*array)[i].if_string();
    const std::optional<uint64_t> number =
        text == nullptr ? std::nullopt : ParseDecimal({text->data(), text->size()}, INT64_MAX);
    if (!number || *number == 0) {
      return absl::InvalidArgumentError(absl::StrCat("\"numbers\"[", i, "] is no number"));
    }
    numbers[i] = *number;
  }
  return version;
}

absl::StatusOr<StrictElsewhere> ElsewhereOf(std::string_view body, uint32_t count) {
  Members members(body);
  members.AllowOthers();
  StrictElsewhere elsewhere;
  elsewhere.version = NumberText(members, "table_version", INT64_MAX);
  const json::array* const sections = members.Array("sections", kMostSections);
  LOCUS_RETURN_IF_ERROR(members.Finish());
  if (sections->empty()) return absl::InvalidArgumentError("\"sections\" is empty");
  for (const json::value& value : *sections) {
    Members of(value, "a section");
    of.AllowOthers();
    const auto section = static_cast<uint32_t>(of.Number("section", count - 1));
    LOCUS_RETURN_IF_ERROR(of.Finish());
    // Finish found that it is an object.
    const json::value* const owner = value.get_object().if_contains("owner");
    if (owner == nullptr || owner->is_null()) {
      elsewhere.sections.emplace_back(section, "");
      continue;
    }
    LOCUS_ASSIGN_OR_RETURN(std::string address, AddressOf(*owner));
    elsewhere.sections.emplace_back(section, std::move(address));
  }
  return elsewhere;
}

}  // namespace

absl::StatusOr<StrictTableAnswer> ParseStrictTable(std::string_view body) {
  absl::StatusOr<StrictTableAnswer> table = TableOf(body);
  if (table.ok()) return table;
  return Wrong(table.status());
}

absl::StatusOr<uint64_t> ParseStrictNumbers(std::string_view body, std::span<uint64_t> numbers) {
  absl::StatusOr<uint64_t> version = NumbersOf(body, numbers);
  if (version.ok()) return version;
  return Wrong(version.status());
}

absl::StatusOr<StrictElsewhere> ParseStrictElsewhere(std::string_view body, uint32_t count) {
  absl::StatusOr<StrictElsewhere> elsewhere = ElsewhereOf(body, count);
  if (elsewhere.ok()) return elsewhere;
  return Wrong(elsewhere.status());
}

}  // namespace locus::locusd
