// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/counter/callers_clock.h"
#include "src/counter/sequencer_rules.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/pool.h"
#include "src/engine/mysql/space_rows.h"

namespace locus {
namespace {

using mysql::Connection;
using mysql::Literal;
using mysql::NumberIn;
using mysql::Pool;

constexpr char kType[] = "'sequencer'";
constexpr char kNow[] = "UTC_TIMESTAMP(6)";
// The expire_time of a counter whose numbers were all returned: it is forgotten. Its row stays, so
// that accounts need no right to delete.
constexpr char kUnused[] = "TIMESTAMP'1970-01-01 00:00:00'";

constexpr uint64_t kRemovedAtOnce = 100;
constexpr uint64_t kTakesBetweenRemovals = 256;

std::string WhereKey(const std::string& name) {
  return absl::StrCat(" WHERE type_id = ", kType, " AND group_key = ", Literal(name));
}

class Numbers final : public MysqlSequencer {
 public:
  Numbers(std::unique_ptr<Pool> pool, const SequencerOptions& options, Clock& clock)
      : MysqlSequencer(options), pool_(std::move(pool)), clock_(clock, options.ttl) {}
  ~Numbers() override {
    // In a forked child the sockets are its parent's.
    internal::AbandonIfForked(pool_);
  }

  MysqlStats Stats() const override { return pool_->Stats(); }

  absl::Status Connect() {
    return pool_->Use([](Connection& connection) { return connection.Run("DO 1").status(); });
  }

  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override {
    std::string statement =
        absl::StrCat(Insert(name, sequencer_rules::LastOfFirst(span, options())),
                     " ON DUPLICATE KEY UPDATE sequence_no = ", Next(span),
                     ", version_number = version_number + 1, expire_time = ", LaterExpiry(),
                     ", update_time = VALUES(update_time) RETURNING sequence_no, version_number");
    Taken taken;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      auto results = connection.Run(statement, {mysql::OneRow(2)});
      if (connection.error() == mysql::kOutOfRange) return AtLimit(connection, name, span);
      LOCUS_RETURN_IF_ERROR(results.status());
      const mysql::Result::Row& row = (*results)[0].rows[0];
      LOCUS_ASSIGN_OR_RETURN(taken.last, NumberIn(row, 0, connection.place()));
      LOCUS_ASSIGN_OR_RETURN(int64_t version, NumberIn(row, 1, connection.place()));
      taken.version = static_cast<uint64_t>(version);
      return absl::OkStatus();
    });
    LOCUS_RETURN_IF_ERROR(status);
    bool remove = options().ttl > absl::ZeroDuration() &&
                  takes_.fetch_add(1, std::memory_order_relaxed) % kTakesBetweenRemovals == 0;
    if (remove) RemoveExpired(kRemovedAtOnce).status().IgnoreError();  // another call comes by
    return taken;
  }

