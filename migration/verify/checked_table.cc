// SPDX-License-Identifier: Apache-2.0
#include "migration/verify/checked_table.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/apply/copy_sql.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

using Form = CheckedColumn::Form;
using stream::ColumnKind;

absl::Status Refuse(const MovedTable& moved, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("table ", Quoted(moved.guard.name), " cannot be compared: ", what));
}

const SchemaColumn* Find(const TableSchema& schema, const std::string& name) {
  for (const SchemaColumn& column : schema.columns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

const SchemaIndex* Primary(const TableSchema& schema) {
  for (const SchemaIndex& index : schema.indexes) {
    if (index.name == "PRIMARY") return &index;
  }
  return nullptr;
}

bool IsInteger(const SchemaColumn& column) {
  auto kind = KindOf(column.data_type);
  return kind.ok() && *kind == ColumnKind::kInteger;
}

// The type, without the width that an integer is shown with.
std::string TypeOf(const SchemaColumn& column) {
  std::string type =
      IsInteger(column)
          ? absl::StrCat(column.data_type,
                         absl::StrContains(column.column_type, "unsigned") ? " unsigned" : "")
          : column.column_type;
  if (!column.charset.empty()) absl::StrAppend(&type, " of ", column.charset);
  return type;
}

absl::StatusOr<Form> FormOf(const SchemaColumn& column) {
  LOCUS_ASSIGN_OR_RETURN(ColumnKind kind, KindOf(column.data_type));
  switch (kind) {
    case ColumnKind::kBit:
    case ColumnKind::kEnum:
    case ColumnKind::kSet:
      return Form::kNumber;
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:
      return Form::kReal;
    case ColumnKind::kText:
    case ColumnKind::kBlob:
      // UUID, INET4, INET6.
      if (column.octets == 0) return Form::kPrinted;
      return column.octets > CheckedColumn::kMostBytesInLine ? Form::kLongBytes : Form::kBytes;
    default:
      return absl::StrContains(column.column_type, "zerofill") ? Form::kNumber : Form::kText;
  }
}

absl::Status SetColumns(const TableSchema& source, const TableSchema& target, CheckedTable& out) {
  for (const bool of_source : {true, false}) {
    const TableSchema* schema = of_source ? &source : &target;
    const TableSchema* other = of_source ? &target : &source;
    const char* here = of_source ? "source" : "target";
    const char* there = of_source ? "target" : "source";
    for (const SchemaColumn& column : schema->columns) {
      if (column.generated) continue;
      const SchemaColumn* twin = Find(*other, column.name);
      if (twin == nullptr) {
        return Refuse(out.moved, absl::StrCat("the ", here, " has a column ", Quoted(column.name),
                                              ", the ", there, " has not"));
      }
      if (twin->generated || TypeOf(column) != TypeOf(*twin)) {
        return Refuse(out.moved, absl::StrCat("column ", Quoted(column.name), " is ",
                                              TypeOf(column), " on the ", here, " and ",
                                              twin->generated ? "generated" : TypeOf(*twin),
                                              " on the ", there));
      }
      if (!of_source) continue;
      absl::StatusOr<Form> form = FormOf(column);
      if (!form.ok()) {
        return Refuse(out.moved,
                      absl::StrCat("column ", Quoted(column.name), ": ", form.status().message()));
      }
      out.columns.push_back({column.name, *form, column.nullable || twin->nullable});
    }
  }
  std::sort(out.columns.begin(), out.columns.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const SchemaColumn* version = Find(source, out.moved.version);
  if (version != nullptr && !version->generated && IsInteger(*version)) return absl::OkStatus();
  return Refuse(out.moved, absl::StrCat("it has no integer column ", Quoted(out.moved.version),
                                        " for the version"));
}

absl::Status SetPrimaryKey(const TableSchema& source, const TableSchema& target,
                           CheckedTable& out) {
  const SchemaIndex* here = Primary(source);
  const SchemaIndex* there = Primary(target);
  auto names = [](const SchemaIndex* index) {
    return index == nullptr ? "none" : absl::StrJoin(index->columns, ", ");
  };
  if (here == nullptr || there == nullptr || here->columns != there->columns) {
    return Refuse(out.moved, absl::StrCat("the primary key of the source is ", names(here),
                                          ", that of the target ", names(there)));
  }
  if (here->prefixes || there->prefixes) {
    return Refuse(out.moved, "its primary key has only the first characters of a column");
  }
  if (out.moved.primary_key.empty()) out.moved.primary_key = here->columns;
  if (out.moved.primary_key == here->columns) return absl::OkStatus();
  return Refuse(out.moved, absl::StrCat("its primary key is ", names(here), ", not ",
                                        absl::StrJoin(out.moved.primary_key, ", ")));
}

// The index of the shard that begins with `first` and continues with the primary key: InnoDB puts
// the rest of the primary key behind it.
std::optional<std::string> IndexBehind(const std::string& first,
                                       const std::vector<std::string>& primary_key,
                                       const TableSchema& schema) {
  std::vector<std::string> walk = {first};
  for (const std::string& name : primary_key) {
    if (name != first) walk.push_back(name);
  }
  std::optional<std::string> found;
  for (const SchemaIndex& index : schema.indexes) {
    if (index.prefixes || index.columns.size() > walk.size() || index.columns.empty()) continue;
    if (!std::equal(index.columns.begin(), index.columns.end(), walk.begin())) continue;
    // The primary key holds the rows themselves.
    if (!found || index.name == "PRIMARY") found = index.name;
  }
  return found;
}

// nullopt: its order or its equality is not that of its bytes or its number.
std::optional<WalkColumn::Form> WalkFormOf(const SchemaColumn& column) {
  const std::string& type = column.data_type;
  if (type == "binary" || type == "varbinary") return WalkColumn::Form::kBytes;
  if (type == "char" || type == "varchar") {
    if (absl::EndsWith(column.collation, "_bin")) return WalkColumn::Form::kBytes;
    return std::nullopt;
  }
  const absl::StatusOr<ColumnKind> kind = KindOf(type);
  if (!kind.ok() || !IsKeyKind(*kind) || *kind == ColumnKind::kText) return std::nullopt;
  switch (*kind) {
    case ColumnKind::kInteger:
      return WalkColumn::Form::kInteger;
    case ColumnKind::kDecimal:
      return WalkColumn::Form::kNumber;
    case ColumnKind::kEnum:
    case ColumnKind::kSet:
    case ColumnKind::kBit:
      return WalkColumn::Form::kMembers;
    case ColumnKind::kTimestamp:
      return WalkColumn::Form::kInstant;
    default:
      return WalkColumn::Form::kPrinted;
  }
}

absl::Status AddToWalk(const std::string& name, const TableSchema& source,
                       const TableSchema& target, CheckedTable& out) {
  const SchemaColumn* column = Find(source, name);
  const SchemaColumn* twin = Find(target, name);
  if (column == nullptr || twin == nullptr) {
    return Refuse(out.moved, absl::StrCat("a shard has no column ", Quoted(name)));
  }
  const std::optional<WalkColumn::Form> form = WalkFormOf(*column);
  if (!form || TypeOf(*column) != TypeOf(*twin) || column->collation != twin->collation) {
    return Refuse(out.moved, absl::StrCat("column ", Quoted(name),
                                          " of its key is no number, date, time or bytes, or"
                                          " compares by another collation on the other shard: ",
                                          TypeOf(*column), " ", column->collation, " and ",
                                          TypeOf(*twin), " ", twin->collation));
  }
  out.walk.push_back({name, *form, column->charset});
  return absl::OkStatus();
}

// An order ID is an integer or bytes.
absl::Status SetKeyKind(const TableSchema& source, CheckedTable& out) {
  GuardedTable& guard = out.moved.guard;
  const bool by_gene = guard.key == GuardedTable::Key::kGeneAndCohort;
  const std::string& name = by_gene ? guard.gene : guard.order_id;
  const SchemaColumn* column = Find(source, name);
  if (column == nullptr) return Refuse(out.moved, absl::StrCat("it has no column ", Quoted(name)));
  if (IsInteger(*column)) {
    if (!by_gene) guard.key = GuardedTable::Key::kOrderIdNumber;
    return absl::OkStatus();
  }
  if (!by_gene && (column->data_type == "binary" || column->data_type == "varbinary")) {
    guard.key = GuardedTable::Key::kOrderIdBytes;
    return absl::OkStatus();
  }
  return Refuse(out.moved,
                absl::StrCat("column ", Quoted(name), " is ", column->column_type, "; it must be ",
                             by_gene ? "an integer" : "an integer or bytes"));
}

// Of an ENUM and a SET an index finds single values, and no ranges of them: a walk by it would
// begin from the start for each page.
absl::Status CheckWalk(const std::string& first, const TableSchema& source,
                       const CheckedTable& out) {
  for (const WalkColumn& column : out.walk) {
    if (column.name == first) break;
    const SchemaColumn* found = Find(source, column.name);
    if (found->data_type != "enum" && found->data_type != "set") continue;
    return Refuse(out.moved, absl::StrCat("column ", Quoted(column.name), " of its primary key is ",
                                          found->data_type == "set" ? "a SET" : "an ENUM",
                                          ", which finds no ranges of rows; add an index on ",
                                          Quoted(first), " on both shards"));
  }
  return absl::OkStatus();
}

absl::Status SetWalk(const TableSchema& source, const TableSchema& target, CheckedTable& out) {
  LOCUS_RETURN_IF_ERROR(SetKeyKind(source, out));
  const GuardedTable& guard = out.moved.guard;
  const std::string& first =
      guard.key == GuardedTable::Key::kGeneAndCohort ? guard.gene : guard.order_id;
  const std::vector<std::string>& key = out.moved.primary_key;
  std::optional<std::string> here = IndexBehind(first, key, source);
  std::optional<std::string> there = IndexBehind(first, key, target);
  out.by_vnode = here && there;
  out.index = {"PRIMARY", "PRIMARY"};
  if (out.by_vnode) {
    out.index = {*here, *there};
    LOCUS_RETURN_IF_ERROR(AddToWalk(first, source, target, out));
  } else if (Find(source, first) == nullptr || Find(target, first) == nullptr) {
    return Refuse(out.moved, absl::StrCat("a shard has no column ", Quoted(first)));
  }
  for (const std::string& name : key) {
    auto found = std::find_if(out.walk.begin(), out.walk.end(),
                              [&](const WalkColumn& column) { return column.name == name; });
    out.key_in_walk.push_back(static_cast<size_t>(found - out.walk.begin()));
    if (found == out.walk.end()) LOCUS_RETURN_IF_ERROR(AddToWalk(name, source, target, out));
  }
  return CheckWalk(first, source, out);
}

}  // namespace

absl::StatusOr<CheckedTable> CheckTable(const MovedTable& moved, const TableSchema& source,
                                        const TableSchema& target) {
  CheckedTable out;
  out.moved = moved;
  LOCUS_RETURN_IF_ERROR(SetColumns(source, target, out));
  LOCUS_RETURN_IF_ERROR(SetPrimaryKey(source, target, out));
  for (const TableSchema* schema : {&source, &target}) {
    LOCUS_RETURN_IF_ERROR(CheckKey(moved.guard.name, out.moved.primary_key, schema->columns));
  }
  LOCUS_RETURN_IF_ERROR(SetWalk(source, target, out));
  return out;
}

}  // namespace locus::internal
