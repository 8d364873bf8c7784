// SPDX-License-Identifier: Apache-2.0
// The verbs that change what a place has.
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/locus/audit/change_audit.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/named_changes.h"
#include "apps/locus/table/table_file.h"
#include "apps/locus/table/table_place.h"
#include "locus/routing/table_change.h"
#include "routing/source/publication_note.h"
#include "src/base/os/check.h"

namespace locus::cli {
namespace {

std::string PlaceHelp() {
  return absl::StrCat("The place: ", internal::UriForms(internal::kTablePublishing));
}

// "olga@db-admin-1": the account that this process runs as.
std::string UserAtHost() {
  passwd found;
  passwd* user = nullptr;
  std::array<char, 4096> texts;
  if (getpwuid_r(getuid(), &found, texts.data(), texts.size(), &user) != 0) user = nullptr;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string name = user == nullptr ? absl::StrCat("uid ", getuid()) : user->pw_name;
  return internal::SafeNote(absl::StrCat(name, "@", host.data()), "").author;
}

// What publication verbs have in common: who publishes why, and where that is recorded.
struct PublicationTrace {
  PublicationNote note;
  ChangeAudit audit;

  void DeclareOn(VerbLine& line) {
    line.Text("--reason TEXT", &note.reason,
              "Why: the place keeps it beside the table, with your user name and host");
    audit.DeclareOn(line);
  }
  absl::Status Open(const TableUri& uri) {
    note.author = UserAtHost();
    if (const absl::Status fits = note.Check(); !fits.ok()) {
      return absl::Status(fits.code(), absl::StrCat("--reason: ", fits.message()));
    }
    return audit.Open(uri.text);
  }
};

struct PublishLine {
  TableUri uri;
  PublicationTrace trace;
  std::string file = "-";
  std::optional<uint64_t> expect;  // the newest epoch; nullopt: whichever it is
  bool next_epoch = false;
  bool dry_run = false;
  NamedChanges named;
};

absl::StatusOr<std::optional<RoutingTable>> NewestOf(TablePublisher& publisher) {
  absl::StatusOr<RoutingTable> newest = publisher.Current();
  if (absl::IsNotFound(newest.status())) return std::nullopt;
  LOCUS_RETURN_IF_ERROR(newest.status());
  return *std::move(newest);
}

// Somebody else published since the table was made.
absl::Status Overtaken(const TablePublisher& publisher, uint64_t newest, const PublishLine& line) {
  return absl::AbortedError(absl::StrCat(publisher.place(), ": epoch ", newest,
                                         " was published since; compare with `locus table diff "
                                         "URI ",
                                         line.file == "-" ? "FILE" : line.file,
                                         "`, then plan again from `locus table get URI`"));
}

// Whether the newest table replaced epoch `expected`: then the one that is given now was published
// before, and the answer was lost.
absl::StatusOr<bool> Replaced(TablePublisher& publisher, uint64_t newest, uint64_t expected) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> epochs, publisher.History(2));
  if (epochs.empty() || epochs[0].epoch != newest) return false;
  return (epochs.size() == 1 ? 0 : epochs[1].epoch) == expected;
}

// Whether the newest table is the one to be published: nothing is to be done. With --next-epoch it
// is only where that was done before: the same table under a new epoch is a publication.
absl::StatusOr<bool> IsThere(TablePublisher& publisher, const RoutingTable& newest,
                             const RoutingTable& table, const PublishLine& line) {
  absl::StatusOr<RoutingTable> same = table;
  if (line.next_epoch) same = WithEpoch(table, newest.epoch());
  if (!same.ok() || *same != newest) return false;
  if (!line.expect) return true;
  if (*line.expect == newest.epoch()) return !line.next_epoch;
  return Replaced(publisher, newest.epoch(), *line.expect);
}

// The table as it is to be published, with its epoch.
absl::StatusOr<PreparedTable> Prepare(TablePublisher& publisher, RoutingTable table,
                                      const PublishLine& line) {
  LOCUS_ASSIGN_OR_RETURN(std::optional<RoutingTable> newest, NewestOf(publisher));
  const uint64_t epoch = newest ? newest->epoch() : 0;
  if (newest) {
    LOCUS_ASSIGN_OR_RETURN(bool is_there, IsThere(publisher, *newest, table, line));
    if (is_there) return PreparedTable{newest, *newest};
  }
  if (line.expect && *line.expect < epoch) return Overtaken(publisher, epoch, line);
  if (!line.expect && table.epoch() <= epoch) return Overtaken(publisher, epoch, line);
  if (line.next_epoch && line.expect == epoch) {
    LOCUS_ASSIGN_OR_RETURN(uint64_t next, NextEpoch(publisher, epoch));
    LOCUS_ASSIGN_OR_RETURN(table, WithEpoch(table, next));
  }
  return PreparedTable{std::move(newest), std::move(table)};
}

