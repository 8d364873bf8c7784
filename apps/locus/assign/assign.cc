// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/locus/assign/order_assigner.h"
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "apps/shared/shown/codec_choice.h"
#include "src/base/os/check.h"

namespace locus::cli {

using apps::LoadCodec;

namespace {

struct AssignLine {
  std::string buyer_column, table, keys;
  std::string buyer_type = "uint64";
  std::string scheme = "siv";
  std::string in = "-";
  std::string out = "-";
  std::optional<std::string> rejects;
  bool create_store = false;
  StoreUri store;
  SpaceName space;

  void DeclareOn(VerbLine& line) {
    line.Text("--buyer-column NAME", &buyer_column, "The column of the buyer keys").Required();
    line.Choice("--buyer-type", {"uint64", "text"}, &buyer_type, "The type of the buyer keys");
    StoreOption(line, "--store URI", &store,
                absl::StrCat("The segment store: ", internal::UriForms(internal::kSegments)))
        .Offers(Offer::kSpaceUris)
        .Required()
        .Else("LOCUS_STORE");
    line.Flag("--create-store", &create_store,
              "Create the store and the space if they are missing");
    SpaceOption(line, &space, "The space in the store");
    TableOption(line, "--table FILE", &table, "The routing table").Required().Else("LOCUS_TABLE");
    line.File("--keys FILE", &keys, FileUse::kKeyRing, "The key ring file")
        .Required()
        .Else("LOCUS_KEYS");
    line.Choice("--scheme", {"siv", "ff1"}, &scheme, "The form of the order_nos");
    line.File("--in FILE", &in, FileUse::kRead, "The orders, CSV with a header; - is stdin");
    line.File("--out FILE", &out, FileUse::kWrite,
              "The output: the orders with order_id, order_no and shard; - is stdout. A file "
              "appears complete or not at all");
    line.File("--rejects FILE", &rejects, FileUse::kWrite,
              "The file for rows that got no order ID, with line and reason. Without it they are "
              "counted, and the first 10 are shown");
  }
};

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

void PrintSummary(const OrderAssigner::Tally& tally, double seconds) {
  uint64_t rows = tally.assigned + tally.rejected;
  Note("assign", absl::StrFormat("%d rows assigned, %d rejected, %.2f s, %.0f rows/s",
                                 tally.assigned, tally.rejected, seconds,
                                 static_cast<double>(rows) / std::max(seconds, 1e-9)));
  for (const auto& [name, orders] : tally.per_shard) {
    Note("assign", absl::StrCat("shard ", name, ": ", orders, " rows"));
  }
}

// Whether all of them are written; an error, unless only the reader of a pipe had enough of them.
absl::StatusOr<bool> CommitRejects(OutputFile& rejects) {
  absl::Status status = rejects.Commit();
  if (status.ok()) return true;
  if (!absl::IsCancelled(status)) return status;
  Complain("assign",
           absl::StrCat("the rejected rows were not written completely: ", status.message()));
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
  const uint64_t rejected = assigner.tally().rejected;
  if (rejects == nullptr && rejected > OrderAssigner::kMaxShown) {
    Complain("assign", absl::StrCat("and ", rejected - OrderAssigner::kMaxShown,
                                    " rejected rows more; --rejects FILE keeps them all"));
  }
  PrintSummary(assigner.tally(), progress.seconds());
  return assigner.tally().rejected > 0 || !all_rejects ? kSomeRefused : kDone;
}

}  // namespace

int RunAssign(std::span<const std::string> words) {
  AssignLine assign_line;
  VerbLine line("assign", "Gives each order of a CSV file its order ID, order_no and shard.",
                "locus assign --buyer-column customer --store sqlite:orders.db --create-store "
                "--table table.json --keys keys.ring --in orders.csv --out assigned.csv");
  assign_line.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  // To end within a lease would be a loss to the store. Assign waits for one that is under way.
  SignalsDeferred until_assigned;
  absl::StatusOr<ExitCode> exit = Assign(assign_line);
  if (!exit.ok() && Interrupted()) return kInterrupted;
  return exit.ok() ? *exit : Fail("assign", exit.status());
}

}  // namespace locus::cli