  absl::Status Store(const std::string& name, int64_t value) override {
    return pool_->Use([&](Connection& connection) {
      return connection
          .Run(absl::StrCat(Insert(name, value),
                            " ON DUPLICATE KEY UPDATE sequence_no = VALUES(sequence_no),"
                            " version_number = version_number + 1,"
                            " expire_time = VALUES(expire_time),"
                            " update_time = VALUES(update_time)"))
          .status();
    });
  }

  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) override {
    // LAST_INSERT_ID reports that a forgotten row was taken over. MariaDB evaluates the assignments
    // from left to right.
    const std::string forgotten = Forgotten();
    std::string statement = absl::StrCat(
        Insert(name, value), " ON DUPLICATE KEY UPDATE sequence_no = IF(", forgotten,
        ", IF(LAST_INSERT_ID(1) = 1, VALUES(sequence_no), NULL), sequence_no),"
        " version_number = IF(",
        forgotten, ", version_number + 1, version_number), update_time = IF(", forgotten,
        ", VALUES(update_time), update_time), expire_time = ",
        HasTtl() ? LaterExpiry()
                 : absl::StrCat("IF(", forgotten, ", VALUES(expire_time), expire_time)"));
    bool stored = false;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto results, connection.Run(statement));
      stored = results[0].affected == 1 || results[0].insert_id == 1;
      return absl::OkStatus();
    });
    LOCUS_RETURN_IF_ERROR(status);
    return stored;
  }

  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override {
    std::string select =
        absl::StrCat("SELECT sequence_no FROM `sequence`", WhereKey(name), " AND ", Live());
    std::string refresh;
    std::vector<mysql::Shape> shapes = {mysql::AtMostOneRow(1)};
    if (HasTtl()) {
      shapes.insert(shapes.begin(), mysql::kNoRows);
      refresh = absl::StrCat("UPDATE `sequence` SET expire_time = GREATEST(expire_time, ", Expiry(),
                             ")", WhereKey(name), " AND ", Live(), ";");
    }
    std::optional<int64_t> value;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto results, connection.RunCurrent(refresh + select, shapes));
      const auto& rows = results.back().rows;
      if (rows.empty()) return absl::OkStatus();
      LOCUS_ASSIGN_OR_RETURN(value, NumberIn(rows[0], 0, connection.place()));
      return absl::OkStatus();
    });
    LOCUS_RETURN_IF_ERROR(status);
    return value;
  }

  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken,
                               int64_t value) override {
    std::string statement = absl::StrCat(
        "UPDATE `sequence` SET sequence_no = ", value,
        ", version_number = version_number + 1, update_time = ", kNow, ", expire_time = ",
        value == sequencer_rules::LastOfFirst(0, options())
            ? kUnused
            : absl::StrCat("GREATEST(expire_time, ", Expiry(), ")"),
        WhereKey(name), " AND sequence_no = ", taken.last, " AND version_number = ", taken.version,
        " AND ", Live());
    bool put_back = false;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto results, connection.Run(statement));
      put_back = results[0].affected == 1;
      return absl::OkStatus();
    });
    LOCUS_RETURN_IF_ERROR(status);
    return put_back;
  }

  absl::StatusOr<uint64_t> RemoveExpired(uint64_t most) override {
    uint64_t removed = 0;
    while (removed < most) {
      uint64_t at_once = std::min(kRemovedAtOnce, most - removed);
      uint64_t gone = 0;
      // Types whose expired_sec is 0, the sections of order IDs among them, are never touched.
      std::string statement = absl::StrCat(
          "DELETE FROM `sequence` WHERE type_id = ", kType, " AND expire_time < ", EarlierNow(),
          " - INTERVAL (SELECT NULLIF(expired_sec, 0) FROM sequence_type WHERE type_id = ", kType,
          ") SECOND ORDER BY expire_time LIMIT ", at_once);
      absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
        LOCUS_ASSIGN_OR_RETURN(auto results, connection.Run(statement));
        gone = results[0].affected;
        return absl::OkStatus();
      });
      LOCUS_RETURN_IF_ERROR(status);
      removed += gone;
      if (gone < at_once) break;
    }
    return removed;
  }

 private:
  // The earlier time of the server's clock and this process': what one of them alone takes for
  // past, since it jumped ahead, may be held by a process still.
  std::string EarlierNow() const {
    return absl::StrCat("LEAST(", kNow, ", ", TimeLiteral(clock_.Earlier()), ")");
  }
  // The later one: a server that is behind may be set to the right time at any moment.
  std::string LaterNow() const {
    return absl::StrCat("GREATEST(", kNow, ", ", TimeLiteral(clock_.Wall()), ")");
  }
  static std::string TimeLiteral(absl::Time time) {
    return absl::StrCat("TIMESTAMP'",
                        absl::FormatTime("%Y-%m-%d %H:%M:%E6S", time, absl::UTCTimeZone()), "'");
  }
  // True of a row that is there but forgotten; neither true nor false of one that stays.
  std::string Forgotten() const { return absl::StrCat("expire_time <= ", EarlierNow()); }
  std::string Live() const {
    return absl::StrCat("(expire_time IS NULL OR expire_time > ", EarlierNow(), ")");
  }

  std::string_view KeyOf(std::string_view name) const {
    return name.substr(options().key_prefix.size());
  }
  bool HasTtl() const { return options().ttl > absl::ZeroDuration(); }
  std::string Expiry() const {
    if (!HasTtl()) return "NULL";
    return absl::StrCat(LaterNow(), " + INTERVAL ", absl::ToInt64Microseconds(options().ttl),
                        " MICROSECOND");
  }

  // Of a row that stays, the later end: others may hold numbers by a longer ttl. NULL, which is
  // never, is the greatest.
  std::string LaterExpiry() const {
    return absl::StrCat("IF(", Forgotten(),
                        ", VALUES(expire_time), GREATEST(expire_time, VALUES(expire_time)))");
  }

  // A new row's version is the time in us: above all versions of the key's earlier lives.
  std::string Insert(const std::string& name, int64_t value) const {
    return absl::StrCat(
        "INSERT INTO `sequence` (type_id, group_key, sequence_no, version_number,"
        " expire_time, create_time, update_time) VALUES (",
        kType, ", ", Literal(name), ", ", value, ", ", mysql::MicrosecondsOf(kNow), ", ", Expiry(),
        ", ", kNow, ", ", kNow, ")");
  }

  // sequencer_rules::Advance as an expression. Past the limit it is out of the range of a BIGINT,
  // whatever the sql_mode, so that the statement fails and changes nothing.
  std::string Next(int64_t span) const {
    const int64_t limit = sequencer_rules::Limit(options());
    const int64_t restart = sequencer_rules::LastOfFirst(span, options());
    std::string next;
    if (options().max_value != 0 && options().at_max == SequencerOptions::AtMax::kWrap) {
      next = absl::StrCat("IF(sequence_no <= ", limit - span, ", sequence_no + ", span, ", ",
                          restart, ")");
    } else {
      int64_t gap = std::numeric_limits<int64_t>::max() - limit;
      next = absl::StrCat("sequence_no + ", span, " + ", gap, " - ", gap);
    }
    return absl::StrCat("IF(", Forgotten(), ", ", restart, ", ", next, ")");
  }

  absl::Status AtLimit(Connection& connection, const std::string& name, int64_t span) const {
    LOCUS_ASSIGN_OR_RETURN(
        auto results,
        connection.Run(absl::StrCat("SELECT sequence_no FROM `sequence`", WhereKey(name)),
                       {mysql::AtMostOneRow(1)}));
    int64_t current = sequencer_rules::Limit(options());
    if (!results[0].rows.empty()) {
      LOCUS_ASSIGN_OR_RETURN(current, NumberIn(results[0].rows[0], 0, connection.place()));
    }
    return sequencer_rules::AtLimit(KeyOf(name), current, span, options());
  }

  std::unique_ptr<Pool> pool_;
  mutable internal::CallersClock clock_;
  std::atomic<uint64_t> takes_{0};  // counts only
};

}  // namespace

absl::StatusOr<std::unique_ptr<MysqlSequencer>> MysqlSequencer::Open(
    const MysqlOptions& options, const SequencerOptions& sequencer_options, Clock& clock) {
  LOCUS_RETURN_IF_ERROR(sequencer_options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kMustFit));
  auto numbers = std::make_unique<Numbers>(std::move(pool), sequencer_options, clock);
  LOCUS_RETURN_IF_ERROR(numbers->Connect());
  return numbers;
}

}  // namespace locus
