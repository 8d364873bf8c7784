// SPDX-License-Identifier: Apache-2.0
// Rows of every column type, as read from the log, beside SELECT and mariadb-binlog -v.
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/stream/binlog_fixture.h"
#include "tests/stream/random_columns.h"
#include "tests/stream/row_writer.h"
#include "tests/stream/value_text.h"

namespace locus {
namespace {

using mysql::Result;
using stream::Column;
using stream::ColumnKind;
using stream::Row;
using stream::TableLayout;

constexpr int kRows = 60;
constexpr char kZones[][10] = {"+00:00", "+05:45", "-11:00", "+13:00"};

// One table of random columns, on the shared server.
class RandomTable {
 public:
  RandomTable(std::string name, std::vector<RandomColumn> columns, uint64_t seed)
      : name_("locus_stream." + std::move(name)), columns_(std::move(columns)), random_(seed) {
    std::string definition;
    for (size_t i = 0; i < columns_.size(); ++i) {
      absl::StrAppend(&definition, ", c", i, " ", columns_[i].type);
    }
    Run({absl::StrCat("CREATE TABLE ", name_, " (id BIGINT UNSIGNED PRIMARY KEY", definition,
                      ") CHARACTER SET latin1 ROW_FORMAT=DYNAMIC")});
  }

  void Insert() {
    std::vector<std::string> statements;
    for (int id = 1; id <= kRows; ++id) {
      std::vector<std::string> names = {"id"}, values = {absl::StrCat(id)};
      Each([&](size_t i, const std::string& literal) {
        names.push_back(absl::StrCat("c", i));
        values.push_back(literal);
      });
      statements.push_back(absl::StrCat("INSERT INTO ", name_, " (", absl::StrJoin(names, ","),
                                        ") VALUES (", absl::StrJoin(values, ","), ")"));
    }
    Run(statements);
  }
  void Update() {
    std::vector<std::string> statements;
    for (int id = 1; id <= kRows; id += 2) {
      std::vector<std::string> sets;
      Each([&](size_t i, const std::string& literal) {
        if (random_() % 2 == 0) sets.push_back(absl::StrCat("c", i, "=", literal));
      });
      if (sets.empty()) continue;
      statements.push_back(
          absl::StrCat("UPDATE ", name_, " SET ", absl::StrJoin(sets, ","), " WHERE id=", id));
    }
    Run(statements);
  }
  void Delete() { Run({absl::StrCat("DELETE FROM ", name_, " ORDER BY id")}); }

  // The rows as the server shows them, by id.
  std::map<uint64_t, Result::Row> Select(const TableLayout& layout) {
    return Select(layout, name_);
  }
  std::map<uint64_t, Result::Row> Select(const TableLayout& layout, const std::string& table) {
    std::vector<std::string> selected;
    for (const Column& column : layout.columns) selected.push_back(Selected(column));
    std::vector<Result> results =
        Run({absl::StrCat("SELECT ", absl::StrJoin(selected, ","), " FROM ", table)});
    std::map<uint64_t, Result::Row> rows;
    for (Result::Row& row : results.back().rows) {
      for (size_t i = 0; i < row.size(); ++i) row[i] = Normalized(layout.columns[i], row[i]);
      rows.emplace(std::stoull(*row[0]), std::move(row));
    }
    return rows;
  }

  const std::string& name() const { return name_; }

 private:
  // Of each column that is not generated; every sixth value is NULL.
  template <typename F>
  void Each(F use) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].generated) continue;
      use(i, random_() % 6 == 0 ? "NULL" : columns_[i].literal(random_));
    }
  }

  // In a session that takes any date, each time in another zone.
  std::vector<Result> Run(const std::vector<std::string>& statements) {
    return SharedBinlogServer().Sql(absl::StrCat(
        "SET NAMES utf8mb4, character_set_results=binary, sql_mode='ALLOW_INVALID_DATES',"
        " time_zone='",
        kZones[random_() % std::size(kZones)], "';", absl::StrJoin(statements, ";")));
  }

  const std::string name_;
  const std::vector<RandomColumn> columns_;
  Random random_;
};

Result::Row TextOf(const TableLayout& layout, const Row& row) {
  Result::Row text;
  for (size_t i = 0; i < row.size(); ++i) text.push_back(AsSelected(layout.columns[i], row[i]));
  return text;
}

uint64_t IdOf(const Row& row) { return std::get<uint64_t>(row[0]); }

