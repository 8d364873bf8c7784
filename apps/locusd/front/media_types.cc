// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/front/media_types.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/text/text.h"
#include "src/cluster/api/call.h"

namespace locus::locusd {
namespace {

bool Lists(std::string_view header, std::initializer_list<absl::string_view> types) {
  // As nearly everybody writes them, and then for the rest.
  for (const absl::string_view type : types) {
    if (absl::StrContains(internal::ToAbsl(header), type)) return true;
  }
  const std::string lower = absl::AsciiStrToLower(internal::ToAbsl(header));
  for (const absl::string_view type : types) {
    if (absl::StrContains(lower, type)) return true;
  }
  return false;
}

constexpr absl::string_view kJson = "application/json";
constexpr absl::string_view kLines = "application/x-ndjson";

// What Accept says of a type.
struct Wish {
  int weight = 0;        // thousandths; 0: not acceptable
  int precision = -1;    // of the range that says it: */*, application/*, the type
  size_t at = SIZE_MAX;  // the range's place in the list
};

// A weight that is none counts as 1: a client's mistake is no reason to refuse it.
int ThousandthsOf(absl::string_view text) {
  double weight = 1;
  if (!absl::SimpleAtod(text, &weight) || !(weight >= 0 && weight <= 1)) return 1000;
  return static_cast<int>(weight * 1000 + 0.5);
}

Wish WeightOf(std::string_view accept, absl::string_view type) {
  Wish wish;
  size_t at = 0;
  for (const absl::string_view item : absl::StrSplit(internal::ToAbsl(accept), ',')) {
    ++at;
    const std::vector<absl::string_view> parts = absl::StrSplit(item, ';');
    const absl::string_view range = absl::StripAsciiWhitespace(parts[0]);
    int precision = -1;
    if (absl::EqualsIgnoreCase(range, type)) {
      precision = 2;
    } else if (absl::EqualsIgnoreCase(range, "application/*")) {
      precision = 1;
    } else if (range == "*/*") {
      precision = 0;
    }
    if (precision <= wish.precision) continue;
    wish = {1000, precision, at};
    for (size_t i = 1; i < parts.size(); ++i) {
      const absl::string_view parameter = absl::StripAsciiWhitespace(parts[i]);
      if (absl::StartsWithIgnoreCase(parameter, "q=")) {
        wish.weight = ThousandthsOf(parameter.substr(2));
      }
    }
  }
  return wish;
}

}  // namespace

std::optional<http::ServerAnswer> RefuseTypes(const http::ServerRequest& request, Answers answers) {
  const std::string_view type = request.Header("Content-Type");
  if (!request.body.empty() && !type.empty() &&
      !Lists(type, {"application/json", "+json", "application/x-www-form-urlencoded"})) {
    return cluster_api::ProblemAnswer(
        absl::InvalidArgumentError(absl::StrCat("Content-Type is ", internal::Quoted(type),
                                                "; it must be application/json")),
        415);
  }
  const std::string_view accept = request.Header("Accept");
  const bool has_lines = answers == Answers::kJsonOrLines;
  if (accept.empty() || WeightOf(accept, kJson).weight > 0 ||
      (has_lines && WeightOf(accept, kLines).weight > 0)) {
    return std::nullopt;
  }
  return cluster_api::ProblemAnswer(
      absl::InvalidArgumentError(
          absl::StrCat("Accept is ", internal::Quoted(accept),
                       has_lines ? "; there are application/json and application/x-ndjson"
                                 : "; there is application/json")),
      406);
}

bool WantsLines(const http::ServerRequest& request) {
  const std::string_view accept = request.Header("Accept");
  if (accept.empty()) return false;
  const Wish json = WeightOf(accept, kJson), lines = WeightOf(accept, kLines);
  if (lines.weight != json.weight) return lines.weight > json.weight;
  constexpr int kNamed = 2;
  return lines.weight > 0 && lines.precision == kNamed &&
         (json.precision < kNamed || lines.at < json.at);
}

}  // namespace locus::locusd
