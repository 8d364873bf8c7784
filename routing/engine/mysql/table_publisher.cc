// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/engine/mysql.h"
#include "locus/routing/table_source.h"
#include "routing/engine/mysql/table_rows.h"
#include "routing/source/publication_note.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/pool.h"
#include "src/engine/mysql/space_rows.h"

namespace locus {

using internal::HexOf;
using internal::Printable;

namespace {

using mysql::Connection;
using mysql::NumberIn;
using mysql::Pool;
using mysql::Result;
using mysql::TableRow;

constexpr int kKept = 1000;

// The table in a result of SelectWhole.
absl::StatusOr<RoutingTable> ParseTable(const Result& result, const TableRow& row,
                                        const std::string& place) {
  const std::optional<std::string>& document = result.rows[0][3];
  auto data_loss = [&](absl::string_view why) {
    return absl::DataLossError(absl::StrCat("mariadb ", place, ": the document of epoch ",
                                            row.epoch, " in routing_table: ", why));
  };
  if (!document) {
    return data_loss(
        absl::StrCat("it is ", row.bytes, " bytes long; at most ", TableSource::kMaxDocumentBytes));
  }
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(*document);
  if (!table.ok()) return data_loss(table.status().message());
  if (table->epoch() != row.epoch) {
    return data_loss(absl::StrCat("/epoch: it is ", table->epoch()));
  }
  return table;
}

// The state that a publisher finds before it writes; the head and the newest row are locked.
struct Found {
  int64_t publications = 0;
  std::optional<TableRow> newest;
  std::optional<uint64_t> oldest_to_keep;
  uint64_t longest_statement = 0;
  bool has_notes = false;

  uint64_t epoch() const { return newest ? newest->epoch : 0; }
};

absl::StatusOr<Found> LockAndLook(Connection& connection) {
  LOCUS_ASSIGN_OR_RETURN(
      auto results,
      connection.RunCurrent(
          absl::StrCat("START TRANSACTION;"
                       "SELECT publications FROM routing_table_head WHERE one = 1 FOR UPDATE;",
                       mysql::SelectNewest(),
                       " FOR UPDATE;SELECT epoch FROM routing_table ORDER BY epoch DESC"
                       " LIMIT 1 OFFSET ",
                       kKept - 2, ";SELECT @@max_allowed_packet;", mysql::SelectNoteColumns()),
          {mysql::kNoRows, mysql::AtMostOneRow(1), mysql::kNewestShape, mysql::AtMostOneRow(1),
           mysql::OneRow(1), mysql::OneRow(1)}));
  if (results[1].rows.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "mariadb ", connection.place(),
        ": routing_table_head has no row: create the tables again (locus table init)"));
  }
  Found found;
  LOCUS_ASSIGN_OR_RETURN(found.publications, NumberIn(results[1].rows[0], 0, connection.place()));
  LOCUS_ASSIGN_OR_RETURN(found.newest, mysql::ParseRow(results[2], connection.place()));
  if (!results[3].rows.empty()) {
    LOCUS_ASSIGN_OR_RETURN(int64_t epoch, NumberIn(results[3].rows[0], 0, connection.place()));
    found.oldest_to_keep = static_cast<uint64_t>(epoch);
  }
  LOCUS_ASSIGN_OR_RETURN(int64_t longest, NumberIn(results[4].rows[0], 0, connection.place()));
  found.longest_statement = static_cast<uint64_t>(longest);
  found.has_notes = results[5].rows[0][0] == "2";
  return found;
}

struct Write {
  std::string statements;
  std::vector<mysql::Shape> shapes;
};

