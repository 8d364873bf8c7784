// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_news.h"

#include "absl/strings/str_cat.h"
#include "apps/locusd/strict/node_name.h"
#include "apps/locusd/strict/strict_table.h"
#include "src/base/os/check.h"
#include "src/base/text/json_text.h"
#include "src/base/text/text.h"
#include "src/http/endpoint.h"

namespace locus::locusd {

using cluster_api::Members;

namespace {

constexpr size_t kMostText = 256;
constexpr uint64_t kMostWeight = 1'000'000;
constexpr size_t kMostSections = size_t{1} << 20;

std::string ToJson(const StrictPeer& peer) {
  return absl::StrCat("\"name\":", internal::JsonQuoted(peer.name),
                      ",\"address\":", internal::JsonQuoted(peer.address),
                      ",\"weight\":", peer.weight);
}

StrictPeer PeerOf(Members& members) {
  StrictPeer peer;
  peer.name = members.Text("name", kMostText);
  peer.address = members.Text("address", kMostText);
  peer.weight = members.Number("weight", kMostWeight);
  return peer;
}

// Where a token may be sent to must be a place.
absl::Status Check(const StrictPeer& peer) {
  if (!IsNodeName(peer.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"name\" is ", internal::Quoted(peer.name), "; it must be ", kNodeNames));
  }
  return http::Endpoint::Parse(peer.address).status();
}

}  // namespace

uint64_t TableVersionOf(Members& members) {
  constexpr size_t kMostDigits = 20;
  const std::string text = members.Text("table_version", kMostDigits);
  const std::optional<uint64_t> version = internal::ParseDecimal(text, INT64_MAX);
  if (!version) members.Fail("\"table_version\" is no number of 63 bits as a text");
  return version.value_or(0);
}

std::string ToJson(const StrictNews& news) {
  std::string text =
      absl::StrCat("{", ToJson(news.self), ",\"set\":", internal::JsonQuoted(news.set),
                   ",\"table_version\":\"", news.table_version,
                   "\",\"wants_loads\":", news.wants_loads ? "true" : "false", ",\"nodes\":[");
  for (size_t i = 0; i < news.others.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "{" : ",{", ToJson(news.others[i]), "}");
  }
  text += "],\"loads\":[";
  bool is_first = true;
  for (const auto& [section, load] : news.loads) {
    absl::StrAppend(&text, is_first ? "" : ",", section, ",", load);
    is_first = false;
  }
  text += "]}";
  return text;
}

absl::StatusOr<StrictNews> ParseStrictNews(std::string_view body) {
  Members members(body);
  members.AllowOthers();
  StrictNews news;
  news.self = PeerOf(members);
  news.set = members.Text("set", kMostText);
  news.table_version = TableVersionOf(members);
  news.wants_loads = members.Bool("wants_loads");
  const boost::json::array* const others = members.Array("nodes", kMostPeers);
  const boost::json::array* const loads = members.Array("loads", 2 * kMostSections);
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(Check(news.self));
  for (const boost::json::value& other : *others) {
    Members of(other, "a node");
    of.AllowOthers();
    news.others.push_back(PeerOf(of));
    LOCUS_RETURN_IF_ERROR(of.Finish());
    LOCUS_RETURN_IF_ERROR(Check(news.others.back()));
  }
  if (loads->size() % 2 != 0) return absl::InvalidArgumentError("\"loads\" has no pairs");
  for (size_t i = 0; i < loads->size(); i += 2) {
    const boost::json::value& section = (*loads)[i];
    const boost::json::value& load = (*loads)[i + 1];
    if (!section.is_int64() || section.get_int64() < 0 || !load.is_int64() ||
        load.get_int64() < 0 || static_cast<uint64_t>(section.get_int64()) >= kMostSections) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"loads\"[", i, "] is no section with its numbers a second"));
    }
    news.loads[static_cast<uint32_t>(section.get_int64())] =
        static_cast<uint64_t>(load.get_int64());
  }
  return news;
}

}  // namespace locus::locusd
