// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "apps/locus/id/buyer.h"
#include "apps/locus/line/values.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "locus/shard_gene.h"
#include "nlohmann/json.hpp"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Quoted;

int RunGene(std::span<const std::string> words) {
  std::string type;
  std::vector<std::string> keys;
  VerbLine line("gene", "Prints each buyer key, a tab and its shard gene.",
                "locus gene --type uint64 17850 13047");
  line.Choice("--type", {"uint64", "text"}, &type, "The type of the buyer keys");
  bool json = false;
  line.Flag("--json", &json, "One JSON object a line, with buyer and gene");
  line.Tail("KEY", &keys, VerbLine::WithoutAny::kReadsStdin,
            "Buyer keys; without any, one is read from each line of stdin");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  BuyerType buyer_type = type == "text" ? BuyerType::kText : BuyerType::kUint64;
  return AnswerEach("gene", keys, [&](std::string_view key, std::string& out) {
    std::optional<BuyerKey> buyer = ParseBuyer(buyer_type, key);
    if (!buyer) return absl::InvalidArgumentError(Quoted(key) + " is not a canonical uint64");
    // A line of stdin has none; an argument may, and its answer would be two lines.
    if (key.find('\n') != key.npos) {
      return absl::InvalidArgumentError(Quoted(key) + " contains a newline");
    }
    if (json) {
      nlohmann::ordered_json answer;
      answer["buyer"] = key;
      answer["gene"] = ShardGene::Of(*buyer).value();
      // A text key may be no UTF-8: such bytes become U+FFFD.
      out += answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
      return absl::OkStatus();
    }
    out += key;
    absl::StrAppend(&out, "\t", ShardGene::Of(*buyer).value());
    return absl::OkStatus();
  });
}

}  // namespace locus::cli
