// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_request.h"

#include <boost/json.hpp>

#include "absl/strings/str_cat.h"
#include "apps/locusd/ids/text_list.h"
#include "apps/locusd/strict/section_list.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/http/api/members.h"

namespace locus::locusd {

namespace json = boost::json;

using internal::ParseDecimal;
using internal::Quoted;

namespace {

constexpr size_t kMost = StrictNextRequest::kMost;
// Runs of sections in one request.
constexpr size_t kMostRanges = 4096;
constexpr size_t kMostNameBytes = 64;

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

absl::StatusOr<json::object> ObjectOf(std::string_view body) {
  json::error_code error;
  json::value value = json::parse({body.data(), body.size()}, error);
  if (!error && value.is_object()) {
    if (!cluster_api::NamesAMemberTwice(body, value)) return std::move(value.get_object());
    return absl::InvalidArgumentError("the body names a member twice");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the body is no JSON object", error ? ": " + error.message() : ""));
}

absl::Status Unknown(std::string_view name, std::string_view there_are) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the member ", Quoted(name), " is unknown; there are ", internal::ToAbsl(there_are)));
}

absl::Status NoText(std::string_view name, size_t i, const json::value& value) {
  return absl::InvalidArgumentError(absl::StrCat("\"", internal::ToAbsl(name), "\"[", i, "] is ",
                                                 internal::Printable(json::serialize(value), 64),
                                                 ", which is no text"));
}

// A value that must be an array of 1 to `most` texts.
template <typename Visit>
absl::Status EachText(std::string_view name, const json::value& value, size_t most, Visit visit) {
  const json::array* const array = value.if_array();
  if (array == nullptr || array->empty() || array->size() > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", internal::ToAbsl(name), "\" is no list of 1 to ", most, " texts"));
  }
  for (size_t i = 0; i < array->size(); ++i) {
    const json::string* const text = (*array)[i].if_string();
    if (text == nullptr) return NoText(name, i, (*array)[i]);
    const absl::Status status = visit(View(*text));
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", internal::ToAbsl(name), "\"[", i, "]: ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> UidOf(std::string_view text, const StrictSetOptions& options) {
  const std::optional<uint64_t> uid = ParseDecimal(text, UINT64_MAX);
  if (!uid) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is no number of 0 to ", UINT64_MAX));
  }
  if (options.Contains(*uid)) return *uid;
  return absl::InvalidArgumentError(absl::StrCat("the set has no uid ", *uid, ", but ",
                                                 options.first_uid, " to ",
                                                 options.first_uid + options.uids - 1));
}

absl::StatusOr<uint64_t> CountOf(const json::value& value) {
  const int64_t* const count = value.if_int64();
  if (count != nullptr && *count >= 1 && static_cast<uint64_t>(*count) <= kMost) {
    return static_cast<uint64_t>(*count);
  }
  return absl::InvalidArgumentError(absl::StrCat("\"count\" is ",
                                                 internal::Printable(json::serialize(value), 64),
                                                 "; it must be a number of 1 to ", kMost));
}

}  // namespace

absl::StatusOr<StrictNextRequest> ParseStrictNext(std::string_view body,
                                                  const StrictSetOptions& options) {
  StrictNextRequest request;
  const bool simple = ReadTextList(body, "uids", kMost, [&](std::string_view text) {
    const std::optional<uint64_t> uid = ParseDecimal(text, UINT64_MAX);
    if (!uid || !options.Contains(*uid)) return false;
    request.uids.push_back(*uid);
    return true;
  });
  if (simple) return request;
  request.uids.clear();
  LOCUS_ASSIGN_OR_RETURN(const json::object object, ObjectOf(body));
  uint64_t count = 1;
  bool has_uids = false;
  bool has_texts = false;
  for (const auto& [key, value] : object) {
    const std::string_view name(key.data(), key.size());
    if (name == "uids") {
      has_uids = true;
      LOCUS_RETURN_IF_ERROR(EachText(name, value, kMost, [&](std::string_view text) {
        const absl::StatusOr<uint64_t> uid = UidOf(text, options);
        if (uid.ok()) request.uids.push_back(*uid);
        return uid.status();
      }));
    } else if (name == "texts") {
      has_texts = true;
      LOCUS_RETURN_IF_ERROR(EachText(name, value, kMost, [&](std::string_view text) {
        if (text.empty() || text.size() > StrictNextRequest::kMostTextBytes) {
          return absl::InvalidArgumentError(absl::StrCat("a key has ", text.size(),
                                                         " bytes; it must have 1 to ",
                                                         StrictNextRequest::kMostTextBytes));
        }
        request.uids.push_back(options.UidOf(text));
        return absl::OkStatus();
      }));
    } else if (name == "count") {
      LOCUS_ASSIGN_OR_RETURN(count, CountOf(value));
    } else {
      return Unknown(name, "\"uids\", \"texts\" and \"count\"");
    }
  }
  if (has_uids == has_texts) {
    return absl::InvalidArgumentError("there must be either \"uids\" or \"texts\"");
  }
  if (request.uids.size() * count > kMost) {
    return absl::InvalidArgumentError(absl::StrCat(request.uids.size(), " keys with \"count\" ",
                                                   count, " are more than ", kMost, " numbers"));
  }
  if (count == 1) return request;
  std::vector<uint64_t> each;
  each.reserve(request.uids.size() * count);
  for (const uint64_t uid : request.uids) each.insert(each.end(), count, uid);
  request.uids = std::move(each);
  return request;
}

absl::StatusOr<StrictSectionsRequest> ParseStrictSections(std::string_view body,
                                                          const StrictSetOptions& options,
                                                          bool with_to) {
  StrictSectionsRequest request;
  LOCUS_ASSIGN_OR_RETURN(const json::object object, ObjectOf(body));
  for (const auto& [key, value] : object) {
    const std::string_view name(key.data(), key.size());
    if (name == "sections") {
      std::vector<uint32_t>& sections = request.sections.emplace();
      LOCUS_RETURN_IF_ERROR(EachText(name, value, kMostRanges, [&](std::string_view text) {
        // A range that is named again and again fills no memory.
        if (sections.size() > 2 * options.sections()) SortSections(sections);
        return AddSections(text, options.sections(), sections);
      }));
      SortSections(sections);
    } else if (name == "to" && with_to) {
      const json::string* const text = value.if_string();
      if (text == nullptr || text->empty() || text->size() > kMostNameBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"to\" is no name of 1 to ", kMostNameBytes, " bytes"));
      }
      request.to = View(*text);
    } else {
      return Unknown(name, with_to ? "\"sections\" and \"to\"" : "\"sections\"");
    }
  }
  return request;
}

}  // namespace locus::locusd
