// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/shown/inspect.h"

#include "apps/locus/line/values.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "apps/shared/shown/codec_choice.h"
#include "locus/routing/routing_table.h"
#include "src/base/os/check.h"

namespace locus::cli {

using apps::LoadCodec;
using apps::ParseKeyVersion;
using apps::SchemeOf;

namespace {

struct InspectLine {
  std::optional<std::string> table, keys, scheme;
  std::optional<KeyVersion> key_version;
  SpaceName space;
  std::vector<std::string> values;

  void DeclareOn(VerbLine& line) {
    TableOption(line, "--table FILE", &table, "The routing table, for shard and target")
        .Else("LOCUS_TABLE");
    line.File("--keys FILE", &keys, FileUse::kKeyRing,
              "The key ring file, to decode and encode order_nos")
        .Else("LOCUS_KEYS");
    SpaceOption(line, &space, "The space of the order_nos");
    line.Choice("--scheme", {"ff1", "ctr64"}, &scheme,
                "A decimal is an order_no of this form; without this option it is an order ID");
    line.Value("--key-version N", &key_version, ParseKeyVersion,
               "The key version of such an order_no, 0..127")
        .Default("the active one")
        .Needs("--scheme");
    line.Tail("VALUE", &values, VerbLine::WithoutAny::kReadsStdin,
              "Order IDs or order_nos; without any, one is read from each line of stdin");
  }
};

}  // namespace

int RunInspect(std::span<const std::string> words) {
  InspectLine line;
  VerbLine verb_line("inspect",
                     "Prints the fields of each order ID or order_no, one JSON object a line.",
                     "locus inspect --table table.json --keys keys.ring 2237160347336769");
  line.DeclareOn(verb_line);
  bool json = true;
  verb_line.Flag("--json", &json, "As other verbs take it: the answer is always JSON");
  if (std::optional<int> exit = verb_line.Parse(words)) return *exit;
  apps::InspectWith with;
  if (line.scheme) with.scheme64 = SchemeOf(*line.scheme);
  with.version64 = line.key_version;
  with.space = line.space;
  std::optional<OrderNoCodec> codec;
  if (line.keys) {
    absl::StatusOr<OrderNoCodec> loaded = LoadCodec(*line.keys, line.space);
    if (!loaded.ok()) return Fail("inspect", loaded.status());
    with.codec = &codec.emplace(*std::move(loaded));
  }
  std::optional<RoutingTable> table;
  if (line.table) {
    absl::StatusOr<RoutingTable> loaded = LoadTable(*line.table);
    if (!loaded.ok()) return Fail("inspect", loaded.status());
    with.table = &table.emplace(*std::move(loaded));
  }
  return AnswerEach("inspect", line.values, [&](std::string_view value, std::string& out) {
    LOCUS_ASSIGN_OR_RETURN(const std::string shown, apps::InspectAsJson(value, with));
    out += shown;
    return absl::OkStatus();
  });
}

}  // namespace locus::cli
