// SPDX-License-Identifier: Apache-2.0
// The verbs that change what a place has.
#include <optional>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "apps/locus/table/table_place.h"
#include "locus/routing/table_change.h"
#include "src/base/check.h"

namespace locus {
namespace {

constexpr char kPlaceHelp[] =
    "The place: file:PATH, etcd://H1:P1,H2:P2/PREFIX or "
    "mysql://USER@HOST:PORT/DB";

struct Wish {
  std::optional<uint64_t> expected;  // the newest epoch; nullopt: whichever it is
  bool next_epoch = false;
};

// What --next-epoch makes of `table`, which is to follow `expected`.
absl::StatusOr<uint64_t> EpochAfter(TablePublisher& publisher, const RoutingTable& table,
                                    uint64_t expected) {
  absl::StatusOr<RoutingTable> newest = publisher.Current();
  if (newest.ok() && newest->epoch() > expected) {
    absl::StatusOr<RoutingTable> repeated = WithEpoch(table, newest->epoch());
    if (repeated.ok() && *repeated == *newest) return newest->epoch();
  }
  bool none = absl::IsNotFound(newest.status());
  bool as_expected = none ? expected == 0 : newest.ok() && newest->epoch() == expected;
  // Otherwise it is for Publish to refuse it.
  if (!as_expected && expected < RoutingTable::kMaxEpoch) return expected + 1;
  return NextEpoch(publisher, expected);
}

// The epoch of what is published now.
absl::StatusOr<uint64_t> Publish(TablePublisher& publisher, RoutingTable table, Wish wish) {
  if (!wish.expected) {
    absl::StatusOr<RoutingTable> newest = publisher.Current();
    if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
    wish.expected = newest.ok() ? newest->epoch() : 0;
    if (!wish.next_epoch && newest.ok() && *newest == table) {
      --*wish.expected;  // as when it was published first
    }
  }
  if (wish.next_epoch || table.epoch() <= *wish.expected) {
    LOCUS_ASSIGN_OR_RETURN(uint64_t next, EpochAfter(publisher, table, *wish.expected));
    if (!wish.next_epoch) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the table has epoch ", table.epoch(), ", and ", publisher.place(), " is to go on from ",
          *wish.expected, "; --next-epoch publishes it as epoch ", next));
    }
    LOCUS_ASSIGN_OR_RETURN(table, WithEpoch(table, next));
  }
  LOCUS_RETURN_IF_ERROR(publisher.Publish(table, *wish.expected));
  return table.epoch();
}

std::string Published(uint64_t epoch, const TablePublisher& publisher) {
  return absl::StrCat("ok epoch=", epoch, " at ", publisher.place(), "\n");
}

}  // namespace

int RunTableInit(std::span<const std::string> words) {
  TableUri uri;
  VerbLine line("table init",
                "Creates what a place needs before tables are published to it: the tables of "
                "mysql. A file or etcd needs nothing.",
                "locus table init mysql://locus@db1:3306/routing");
  PlaceOption(line, "URI", &uri, kPlaceHelp).Else("LOCUS_TABLE");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  SignalsHeld until_written;
  absl::Status status = InitTablePlace(uri);
  return status.ok() ? kDone : FailToOpen("table init", status);
}

int RunTablePublish(std::span<const std::string> words) {
  TableUri uri;
  std::string file = "-";
  Wish wish;
  VerbLine line("table publish",
                "Makes a routing table the newest at a place, and prints its epoch. Fails where "
                "somebody else published meanwhile.",
                "locus table publish file:/etc/locus/table.json next.json --expect 7");
  PlaceOption(line, "URI", &uri, kPlaceHelp);
  line.File("FILE", &file, FileUse::kRead, "The routing table; - is stdin").required = false;
  EpochOption(line, "--expect EPOCH", &wish.expected, 0,
              "Only if this is the newest epoch; 0: nothing was published yet");
  line.Flag("--next-epoch", &wish.next_epoch,
            "Publish it as the epoch after the newest and all kept, whatever it says itself");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  TablePlace place("table publish");
  if (std::optional<int> exit = place.OpenPublisher(uri)) return *exit;
  absl::StatusOr<RoutingTable> table = LoadTable(file);
  if (!table.ok()) return Fail("table publish", table.status());
  SignalsHeld until_published;
  absl::StatusOr<uint64_t> epoch = Publish(place.publisher(), *std::move(table), wish);
  if (!epoch.ok()) return Fail("table publish", epoch.status());
  return PrintAll("table publish", Published(*epoch, place.publisher()));
}

int RunTableRestore(std::span<const std::string> words) {
  TableUri uri;
  uint64_t epoch = 0;
  VerbLine line("table restore",
                "Publishes the table of an earlier epoch again, as the epoch after the newest: "
                "routers never go back to a lower epoch.",
                "locus table restore file:/etc/locus/table.json 6");
  PlaceOption(line, "URI", &uri, kPlaceHelp);
  EpochOption(line, "EPOCH", &epoch, 1, "The epoch whose shards, ranges and moves are published");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  TablePlace place("table restore");
  if (std::optional<int> exit = place.OpenPublisher(uri)) return *exit;
  SignalsHeld until_published;
  absl::StatusOr<RoutingTable> table = RestoreTable(place.publisher(), epoch);
  if (!table.ok()) return Fail("table restore", table.status());
  return PrintAll("table restore", Published(table->epoch(), place.publisher()));
}

}  // namespace locus
