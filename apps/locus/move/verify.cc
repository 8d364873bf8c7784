// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/io/progress.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/password.h"
#include "apps/locus/place/uri_options.h"
#include "migration/run/shard_link.h"
#include "migration/verify/marker_pass.h"
#include "migration/verify/row_verifier.h"
#include "nlohmann/json.hpp"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"
#include "src/open/fill.h"

namespace locus::cli {

using internal::ParseDecimal;
using internal::Printable;
using internal::Quoted;
using internal::RowDifference;
using mysql::RowVerifier;
using mysql::VerifierOptions;
using Json = nlohmann::ordered_json;

namespace {

constexpr char kVerifyVerb[] = "verify";

struct VerifyLine {
  StoreUri source;
  StoreUri target;
  std::vector<std::string> tables;
  std::vector<FencedRange> vnodes;
  std::optional<std::string> move;
  std::string from;
  absl::Duration slice_time = absl::Milliseconds(100);
  absl::Duration timeout = absl::Seconds(60);
  bool values = false;
  bool json = false;
};

// "orders:order_id", "orders:order_id:version", "notes:gene=shard_gene".
absl::StatusOr<MovedTable> ReadTable(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  MovedTable table;
  table.primary_key.clear();
  bool fits = parts.size() == 2 || parts.size() == 3;
  for (const std::string& part : parts) fits &= !part.empty() && part.size() <= 64;
  if (fits) {
    table.guard.name = parts[0];
    table.guard.order_id = parts[1];
    if (parts[1].starts_with("gene=")) {
      table.guard.key = GuardedTable::Key::kGeneAndCohort;
      table.guard.gene = parts[1].substr(5);
      fits = !table.guard.gene.empty();
    }
    if (parts.size() == 3) table.version = parts[2];
  }
  if (fits) return table;
  return absl::InvalidArgumentError(absl::StrCat(
      "--table: ", Quoted(text), " is not TABLE:COLUMN[:VERSION] or TABLE:gene=COLUMN[:VERSION]"));
}

// "0..99,200", ascending.
absl::StatusOr<std::vector<FencedRange>> ReadVnodes(std::string_view text) {
  std::vector<FencedRange> ranges;
  for (absl::string_view part : absl::StrSplit(internal::ToAbsl(text), ',')) {
    const std::vector<std::string> ends =
        absl::StrSplit(part, absl::MaxSplits(part.find("..") == part.npos ? "-" : "..", 1));
    const auto first = ParseDecimal(ends.front(), 65535), last = ParseDecimal(ends.back(), 65535);
    const bool ascends =
        first && last && *first <= *last && (ranges.empty() || ranges.back().hi < *first);
    if (!ascends) {
      return absl::InvalidArgumentError(absl::StrCat(
          Quoted(text), " is not FIRST..LAST[,FIRST..LAST...], vnodes in 0..65535 that ascend"));
    }
    ranges.push_back({static_cast<uint32_t>(*first), static_cast<uint32_t>(*last)});
  }
  return ranges;
}

absl::StatusOr<MysqlOptions> ServerOf(const char* option, const StoreUri& uri,
                                      absl::Duration timeout) {
  if (uri.engine->name != "mysql") {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is not mysql://USER@HOST:PORT/DATABASE"));
  }
  MysqlOptions options;
  internal::Fill(uri, "", options);
  options.timeout = timeout;
  return options;
}

// The password stands in the options only while it is used.
class Passwords {
 public:
  explicit Passwords(VerifierOptions& options) : options_(options) {}
  ~Passwords() {
    for (std::string* password : {&options_.source.password, &options_.target.password}) {
      OPENSSL_cleanse(password->data(), password->size());
      password->clear();
    }
  }
  absl::Status Fill() {
    LOCUS_ASSIGN_OR_RETURN(std::string_view password, Password(PasswordFor::kShard));
    options_.source.password = password;
    options_.target.password = password;
    return absl::OkStatus();
  }

