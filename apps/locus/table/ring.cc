// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "apps/shared/shown/table_json.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/text_grid.h"

namespace locus::cli {

using apps::RingAsJson;
using internal::StdoutStyle;

int RunRing(std::span<const std::string> words) {
  std::string path;
  std::optional<std::string> svg;
  bool json = false;
  VerbLine line("ring", "Prints each shard's vnodes and portion of the ring, and the moves.",
                "locus ring table.json");
  TableOption(line, "FILE", &path, "The routing table, a file or the URI of a place; - is stdin")
      .Else("LOCUS_TABLE");
  line.File("--svg OUT", &svg, FileUse::kWrite,
            "Also draw the ring into this file; - is stdout, without the text");
  line.Flag("--json", &json, "Print a JSON object instead of the text");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (json && svg == "-") return WrongUsage("ring", "--json and --svg - cannot both go to stdout");

  absl::StatusOr<RoutingTable> table = LoadTable(path);
  if (!table.ok()) return Fail("ring", table.status());
  absl::Status status;
  if (!svg || *svg != "-") {
    status = WriteWhole("-", json ? RingAsJson(*table) : RingAsText(*table, StdoutStyle()));
  }
  if (status.ok() && svg) status = WriteWhole(*svg, RingAsSvg(*table));
  return status.ok() ? kDone : Fail("ring", status);
}

}  // namespace locus::cli
