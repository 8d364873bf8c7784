// SPDX-License-Identifier: Apache-2.0
#include "locus/snowflake.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/line/values.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "locus/leased_snowflake.h"
#include "nlohmann/json.hpp"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ParseDecimal;
using internal::Quoted;

namespace {

constexpr uint64_t kMaxCount = 1'000'000'000;
// So that no ID of any layout has a time after the year 9999.
constexpr uint64_t kMaxEpochMillis = 253402300799999 - ((uint64_t{1} << 41) - 1);
static_assert(SnowflakeDefaultLayout::kWidths.time == 41 &&
              SnowflakeJs53Layout::kWidths.time == 41);

// The options that next and decode share.
struct LayoutLine {
  std::string layout = "default";
  uint64_t epoch_ms = static_cast<uint64_t>(absl::ToUnixMillis(kSnowflakeEpoch));

  void DeclareOn(VerbLine& line) {
    line.Choice("--layout", {"default", "js53"}, &layout,
                "63 bits, or 53 for IDs that are exact in JavaScript");
    line.Number("--epoch-ms E", &epoch_ms, {.most = kMaxEpochMillis},
                "The time from which IDs count, in Unix milliseconds");
  }
  absl::Time epoch() const { return absl::FromUnixMillis(static_cast<int64_t>(epoch_ms)); }
  SnowflakeWidths widths() const {
    return layout == "js53" ? SnowflakeJs53Layout::kWidths : SnowflakeDefaultLayout::kWidths;
  }
};

struct SnowflakeLine {
  LayoutLine layout;
  std::optional<uint64_t> given_worker;
  std::optional<uint64_t> given_datacenter;
  uint64_t count = 1;
  bool json = false;
  std::optional<StoreUri> lease;
  SpaceName space;
  absl::Duration ttl = WorkerLeaseTerm().ttl;

  void DeclareOn(VerbLine& line) {
    line.Number("--worker W", &given_worker, {.most = 1023},
                "The worker, 0..1023; beside a datacenter or with js53, 0..31");
    line.Number("--datacenter D", &given_datacenter, {.most = 31}, "The datacenter, 0..31");
    layout.DeclareOn(line);
    line.Number("--count N", &count, {.least = 1, .most = kMaxCount}, "How many IDs");
    line.Flag("--json", &json, "One JSON object a line, with id as text");
    StoreOption(line, "--lease URI", &lease,
                absl::StrCat("Lease the worker from this store, in place of --worker: ",
                             internal::UriForms(internal::kWorkerLeases)))
        .Offers(Offer::kSpaceUris);
    SpaceOption(line, &space, "The space of worker IDs").Needs("--lease");
    line.Duration("--ttl D", &ttl, {.least = absl::Seconds(10), .most = absl::Hours(24)},
                  "How long the worker ID of a killed command rests")
        .Needs("--lease");
  }

  // INVALID_ARGUMENT: both or neither of --worker and --lease.
  absl::Status CheckWorker() const {
    if (given_worker.has_value() != lease.has_value()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        lease ? "--worker and --lease exclude each other"
              : "--worker W is missing: the worker, or --lease URI to lease one");
  }

  LeasedSnowflakeOptions LeaseOptions() const {
    LeasedSnowflakeOptions options;
    options.lease.space = space;
    options.lease.ttl = ttl;
    options.datacenter = given_datacenter;
    options.epoch = layout.epoch();
    return options;
  }

  // The limits of worker and datacenter depend on the layout, and the worker's on the datacenter.
  absl::StatusOr<SnowflakeOptions> Options() const {
    SnowflakeWidths widths = layout.widths();
    const uint64_t datacenter = given_datacenter.value_or(0), worker = given_worker.value_or(0);
    if (datacenter > widths.max_datacenter()) {
      return NotInRange("--datacenter", datacenter, 0, widths.max_datacenter(),
                        ": layout js53 has no datacenter");
    }
    if (worker > widths.max_worker(datacenter)) {
      return NotInRange("--worker", worker, 0, widths.max_worker(datacenter),
                        datacenter > 0 ? ", the workers beside a datacenter" : "");
    }
    SnowflakeOptions options;
    options.datacenter = datacenter;
    options.worker = worker;
    options.epoch = layout.epoch();
    return options;
  }
};

// Of a Snowflake, or a leased one.
template <typename Generator>
absl::Status PrintIds(Generator& generator, uint64_t count, bool json) {
  ByteSink sink(STDOUT_FILENO, "stdout");
  std::vector<int64_t> ids(4096);
  std::string lines;
  while (count > 0 && sink.status().ok()) {
    auto wanted = std::span(ids).first(std::min<uint64_t>(count, ids.size()));
    absl::StatusOr<size_t> filled = generator.NextBatch(wanted);
    if (!filled.ok()) {
      LOCUS_RETURN_IF_ERROR(sink.Flush());
      return filled.status();
    }
    lines.clear();
    for (int64_t id : wanted.first(*filled)) {
      json ? absl::StrAppend(&lines, "{\"id\":\"", id, "\"}\n") : absl::StrAppend(&lines, id, "\n");
    }
    sink.Append(lines);
    count -= *filled;
  }
  return sink.Flush();
}

// The same worker may make IDs again only in a later millisecond than `last`.
absl::Status WaitUntilPast(absl::Time last, Clock& clock) {
  absl::Time next = last + absl::Milliseconds(1);
  for (absl::Time now = clock.Now(); now < next; now = clock.Now()) {
    if (next - now > AnySnowflake::kWaitBehind) {
      return absl::FailedPreconditionError(
          absl::StrCat("the clock was set back by ", absl::FormatDuration(next - now),
                       ": do not use this worker again until the clock has caught up"));
    }
    clock.SleepFor(next - now);
  }
  return absl::OkStatus();
}

absl::Status Decode(const SnowflakeWidths& widths, absl::Time epoch, std::string_view value,
                    std::string& out) {
  std::optional<uint64_t> id = ParseDecimal(value, widths.max_id());
  if (!id) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(value), " is not a snowflake ID of this layout: a decimal of at most ",
        widths.max_id(), " (2^", widths.total(), " - 1), without sign or leading zeros"));
  }
  LOCUS_ASSIGN_OR_RETURN(SnowflakeParts parts,
                         DecomposeSnowflake(widths, static_cast<int64_t>(*id), epoch));
  nlohmann::ordered_json json;
  json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", parts.time, absl::UTCTimeZone());
  json["datacenter"] = parts.datacenter;
  json["worker"] = parts.worker;
  json["sequence"] = parts.sequence;
  out += json.dump();
  return absl::OkStatus();
}

