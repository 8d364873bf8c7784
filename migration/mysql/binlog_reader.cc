// SPDX-License-Identifier: Apache-2.0
#include "migration/mysql/binlog_reader.h"

#include <mysql.h>
// Both need the header above.
#include <ma_pvio.h>
#include <mariadb_rpl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/mysql/primary.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/answer.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/sigpipe.h"

namespace locus::mysql {

using internal::Printable;
using internal::ToAbsl;

namespace {

constexpr unsigned kDumpRefused = 1236;

// Room for packet headers, for bytes that the client library reads ahead, and for other packets.
constexpr size_t kBesidesEvent = 256 << 10;

absl::Status Refuse(absl::string_view option, const std::string& value, absl::string_view limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("binlog reader option ", option, " is ", value, "; it must be ", limit));
}

// A setting of the server, and the value that it must have.
struct Setting {
  const char* name;
  const char* value;
};
constexpr std::array kSettings = {
    Setting{"log_bin", "1"},
    Setting{"binlog_format", "ROW"},
    Setting{"binlog_row_image", "FULL"},
    Setting{"binlog_row_metadata", "FULL"},
    Setting{"binlog_checksum", "CRC32"},
    Setting{"log_bin_compress", "0"},
};

struct CloseReplication {
  void operator()(MARIADB_RPL* replication) const { mariadb_rpl_close(replication); }
};

// With the highest bit set, it is no number that people give to servers.
absl::StatusOr<uint32_t> RandomServerId() {
  std::optional<uint64_t> word = internal::RandomWord();
  if (!word) return absl::UnavailableError("OpenSSL has no randomness");
  return static_cast<uint32_t>(*word) | 0x80000000u;
}

}  // namespace

absl::Status BinlogReaderOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(server.Check());
  if (heartbeat < absl::Milliseconds(100) || heartbeat > absl::Hours(1)) {
    return Refuse("heartbeat", absl::FormatDuration(heartbeat), "100ms to 1h");
  }
  if (link_timeout < 3 * heartbeat || link_timeout < absl::Seconds(1) ||
      link_timeout > absl::Hours(1)) {
    return Refuse("link_timeout", absl::FormatDuration(link_timeout),
                  absl::StrCat("1s to 1h, and at least three heartbeats of ",
                               absl::FormatDuration(heartbeat)));
  }
  constexpr size_t kLeast = 64 << 10, kMost = size_t{1} << 30;
  if (max_event_bytes < kLeast || max_event_bytes > kMost) {
    return Refuse("max_event_bytes", absl::StrCat(max_event_bytes), "65536 to 1073741824");
  }
  return absl::OkStatus();
}

BinlogReader::BinlogReader(const BinlogReaderOptions& options, Handle handle, std::string place)
    : options_(options),
      handle_(std::move(handle)),
      place_(std::move(place)),
      assembler_(options.stream) {}

BinlogReader::~BinlogReader() {
  if (process_.forked()) static_cast<void>(handle_.release());
}

absl::StatusOr<std::unique_ptr<BinlogReader>> BinlogReader::Open(
    const BinlogReaderOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  BinlogReaderOptions kept = options;
  // Only the login needs the password. Nothing of this copy stays, not even in freed memory.
  kept.server = WithoutPassword(std::move(kept.server));
  if (kept.server_id == 0) {
    LOCUS_ASSIGN_OR_RETURN(kept.server_id, RandomServerId());
  }
  absl::Status failure;
  for (const MysqlOptions::Host& host : options.server.hosts) {
    Login login = LoginOf(options.server, host);
    login.timeout = options.link_timeout;
    absl::StatusOr<Handle> handle = LogIn(login, options.server.password.c_str());
    failure = handle.ok() ? CheckIsPrimary(handle->get(), login.place(), options.server.timeout)
                          : handle.status();
    if (failure.ok()) {
      std::unique_ptr<BinlogReader> reader(
          new BinlogReader(kept, *std::move(handle), login.place()));
      LOCUS_RETURN_IF_ERROR(reader->CheckServer());
      LOCUS_RETURN_IF_ERROR(reader->RequestDump());
      return reader;
    }
  }
  return failure;
}