// The second statement looks at what the first one wrote. Where a publication at another Galera
// node ends this transaction between the two, the node carries the second one out on its own,
// commits it, and reports the conflict only then: a plain INSERT would leave a table that was never
// published.
Write WriteOf(const Found& found, uint64_t epoch, std::string_view document,
              const PublicationNote& note) {
  Write write;
  auto value = [](const std::string& text) {
    return text.empty() ? "NULL" : absl::StrCat("X'", HexOf(text), "'");
  };
  std::string columns, values;
  if (found.has_notes) {
    columns = ", author, reason";
    values = absl::StrCat(", ", value(note.author), ", ", value(note.reason));
  }
  write.statements = absl::StrCat(
      "UPDATE routing_table_head SET epoch = ", epoch,
      ", publications = publications + 1 WHERE one = 1 AND publications = ", found.publications,
      ";INSERT INTO routing_table (epoch, document, published_at", columns, ") SELECT ", epoch,
      ", X'", HexOf(document), "', UTC_TIMESTAMP(6)", values,
      " FROM routing_table_head WHERE one = 1 AND epoch = ", epoch,
      " AND publications = ", found.publications + 1, ";");
  write.shapes = {mysql::kNoRows, mysql::kNoRows, mysql::kNoRows};
  if (found.oldest_to_keep) {
    absl::StrAppend(&write.statements, "DELETE FROM routing_table WHERE epoch < ",
                    *found.oldest_to_keep, ";");
    write.shapes.push_back(mysql::kNoRows);
  }
  absl::StrAppend(&write.statements, "COMMIT");
  return write;
}

struct Wanted {
  const RoutingTable& table;
  const std::string document;
  const uint64_t expected;
  const GuardedChanges& named;
  const PublicationNote& note;
};

// Reads the newest table within the transaction that has locked its row.
absl::StatusOr<std::optional<RoutingTable>> ReadNewest(Connection& connection, const Found& found) {
  if (!found.newest) return std::nullopt;
  LOCUS_ASSIGN_OR_RETURN(auto row, connection.Run(mysql::SelectWhole(found.newest->epoch),
                                                  {&mysql::kWholeShape, 1}, mysql::kDocumentBytes));
  if (row[0].rows.empty()) return std::nullopt;
  return ParseTable(row[0], *found.newest, connection.place());
}

absl::Status PublishIn(Connection& connection, const Wanted& wanted) {
  const std::string& document = wanted.document;
  LOCUS_ASSIGN_OR_RETURN(Found found, LockAndLook(connection));
  LOCUS_ASSIGN_OR_RETURN(std::optional<RoutingTable> newest, ReadNewest(connection, found));
  PublishedState state{.newest = newest ? &*newest : nullptr};
  absl::StatusOr<Publication> judged =
      JudgePublication(state, wanted.table, wanted.expected, wanted.named);
  if (!judged.ok()) {
    return absl::Status(judged.status().code(), absl::StrCat("mariadb ", connection.place(), ": ",
                                                             judged.status().message()));
  }
  if (*judged == Publication::kIsNewest) return connection.Run("COMMIT").status();
  Write write = WriteOf(found, wanted.table.epoch(), document, wanted.note);
  if (write.statements.size() >= found.longest_statement) {
    return absl::FailedPreconditionError(absl::StrCat(
        "mariadb ", connection.place(), ": a document of ", document.size(),
        " bytes takes a statement of ", write.statements.size(), "; max_allowed_packet is ",
        found.longest_statement, ": set it higher, to 16M or more"));
  }
  LOCUS_ASSIGN_OR_RETURN(auto results, connection.Run(write.statements, write.shapes));
  if (results[0].affected == 1 && results[1].affected == 1) return absl::OkStatus();
  connection.NoteConflict();
  return absl::UnavailableError(
      absl::StrCat("mariadb ", connection.place(),
                   ": the server lost the transaction of each attempt to other publications:"
                   " nothing was published; publish again"));
}

}  // namespace

class MysqlTablePublisher::Rep {
 public:
  explicit Rep(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}

  bool forked() const { return pool_->forked(); }
  MysqlStats Stats() const { return pool_->Stats(); }
  std::string place() const { return mysql::TablePlace(pool_->options()); }

  // Without the database tables nothing can be published until they are created.
  absl::Status Use(const std::function<absl::Status(Connection&)>& body) {
    return pool_->Use([&](Connection& connection) {
      absl::Status status = body(connection);
      if (status.ok()) return status;
      return mysql::Explain(connection, status, absl::StatusCode::kFailedPrecondition);
    });
  }

