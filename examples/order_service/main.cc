// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "client.h"
#include "service.h"
#include "shard_rows.h"
#include "statistics.h"
#include "verdict.h"

namespace {

using shop::Arguments;

constexpr char kUsage[] =
    "usage: order_service VERB OPTION...\n"
    "  schema                      prints the SQL of a shard\n"
    "  run      orders are written, by many processes, until SIGTERM or one of the limits\n"
    "    --table PLACE             routing table: a file, or a URI\n"
    "    --user USER               of the shards\n"
    "    --password-file FILE      its password; mode 0600\n"
    "    --table-password-file FILE  of the URI's user\n"
    "    --record DIR              records, keys and segments; later runs may share it\n"
    "    --seconds N, --orders N   limits: time, and orders inserted by all processes\n"
    "    --bulk N (0)              of the orders: inserted first, many in one transaction\n"
    "    --processes N (6), --threads N (4)  threads of each process\n"
    "    --late N (1), --frozen N (1), --plain N (1)  of the processes: takes tables late; never\n"
    "                              reloads; does not know locus. The others follow the table\n"
    "    --late-by N (10)          seconds, the longest delay of a table\n"
    "    --rate N (0)              writes a second of all processes; 0: as fast as it goes\n"
    "    --first N, --last N       vnodes of the orders, 0 and 65535\n"
    "    --buyers N (1000), --csv FILE  made-up buyers, or those of a file\n"
    "    --revive                  a process that was killed by SIGKILL is replaced\n"
    "    --seed N (1)\n"
    "  status   --record DIR [--json]   what the processes are doing\n"
    "  verdict  --table PLACE --record DIR --user USER --password-file FILE [--final] [--json]\n"
    "           whether each acknowledged write is there exactly once; exit code 0 or 1\n"
    "    --final                   the moves are over and cleaned up: no shard keeps copies\n";

const std::set<std::string> kFlags = {"final", "json", "revive"};
const std::set<std::string> kPlaceOptions = {"table", "record", "user", "password-file",
                                             "table-password-file"};
const std::set<std::string> kTrafficOptions = {
    "seconds", "orders", "bulk",  "processes", "threads", "late", "frozen", "plain",
    "late-by", "rate",   "first", "last",      "buyers",  "csv",  "revive", "seed"};
const std::set<std::string> kClientOptions = {"kind",       "name",   "share-orders", "share-bulk",
                                              "share-rate", "number", "lives"};

std::set<std::string> Together(std::set<std::string> a, const std::set<std::string>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

absl::StatusOr<shop::Place> PlaceOf(const Arguments& arguments) {
  shop::Place place;
  place.table = arguments.Text("table");
  place.directory = arguments.Text("record");
  place.user = arguments.Text("user", "orders");
  auto password = shop::PasswordIn(arguments.Text("password-file"));
  if (!password.ok()) return password.status();
  place.password = *password;
  auto table_password = shop::PasswordIn(arguments.Text("table-password-file"));
  if (!table_password.ok()) return table_password.status();
  place.table_password = *table_password;
  return place;
}

// Reads numbers one after another; the first that is wrong is the status.
class Numbers {
 public:
  explicit Numbers(const Arguments& arguments) : arguments_(arguments) {}
  uint64_t Read(const char* name, uint64_t otherwise, uint64_t least, uint64_t most) {
    auto number = arguments_.Number(name, otherwise, least, most);
    if (number.ok()) return *number;
    if (status_.ok()) status_ = number.status();
    return otherwise;
  }
  const absl::Status& status() const { return status_; }

 private:
  const Arguments& arguments_;
  absl::Status status_;
};

absl::Status RunService(const Arguments& arguments) {
  absl::Status checked =
      arguments.Check(Together(kPlaceOptions, kTrafficOptions), {"table", "record"});
  if (!checked.ok()) return checked;
  auto place = PlaceOf(arguments);
  if (!place.ok()) return place.status();
  Numbers numbers(arguments);
  shop::ServiceOptions options;
  auto count = [&](const char* name, unsigned otherwise) {
    return static_cast<unsigned>(numbers.Read(name, otherwise, 0, 1000));
  };
  options.processes = count("processes", options.processes);
  options.late = count("late", options.late);
  options.frozen = count("frozen", options.frozen);
  options.plain = count("plain", options.plain);
  options.writes_a_second = static_cast<double>(numbers.Read("rate", 0, 0, 10'000'000));
  options.orders = numbers.Read("orders", UINT64_MAX, 1, UINT64_MAX - 1);
  options.bulk = numbers.Read("bulk", 0, 0, UINT64_MAX - 1);
  options.revive = arguments.Has("revive");
  options.words = arguments.Words();
  if (!numbers.status().ok()) return numbers.status();
  return shop::RunService(*place, options);
}

absl::StatusOr<std::vector<shop::BuyerRow>> BuyersOf(const Arguments& arguments) {
  Numbers numbers(arguments);
  const auto first = static_cast<uint16_t>(numbers.Read("first", 0, 0, 65535));
  const auto last = static_cast<uint16_t>(numbers.Read("last", 65535, first, 65535));
  const size_t count = numbers.Read("buyers", 1000, 1, 1'000'000);
  if (!numbers.status().ok()) return numbers.status();
  if (arguments.Has("csv")) return shop::ReadBuyers(arguments.Text("csv"), {first, last});
  return shop::MakeBuyers({first, last}, count);
}

// A process of "run".
absl::Status RunClient(const Arguments& arguments) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  signal(SIGPIPE, SIG_IGN);  // of a TLS connection that the server closed
  signal(SIGINT, SIG_IGN);   // of a terminal; the parent passes it on as SIGTERM
  signal(SIGTERM, [](int) { stop = true; });
  absl::Status checked =
      arguments.Check(Together(Together(kPlaceOptions, kTrafficOptions), kClientOptions),
                      {"table", "record", "kind", "name"});
  if (!checked.ok()) return checked;
  auto place = PlaceOf(arguments);
  if (!place.ok()) return place.status();
  auto kind = shop::ClientKindOf(arguments.Text("kind"));
  if (!kind.ok()) return kind.status();
  auto buyers = BuyersOf(arguments);
  if (!buyers.ok()) return buyers.status();
  Numbers numbers(arguments);
  const uint64_t number = numbers.Read("number", 0, 0, 1000);
  const uint64_t seconds = numbers.Read("seconds", 0, 1, 10'000'000);
  shop::ClientOptions options;
  options.kind = *kind;
  options.name = arguments.Text("name");
  options.threads = static_cast<unsigned>(numbers.Read("threads", options.threads, 1, 1000));
  if (seconds > 0) options.run_for = absl::Seconds(static_cast<int64_t>(seconds));
  options.latest = absl::Seconds(static_cast<int64_t>(numbers.Read("late-by", 10, 0, 3600)));
  // Another one for each process and each of its lives.
  options.traffic.seed = (numbers.Read("seed", 1, 0, UINT32_MAX) * 1000 + number) * 1000 +
                         numbers.Read("lives", 0, 0, UINT32_MAX);
  options.traffic.orders = numbers.Read("share-orders", UINT64_MAX, 0, UINT64_MAX);
  options.traffic.bulk = numbers.Read("share-bulk", 0, 0, UINT64_MAX);
  options.traffic.first_buyer = number;
  options.traffic.buyer_stride = numbers.Read("processes", 6, 1, 1000);
  if (!numbers.status().ok()) return numbers.status();
  if (!absl::SimpleAtod(arguments.Text("share-rate", "0"), &options.traffic.writes_a_second)) {
    return absl::InvalidArgumentError("--share-rate must be a number");
  }
  return shop::RunClient(*place, options, *buyers, stop);
}

absl::StatusOr<shop::Verdict> JudgeAll(const shop::Place& place, bool final) {
  shop::ExpectedOrders expected;
  for (const std::string& path : shop::RecordFilesIn(place.directory)) {
    absl::Status read =
        shop::ReadRecords(path, [&](const shop::Record& record) { expected.Take(record); });
    if (!read.ok()) return read;
  }
  auto table = shop::FetchTable(place);
  if (!table.ok()) return table.status();
  auto codec = shop::MakeCodec(place);
  if (!codec.ok()) return codec.status();
  auto pools = shop::MakePools(place, absl::Hours(1));
  if (!pools.ok()) return pools.status();
  std::vector<shop::ShardContents> shards;
  for (const locus::Shard& shard : table->shards()) {
    auto contents = shop::ReadShard(**pools, shard);
    if (!contents.ok()) return contents.status();
    shards.push_back(*std::move(contents));
  }
  return shop::Judge(expected, shards, locus::Router(*table), *codec, final);
}

// Whether the verdict is OK.
absl::StatusOr<bool> RunVerdict(const Arguments& arguments) {
  absl::Status checked =
      arguments.Check(Together(kPlaceOptions, {"final", "json"}), {"table", "record"});
  if (!checked.ok()) return checked;
  auto place = PlaceOf(arguments);
  if (!place.ok()) return place.status();
  auto verdict = JudgeAll(*place, arguments.Has("final"));
  if (!verdict.ok()) return verdict.status();
  std::cout << (arguments.Has("json") ? shop::JsonOf(*verdict) : shop::TextOf(*verdict));
  return verdict->ok();
}

absl::StatusOr<bool> Run(const Arguments& arguments) {
  if (arguments.verb() == "schema") {
    std::cout << shop::SchemaSql();
    return true;
  }
  if (arguments.verb() == "verdict") return RunVerdict(arguments);
  if (arguments.verb() == "status") {
    absl::Status checked = arguments.Check({"record", "json"}, {"record"});
    if (!checked.ok()) return checked;
    auto text = shop::StatusText(arguments.Text("record"), arguments.Has("json"));
    if (!text.ok()) return text.status();
    std::cout << *text;
    return true;
  }
  absl::Status status = absl::InvalidArgumentError("there is no verb " + arguments.verb());
  if (arguments.verb() == "run") status = RunService(arguments);
  if (arguments.verb() == "client") status = RunClient(arguments);
  if (!status.ok()) return status;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  auto arguments = Arguments::Read({argv + 1, argv + argc}, kFlags);
  if (!arguments.ok()) {
    std::cerr << "order_service: " << arguments.status().message() << "\n" << kUsage;
    return 2;
  }
  const absl::StatusOr<bool> well = Run(*arguments);
  if (well.ok()) return *well ? 0 : 1;
  std::cerr << "order_service " << arguments->verb() << ": " << well.status() << "\n";
  return absl::IsInvalidArgument(well.status()) ? 2 : 1;
}
