// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_EVENT_H_
#define LOCUS_MIGRATION_STREAM_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/stream/gtid.h"
#include "migration/stream/sql_tokens.h"

// Events of a MariaDB binary log as a server sends them: a header of 19 bytes, a body, a CRC32.
//
// Two codes in all of these decoders. DATA_LOSS: the bytes are not what a server writes.
// FAILED_PRECONDITION: the server wrote something that this reader refuses, because it cannot be
// applied elsewhere; reading again gives the same until the server's settings are changed or the
// position is moved past it.

namespace locus::stream {

// Marks an error in the log itself. The same log gives it again, so a stream must begin again
// behind it.
absl::Status CannotPass(absl::Status status);
bool IsCannotPass(const absl::Status& status);
// `status` with `prefix` before its message, and with its payloads.
absl::Status Prefixed(std::string_view prefix, const absl::Status& status);

// The types that this reader knows. All others are refused.
enum class EventType : uint8_t {
  kQuery = 2,
  kStop = 3,
  kRotate = 4,
  kIntvar = 5,
  kAppendBlock = 9,
  kDeleteFile = 11,
  kRand = 13,
  kUserVar = 14,
  kFormatDescription = 15,
  kXid = 16,
  kBeginLoadQuery = 17,
  kExecuteLoadQuery = 18,
  kTableMap = 19,
  kWriteRowsV1 = 23,
  kUpdateRowsV1 = 24,
  kDeleteRowsV1 = 25,
  kIncident = 26,
  kHeartbeat = 27,
  kWriteRowsV2 = 30,
  kUpdateRowsV2 = 31,
  kDeleteRowsV2 = 32,
  kXaPrepare = 38,
  kAnnotateRows = 160,
  kBinlogCheckpoint = 161,
  kGtid = 162,
  kGtidList = 163,
  kStartEncryption = 164,
  kQueryCompressed = 165,
  kWriteRowsCompressedV1 = 166,
  kUpdateRowsCompressedV1 = 167,
  kDeleteRowsCompressedV1 = 168,
  kWriteRowsCompressed = 169,
  kUpdateRowsCompressed = 170,
  kDeleteRowsCompressed = 171,
};

struct EventHeader {
  uint32_t timestamp = 0;  // seconds since 1970, by the clock of the server that wrote it first
  EventType type{};
  uint32_t server_id = 0;
  uint32_t length = 0;         // of the whole event
  uint32_t next_position = 0;  // in its file, of what follows; 0: not from a file
  uint16_t flags = 0;
};
constexpr size_t kHeaderSize = 19;
constexpr size_t kChecksumSize = 4;
// Made by the server for this reader, not read from a file.
constexpr uint16_t kArtificial = 0x20;

struct Event {
  EventHeader header;
  std::string_view body;  // without header and checksum; views the bytes that were given
};

// One whole event. DATA_LOSS: shorter than an event, its length is another, or its CRC32 differs.
absl::StatusOr<Event> ParseEvent(std::string_view bytes);

// The CRC32 that belongs at the end of the event that `bytes` begins, which lacks it.
uint32_t EventChecksum(std::string_view bytes);

struct FormatDescription {
  std::string server_version;
  // When the server started to write, for the first file after its start; otherwise 0.
  uint32_t created = 0;
};
// FAILED_PRECONDITION: without checksums, or of a server whose events have other headers.
absl::StatusOr<FormatDescription> ParseFormatDescription(std::string_view body);

struct Rotate {
  std::string file;
  uint64_t position = 0;
};
absl::StatusOr<Rotate> ParseRotate(std::string_view body);

// The name of an XA transaction.
struct Xid {
  uint32_t format = 0;
  std::string gtrid, bqual;

  // "X'6162',X'',1": as XA COMMIT takes it. ASCII.
  std::string ToString() const;
  friend bool operator==(const Xid&, const Xid&) = default;
};

// The log has an XA transaction as two: one with its rows when it is prepared, and one without any
// when it is committed or rolled back, much later perhaps.
enum class XaPart : uint8_t { kNone, kPrepare, kEnd };

struct GtidEvent {
  Gtid gtid;
  bool standalone = false;     // one statement, without a commit after it
  bool transactional = false;  // all of its tables can roll back
  bool ddl = false;
  XaPart xa = XaPart::kNone;
  Xid xid;  // of kPrepare and kEnd
};
absl::StatusOr<GtidEvent> ParseGtidEvent(const Event& event);

// The last GTID of each server of each domain before a file.
absl::StatusOr<GtidPosition> ParseGtidList(std::string_view body);

struct Query {
  std::string_view database;
  std::string_view text;
  TextRules rules;     // of the session
  uint16_t error = 0;  // the statement failed with it, after it had changed something
};
absl::StatusOr<Query> ParseQuery(std::string_view body);
// Of a LOAD DATA that is in the log as text (kExecuteLoadQuery).
absl::StatusOr<Query> ParseLoadQuery(std::string_view body);

// DATA_LOSS unless it is one.
absl::Status CheckXid(std::string_view body);
// DATA_LOSS unless it ends the first part of the XA transaction `xid`.
absl::Status CheckXaPrepare(std::string_view body, const Xid& xid);

// The refusal of an event whose type, by itself, cannot be followed; OK for the others.
absl::Status CheckType(EventType type);

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_EVENT_H_
