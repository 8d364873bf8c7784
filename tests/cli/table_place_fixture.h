// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLI_TABLE_PLACE_FIXTURE_H_
#define LOCUS_TESTS_CLI_TABLE_PLACE_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cli/command.h"

namespace locus::testing {

using Words = std::vector<std::string>;

// A place of routing tables in a file, and tables to publish there.
class TablePlaceTest : public CommandTest {
 protected:
  // table.json with another epoch and endpoint.
  std::string Document(uint64_t epoch, const std::string& endpoint = "mysql://db1/a") {
    nlohmann::json table = nlohmann::json::parse(ReadFile(table_));
    table["epoch"] = epoch;
    table["shards"][0]["endpoint"] = endpoint;
    return table.dump();
  }

  std::string Publish(const std::string& document, Words options = {}) {
    Words words = {"table", "publish", uri_};
    words.insert(words.end(), options.begin(), options.end());
    Outcome outcome = RunLocus(words, document);
    return outcome.exit == 0 ? LastLine(outcome.out) : outcome.err;
  }

  static std::string LastLine(const std::string& text) {
    return text.empty() ? "" : text.substr(text.rfind('\n', text.size() - 2) + 1);
  }

  std::string Weighted(uint64_t epoch, uint32_t weight) {
    nlohmann::json table = nlohmann::json::parse(Document(epoch));
    table["shards"][0]["weight"] = weight;
    return table.dump();
  }

  // Document(epoch) in which a move of vnodes 0..99 to the second shard is under way.
  std::string Moving(uint64_t epoch, uint64_t permyriad) {
    nlohmann::json table = nlohmann::json::parse(Document(epoch));
    table["moves"] = {{{"first", 0}, {"last", 99}, {"to", 2}, {"permyriad", permyriad}}};
    return table.dump();
  }

  std::string Said(uint64_t epoch) {
    return "ok epoch=" + std::to_string(epoch) + " at file " + path_ + "\n";
  }

  std::string NothingToPublish(uint64_t epoch) {
    return "nothing to publish: this table is the newest already, epoch=" + std::to_string(epoch) +
           " at file " + path_ + "\n";
  }

  uint64_t NewestEpoch() {
    return nlohmann::json::parse(RunLocus({"table", "get", uri_}).out)["epoch"];
  }

  std::string path_ = directory_ / "published.json";
  std::string uri_ = "file:" + path_;
};

}  // namespace locus::testing

#endif  // LOCUS_TESTS_CLI_TABLE_PLACE_FIXTURE_H_
