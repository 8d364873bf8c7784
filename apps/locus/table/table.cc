// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_table.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "apps/locus/table/table_place.h"
#include "apps/shared/shown/plan_step.h"
#include "apps/shared/shown/table_json.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_source.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::CheckAsJson;
using apps::CheckEndpoint;
using internal::Quoted;

namespace {

// "": nothing known, or what it should be.
std::string LooksLike(std::string_view text, std::string_view expected) {
  size_t start = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (start == std::string_view::npos) return "it is empty";
  text.remove_prefix(start);
  auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (text.starts_with("locus-key-ring")) return "it looks like a key ring";
  if (text.starts_with("SQLite format 3")) return "it looks like a SQLite database";
  if (text.starts_with("locus last good table ")) {
    return "it looks like the last-good table of a router, whose table begins on the second line: "
           "tail -n +2 FILE";
  }
  if (text[0] == '<') return "it looks like a picture or a page";
  std::string_view line = text.substr(0, text.find('\n'));
  if (text[0] != '{') {
    return line.find(',') != std::string_view::npos ? "it looks like a CSV file"
                                                    : "it is no JSON object";
  }
  bool is_plan = has("\"moved_vnodes\"");
  if (is_plan && expected != "a plan") {
    return "it looks like a plan, which `locus plan apply` makes a table of";
  }
  if (!is_plan && has("\"ranges\"") && expected != "a routing table") {
    return "it looks like a routing table; `locus plan --json` prints a plan";
  }
  return "";
}

}  // namespace

absl::Status WithLooks(const absl::Status& status, std::string_view text,
                       std::string_view expected) {
  std::string looks = LooksLike(text, expected);
  if (status.ok() || looks.empty()) return status;
  return absl::Status(status.code(), absl::StrCat("it is not ", internal::ToAbsl(expected), ": ",
                                                  looks, " (", status.message(), ")"));
}

absl::StatusOr<RoutingTable> LoadTable(const std::string& path) {
  if (TableUri::IsMeant(path)) {
    LOCUS_ASSIGN_OR_RETURN(TableUri uri, TableUri::Parse(path));
    return NewestAt(uri);
  }
  LOCUS_ASSIGN_OR_RETURN(std::string json, ReadWhole(path));
  const std::string shown = path == "-" ? "stdin" : path;
  // As every source does: a longer document that passes here would be refused by routers.
  if (json.size() > TableSource::kMaxDocumentBytes) {
    return absl::FailedPreconditionError(absl::StrCat(
        shown, ": it is ", json.size(), " bytes long; at most ", TableSource::kMaxDocumentBytes));
  }
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(json);
  if (table.ok()) return table;
  absl::Status status = WithLooks(table.status(), json, "a routing table");
  return absl::Status(status.code(), absl::StrCat(shown, ": ", status.message()));
}

int RunTableNew(std::span<const std::string> words) {
  std::vector<std::string> shards;
  VerbLine line("table new",
                "Prints a routing table, epoch 1, that divides the ring evenly among the shards.",
                "locus table new --shard a=mysql://db1:3306/orders b=mysql://db2:3306/orders");
  line.List("--shard NAME=ENDPOINT", &shards,
            "A shard and its URL without credentials; ids count from 1");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  std::vector<std::pair<std::string, std::string>> names_and_endpoints;
  for (const std::string& shard : shards) {
    size_t equals = shard.find('=');
    if (equals == std::string::npos || equals == 0) {
      return WrongUsage("table new", "--shard: " + Quoted(shard) + " is not NAME=ENDPOINT");
    }
    absl::Status status = CheckEndpoint("--shard", shard.substr(equals + 1));
    if (!status.ok()) return WrongUsage("table new", status);
    names_and_endpoints.emplace_back(shard.substr(0, equals), shard.substr(equals + 1));
  }
  absl::StatusOr<std::string> table_id = RoutingTable::NewTableId();
  if (!table_id.ok()) return Fail("table new", table_id.status());
  absl::StatusOr<RoutingTable> table =
      RoutingTable::MakeEven(names_and_endpoints, *std::move(table_id));
  if (!table.ok()) return Fail("table new", table.status());
  std::string json = table->ToJson();
  if (!json.ends_with('\n')) json += '\n';
  return PrintAll("table new", json);
}

int RunTableCheck(std::span<const std::string> words) {
  std::string path;
  bool json = false;
  VerbLine line("table check", "Checks a routing table and prints its epoch and shards.",
                "locus table check table.json");
  TableOption(line, "FILE", &path, "The routing table; - is stdin").Else("LOCUS_TABLE");
  line.Flag("--json", &json, "Print a JSON object");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  absl::StatusOr<RoutingTable> table = LoadTable(path);
  if (!table.ok()) return Fail("table check", table.status());
  if (json) return PrintAll("table check", CheckAsJson(*table));
  return PrintAll("table check", absl::StrCat("ok epoch=", table->epoch(),
                                              " shards=", table->shards().size(), "\n"));
}

}  // namespace locus::cli
