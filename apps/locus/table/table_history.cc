// SPDX-License-Identifier: Apache-2.0
// The verbs that show what a place has.
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/table/table_file.h"
#include "apps/locus/table/table_place.h"
#include "locus/routing/table_change.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

constexpr uint64_t kMostListed = 1'000'000;

int Finish(std::string_view verb, const absl::StatusOr<std::string>& out) {
  return out.ok() ? PrintAll(verb, *out) : Fail(verb, out.status());
}

// The table before the newest, and the newest.
absl::StatusOr<std::string> LastChange(TablePlace& place) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> epochs, place.publisher().History(2));
  if (epochs.size() < 2) {
    return absl::NotFoundError(absl::StrCat(place.publisher().place(), " keeps ",
                                            epochs.empty() ? "no table" : "one table only"));
  }
  LOCUS_ASSIGN_OR_RETURN(RoutingTable before, place.publisher().Fetch(epochs[1].epoch));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable after, place.publisher().Fetch(epochs[0].epoch));
  return TableDifference(before, after);
}

absl::StatusOr<std::string> ChangeSince(TablePlace& place, uint64_t before,
                                        std::optional<uint64_t> after) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable from, place.publisher().Fetch(before));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable to, after ? place.publisher().Fetch(*after) : place.Newest());
  return TableDifference(from, to);
}

// Of tables kept at one place.
int DiffEpochs(const std::string& uri_text, const std::optional<std::string>& before_text,
               const std::optional<std::string>& after_text) {
  constexpr std::string_view kVerb = "table diff";
  std::optional<uint64_t> before, after;
  for (auto [text, epoch] : {std::pair{&before_text, &before}, std::pair{&after_text, &after}}) {
    if (!*text) continue;
    absl::StatusOr<uint64_t> parsed = ParseEpoch("EPOCH", **text);
    if (!parsed.ok()) return WrongUsage(kVerb, parsed.status());
    *epoch = *parsed;
  }
  TablePlace place(kVerb);
  if (std::optional<int> exit = place.OpenPublisher(uri_text)) return *exit;
  return Finish(kVerb, before ? ChangeSince(place, *before, after) : LastChange(place));
}

// Of two files or places, in any mixture.
int DiffTables(const std::string& before_text, const std::string& after_text) {
  constexpr std::string_view kVerb = "table diff";
  std::vector<RoutingTable> tables;
  for (const std::string* text : {&before_text, &after_text}) {
    absl::StatusOr<RoutingTable> table;
    if (TableUri::IsMeant(*text)) {
      TablePlace place(kVerb);
      if (std::optional<int> exit = place.OpenToRead(*text)) return *exit;
      table = place.Newest();
    } else {
      table = LoadTable(*text);
    }
    if (!table.ok()) return Fail(kVerb, table.status());
    tables.push_back(*std::move(table));
  }
  return PrintAll(kVerb, TableDifference(tables[0], tables[1]));
}

bool IsNumber(const std::string& text) { return ParseDecimal(text, UINT64_MAX).has_value(); }

}  // namespace

int RunTableGet(std::span<const std::string> words) {
  std::string uri_text;
  std::optional<std::string> epoch_text;
  VerbLine line("table get", "Prints the newest routing table of a place, or one that it keeps.");
  line.Operand("URI", &uri_text, absl::StrCat("The place: ", kTableUriHelp));
  line.Option("--epoch", "N", &epoch_text, "Of this epoch [the newest]");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  TablePlace place("table get");
  if (!epoch_text) {
    if (std::optional<int> exit = place.OpenToRead(uri_text)) return *exit;
    absl::StatusOr<RoutingTable> table = place.Newest();
    return table.ok() ? PrintAll("table get", table->ToJson()) : Fail("table get", table.status());
  }
  absl::StatusOr<uint64_t> epoch = ParseEpoch("--epoch", *epoch_text);
  if (!epoch.ok()) return WrongUsage("table get", epoch.status());
  if (std::optional<int> exit = place.OpenPublisher(uri_text)) return *exit;
  absl::StatusOr<RoutingTable> table = place.publisher().Fetch(*epoch);
  return table.ok() ? PrintAll("table get", table->ToJson()) : Fail("table get", table.status());
}

int RunTableHistory(std::span<const std::string> words) {
  std::string uri_text, most_text = "100";
  VerbLine line("table history",
                "Prints the epochs that a place keeps and when each was published (UTC), a tab "
                "between them, the newest first.");
  line.Operand("URI", &uri_text,
               "The place: file:PATH, etcd://H1:P1,H2:P2/PREFIX or mysql://USER@HOST:PORT/DB");
  line.Option("--most", "N", &most_text, "At most so many [100]");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  std::optional<uint64_t> most = ParseDecimal(most_text, kMostListed);
  if (!most || *most == 0) {
    return WrongUsage("table history", absl::StrCat("--most: ", Quoted(most_text),
                                                    " is not a number, 1..", kMostListed));
  }
  TablePlace place("table history");
  if (std::optional<int> exit = place.OpenPublisher(uri_text)) return *exit;
  absl::StatusOr<std::vector<PublishedEpoch>> epochs = place.publisher().History(*most);
  if (!epochs.ok()) return Fail("table history", epochs.status());
  std::string out;
  for (const PublishedEpoch& each : *epochs) {
    absl::StrAppend(&out, each.epoch, "\t",
                    absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", each.published_at, absl::UTCTimeZone()),
                    "\n");
  }
  return PrintAll("table history", out);
}

int RunTableDiff(std::span<const std::string> words) {
  std::string first;
  std::optional<std::string> second, third;
  VerbLine line("table diff",
                "Tells what differs between two routing tables: of a place, the newest two, or "
                "those of two EPOCHs (the second: the newest); or of two TABLEs.");
  line.Operand(
      "TABLE", &first,
      absl::StrCat("A file, - for stdin, or a place, meaning its newest: ", kTableUriHelp));
  line.Operand("TABLE|EPOCH", &second,
               "The table after; a number is an epoch of the first's place");
  line.Operand("EPOCH", &third, "The epoch after");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  bool by_epoch = !second || IsNumber(*second);
  if (by_epoch && !TableUri::IsMeant(first)) {
    return WrongUsage("table diff",
                      second ? absl::StrCat(Quoted(*second), " is an epoch, and ", Quoted(first),
                                            " no place that keeps epochs; a file of that name is "
                                            "written ./",
                                            *second)
                             : "a second TABLE is required beside a file");
  }
  if (!by_epoch && third) return WrongUsage("table diff", "unexpected argument " + Quoted(*third));
  return by_epoch ? DiffEpochs(first, second, third) : DiffTables(first, *second);
}

}  // namespace locus
