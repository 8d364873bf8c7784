// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/engine/mysql.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/pool.h"
#include "src/engine/mysql/space_rows.h"

namespace locus {
namespace {

using mysql::Connection;
using mysql::Literal;
using mysql::NumberIn;
using mysql::Pool;
using mysql::Result;

constexpr char kTypeTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS locus_sequence_type (
    name VARBINARY(64) NOT NULL, version BIGINT NOT NULL CHECK (version > 0),
    rule VARBINARY(4096) NOT NULL, update_time DATETIME(6) NOT NULL, PRIMARY KEY (name)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary)sql";
// Sequence types that one statement reads: together far below the bytes that an answer may have.
constexpr size_t kTypesAtOnce = 1000;

class Types final : public MysqlSequenceTypeStore {
 public:
  explicit Types(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
  ~Types() override {
    // In a forked child the sockets are its parent's.
    internal::AbandonIfForked(pool_);
  }

  MysqlStats Stats() const override { return pool_->Stats(); }

  absl::Status Connect() {
    return pool_->Use([](Connection& connection) {
      return Ran(connection, connection.Run("SELECT name FROM locus_sequence_type LIMIT 0",
                                            {mysql::Rows(1, 0)}))
          .status();
    });
  }

 private:
  using Results = absl::StatusOr<std::vector<Result>>;

  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) override {
    std::optional<Stored> stored;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          auto results,
          Ran(connection,
              connection.RunCurrent(
                  absl::StrCat("SELECT version, rule FROM locus_sequence_type", Where(name)),
                  {mysql::AtMostOneRow(2)})));
      stored.reset();
      if (results[0].rows.empty()) return absl::OkStatus();
      LOCUS_ASSIGN_OR_RETURN(stored, StoredIn(results[0].rows[0], 0, connection));
      return absl::OkStatus();
    });
    LOCUS_RETURN_IF_ERROR(status);
    return stored;
  }

  absl::StatusOr<std::map<std::string, Stored>> LoadAll() override {
    std::map<std::string, Stored> all;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      all.clear();
      // On behind the last name: there may be any number, and more meanwhile.
      for (bool more = true; more;) {
        const std::string behind =
            all.empty() ? "" : absl::StrCat(" WHERE name > ", Literal(all.rbegin()->first));
        LOCUS_ASSIGN_OR_RETURN(
            auto results,
            Ran(connection, connection.RunCurrent(
                                absl::StrCat("SELECT name, version, rule FROM locus_sequence_type",
                                             behind, " ORDER BY name LIMIT ", kTypesAtOnce),
                                {mysql::Rows(3, kTypesAtOnce)})));
        const size_t before = all.size();
        for (const Result::Row& row : results[0].rows) {
          LOCUS_ASSIGN_OR_RETURN(all[row[0].value_or("")], StoredIn(row, 1, connection));
        }
        // A lying server could send pages without end.
        more = results[0].rows.size() == kTypesAtOnce && all.size() > before;
      }
      return absl::OkStatus();
    });
    LOCUS_RETURN_IF_ERROR(status);
    return all;
  }

  absl::StatusOr<bool> Swap(const std::string& name, uint64_t expected,
                            const std::optional<Stored>& next) override {
    std::string statement;
    std::string where = absl::StrCat(Where(name), " AND version = ", expected);
    if (!next) {
      statement = absl::StrCat("DELETE FROM locus_sequence_type", where);
    } else if (expected != 0) {
      statement =
          absl::StrCat("UPDATE locus_sequence_type SET version = ", next->version,
                       ", rule = ", Literal(next->text), ", update_time = UTC_TIMESTAMP(6)", where);
    } else {
      // A row that is there stays as it is, and counts as not affected.
      statement = absl::StrCat("INSERT INTO locus_sequence_type VALUES (", Literal(name), ", ",
                               next->version, ", ", Literal(next->text),
                               ", UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE name = name");
    }
    bool swapped = false;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto results, Ran(connection, connection.Run(statement)));
      swapped = results[0].affected == 1;
      return absl::OkStatus();
    });
    LOCUS_RETURN_IF_ERROR(status);
    return swapped;
  }

  static std::string Where(const std::string& name) {
    return absl::StrCat(" WHERE name = ", Literal(name));
  }

  static absl::StatusOr<Stored> StoredIn(const Result::Row& row, size_t column,
                                         const Connection& connection) {
    LOCUS_ASSIGN_OR_RETURN(int64_t version, NumberIn(row, column, connection.place()));
    return Stored{static_cast<uint64_t>(version), row[column + 1].value_or("")};
  }

  static Results Ran(const Connection& connection, Results results) {
    if (results.ok() || connection.error() != mysql::kNoSuchTable) return results;
    return absl::NotFoundError(
        absl::StrCat("mariadb ", connection.place(),
                     ": there is no table of sequence types: `locus seq type create` makes it"));
  }

  std::unique_ptr<Pool> pool_;
};

}  // namespace

absl::Status MysqlSequenceTypeStore::CreateSchema(const MysqlOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kMustFit));
  return pool->Use([](Connection& connection) { return connection.Run(kTypeTables).status(); });
}

absl::StatusOr<std::unique_ptr<MysqlSequenceTypeStore>> MysqlSequenceTypeStore::Open(
    const MysqlOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kMustFit));
  auto types = std::make_unique<Types>(std::move(pool));
  LOCUS_RETURN_IF_ERROR(types->Connect());
  return types;
}

}  // namespace locus