 private:
  VerifierOptions& options_;
};

// A database is equal to itself, whatever stands on the other shard. The addresses may differ: a
// lock that one connection takes is seen by the other one only on the same server.
absl::Status CheckTwoDatabases(const VerifierOptions& options) {
  constexpr auto kRead = mysql::Connection::Access::kRead;
  LOCUS_ASSIGN_OR_RETURN(auto source, mysql::ShardLink::Create(options.source, kRead));
  LOCUS_ASSIGN_OR_RETURN(auto target, mysql::ShardLink::Create(options.target, kRead));
  const std::optional<uint64_t> word = internal::RandomWord();
  if (!word) return absl::UnavailableError("the system has no randomness for a lock's name");
  const std::string lock = absl::StrCat("'locus_verify ", *word, "'");
  LOCUS_ASSIGN_OR_RETURN(
      auto taken,
      source->Run(absl::StrCat("SELECT DATABASE(), GET_LOCK(", lock, ", 0)"), {mysql::OneRow(2)}));
  LOCUS_ASSIGN_OR_RETURN(
      auto seen, target->Run(absl::StrCat("SELECT DATABASE(), IS_USED_LOCK(", lock, ") IS NULL"),
                             {mysql::OneRow(2)}));
  if (seen[0].rows[0][1] == "1" || taken[0].rows[0][0] != seen[0].rows[0][0]) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--source ", source->place(), " and --target ", target->place(),
                   " are one database, which is equal to itself: name the two shards"));
}

absl::StatusOr<std::unique_ptr<RowVerifier>> Open(const VerifyLine& line,
                                                  VerifierOptions& options) {
  Passwords passwords(options);
  LOCUS_RETURN_IF_ERROR(passwords.Fill());
  LOCUS_RETURN_IF_ERROR(CheckTwoDatabases(options));
  if (line.move) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<mysql::MarkerPass> pass,
                           mysql::MarkerPass::Open(options.source, options.target, *line.move));
    options.pass = [pass](mysql::TimePoint deadline) { return (*pass)(deadline); };
  }
  return RowVerifier::Open(options);
}

Json OfState(const internal::RowState& state) {
  return {{"version", state.version}, {"deleted", state.deleted}};
}

Json OfValue(const std::optional<internal::SeenValue>& value) {
  if (!value) return nullptr;
  Json json = {{"bytes", value->bytes}, {"sha1", value->hash}};
  if (value->shown) json["value"] = Printable(*value->shown);
  return json;
}

Json OfDifference(const RowDifference& difference) {
  Json json = {
      {"table", Printable(difference.table)},           {"key", difference.key},
      {"kind", std::string(ToString(difference.kind))}, {"source", OfState(difference.source)},
      {"target", OfState(difference.target)},           {"columns", Json::array()}};
  for (const internal::ColumnDifference& column : difference.columns) {
    json["columns"].push_back({{"name", Printable(column.name)},
                               {"source", OfValue(column.source)},
                               {"target", OfValue(column.target)}});
  }
  return json;
}

std::string AsJson(const RowVerifier& verifier) {
  const mysql::VerifierCounts& counts = verifier.counts();
  Json json = {{"equal", counts.equal()},           {"rows", counts.rows},
               {"slices", counts.slices},           {"rechecked", counts.rechecked},
               {"differences", counts.differences}, {"still_changing", counts.still_changing},
               {"rows_that_differ", Json::array()}};
  for (const RowDifference& difference : verifier.differences()) {
    json["rows_that_differ"].push_back(OfDifference(difference));
  }
  return json.dump() + "\n";
}

std::string Summary(const RowVerifier& verifier) {
  const mysql::VerifierCounts& counts = verifier.counts();
  const uint64_t unequal = counts.differences + counts.still_changing;
  std::string text;
  if (unequal > verifier.differences().size()) {
    absl::StrAppend(&text, "and ", unequal - verifier.differences().size(), " more\n");
  }
  absl::StrAppend(&text, counts.rows, " rows compared: ");
  if (counts.equal()) return text + "equal\n";
  absl::StrAppend(&text, counts.differences, " different");
  if (counts.still_changing > 0) {
    absl::StrAppend(&text, ", ", counts.still_changing, " still changing");
  }
  return text + "\n";
}

