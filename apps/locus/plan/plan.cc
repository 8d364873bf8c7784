// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "absl/strings/str_cat.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/plan/vnode_load.h"
#include "apps/locus/table/table_file.h"
#include "apps/shared/shown/plan_step.h"
#include "locus/routing/rebalance.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/text_grid.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::CheckEndpoint;
using apps::PlanStep;
using apps::StepOf;
using apps::WhyUnchanged;
using internal::ParseDecimal;
using internal::Quoted;
using internal::StdoutStyle;
using internal::ToAbsl;

namespace {

struct PlanLine {
  std::string table;
  std::vector<std::string> add;
  std::vector<std::string> remove;
  std::vector<std::string> weights;
  std::optional<std::string> load;
  std::optional<double> hot_above;
  std::optional<double> tolerance;
  bool json = false;
  std::optional<std::string> svg;
};

// "NAME=VALUE" with a name; nullopt: it is none. A value that is a number has no '=' in it, an
// endpoint may.
enum class SplitAt { kFirstEquals, kLastEquals };
std::optional<std::pair<std::string, std::string>> SplitPair(const std::string& text, SplitAt at) {
  size_t equals = at == SplitAt::kFirstEquals ? text.find('=') : text.rfind('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

absl::Status NotOfForm(std::string_view option, const std::string& value, std::string_view form) {
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(option), ": ", Quoted(value), " is not ", ToAbsl(form)));
}

// Sets the weight of a shard, of the table or new.
absl::Status AddWeight(const std::string& text, RebalanceRequest& request) {
  auto pair = SplitPair(text, SplitAt::kLastEquals);
  std::optional<uint64_t> weight;
  if (pair) weight = ParseDecimal(pair->second, RoutingTable::kMaxWeight);
  if (!weight) return NotOfForm("--weight", text, "NAME=W, W from 0 to 1000000");
  if (!request.weights.emplace(pair->first, static_cast<uint32_t>(*weight)).second) {
    return absl::InvalidArgumentError(absl::StrCat("--weight: ", Quoted(pair->first), " twice"));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> ReadTolerance(std::string_view text) {
  double part = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && part >= 0 && part <= 1) return part;
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is not a number from 0 to 1"));
}

absl::StatusOr<RebalanceRequest> RequestOf(const PlanLine& line) {
  RebalanceRequest request;
  request.remove = line.remove;
  for (const std::string& text : line.weights) LOCUS_RETURN_IF_ERROR(AddWeight(text, request));
  for (const std::string& text : line.add) {
    auto pair = SplitPair(text, SplitAt::kFirstEquals);
    if (!pair) return NotOfForm("--add", text, "NAME=ENDPOINT");
    LOCUS_RETURN_IF_ERROR(CheckEndpoint("--add", pair->second));
    RebalanceRequest::NewShard shard{.name = pair->first, .endpoint = pair->second};
    if (auto weight = request.weights.extract(shard.name)) shard.weight = weight.mapped();
    request.add.push_back(std::move(shard));
  }
  if (line.hot_above) request.hot_above = *line.hot_above;
  if (line.tolerance) request.tolerance = *line.tolerance;
  if (line.json && line.svg == "-") {
    return absl::InvalidArgumentError("--json and --svg - cannot both go to stdout");
  }
  return request;
}

absl::Status Show(const PlanLine& line, const RebalancePlan& plan,
                  const std::vector<double>& load) {
  if (line.svg) LOCUS_RETURN_IF_ERROR(WriteWhole(*line.svg, RebalanceAsSvg(plan, load)));
  if (line.svg == "-") return absl::OkStatus();
  if (!line.json) return WriteWhole("-", RebalanceAsText(plan, load, StdoutStyle()));
  std::string json = PlanAsJson(plan);
  if (!json.ends_with('\n')) json += '\n';
  return WriteWhole("-", json);
}

}  // namespace

int RunPlan(std::span<const std::string> words) {
  PlanLine given;
  VerbLine line("plan", "Plans which vnodes should move; `locus plan apply` begins the moves.",
                "locus plan --table table.json --add c=mysql://db3:3306/orders");
  TableOption(line, "--table FILE", &given.table,
              "The routing table, a file or the URI of a place; - is stdin")
      .Required()
      .Else("LOCUS_TABLE");
  line.Repeated("--add NAME=ENDPOINT", &given.add,
                "A new shard and its URL without credentials; its weight is 100");
  line.Repeated("--remove NAME", &given.remove,
                "A shard that gives all its vnodes away; it stays, with weight 0")
      .Offers(Offer::kShards);
  line.Repeated("--weight NAME=W", &given.weights,
                "The weight of a shard, also of a new one: its portion among all")
      .Offers(Offer::kShards);
  line.File("--load CSV", &given.load, FileUse::kRead,
            "The load of each vnode, as `locus load` prints it, to divide by load; - is stdin");
  line.Factor("--hot-above X", &given.hot_above,
              "Vnodes of X times the mean load go to shards labelled tier=hot")
      .Needs("--load");
  line.Value(
          "--tolerance PART", &given.tolerance, ReadTolerance,
          "How far a shard's load may differ from its portion, 0 to 1; larger: fewer moves [0.01]")
      .Needs("--load");
  line.Flag("--json", &given.json, "Print the plan as JSON, for tools and for plan apply");
  line.File("--svg OUT", &given.svg, FileUse::kWrite,
            "Also draw the rings before and after; - is stdout, without the text");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  absl::StatusOr<RebalanceRequest> request = RequestOf(given);
  if (!request.ok()) return WrongUsage("plan", request.status());
  absl::StatusOr<RoutingTable> table = LoadTable(given.table);
  if (!table.ok()) return Fail("plan", table.status());
  if (given.load) {
    absl::StatusOr<std::vector<double>> load = ReadVnodeLoad(*given.load);
    if (!load.ok()) return Fail("plan", load.status());
    request->load = *std::move(load);
  }
  absl::StatusOr<RebalancePlan> plan = PlanRebalance(*table, *request);
  // Table and load were read; what is refused now stands on the command line.
  if (!plan.ok()) return WrongUsage("plan", plan.status());
  absl::Status status = Show(given, *plan, request->load);
  return status.ok() ? kDone : Fail("plan", status);
}

namespace {

struct ApplyLine {
  std::string table;
  std::string plan;
  size_t most_per_shard = 1;
  std::string out = "-";
};

absl::Status Apply(const ApplyLine& line) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, LoadTable(line.table));
  LOCUS_ASSIGN_OR_RETURN(std::string json, ReadWhole(line.plan));
  absl::StatusOr<RebalancePlan> plan = ParsePlan(table, json);
  if (!plan.ok()) {
    absl::Status status = WithLooks(plan.status(), json, "a plan");
    return absl::Status(status.code(), absl::StrCat(line.plan == "-" ? "stdin" : line.plan, ": ",
                                                    status.message()));
  }
  LOCUS_ASSIGN_OR_RETURN(const PlanStep step, StepOf(table, *plan, line.most_per_shard));
  std::string document = step.next.ToJson();
  if (!document.ends_with('\n')) document += '\n';
  LOCUS_RETURN_IF_ERROR(WriteWhole(line.out, document));
  if (step.next == table) {
    Note("plan apply", WhyUnchanged(step, "--most-per-shard"));
    return absl::OkStatus();
  }
  Note("plan apply", absl::StrCat("epoch ", step.next.epoch(), ": ", step.begins,
                                  step.begins == 1 ? " move begins" : " moves begin"));
  return absl::OkStatus();
}

}  // namespace

int RunPlanApply(std::span<const std::string> words) {
  ApplyLine given;
  VerbLine line("plan apply",
                "Prints the next routing table of a plan. It begins as many of the plan's moves as "
                "may run at once, each at permyriad 0. Owners change only when moves end.",
                "locus plan apply --table table.json --plan plan.json --out next.json");
  TableOption(line, "--table FILE", &given.table,
              "The routing table as it is now, a file or the URI of a place; - is stdin")
      .Required()
      .Else("LOCUS_TABLE");
  line.File("--plan FILE", &given.plan, FileUse::kRead,
            "What `locus plan --json` printed; - is stdin")
      .Required();
  line.Number("--most-per-shard N", &given.most_per_shard, {.least = 1, .most = 65536},
              "The greatest number of moves of one shard at a time");
  line.File("--out FILE", &given.out, FileUse::kWriteTable, "The file for the table; - is stdout");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::Status status = Apply(given);
  return status.ok() ? kDone : Fail("plan apply", status);
}

}  // namespace locus::cli