absl::Status BinlogReader::CheckServer() {
  std::string select;
  for (const Setting& setting : kSettings) {
    absl::StrAppend(&select, select.empty() ? "SELECT @@GLOBAL." : ", @@GLOBAL.", setting.name);
  }
  const Shape shape = OneRow(kSettings.size());
  const TimePoint deadline =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.server.timeout);
  Answer answer = Ask(handle_.get(), place_, {select, {&shape, 1}, deadline});
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results, std::move(answer.results));
  for (size_t i = 0; i < kSettings.size(); ++i) {
    const std::string value = results[0].rows[0][i].value_or("NULL");
    if (value == kSettings[i].value) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, ": ", kSettings[i].name, " is ", Printable(value),
                     "; to read the binary log it must be ", kSettings[i].value));
  }
  return absl::OkStatus();
}

absl::Status BinlogReader::RequestDump() {
  // The server waits this long, in seconds, for a reader that takes nothing: the caller may be busy
  // with a large transaction. A dead one is noticed by the server when its connection breaks.
  constexpr int kServerPatience = 3600;
  const std::string set = absl::StrCat(
      "SET @master_binlog_checksum='CRC32', @mariadb_slave_capability=4,"
      " @slave_gtid_strict_mode=1, @slave_gtid_ignore_duplicates=0, @slave_connect_state='",
      assembler_.position().ToString(),
      "', @master_heartbeat_period=", absl::ToInt64Nanoseconds(options_.heartbeat),
      ", net_write_timeout=", kServerPatience, ", max_statement_time=0");
  const TimePoint deadline =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.server.timeout);
  LOCUS_RETURN_IF_ERROR(Ask(handle_.get(), place_, {set, {}, deadline}).results.status());

  HoldSigpipeOfTls hold(handle_.get());
  BoundedCall call(handle_.get(), deadline);
  // Only to send the command. Reading by mariadb_rpl_fetch fails at each rotation of the log
  // (5021), and mariadb_rpl_extract_rows returns wrong values for several types.
  std::unique_ptr<MARIADB_RPL, CloseReplication> replication(mariadb_rpl_init(handle_.get()));
  if (replication == nullptr) return absl::UnavailableError("mariadb: out of memory");
  // The server starts at @slave_connect_state; the name and the offset do not count.
  constexpr unsigned long kStart = 4;
  const unsigned flags = options_.stop_at_end ? MARIADB_RPL_BINLOG_DUMP_NON_BLOCK : 0;
  MARIADB_RPL* const rpl = replication.get();
  LOCUS_CHECK(mariadb_rpl_optionsv(rpl, MARIADB_RPL_FILENAME, "", size_t{0}) == 0 &&
              mariadb_rpl_optionsv(rpl, MARIADB_RPL_START, kStart) == 0 &&
              mariadb_rpl_optionsv(rpl, MARIADB_RPL_SERVER_ID, options_.server_id) == 0 &&
              mariadb_rpl_optionsv(rpl, MARIADB_RPL_FLAGS, flags) == 0);
  return mariadb_rpl_open(rpl) == 0 ? absl::OkStatus() : ReadFailure(call.Status(), deadline);
}

absl::Status BinlogReader::TooLarge() const {
  return absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", place_, ": an event is larger than max_event_bytes, ", options_.max_event_bytes));
}

// `bound`: of the call that failed, which had to end by `deadline`.
absl::Status BinlogReader::ReadFailure(const absl::Status& bound, TimePoint deadline) const {
  if (!bound.ok() && std::chrono::steady_clock::now() < deadline) return TooLarge();
  const unsigned number = mysql_errno(handle_.get());
  const std::string text = mysql_error(handle_.get());
  Verdict verdict = Judge(number, mysql_sqlstate(handle_.get()));
  if (number == kDumpRefused) verdict.code = absl::StatusCode::kFailedPrecondition;
  if (!bound.ok() && verdict.code == absl::StatusCode::kUnavailable) {
    return StatusOf(verdict, place_, number, {bound.message().data(), bound.message().size()});
  }
  return StatusOf(verdict, place_, number, text);
}