// Says how a place is repaired whose file is no routing table. Removing the file by hand would lose
// what somebody has in it.
absl::Status WithRepair(const TableUri& uri, const absl::Status& status) {
  if (!absl::IsDataLoss(status) || !uri.IsFile()) return status;
  // What is wrong with a kept table says its own way out.
  if (absl::StrContains(status.message(), ".epochs/")) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), "; `locus table history ", uri.text,
                   "` lists the tables that are kept, `locus table restore ", uri.text,
                   " EPOCH --replace-spoiled` publishes one again and keeps the spoiled file as ",
                   uri.path, ".spoiled"));
}

// Adds the option that a refusal for lost tables asks for.
absl::Status WithLostAfter(TablePublisher& publisher, const absl::Status& status) {
  absl::StatusOr<uint64_t> next = NextEpoch(publisher, 0);
  if (!absl::IsFailedPrecondition(status) || !next.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " (--lost-after ", *next - 1, ")"));
}

std::string ChangeText(const PreparedTable& prepared) {
  if (!prepared.newest) {
    return absl::StrCat("the first table here: ", prepared.table.shards().size(), " shards, ",
                        prepared.table.moves().size(), " moves\n");
  }
  if (*prepared.newest == prepared.table) return "";
  return TableDifference(*prepared.newest, prepared.table);
}

// What was done, or would be. `already`: the table is the newest without this publication.
std::string Outcome(const PreparedTable& prepared, bool already, bool dry_run,
                    const PublicationNote& note) {
  if (already) {
    return absl::StrCat(
        "nothing to publish: this table is the newest already, epoch=", prepared.table.epoch(),
        note.reason.empty() ? "" : "; --reason is not kept");
  }
  return absl::StrCat(dry_run ? "dry run, nothing published: epoch=" : "ok epoch=",
                      prepared.table.epoch());
}

// A reader who closes the pipe does not stop a publication; a full disk does.
absl::Status PrintUnlessQuiet(const std::string& text) {
  if (IsQuiet()) return absl::OkStatus();
  ByteSink sink(STDOUT_FILENO, "stdout");
  sink.Append(ForStdout(text));
  absl::Status status = sink.Flush();
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

// "it was in force already, published by olga@db1: ticket 4711".
std::string InForceAlready(const PublicationNote& kept) {
  return absl::StrCat("it was in force already",
                      kept.author.empty() ? "" : absl::StrCat(", published by ", kept.author),
                      kept.reason.empty() ? "" : absl::StrCat(": ", kept.reason));
}

// Records it as done by this process: the publication, or else `change` says whose it was.
void Record(const PreparedTable& prepared, const std::string& change, PublicationTrace& trace) {
  const PublicationNote& note = trace.note;
  AuditRecord record;
  record.kind = AuditRecord::Kind::kTablePublished;
  record.token = prepared.table.epoch();
  record.holder = note.author;
  record.detail = note.reason.empty() ? change : absl::StrCat(note.reason, ": ", change);
  trace.audit.Record(std::move(record));
}

// Prints what changes, then publishes unless it is a dry run.
absl::Status PrintAndPublish(TablePublisher& publisher, const PreparedTable& prepared,
                             uint64_t expected, bool dry_run, const NamedChanges& named,
                             PublicationTrace& trace) {
  LOCUS_ASSIGN_OR_RETURN(uint64_t next, NextEpoch(publisher, 0));
  PublishedState state{.newest = prepared.newest ? &*prepared.newest : nullptr,
                       .highest = next - 1};
  LOCUS_ASSIGN_OR_RETURN(GuardedChanges changes, named.Resolve(state.newest));
  absl::StatusOr<Publication> judged = JudgePublication(state, prepared.table, expected, changes);
  if (!judged.ok()) {
    bool nameable = absl::IsFailedPrecondition(judged.status());
    return absl::Status(
        judged.status().code(),
        absl::StrCat(publisher.place(), ": ", judged.status().message(),
                     nameable ? FlagsThatAreMissing(state, prepared.table, changes) : ""));
  }
  const std::string change = ChangeText(prepared);
  LOCUS_RETURN_IF_ERROR(PrintUnlessQuiet(change));
  // Also where it is the newest: a publication that was cut short is then completed.
  bool already = prepared.newest == prepared.table;
  bool no_note = false;  // as at a place on MariaDB that an earlier version made
  if (!dry_run) {
    LOCUS_RETURN_IF_ERROR(publisher.Publish(prepared.table, expected, changes, trace.note));
    const absl::StatusOr<PublicationNote> kept =
        internal::KeptNote(publisher, prepared.table.epoch());
    no_note = kept.ok() && *kept == PublicationNote();
    // Another publisher may have published the same table since it was read.
    already = already || (kept.ok() && !no_note && *kept != trace.note);
    // Also then: the first publication may have gone unrecorded.
    Record(prepared, already ? InForceAlready(kept.value_or(PublicationNote())) : change, trace);
  }
  const char* const dropped =
      no_note && !already ? "; author and reason are not kept: run `locus table init` again" : "";
  const absl::Status printed = PrintUnlessQuiet(absl::StrCat(
      Outcome(prepared, already, dry_run, trace.note), " at ", publisher.place(), dropped, "\n"));
  const absl::Status recorded =
      trace.audit.Finish(already ? "the table was in force already" : "the table was published");
  if (recorded.ok()) return printed;
  return absl::Status(
      recorded.code(),
      absl::StrCat(
          recorded.message(),
          "; `locus table get URI | locus table publish URI --audit HOST:PORT` records it"));
}

}  // namespace