// The output of mariadb-binlog -v for the changes of a table: a vector of "@1=..., @2=..." for each
// image, in order.
std::vector<std::vector<std::string>> PrintedImages(const std::string& table,
                                                    const std::string& file,
                                                    const std::string& offset) {
  MariadbServer& server = SharedBinlogServer();
  const std::string out = server.path("printed");
  EXPECT_EQ(RunProgram({"mariadb-binlog", "-v", "--base64-output=DECODE-ROWS",
                        "--start-position=" + offset, server.path("data/" + file)},
                       out),
            0);
  std::ifstream lines(out);
  std::vector<std::vector<std::string>> images;
  const std::string quoted = absl::StrCat(
      "`", absl::StrJoin(std::vector<std::string>(absl::StrSplit(table, '.')), "`.`"), "`");
  bool ours = false;
  for (std::string line; std::getline(lines, line);) {
    if (!absl::StartsWith(line, "### ")) continue;
    if (absl::StartsWith(line, "###   @")) {
      if (ours) images.back().push_back(line.substr(line.find('=') + 1));
    } else if (line == "### WHERE" || line == "### SET") {
      if (ours) images.emplace_back();
    } else {
      ours = absl::EndsWith(line, quoted);
    }
  }
  return images;
}

class BinlogValuesTest : public ::testing::Test {
 protected:
  void Check(const std::string& name, std::vector<RandomColumn> columns, bool printed = true) {
    const uint64_t seed = std::random_device()();
    SCOPED_TRACE(absl::StrCat(name, ", seed ", seed));
    MariadbServer& server = SharedBinlogServer();
    const GtidPosition start = PositionOf(server);
    const auto status = server.Sql("SHOW MASTER STATUS")[0].rows[0];

    RandomTable table(name, std::move(columns), seed);
    table.Insert();
    std::vector<Change> inserted = RowsSince(server, start);
    ASSERT_EQ(inserted.size(), kRows);
    layout_ = inserted[0].table;
    CheckLayout(table.name());
    const auto first = table.Select(*layout_);
    CheckWrittenAgain(table, inserted);
    const GtidPosition before_updates = PositionOf(server);
    table.Update();
    const auto second = table.Select(*layout_);
    std::vector<Change> updated = RowsSince(server, before_updates);
    const GtidPosition before_deletes = PositionOf(server);
    table.Delete();
    std::vector<Change> deleted = RowsSince(server, before_deletes);

    ASSERT_FALSE(::testing::Test::HasFailure());
    for (const Change& change : inserted) {
      EXPECT_EQ(change.kind, ChangeKind::kInsert);
      Compare(change.after, first);
    }
    EXPECT_GE(updated.size(), kRows / 4);
    for (const Change& change : updated) {
      EXPECT_EQ(change.kind, ChangeKind::kUpdate);
      Compare(change.before, first);
      Compare(change.after, second);
    }
    EXPECT_EQ(deleted.size(), kRows);
    for (const Change& change : deleted) {
      EXPECT_EQ(change.kind, ChangeKind::kDelete);
      Compare(change.before, second);
    }
    if (!printed) return;
    std::vector<const Row*> images;
    for (const auto* changes : {&inserted, &updated, &deleted}) {
      for (const Change& change : *changes) {
        if (change.kind != ChangeKind::kInsert) images.push_back(&change.before);
        if (change.kind != ChangeKind::kDelete) images.push_back(&change.after);
      }
    }
    ComparePrinted(images, PrintedImages(table.name(), *status[0], *status[1]));
  }

  // Rows written by what was read are the rows.
  void CheckWrittenAgain(RandomTable& table, const std::vector<Change>& inserted) {
    const std::string copy = table.name() + "_copy";
    SharedBinlogServer().Sql(absl::StrCat("CREATE TABLE ", copy, " LIKE ", table.name()));
    std::set<std::string> generated;
    const std::vector<Result> listed = SharedBinlogServer().Sql(
        absl::StrCat("SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE"
                     " IS_GENERATED='ALWAYS' AND CONCAT(TABLE_SCHEMA,'.',TABLE_NAME)='",
                     table.name(), "'"));
    for (const Result::Row& row : listed.at(0).rows) generated.insert(*row[0]);
    MysqlOptions options = SharedBinlogServer().Account("mysql");
    options.user = "root";
    options.password.clear();
    RowWriter strict(options, "STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO");
    RowWriter lenient(options, "ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO");
    for (const Change& change : inserted) {
      absl::Status written = strict.Insert(copy, *layout_, change.after, generated);
      // A strict session does not take the ENUM of an invalid assignment.
      const Row& row = change.after;
      if (std::find(row.begin(), row.end(), stream::Value(stream::EnumNumber{0})) != row.end()) {
        EXPECT_TRUE(absl::StrContains(written.message(), "Data truncated")) << written;
        written = lenient.Insert(copy, *layout_, row, generated);
      }
      EXPECT_TRUE(written.ok()) << written << ", row " << IdOf(row);
    }
    EXPECT_EQ(table.Select(*layout_), table.Select(*layout_, copy));
  }

