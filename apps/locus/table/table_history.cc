// SPDX-License-Identifier: Apache-2.0
// The verbs that show what a place has.
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "apps/locus/line/time_value.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "apps/locus/table/table_place.h"
#include "apps/shared/shown/table_json.h"
#include "locus/routing/table_change.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::DifferenceAsJson;
using apps::HistoryAsJson;
using internal::ParseDecimal;
using internal::Quoted;

namespace {

constexpr uint64_t kMostListed = 1'000'000;
constexpr std::string_view kDiff = "table diff";

int Finish(std::string_view verb, const absl::StatusOr<std::string>& out) {
  return out.ok() ? PrintAll(verb, *out) : Fail(verb, out.status());
}

std::string Difference(const RoutingTable& before, const RoutingTable& after, bool json) {
  return json ? DifferenceAsJson(before, after) : ForStdout(TableDifference(before, after));
}

// The table before the newest, and the newest.
absl::StatusOr<std::string> LastChange(TablePlace& place, bool json) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> epochs, place.publisher().History(2));
  if (epochs.size() < 2) {
    return absl::NotFoundError(absl::StrCat(place.publisher().place(), " keeps ",
                                            epochs.empty() ? "no table" : "one table only"));
  }
  LOCUS_ASSIGN_OR_RETURN(RoutingTable before, place.publisher().Fetch(epochs[1].epoch));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable after, place.publisher().Fetch(epochs[0].epoch));
  return Difference(before, after, json);
}

absl::StatusOr<std::string> ChangeSince(TablePlace& place, uint64_t before,
                                        std::optional<uint64_t> after, bool json) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable from, place.publisher().Fetch(before));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable to, after ? place.publisher().Fetch(*after) : place.Newest());
  return Difference(from, to, json);
}

// Compares tables kept at one place.
int DiffEpochs(const TableUri& uri, std::optional<uint64_t> before, std::optional<uint64_t> after,
               bool json) {
  TablePlace place(kDiff);
  if (std::optional<int> exit = place.OpenPublisher(uri)) return *exit;
  return Finish(kDiff, before ? ChangeSince(place, *before, after, json) : LastChange(place, json));
}

// Compares two files or places, in any mixture.
int DiffTables(const std::string& before_text, const std::string& after_text, bool json) {
  std::vector<RoutingTable> tables;
  for (const std::string* text : {&before_text, &after_text}) {
    absl::StatusOr<RoutingTable> table;
    if (TableUri::IsMeant(*text)) {
      absl::StatusOr<TableUri> uri = TableUri::Parse(*text);
      if (!uri.ok()) return WrongUsage(kDiff, uri.status());
      TablePlace place(kDiff);
      if (std::optional<int> exit = place.OpenToRead(*uri)) return *exit;
      table = place.Newest();
    } else {
      table = LoadTable(*text);
    }
    if (!table.ok()) return Fail(kDiff, table.status());
    tables.push_back(*std::move(table));
  }
  return PrintAll(kDiff, Difference(tables[0], tables[1], json));
}

bool IsNumber(const std::string& text) { return ParseDecimal(text, UINT64_MAX).has_value(); }

}  // namespace

int RunTableGet(std::span<const std::string> words) {
  TableUri uri;
  std::optional<uint64_t> epoch;
  VerbLine line("table get", "Prints the newest routing table of a place, or one that it keeps.",
                "locus table get file:/etc/locus/table.json > table.json");
  PlaceOption(line, "URI", &uri, absl::StrCat("The place: ", internal::TableUriForms()))
      .Else("LOCUS_TABLE");
  EpochOption(line, "--epoch N", &epoch, 1, "The table of this epoch").Default("the newest");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  TablePlace place("table get");
  if (!epoch) {
    if (std::optional<int> exit = place.OpenToRead(uri)) return *exit;
    absl::StatusOr<RoutingTable> table = place.Newest();
    return table.ok() ? PrintAll("table get", table->ToJson()) : Fail("table get", table.status());
  }
  if (std::optional<int> exit = place.OpenPublisher(uri)) return *exit;
  absl::StatusOr<RoutingTable> table = place.publisher().Fetch(*epoch);
  return table.ok() ? PrintAll("table get", table->ToJson()) : Fail("table get", table.status());
}

int RunTableHistory(std::span<const std::string> words) {
  TableUri uri;
  uint64_t most = 100;
  bool json = false;
  VerbLine line("table history",
                "Prints the epochs that a place keeps, the newest first: when each was published "
                "(UTC), and, if the place keeps that, who did and why; tabs between them.",
                "locus table history file:/etc/locus/table.json --most 10");
  PlaceOption(line, "URI", &uri,
              absl::StrCat("The place: ", internal::UriForms(internal::kTablePublishing)))
      .Else("LOCUS_TABLE");
  line.Number("--most N", &most, {.least = 1, .most = kMostListed},
              "The greatest number of epochs");
  line.Flag("--json", &json, "Print a JSON object");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  TablePlace place("table history");
  if (std::optional<int> exit = place.OpenPublisher(uri)) return *exit;
  absl::StatusOr<std::vector<PublishedEpoch>> epochs = place.publisher().History(most);
  if (!epochs.ok()) return Fail("table history", epochs.status());
  if (json) {
    return PrintAll("table history", HistoryAsJson(place.publisher().place(), *epochs));
  }
  std::string out;
  for (const PublishedEpoch& each : *epochs) {
    absl::StrAppend(&out, each.epoch, "\t", UtcSeconds(each.published_at));
    const PublicationNote& note = each.note;
    if (note != PublicationNote()) absl::StrAppend(&out, "\t", note.author, "\t", note.reason);
    out += "\n";
  }
  return PrintAll("table history", ForStdout(out));
}

int RunTableDiff(std::span<const std::string> words) {
  std::string first;
  std::optional<std::string> second;
  std::optional<uint64_t> third;
  bool json = false;
  VerbLine line(kDiff,
                "Prints the differences between two routing tables: of a place, the newest two, or "
                "those of two EPOCHs (the second: the newest); or of two TABLEs.",
                "locus table diff file:/etc/locus/table.json next.json");
  TableOption(line, "TABLE", &first,
              absl::StrCat("A file, - for stdin, or a place, meaning its newest: ",
                           internal::TableUriForms()));
  TableOption(line, "TABLE|EPOCH", &second,
              "The table after; a number is an epoch of the first's place");
  EpochOption(line, "EPOCH", &third, 1, "The epoch after");
  line.Flag("--json", &json, "Print a JSON object");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  bool by_epoch = !second || IsNumber(*second);
  if (!by_epoch) {
    if (third) return WrongUsage(kDiff, absl::StrCat("unexpected argument \"", *third, "\""));
    return DiffTables(first, *second, json);
  }
  if (!TableUri::IsMeant(first)) {
    return WrongUsage(kDiff,
                      second ? absl::StrCat(Quoted(*second), " is an epoch, but ", Quoted(first),
                                            " is not a place that keeps epochs; write ./", *second,
                                            " for a file of that name")
                             : "a second TABLE is required beside a file");
  }
  absl::StatusOr<TableUri> uri = TableUri::Parse(first);
  if (!uri.ok()) return WrongUsage(kDiff, uri.status());
  std::optional<uint64_t> before;
  if (second) before = ParseDecimal(*second, RoutingTable::kMaxEpoch);
  if (second && before.value_or(0) == 0) {
    return WrongUsage(kDiff, absl::StrCat("EPOCH: ", Quoted(*second), " is not an epoch in 1..",
                                          RoutingTable::kMaxEpoch));
  }
  return DiffEpochs(*uri, before, third, json);
}

}  // namespace locus::cli
