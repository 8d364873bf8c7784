// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "apps/shared/moves/move_file.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::NewMoveFile;
using apps::ParseMoveFile;
using apps::ReadMoveFileName;
using internal::Quoted;

namespace {

struct NewLine {
  std::string table;
  std::optional<std::string> name;
  std::string out = "-";
};

// The URI of the table's place, for verbs that are run elsewhere, such as a service.
absl::StatusOr<std::string> PlaceOf(const std::string& table) {
  std::string path = table;
  if (TableUri::IsMeant(table)) {
    LOCUS_ASSIGN_OR_RETURN(TableUri uri, TableUri::Parse(table));
    if (!uri.IsFile()) return table;
    path = uri.path;
  }
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  if (failed) {
    return absl::FailedPreconditionError(
        absl::StrCat("--table: no absolute path of ", Quoted(path), ": ", failed.message()));
  }
  return absl::StrCat("file:", absolute.lexically_normal().string());
}

absl::Status MakeFile(const NewLine& line) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, LoadTable(line.table));
  const std::string name = line.name ? *line.name : absl::StrCat("move-", table.epoch());
  LOCUS_ASSIGN_OR_RETURN(const std::string place, PlaceOf(line.table));
  const std::string text = NewMoveFile(name, place, table);
  // What is wrong with it now was on the command line.
  LOCUS_RETURN_IF_ERROR(ParseMoveFile(text, line.out == "-" ? "the file" : line.out).status());
  LOCUS_RETURN_IF_ERROR(WriteWhole(line.out, text));
  if (table.moves().empty()) {
    Note("move new", absl::StrCat("epoch ", table.epoch(),
                                  " has no moves yet; `locus plan apply` begins some"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadName(std::string_view text) {
  absl::StatusOr<std::string> name = ReadMoveFileName(text);
  if (name.ok()) return name;
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(text), " is not ", name.status().message()));
}

}  // namespace

int RunMoveNew(std::span<const std::string> words) {
  NewLine given;
  VerbLine line("move new",
                "Writes a move file for the moves of a routing table, with every option "
                "explained; tables and accounts are to be filled in.",
                "locus move new --table table.json --name peak --out peak.toml");
  TableOption(
      line, "--table FILE", &given.table,
      "The routing table, a file or the URI of its place; the move file names a file by its "
      "absolute path")
      .Required()
      .Else("LOCUS_TABLE");
  line.Value("--name NAME", &given.name, ReadName,
             "The name of the moves, never to be given again; without it, move- and the epoch");
  line.File("--out FILE", &given.out, FileUse::kWrite, "The move file; - is stdout");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (given.table == "-") {
    return WrongUsage("move new", "--table: a move file cannot name stdin; give a file or a URI");
  }
  const absl::Status status = MakeFile(given);
  return status.ok() ? kDone : Fail("move new", status);
}

}  // namespace locus::cli