  void Compare(const Row& row, const std::map<uint64_t, Result::Row>& shown) {
    auto found = shown.find(IdOf(row));
    ASSERT_NE(found, shown.end()) << IdOf(row);
    const Result::Row text = TextOf(*layout_, row);
    ASSERT_EQ(text.size(), found->second.size());
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_EQ(text[i], found->second[i])
          << "row " << IdOf(row) << ", column " << layout_->columns[i].name;
    }
  }

  void ComparePrinted(const std::vector<const Row*>& rows,
                      const std::vector<std::vector<std::string>>& printed) {
    ASSERT_EQ(rows.size(), printed.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i]->size(), printed[i].size());
      for (size_t j = 0; j < printed[i].size(); ++j) {
        const Column& column = layout_->columns[j];
        EXPECT_EQ(AsPrinted(column, (*rows[i])[j]), NormalizedPrint(column, printed[i][j]))
            << "image " << i << ", column " << column.name << ": " << printed[i][j];
      }
    }
  }

  // Names, signs, nullability, character sets and the key, beside the server's own description.
  void CheckLayout(const std::string& table) {
    const size_t dot = table.find('.');
    EXPECT_EQ(layout_->database, table.substr(0, dot));
    EXPECT_EQ(layout_->table, table.substr(dot + 1));
    auto described = SharedBinlogServer().Sql(absl::StrCat(
        "SELECT COLUMN_NAME, COLUMN_TYPE LIKE '%unsigned%' OR COLUMN_TYPE LIKE '%zerofill%' OR"
        " DATA_TYPE = 'year', IS_NULLABLE = 'YES', COALESCE(ID, 63), COLUMN_KEY = 'PRI'"
        " FROM information_schema.COLUMNS c LEFT JOIN information_schema."
        "COLLATION_CHARACTER_SET_APPLICABILITY a ON FULL_COLLATION_NAME = c.COLLATION_NAME"
        " WHERE TABLE_SCHEMA='",
        layout_->database, "' AND TABLE_NAME='", layout_->table, "' ORDER BY ORDINAL_POSITION"));
    const auto& rows = described[0].rows;
    ASSERT_EQ(layout_->columns.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const Column& column = layout_->columns[i];
      SCOPED_TRACE(column.name);
      EXPECT_EQ(column.name, *rows[i][0]);
      EXPECT_EQ(column.is_unsigned, *rows[i][1] == "1");
      EXPECT_EQ(column.nullable, *rows[i][2] == "1");
      const bool has_charset = column.kind == ColumnKind::kText ||
                               column.kind == ColumnKind::kBlob ||
                               column.kind == ColumnKind::kGeometry ||
                               column.kind == ColumnKind::kEnum || column.kind == ColumnKind::kSet;
      EXPECT_EQ(has_charset ? absl::StrCat(column.charset) : "63", *rows[i][3]);
      const bool in_key = !layout_->primary_key.empty() && layout_->primary_key[0].column == i;
      EXPECT_EQ(in_key, *rows[i][4] == "1");
    }
  }

  std::shared_ptr<const TableLayout> layout_;
};

TEST_F(BinlogValuesTest, Numbers_AreThoseOfTheServer) { Check("numbers", NumberColumns()); }
TEST_F(BinlogValuesTest, DecimalsOfEveryScale_AreThoseOfTheServer) {
  Check("decimals", DecimalColumns());
}
TEST_F(BinlogValuesTest, BitsOfEveryWidth_AreThoseOfTheServer) { Check("bits", BitColumns()); }
TEST_F(BinlogValuesTest, Times_AreThoseOfTheServerInEveryZone) { Check("times", TimeColumns()); }
TEST_F(BinlogValuesTest, TextOfManyCharacterSets_IsThatOfTheServer) {
  Check("texts", TextColumns());
}
TEST_F(BinlogValuesTest, BinaryAndBlobs_AreThoseOfTheServer) { Check("blobs", BlobColumns()); }
TEST_F(BinlogValuesTest, EnumsSetsAddressesShapesInvisible_AreThoseOfTheServer) {
  Check("others", OtherColumns());
  ASSERT_NE(layout_, nullptr);
  EXPECT_EQ(layout_->columns[2].values, (std::vector<std::string>{"é", "漢"}));
  EXPECT_EQ(layout_->columns[3].values.size(), 300u);
  EXPECT_EQ(layout_->columns[8].values.back(), "w63");
}
// mariadb-binlog prints them packed.
TEST_F(BinlogValuesTest, CompressedColumns_AreUnpacked) {
  Check("compressed", CompressedColumns(), false);
}

}  // namespace
}  // namespace locus
