// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/text_grid.h"

namespace locus {

int RunRing(std::span<const std::string> words) {
  std::string path;
  std::optional<std::string> svg;
  VerbLine line("ring", "Prints each shard's vnodes and share of the ring, and what moves.",
                "locus ring table.json");
  TableOption(line, "FILE", &path, "The routing table; - is stdin").Else("LOCUS_TABLE");
  line.File("--svg OUT", &svg, FileUse::kWrite,
            "Also draw the ring into this file; - is stdout, without the text");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  absl::StatusOr<RoutingTable> table = LoadTable(path);
  if (!table.ok()) return Fail("ring", table.status());
  absl::Status status;
  if (!svg || *svg != "-") status = WriteWhole("-", RingAsText(*table, StdoutStyle()));
  if (status.ok() && svg) status = WriteWhole(*svg, RingAsSvg(*table));
  return status.ok() ? kDone : Fail("ring", status);
}

}  // namespace locus