template <typename Layout>
absl::Status PrintLeased(std::shared_ptr<WorkerLeaseStore> store, const SnowflakeLine& line) {
  auto generator = LeasedSnowflake<Layout>::Create(std::move(store), line.LeaseOptions());
  if (!generator.ok()) return generator.status();
  absl::Status printed = PrintIds(**generator, line.count, line.json);
  absl::Status released = (*generator)->Release();
  printed.Update(released);
  return printed;
}

// The exit code. What an engine calls INVALID_ARGUMENT came from the URI or the environment.
int RunLeased(std::string_view verb, const SnowflakeLine& line) {
  auto store = OpenLeases(*line.lease, /*create=*/false);
  absl::Status status = store.status();
  if (status.ok() && line.layout.layout == "js53") {
    status = PrintLeased<SnowflakeJs53Layout>(*std::move(store), line);
  } else if (status.ok()) {
    status = PrintLeased<SnowflakeDefaultLayout>(*std::move(store), line);
  }
  if (status.ok()) return kDone;
  return absl::IsInvalidArgument(status) ? WrongUsage(verb, status) : Fail(verb, status);
}

}  // namespace

int RunSnowflakeNext(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "snowflake next";
  SnowflakeLine line;
  VerbLine verb_line(kVerb,
                     "Prints IDs of a worker, one decimal a line. With --worker, make sure that no "
                     "other process uses it at the same time; with --lease, the store does.",
                     "locus snowflake next --worker 7 --count 3");
  line.DeclareOn(verb_line);
  if (std::optional<int> exit = verb_line.Parse(words)) return *exit;
  if (absl::Status status = line.CheckWorker(); !status.ok()) return WrongUsage(kVerb, status);
  if (line.lease) return RunLeased(kVerb, line);
  absl::StatusOr<SnowflakeOptions> options = line.Options();
  if (!options.ok()) return WrongUsage(kVerb, options.status());

  // From the next millisecond on: an earlier run may have ended, or been killed, in this one.
  options->floor = options->clock->Now();
  absl::StatusOr<std::unique_ptr<AnySnowflake>> generator;
  if (line.layout.layout == "js53") {
    generator = Snowflake<SnowflakeJs53Layout>::Create(*options);
  } else {
    generator = Snowflake<SnowflakeDefaultLayout>::Create(*options);
  }
  if (!generator.ok()) return Fail(kVerb, generator.status());
  absl::Status printed = PrintIds(**generator, line.count, line.json);
  absl::Status waited = WaitUntilPast((*generator)->Close(), *options->clock);
  if (!printed.ok()) return Fail(kVerb, printed);
  return waited.ok() ? kDone : Fail(kVerb, waited);
}

int RunSnowflakeDecode(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "snowflake decode";
  LayoutLine layout;
  std::vector<std::string> values;
  VerbLine line(kVerb,
                "Prints the time, datacenter, worker and sequence of each ID, one JSON object a "
                "line.",
                "locus snowflake decode 512345678901234567");
  layout.DeclareOn(line);
  bool json = true;
  line.Flag("--json", &json, "As other verbs take it: the answer is always JSON");
  line.Tail("VALUE", &values, VerbLine::WithoutAny::kReadsStdin,
            "Snowflake IDs; without any, one is read from each line of stdin");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  return AnswerEach(kVerb, values, [&](std::string_view value, std::string& out) {
    return Decode(layout.widths(), layout.epoch(), value, out);
  });
}

}  // namespace locus::cli