absl::Status Compare(const VerifyLine& line, RowVerifier& verifier) {
  ByteSink sink(STDOUT_FILENO, "stdout");
  Progress progress(kVerifyVerb, std::nullopt);
  size_t printed = 0;
  for (bool more = true; more;) {
    LOCUS_ASSIGN_OR_RETURN(more, verifier.VerifySlice());
    progress.Show(verifier.counts().rows, 0);
    if (line.json || printed == verifier.differences().size()) continue;
    progress.Wipe();
    for (; printed < verifier.differences().size(); ++printed) {
      sink.Append(TextOf(verifier.differences()[printed]) + "\n");
    }
    LOCUS_RETURN_IF_ERROR(sink.Flush());
  }
  progress.Wipe();
  sink.Append(line.json ? AsJson(verifier) : Summary(verifier));
  return sink.Flush();
}

int Verify(const VerifyLine& line, VerifierOptions& options) {
  absl::StatusOr<std::unique_ptr<RowVerifier>> verifier = Open(line, options);
  if (!verifier.ok()) return Fail(kVerifyVerb, verifier.status());
  const absl::Status status = Compare(line, **verifier);
  if (!status.ok()) {
    const int exit = Fail(kVerifyVerb, status);
    if (exit != kDone) {
      Note(kVerifyVerb,
           absl::StrCat("what was compared until now need not be compared again: add --from '",
                        (*verifier)->position(), "'"));
    }
    return exit;
  }
  return (*verifier)->counts().equal() ? kDone : kFailed;
}

}  // namespace

int RunVerify(std::span<const std::string> words) {
  VerifyLine given;
  VerbLine line(
      kVerifyVerb,
      "Compares the rows of vnodes on two shards (MariaDB), which may be written meanwhile "
      "with --move. Exit status 1: they differ. The password is LOCUS_SHARD_PASSWORD, or in "
      "LOCUS_SHARD_PASSWORD_FILE.",
      "locus verify --source mysql://mover@10.0.0.5/shop --target "
      "mysql://mover@10.0.0.6/shop --table orders:order_id --vnodes 0..99");
  StoreOption(line, "--source URI", &given.source, "One shard: mysql://USER@HOST:PORT/DB")
      .Required();
  StoreOption(line, "--target URI", &given.target, "The other shard").Required();
  line.Repeated("--table T:COLUMN[:VERSION]", &given.tables,
                "A table, its column of order IDs (of genes: T:gene=COLUMN), and its column of "
                "versions [version]; any number of times")
      .Required();
  line.Value("--vnodes FIRST..LAST", &given.vnodes, ReadVnodes,
             "The vnodes whose rows are compared; several ranges with commas between")
      .Required();
  line.Text("--move NAME", &given.move,
            "The move whose streams keep the shards equal; without it nobody may write to them");
  line.Flag("--values", &given.values,
            "Print values that differ, up to 256 bytes; they may be personal data");
  line.Flag("--json", &given.json, "Print JSON, at the end");
  line.Text("--from POSITION", &given.from, "Go on where an earlier comparison stopped")
      .Default("");
  line.Duration("--slice-time SECONDS", &given.slice_time,
                {.least = absl::Milliseconds(1), .most = absl::Minutes(1)},
                "How long one statement reads, about");
  line.Duration("--timeout SECONDS", &given.timeout,
                {.least = absl::Seconds(1), .most = absl::Hours(1)},
                "The time limit of one statement, and of the streams with --move");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  VerifierOptions options;
  for (const std::string& text : given.tables) {
    absl::StatusOr<MovedTable> table = ReadTable(text);
    if (!table.ok()) return WrongUsage(kVerifyVerb, table.status());
    options.tables.push_back(*std::move(table));
  }
  for (const auto& [option, uri, server] :
       {std::tuple("--source", &given.source, &options.source),
        std::tuple("--target", &given.target, &options.target)}) {
    absl::StatusOr<MysqlOptions> parsed = ServerOf(option, *uri, given.timeout);
    if (!parsed.ok()) return WrongUsage(kVerifyVerb, parsed.status());
    *server = *std::move(parsed);
  }
  options.ranges = given.vnodes;
  options.position = given.from;
  options.slice_time = given.slice_time;
  options.pass_time = given.timeout;
  options.with_values = given.values;
  return Verify(given, options);
}

}  // namespace locus::cli
