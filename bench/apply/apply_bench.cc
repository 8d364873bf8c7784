// SPDX-License-Identifier: Apache-2.0
// Measures the two ways in which rows come to a shard, for bench/apply/apply_bench.sh:
//
//   apply_bench setup PORT                    guards and version triggers on the tables of PORT
//   apply_bench stream SOURCE PORT POSITION   all transactions of SOURCE's log from the position on
//   apply_bench copy SOURCE PORT [VNODES]     the table orders of SOURCE: all of it, or of so many
//                                             vnodes 0, 2, 4, ... that lie apart
//
// Servers on 127.0.0.1, by root, database locus_bench. Prints rows a second, and the processor time
// of this process a row, which other work on the machine changes less.
#include <mysql.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "migration/apply/change_applier.h"
#include "migration/apply/row_copier.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/change_batch.h"

namespace {

using locus::FencedRange;
using locus::MovedTable;
using locus::MysqlOptions;
using locus::mysql::ChangeApplier;
using locus::stream::GtidPosition;
using Steady = std::chrono::steady_clock;

const std::string kMover = "root@127.0.0.1";
const std::vector<FencedRange> kAll = {{0, 65535}};

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "apply_bench: %s\n", why.c_str());
  std::exit(1);
}
template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(value.status().ToString());
  return *std::move(value);
}
void Must(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

MovedTable Orders() {
  MovedTable table;
  table.guard.name = "orders";
  return table;
}

MysqlOptions ServerAt(const char* port) {
  MysqlOptions server;
  server.hosts = {{"127.0.0.1", static_cast<uint16_t>(std::atoi(port))}};
  server.user = "root";
  server.database = "locus_bench";
  server.timeout = absl::Seconds(30);
  return server;
}

void SetUp(const char* port) {
  MYSQL* handle = mysql_init(nullptr);
  if (mysql_real_connect(handle, "127.0.0.1", "root", "", "locus_bench",
                         static_cast<unsigned>(std::atoi(port)), nullptr, 0) == nullptr) {
    Fail(mysql_error(handle));
  }
  auto run = [&](const std::string& statement) {
    if (mysql_real_query(handle, statement.data(), statement.size()) != 0) {
      Fail(mysql_error(handle));
    }
  };
  run(locus::internal::kCreateFence);
  run("INSERT IGNORE INTO locus_fence VALUES (0, 65535, 0, 0, 0, @@server_id, 'source', NULL)");
  run(locus::internal::kCreateVnodes);
  run(locus::internal::kMapVnodes);
  for (const std::string& create : locus::CreateTombstones()) run(create);
  locus::FenceOptions fence;
  fence.tables = {Orders().guard};
  fence.movers = {kMover};
  for (const auto& trigger : locus::GuardTriggersOf(fence)) {
    run(absl::StrCat("CREATE TRIGGER ", trigger.name, " BEFORE ", trigger.event, " ON ",
                     trigger.table, " FOR EACH ROW ", trigger.body));
  }
  for (const auto& trigger : locus::VersionTriggersOf(Orders(), {kMover})) {
    run(absl::StrCat("CREATE TRIGGER ", trigger.name, " ", trigger.timing, " ", trigger.event,
                     " ON ", trigger.table, " FOR EACH ROW ", trigger.body));
  }
  mysql_close(handle);
}

std::unique_ptr<ChangeApplier> OpenApplier(const char* port, const std::string& move,
                                           const GtidPosition& start,
                                           const std::vector<FencedRange>& ranges = kAll) {
  locus::mysql::ApplierOptions options;
  options.server = ServerAt(port);
  options.tables = {Orders()};
  options.move = move;
  options.ranges = ranges;
  return Must(ChangeApplier::Open(options, start));
}

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Print(const char* what, uint64_t rows, Steady::time_point begun) {
  const double seconds = std::chrono::duration<double>(Steady::now() - begun).count();
  const double count = static_cast<double>(rows);
  std::printf("%-8s %9.0f rows/s (%llu rows); of the client %.1f us of processor time a row\n",
              what, count / seconds, static_cast<unsigned long long>(rows),
              ProcessorSeconds() * 1e6 / count);
}

void Stream(const char* source, const char* port, const char* position) {
  const GtidPosition start = Must(GtidPosition::Parse(position));
  auto applier = OpenApplier(port, absl::StrCat("stream ", position), start);
  locus::mysql::BinlogReaderOptions options;
  options.server = ServerAt(source);
  options.stream.position = start;
  options.stream.wanted = [&](std::string_view database, std::string_view table) {
    return database == "locus_bench" && applier->Wants(table);
  };
  options.stop_at_end = true;
  const auto begun = Steady::now();
  auto reader = Must(locus::mysql::BinlogReader::Open(options));
  uint64_t transactions = 0;
  while (true) {
    auto batch = Must(locus::mysql::ReadBatch(*reader, Steady::now() + std::chrono::minutes(1)));
    Must(applier->Apply(batch.transactions));
    transactions += batch.transactions.size();
    if (batch.ended) break;
  }
  Print("stream", applier->counts().written, begun);
}

void Copy(const char* source, const char* port, const std::vector<FencedRange>& ranges) {
  auto applier = OpenApplier(port, "copy", {}, ranges);
  locus::mysql::CopierOptions options;
  options.source = ServerAt(source);
  options.table = Orders();
  options.ranges = ranges;
  const auto begun = Steady::now();
  auto copier = Must(locus::mysql::RowCopier::Open(options, *applier));
  while (Must(copier->CopyChunk())) continue;
  Print("copy", copier->rows(), begun);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "setup" && argc == 3) {
    SetUp(argv[2]);
  } else if (what == "stream" && argc == 5) {
    Stream(argv[2], argv[3], argv[4]);
  } else if (what == "copy" && argc == 4) {
    Copy(argv[2], argv[3], kAll);
  } else if (what == "copy" && argc == 5) {
    std::vector<FencedRange> apart;
    for (int i = 0; i < std::atoi(argv[4]); ++i) {
      const uint32_t vnode = 2 * static_cast<uint32_t>(i);
      apart.push_back({vnode, vnode});
    }
    Copy(argv[2], argv[3], apart);
  } else {
    std::fprintf(stderr,
                 "usage: apply_bench setup PORT | stream SOURCE PORT POSITION | copy SOURCE"
                 " PORT [VNODES]\n");
    return 2;
  }
}
