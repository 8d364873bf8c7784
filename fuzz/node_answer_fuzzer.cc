// SPDX-License-Identifier: Apache-2.0
// What a node of locusd answers to those who ask for its status or the cluster's time: a letter
// that says which, and the body.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/engine/locusd/node_answers.h"

namespace {

using namespace locus;  // NOLINT

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

void RefusedWell(const absl::Status& status) {
  LOCUS_CHECK(absl::IsDataLoss(status) && !status.message().empty());
}

// What is read is written again as a node does, and read as the same.
void TimeHolds(std::string_view body) {
  const auto time = locusd::ParseTime(body);
  if (!time.ok()) return RefusedWell(time.status());
  for (const absl::Time one : {time->time, time->agreed.value_or(time->time)}) {
    LOCUS_CHECK(one >= absl::UnixEpoch() && one < absl::FromUnixSeconds(253'402'300'800));
  }
  const std::string agreed =
      time->agreed ? absl::StrCat(absl::ToUnixMillis(*time->agreed)) : "null";
  const auto again =
      locusd::ParseTime(absl::StrCat("{\"time_ms\":", absl::ToUnixMillis(time->time),
                                     ",\"agreed_ms\":", agreed, ",\"ending\":", time->ending, "}"));
  LOCUS_CHECK(again.ok() && again->time == time->time && again->agreed == time->agreed &&
              again->ending == time->ending);
}

void StatusHolds(std::string_view body) {
  const auto node = locusd::ParseNode(body);
  if (!node.ok()) return RefusedWell(node.status());
  LOCUS_CHECK(node->id != 0);
  for (const std::string* text :
       {&node->cluster, &node->version, &node->raft, &node->api, &node->failure}) {
    LOCUS_CHECK(IsPrintable(*text));
  }
  for (const LocusdMember& member : node->members) {
    LOCUS_CHECK(node->Find(member.id) == &member);
    LOCUS_CHECK(IsPrintable(member.raft) && IsPrintable(member.api));
  }
  const LocusdClusterView view{{{"here:1", *node}}};
  LOCUS_CHECK(node->leads_for_sure || !view.Health().ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  if (input.empty()) return 0;
  if (input[0] == 't') TimeHolds(input.substr(1));
  if (input[0] == 's') StatusHolds(input.substr(1));
  return 0;
}