  absl::StatusOr<RoutingTable> Read(std::optional<uint64_t> epoch) {
    std::optional<RoutingTable> table;
    absl::Status status = Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          auto results, connection.RunCurrent(mysql::SelectWhole(epoch), {&mysql::kWholeShape, 1},
                                              mysql::kDocumentBytes));
      LOCUS_ASSIGN_OR_RETURN(std::optional<TableRow> row,
                             mysql::ParseRow(results[0], connection.place()));
      if (!row) return NothingThere(connection, epoch);
      LOCUS_ASSIGN_OR_RETURN(table, ParseTable(results[0], *row, connection.place()));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return *std::move(table);
  }

 private:
  static absl::Status NothingThere(Connection& connection, std::optional<uint64_t> epoch) {
    LOCUS_ASSIGN_OR_RETURN(
        auto results, connection.Run("SELECT COUNT(*), MIN(epoch), MAX(epoch) FROM routing_table",
                                     {mysql::OneRow(3)}));
    const Result::Row& row = results[0].rows[0];
    std::string text = absl::StrCat("mariadb ", connection.place(), ": ");
    if (row[0] == "0") return absl::NotFoundError(text + "nothing was published yet");
    return absl::NotFoundError(
        absl::StrCat(text, "epoch ", epoch.value_or(0), " is not kept; of epochs ",
                     Printable(row[1].value_or("")), " to ", Printable(row[2].value_or("")),
                     " the place keeps ", Printable(row[0].value_or(""))));
  }

  const std::unique_ptr<Pool> pool_;
};

absl::Status MysqlTablePublisher::CreateSchema(const MysqlTableOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options.mariadb, Pool::Schema::kNotLookedAt));
  return pool->Use(mysql::CreateTables);
}

absl::StatusOr<std::unique_ptr<MysqlTablePublisher>> MysqlTablePublisher::Open(
    const MysqlTableOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options.mariadb, Pool::Schema::kNotLookedAt));
  return std::unique_ptr<MysqlTablePublisher>(
      new MysqlTablePublisher(std::make_unique<Rep>(std::move(pool))));
}

MysqlTablePublisher::MysqlTablePublisher(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

MysqlTablePublisher::~MysqlTablePublisher() {
  // In a forked child the sockets are its parent's.
  internal::AbandonIfForked(rep_);
}

absl::StatusOr<RoutingTable> MysqlTablePublisher::Current() { return rep_->Read(std::nullopt); }

absl::StatusOr<RoutingTable> MysqlTablePublisher::Fetch(uint64_t epoch) {
  return rep_->Read(epoch);
}

absl::Status MysqlTablePublisher::Publish(const RoutingTable& table, uint64_t expected,
                                          const GuardedChanges& named,
                                          const PublicationNote& note) {
  LOCUS_RETURN_IF_ERROR(note.Check());
  Wanted wanted{table, table.ToJson(), expected, named, note};
  return rep_->Use([&](Connection& connection) { return PublishIn(connection, wanted); });
}

absl::StatusOr<std::vector<PublishedEpoch>> MysqlTablePublisher::History(size_t most) {
  if (most < 1) return absl::InvalidArgumentError("a history of 0 epochs; at least 1");
  std::vector<PublishedEpoch> history;
  absl::Status status = rep_->Use([&](Connection& connection) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(auto columns,
                           connection.RunCurrent(mysql::SelectNoteColumns(), {mysql::OneRow(1)}));
    const bool has_notes = columns[0].rows[0][0] == "2";
    LOCUS_ASSIGN_OR_RETURN(
        auto results,
        connection.RunCurrent(absl::StrCat("SELECT epoch, ", mysql::MicrosecondsOf("published_at"),
                                           has_notes ? ", author, reason" : ", NULL, NULL",
                                           " FROM routing_table ORDER BY epoch DESC LIMIT ", most),
                              {mysql::Rows(4, most)}));
    history.clear();
    for (const Result::Row& row : results[0].rows) {
      LOCUS_ASSIGN_OR_RETURN(int64_t epoch, NumberIn(row, 0, connection.place()));
      LOCUS_ASSIGN_OR_RETURN(int64_t us, NumberIn(row, 1, connection.place()));
      history.push_back({static_cast<uint64_t>(epoch), absl::FromUnixMicros(us),
                         internal::SafeNote(row[2].value_or(""), row[3].value_or(""))});
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return history;
}

std::string MysqlTablePublisher::place() const { return rep_->place(); }

MysqlStats MysqlTablePublisher::Stats() const { return rep_->Stats(); }

}  // namespace locus