bool BinlogReader::MayHaveReadAhead() const {
  // Bytes of a TLS record may wait inside of the library, where poll() does not see them.
  if (mysql_get_ssl_cipher(handle_.get()) != nullptr) return true;
  const MARIADB_PVIO* pvio = handle_->net.pvio;
  return pvio == nullptr || pvio->cache == nullptr ||
         pvio->cache_pos < pvio->cache + pvio->cache_size;
}

absl::Status BinlogReader::WaitForBytes(TimePoint deadline) {
  if (MayHaveReadAhead()) return absl::OkStatus();
  const TimePoint silent = last_heard_ + absl::ToChronoNanoseconds(options_.link_timeout);
  pollfd poll_fd{static_cast<int>(mysql_get_socket(handle_.get())), POLLIN, 0};
  for (;;) {
    // Events that came since the last call are returned first.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::min(deadline, silent) - std::chrono::steady_clock::now());
    const int64_t wait = std::clamp<int64_t>(left.count(), 0, 3600 * 1000);
    if (poll(&poll_fd, 1, static_cast<int>(wait)) > 0) return absl::OkStatus();
    const TimePoint now = std::chrono::steady_clock::now();
    if (now >= silent) {
      return absl::UnavailableError(
          absl::StrCat("mariadb ", place_, ": the server has said nothing for ",
                       absl::FormatDuration(options_.link_timeout), ", not even a heartbeat"));
    }
    if (now >= deadline) return Late();
  }
}

absl::Status BinlogReader::Late() const {
  return absl::DeadlineExceededError(
      absl::StrCat("mariadb ", place_, ": no whole transaction of the binary log came in time"));
}

absl::StatusOr<std::optional<std::string_view>> BinlogReader::ReadEvent() {
  constexpr unsigned char kEvent = 0x00, kEnd = 0xFE;
  constexpr size_t kMostEndBytes = 9;
  HoldSigpipeOfTls hold(handle_.get());
  const TimePoint deadline =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.link_timeout);
  BoundedCall call(handle_.get(), deadline);
  call.Allow(options_.max_event_bytes + kBesidesEvent);
  const unsigned long size = mysql_net_read_packet(handle_.get());
  if (size >= packet_error) return ReadFailure(call.Status(), deadline);
  if (size > options_.max_event_bytes) return TooLarge();
  std::string_view packet(reinterpret_cast<const char*>(handle_->net.read_pos), size);
  const unsigned char kind = packet.empty() ? kEnd + 1 : static_cast<unsigned char>(packet[0]);
  if (kind == kEvent) return packet.substr(1);
  if (kind == kEnd && size < kMostEndBytes) return std::nullopt;
  return absl::DataLossError(
      absl::StrCat("mariadb ", place_, ": a packet of ", size, " bytes in the dump is no event"));
}

absl::StatusOr<BinlogReader::Item> BinlogReader::Next(TimePoint deadline) {
  LOCUS_RETURN_IF_ERROR(process_.Check("a binlog reader"));
  LOCUS_RETURN_IF_ERROR(failed_);
  absl::StatusOr<Item> item = Read(deadline);
  if (!item.ok() && !absl::IsDeadlineExceeded(item.status())) failed_ = item.status();
  return item;
}

absl::StatusOr<BinlogReader::Item> BinlogReader::Read(TimePoint deadline) {
  while (std::chrono::steady_clock::now() < deadline) {
    LOCUS_RETURN_IF_ERROR(WaitForBytes(deadline));
    LOCUS_ASSIGN_OR_RETURN(std::optional<std::string_view> event, ReadEvent());
    last_heard_ = std::chrono::steady_clock::now();
    if (!event) {
      if (options_.stop_at_end) return Item(End());
      return absl::UnavailableError(
          absl::StrCat("mariadb ", place_, ": the server ended the dump of its binary log"));
    }
    absl::StatusOr<stream::TransactionAssembler::Step> step = assembler_.OnEvent(*event);
    if (!step.ok()) {
      return stream::Prefixed(absl::StrCat("mariadb ", place_, ": "), step.status());
    }
    if (auto* transaction = std::get_if<stream::ChangeTransaction>(&*step)) {
      return Item(std::move(*transaction));
    }
    if (auto* heartbeat = std::get_if<stream::Heartbeat>(&*step)) {
      return Item(std::move(*heartbeat));
    }
  }
  return Late();
}

}  // namespace locus::mysql
