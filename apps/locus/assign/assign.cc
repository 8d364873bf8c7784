// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/locus/assign/order_assigner.h"
#include "apps/locus/id/codec_choice.h"
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/table/table_file.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

struct AssignLine {
  std::string buyer_column, store_text, table, keys;
  std::string buyer_type = "uint64";
  std::string space_text = SpaceName().str();
  std::string scheme = "siv";
  std::string in = "-";
  std::string out = "-";
  std::optional<std::string> rejects;
  bool create_store = false;
  StoreUri store;
  SpaceName space;

  void DeclareOn(VerbLine& line) {
    line.Required("--buyer-column", "NAME", &buyer_column, "The column of the buyer keys");
    line.Choice("--buyer-type", {"uint64", "text"}, &buyer_type, "What the buyer keys are");
    line.Required("--store", "URI", &store_text,
                  absl::StrCat("The segment store: ", kStoreUriHelp));
    line.Flag("--create-store", &create_store, "Create the store and the space where missing");
    line.Option("--space", "S", &space_text, "The space in the store [orders]");
    line.Required("--table", "FILE", &table, "The routing table");
    line.Required("--keys", "FILE", &keys, "The key ring file");
    line.Choice("--scheme", {"siv", "ff1"}, &scheme, "The form of the order numbers");
    line.Option("--in", "FILE", &in, "The orders, CSV with a header [-, stdin]");
    line.Option("--out", "FILE", &out,
                "Where they go with order_id, order_no and shard [-, stdout]; a file appears "
                "whole or not at all");
    line.Option("--rejects", "FILE", &rejects,
                "Where rows that get no order ID go with line and reason; default: they are "
                "counted and the first 10 told");
  }

  // INVALID_ARGUMENT, for wrong usage.
  absl::Status Understand();
  absl::Status CheckFiles() const;
};