int RunTableInit(std::span<const std::string> words) {
  TableUri uri;
  VerbLine line("table init",
                "Prepares a place for routing tables: creates the tables of mysql. A file or etcd "
                "needs nothing.",
                "locus table init mysql://locus@db1:3306/routing");
  PlaceOption(line, "URI", &uri, PlaceHelp()).Else("LOCUS_TABLE");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  SignalsHeld until_written;
  absl::Status status = InitTablePlace(uri);
  return status.ok() ? kDone : FailToOpen("table init", status);
}

int RunTablePublish(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "table publish";
  PublishLine given;
  VerbLine line(kVerb,
                "Makes a routing table the newest at a place, and prints what it changes. It is "
                "refused if another table was published meanwhile, or if the change could lose "
                "orders or another operator's move, unless you name that change.",
                "locus table publish file:/etc/locus/table.json next.json --expect 7");
  PlaceOption(line, "URI", &given.uri, PlaceHelp());
  line.File("FILE", &given.file, FileUse::kRead, "The routing table; - is stdin").required = false;
  EpochOption(line, "--expect EPOCH", &given.expect, 0,
              "Publish only if this is the newest epoch; 0: nothing was published yet");
  line.Flag("--next-epoch", &given.next_epoch,
            "Publish it as the epoch after all epochs of the place, whatever its own epoch")
      .Needs("--expect");
  line.Flag("--dry-run", &given.dry_run,
            "Only print what it would change, or why it would be refused");
  given.named.Declare(line);
  given.trace.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (absl::Status read = given.named.Read(); !read.ok()) return WrongUsage(kVerb, read);
  if (absl::Status opened = given.trace.Open(given.uri); !opened.ok()) {
    return FailToOpen(kVerb, opened);
  }
  TablePlace place(kVerb);
  if (std::optional<int> exit = place.OpenPublisher(given.uri)) return *exit;
  absl::StatusOr<RoutingTable> table = LoadTable(given.file);
  if (!table.ok()) return Fail(kVerb, table.status());
  SignalsHeld until_published;
  absl::StatusOr<PreparedTable> prepared = Prepare(place.publisher(), *std::move(table), given);
  if (!prepared.ok()) return Fail(kVerb, WithRepair(given.uri, prepared.status()));
  uint64_t expected = given.expect.value_or(prepared->expected());
  // The newest already: as when it was published first.
  if (prepared->newest == prepared->table && expected == prepared->table.epoch()) --expected;
  absl::Status status = PrintAndPublish(place.publisher(), *prepared, expected, given.dry_run,
                                        given.named, given.trace);
  return status.ok() ? kDone : Fail(kVerb, status);
}

int RunTableRestore(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "table restore";
  TableUri uri;
  uint64_t epoch = 0;
  RestoreOptions options;
  NamedChanges named;
  bool dry_run = false;
  VerbLine line(kVerb,
                "Publishes the table of an earlier epoch again, as the epoch after the newest: "
                "routers never go back to a lower epoch. Refused as `table publish` is, for "
                "instance while a move is in progress that the earlier table does not have.",
                "locus table restore file:/etc/locus/table.json 6 --above 9");
  PlaceOption(line, "URI", &uri, PlaceHelp());
  EpochOption(line, "EPOCH", &epoch, 1, "The epoch whose shards, ranges and moves are published");
  EpochOption(line, "--above EPOCH", &options.above, 1,
              "The highest epoch of all running routers (RouterStats::epoch)");
  EpochOption(line, "--lost-after EPOCH", &options.lost_after, 0,
              "Accept that the place has lost all tables after this epoch, its highest")
      .Needs("--above");
  line.Flag("--dry-run", &dry_run, "Only print what it would change, or why it would be refused");
  line.Flag("--replace-spoiled", &options.named.spoiled,
            "Also if the file of a place is not a routing table: it is kept as FILE.spoiled");
  named.Declare(line);
  PublicationTrace trace;
  trace.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (absl::Status read = named.Read(); !read.ok()) return WrongUsage(kVerb, read);
  if (trace.note.reason.empty()) {
    trace.note.reason = absl::StrCat("restore epoch ", epoch);
  }
  if (absl::Status opened = trace.Open(uri); !opened.ok()) return FailToOpen(kVerb, opened);
  if (options.named.spoiled) named.NameSpoiled();
  TablePlace place(kVerb);
  if (std::optional<int> exit = place.OpenPublisher(uri)) return *exit;
  SignalsHeld until_published;
  absl::StatusOr<PreparedTable> prepared = PrepareRestore(place.publisher(), epoch, options);
  if (!prepared.ok()) {
    return Fail(kVerb, WithRepair(uri, WithLostAfter(place.publisher(), prepared.status())));
  }
  absl::Status status =
      PrintAndPublish(place.publisher(), *prepared, prepared->expected(), dry_run, named, trace);
  return status.ok() ? kDone : Fail(kVerb, status);
}

}  // namespace locus::cli
