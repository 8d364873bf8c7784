// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/fence_difference.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

constexpr char kAnotherBody[] = "locus/another-trigger-body";

}  // namespace

absl::Status RefusalOf(std::string_view place, const std::vector<FenceDifference>& differences) {
  if (differences.empty()) return absl::OkStatus();
  absl::Status refusal = absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", ToAbsl(place), ": ",
      absl::StrJoin(differences, "; ", [](std::string* out, const FenceDifference& difference) {
        out->append(difference.text);
      })));
  if (absl::c_any_of(differences, [](const FenceDifference& difference) {
        return difference.kind == FenceDifference::Kind::kTriggerBody;
      })) {
    refusal.SetPayload(kAnotherBody, absl::Cord("1"));
  }
  return refusal;
}

bool NamesAnotherBody(const absl::Status& status) {
  return status.GetPayload(kAnotherBody).has_value();
}

}  // namespace locus::internal