absl::Status AssignLine::Understand() {
  LOCUS_ASSIGN_OR_RETURN(store, StoreUri::Parse(store_text));
  LOCUS_ASSIGN_OR_RETURN(space, SpaceName::Parse(space_text));
  LOCUS_RETURN_IF_ERROR(CheckKeysPath("--keys", keys));
  return CheckFiles();
}

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string NameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool SameInode(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Whether both names lead to the same regular file, or would once it is created.
bool SameFile(const std::string& a, const std::string& b) {
  struct stat of_a, of_b;
  if (a == "-" || b == "-") return a == b;
  bool a_exists = stat(a.c_str(), &of_a) == 0;
  bool b_exists = stat(b.c_str(), &of_b) == 0;
  if (a_exists != b_exists) return false;
  if (a_exists) return S_ISREG(of_a.st_mode) && SameInode(of_a, of_b);
  return NameIn(a) == NameIn(b) && stat(DirectoryOf(a).c_str(), &of_a) == 0 &&
         stat(DirectoryOf(b).c_str(), &of_b) == 0 && SameInode(of_a, of_b);
}

// SQLite's and the store's files stand beside the database itself, not beside a link to it.
std::string BehindLinks(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

// An output never replaces what the verb reads or writes otherwise, nor the other output.
absl::Status AssignLine::CheckFiles() const {
  struct File {
    std::string name;
    std::string path;
  };
  std::vector<File> outputs = {{"--out", out}};
  if (rejects) outputs.push_back({"--rejects", *rejects});
  std::vector<File> others = {{"--in", in}, {"--table", table}, {"--keys", keys}};
  if (store.engine == StoreUri::Engine::kSqlite) {
    others.push_back({"--store", store.path});
    for (const char* ending : {"-wal", "-shm", "-journal", "-locus"}) {
      others.push_back({absl::StrCat("the ", ending, " file of --store"),
                        absl::StrCat(BehindLinks(store.path), ending)});
    }
  }
  for (const File& output : outputs) {
    for (const File& other : others) {
      if (output.path != "-" && SameFile(output.path, other.path)) {
        return absl::InvalidArgumentError(absl::StrCat(
            output.name, " and ", other.name, " are the same file, ", Quoted(output.path)));
      }
    }
  }
  if (rejects && SameFile(*rejects, out)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out and --rejects are the same file, ", Quoted(out)));
  }
  if (in == "-" && table == "-") {
    return absl::InvalidArgumentError("--in and --table are both stdin");
  }
  return absl::OkStatus();
}

// Reads on to the first record that is not a blank line.
absl::Status ReadHeader(ByteSource& in, csv::RecordSplitter& splitter, csv::Record& header) {
  for (;;) {
    LOCUS_ASSIGN_OR_RETURN(csv::RecordSplitter::Step step, splitter.Next(header));
    if (step == csv::RecordSplitter::Step::kRecord && !header.bytes.empty()) {
      return absl::OkStatus();
    }
    if (step == csv::RecordSplitter::Step::kEnd) {
      return absl::InvalidArgumentError("line 1: the input is empty; a header is needed");
    }
    if (step != csv::RecordSplitter::Step::kNeedInput) continue;
    LOCUS_ASSIGN_OR_RETURN(size_t count, in.Read(splitter.Room()));
    count == 0 ? splitter.Finish() : splitter.Filled(count);
  }
}

absl::StatusOr<std::unique_ptr<OrderIdGenerator>> OpenGenerator(const AssignLine& line) {
  OrderIdGenerator::Options options;
  options.space = line.space;
  options.create_space = line.create_store;
  absl::StatusOr<std::shared_ptr<SegmentStore>> store = OpenStore(line.store, line.create_store);
  absl::Status status = store.status();
  if (status.ok()) {
    absl::StatusOr<std::unique_ptr<OrderIdGenerator>> generator =
        OrderIdGenerator::Create(*std::move(store), options);
    if (generator.ok()) return generator;
    status = generator.status();
  }
  if (!absl::IsNotFound(status)) return status;
  return absl::NotFoundError(
      absl::StrCat(status.message(), "; --create-store creates what is missing"));
}

void TellSummary(const OrderAssigner::Tally& tally, double seconds) {
  uint64_t rows = tally.assigned + tally.rejected;
  Complain("assign", absl::StrFormat("%d rows assigned, %d rejected, %.2f s, %.0f rows/s",
                                     tally.assigned, tally.rejected, seconds,
                                     static_cast<double>(rows) / std::max(seconds, 1e-9)));
  for (const auto& [name, orders] : tally.per_shard) {
    Complain("assign", absl::StrCat("shard ", name, ": ", orders, " rows"));
  }
}

// Whether all of them are written; an error, unless only the reader of a pipe had enough of them.
absl::StatusOr<bool> CommitRejects(OutputFile& rejects) {
  absl::Status status = rejects.Commit();
  if (status.ok()) return true;
  if (!absl::IsCancelled(status)) return status;
  Complain("assign",
           absl::StrCat("the rejected rows are not written completely: ", status.message()));
  return false;
}

absl::StatusOr<ExitCode> Assign(const AssignLine& line) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, LoadTable(line.table));
  LOCUS_ASSIGN_OR_RETURN(OrderNoCodec codec, LoadCodec(line.keys, line.space));
  LOCUS_ASSIGN_OR_RETURN(ByteSource in, ByteSource::Open(line.in));
  Router router(table);

  csv::RecordSplitter splitter;
  csv::Record header;
  LOCUS_RETURN_IF_ERROR(ReadHeader(in, splitter, header));
  LOCUS_ASSIGN_OR_RETURN(OrderColumns columns, OrderColumns::OfHeader(header, line.buyer_column));
  absl::StatusOr<std::unique_ptr<OrderIdGenerator>> generator = OpenGenerator(line);
  // What an engine refuses so came from the URI or the environment.
  if (absl::IsInvalidArgument(generator.status())) {
    WrongUsage("assign", generator.status());
    return kWrongUsage;
  }
  LOCUS_RETURN_IF_ERROR(generator.status());
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> out, OutputFile::Create(line.out));
  std::unique_ptr<OutputFile> rejects;
  if (line.rejects) {
    LOCUS_ASSIGN_OR_RETURN(rejects, OutputFile::Create(*line.rejects));
  }

  Progress progress("assign", in.size());
  OrderAssigner assigner({**generator, line.space, codec, line.scheme == "ff1", router, out->sink(),
                          rejects == nullptr ? nullptr : &rejects->sink(), progress},
                         header, columns,
                         line.buyer_type == "text" ? BuyerType::kText : BuyerType::kUint64);
  LOCUS_RETURN_IF_ERROR(assigner.Run(in, splitter));
  progress.Wipe();
  bool all_rejects = true;
  if (rejects != nullptr) {
    LOCUS_ASSIGN_OR_RETURN(all_rejects, CommitRejects(*rejects));
  }
  LOCUS_RETURN_IF_ERROR(out->Commit());
  TellSummary(assigner.tally(), progress.seconds());
  return assigner.tally().rejected > 0 || !all_rejects ? kSomeRefused : kDone;
}

}  // namespace

int RunAssign(std::span<const std::string> words) {
  AssignLine assign_line;
  VerbLine line("assign", "Gives each order of a CSV file its order ID, order number and shard.");
  assign_line.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::Status status = assign_line.Understand();
  if (!status.ok()) return WrongUsage("assign", status);
  // To end within a lease would be a loss to the store. Assign waits for one that is under way.
  SignalsDeferred until_assigned;
  absl::StatusOr<ExitCode> exit = Assign(assign_line);
  if (!exit.ok() && Interrupted()) return kInterrupted;
  return exit.ok() ? *exit : Fail("assign", exit.status());
}

}  // namespace locus
