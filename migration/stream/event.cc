// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/event.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "migration/stream/byte_reader.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::stream {

using internal::Printable;

namespace {

constexpr char kCannotPass[] = "locus/cannot-pass";
constexpr size_t kFlagsOffset = 17;
constexpr unsigned char kInUse = 0x01;  // in the flags of a format description

absl::Status Malformed(std::string_view what, size_t size) {
  return absl::DataLossError(
      absl::StrCat("malformed ", internal::ToAbsl(what), " event, ", size, " bytes"));
}

uint32_t Crc(uint32_t before, std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// The lengths of the fixed parts behind the headers, which a format description lists by type: the
// decoders rely on them.
struct FixedPart {
  EventType type;
  uint8_t size;
};
constexpr std::array kFixedParts = {
    FixedPart{EventType::kQuery, 13},        FixedPart{EventType::kRotate, 8},
    FixedPart{EventType::kTableMap, 8},      FixedPart{EventType::kWriteRowsV1, 8},
    FixedPart{EventType::kUpdateRowsV1, 8},  FixedPart{EventType::kDeleteRowsV1, 8},
    FixedPart{EventType::kWriteRowsV2, 10},  FixedPart{EventType::kUpdateRowsV2, 10},
    FixedPart{EventType::kDeleteRowsV2, 10}, FixedPart{EventType::kGtid, 19},
    FixedPart{EventType::kGtidList, 4},      FixedPart{EventType::kExecuteLoadQuery, 26},
};

}  // namespace

absl::Status CannotPass(absl::Status status) {
  status.SetPayload(kCannotPass, absl::Cord("1"));
  return status;
}

bool IsCannotPass(const absl::Status& status) { return status.GetPayload(kCannotPass).has_value(); }

absl::Status Prefixed(std::string_view prefix, const absl::Status& status) {
  absl::Status prefixed(status.code(), absl::StrCat(internal::ToAbsl(prefix), status.message()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { prefixed.SetPayload(url, payload); });
  return prefixed;
}

uint32_t EventChecksum(std::string_view bytes) {
  if (bytes.size() < kHeaderSize ||
      static_cast<EventType>(bytes[4]) != EventType::kFormatDescription) {
    return Crc(0, bytes);
  }
  // The flag is set in a file while the server writes it, after the checksum was made.
  uint32_t crc = Crc(0, bytes.substr(0, kFlagsOffset));
  char flags = static_cast<char>(static_cast<unsigned char>(bytes[kFlagsOffset]) & ~kInUse);
  crc = Crc(crc, {&flags, 1});
  return Crc(crc, bytes.substr(kFlagsOffset + 1));
}

absl::StatusOr<Event> ParseEvent(std::string_view bytes) {
  if (bytes.size() < kHeaderSize + kChecksumSize) {
    return absl::DataLossError(absl::StrCat("an event of ", bytes.size(),
                                            " bytes; header and checksum take ",
                                            kHeaderSize + kChecksumSize));
  }
  ByteReader reader(bytes);
  Event event;
  EventHeader& header = event.header;
  header.timestamp = static_cast<uint32_t>(reader.Little(4));
  header.type = static_cast<EventType>(reader.Byte());
  header.server_id = static_cast<uint32_t>(reader.Little(4));
  header.length = static_cast<uint32_t>(reader.Little(4));
  header.next_position = static_cast<uint32_t>(reader.Little(4));
  header.flags = static_cast<uint16_t>(reader.Little(2));
  const int type = static_cast<int>(header.type);
  if (header.length != bytes.size()) {
    return absl::DataLossError(absl::StrCat("an event of type ", type, " says that it has ",
                                            header.length, " bytes and has ", bytes.size()));
  }
  event.body = reader.Bytes(bytes.size() - kHeaderSize - kChecksumSize);
  if (header.type == EventType::kFormatDescription) {
    // It has room for a checksum even where the server makes none; say which it is.
    LOCUS_RETURN_IF_ERROR(ParseFormatDescription(event.body).status());
  }
  const uint64_t written = reader.Little(kChecksumSize);
  const uint32_t counted = EventChecksum(bytes.substr(0, bytes.size() - kChecksumSize));
  if (written != counted) {
    return absl::DataLossError(
        absl::StrCat("CRC32 mismatch in an event of type ", type, " that ends at ",
                     header.next_position, ": it says ", absl::Hex(written, absl::kZeroPad8),
                     ", its ", bytes.size(), " bytes have ", absl::Hex(counted, absl::kZeroPad8)));
  }
  return event;
}

absl::StatusOr<FormatDescription> ParseFormatDescription(std::string_view body) {
  constexpr size_t kVersionSize = 50;
  constexpr uint64_t kBinlogVersion = 4;
  constexpr uint8_t kCrc32 = 1;
  ByteReader reader(body);
  const uint64_t version = reader.Little(2);
  std::string_view server = reader.Bytes(kVersionSize);
  FormatDescription format;
  format.server_version = server.substr(0, std::min(server.find('\0'), server.size()));
  format.created = static_cast<uint32_t>(reader.Little(4));
  const uint8_t header_size = reader.Byte();
  std::string_view sizes = reader.rest();
  if (!reader.ok() || sizes.empty()) return Malformed("FORMAT_DESCRIPTION", body.size());
  const uint8_t checksum = static_cast<uint8_t>(sizes.back());
  sizes.remove_suffix(1);
  const std::string name = Printable(format.server_version);
  if (version != kBinlogVersion || header_size != kHeaderSize) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the binary log of server ", name, " has format ", version, " with headers of ",
        header_size, " bytes; this reader knows format 4 with headers of 19"));
  }
  if (checksum != kCrc32) {
    return absl::FailedPreconditionError(
        absl::StrCat("a file of the binary log, of server ", name, ", has checksums of kind ",
                     checksum, "; set binlog_checksum=CRC32, and start after that file"));
  }
  for (const FixedPart& part : kFixedParts) {
    const size_t index = static_cast<size_t>(part.type) - 1;  // there is no type 0
    const int size = index < sizes.size() ? static_cast<unsigned char>(sizes[index]) : -1;
    if (size != part.size) {
      return absl::FailedPreconditionError(
          absl::StrCat("the binary log of server ", name, ": the fixed part of events of type ",
                       static_cast<int>(part.type), " has ", size,
                       " bytes where MariaDB 10.11 has ", part.size));
    }
  }
  return format;
}

absl::StatusOr<Rotate> ParseRotate(std::string_view body) {
  constexpr size_t kMostName = 512;  // FN_REFLEN of the server
  ByteReader reader(body);
  Rotate rotate;
  rotate.position = reader.Little(8);
  rotate.file = reader.rest();
  if (!reader.ok() || rotate.file.empty() || rotate.file.size() > kMostName) {
    return Malformed("ROTATE", body.size());
  }
  return rotate;
}

std::string Xid::ToString() const {
  return absl::StrCat("X'", absl::BytesToHexString(gtrid), "',X'", absl::BytesToHexString(bqual),
                      "',", format);
}

namespace {

// With lengths of `length_size` bytes.
absl::StatusOr<Xid> XidIn(ByteReader& reader, size_t length_size) {
  constexpr uint64_t kMostPart = 64;  // MAXGTRIDSIZE and MAXBQUALSIZE of the server
  Xid xid;
  xid.format = static_cast<uint32_t>(reader.Little(4));
  const uint64_t gtrid = reader.Little(length_size), bqual = reader.Little(length_size);
  if (!reader.ok() || gtrid > kMostPart || bqual > kMostPart) {
    return absl::DataLossError("the XID of an XA transaction is malformed");
  }
  xid.gtrid = reader.Bytes(static_cast<size_t>(gtrid));
  xid.bqual = reader.Bytes(static_cast<size_t>(bqual));
  if (!reader.ok()) return absl::DataLossError("the XID of an XA transaction is cut");
  return xid;
}

}  // namespace

absl::StatusOr<GtidEvent> ParseGtidEvent(const Event& event) {
  constexpr uint8_t kStandalone = 0x01, kGroupCommit = 0x02, kTransactional = 0x04, kDdl = 0x20;
  constexpr uint8_t kPreparedXa = 0x40, kCompletedXa = 0x80;
  ByteReader reader(event.body);
  GtidEvent parsed;
  parsed.gtid.sequence = reader.Little(8);
  parsed.gtid.domain = static_cast<uint32_t>(reader.Little(4));
  parsed.gtid.server = event.header.server_id;
  const uint8_t flags = reader.Byte();
  if (!reader.ok() || parsed.gtid.sequence == 0) return Malformed("GTID", event.body.size());
  parsed.standalone = (flags & kStandalone) != 0;
  parsed.transactional = (flags & kTransactional) != 0;
  parsed.ddl = (flags & kDdl) != 0;
  if ((flags & (kPreparedXa | kCompletedXa)) == 0) return parsed;
  if ((flags & kPreparedXa) != 0 && (flags & kCompletedXa) != 0) {
    return Malformed("GTID", event.body.size());
  }
  parsed.xa = (flags & kPreparedXa) != 0 ? XaPart::kPrepare : XaPart::kEnd;
  if ((flags & kGroupCommit) != 0) reader.Little(8);
  LOCUS_ASSIGN_OR_RETURN(parsed.xid, XidIn(reader, 1));
  return parsed;
}

absl::StatusOr<GtidPosition> ParseGtidList(std::string_view body) {
  constexpr uint64_t kCountMask = 0x0FFFFFFF;  // flags are above
  constexpr size_t kEntrySize = 16;
  ByteReader reader(body);
  const uint64_t count = reader.Little(4) & kCountMask;
  if (!reader.ok() || reader.rest().size() / kEntrySize < count) {
    return Malformed("GTID_LIST", body.size());
  }
  GtidPosition position;
  for (uint64_t i = 0; i < count; ++i) {
    Gtid gtid;
    gtid.domain = static_cast<uint32_t>(reader.Little(4));
    gtid.server = static_cast<uint32_t>(reader.Little(4));
    gtid.sequence = reader.Little(8);
    position.Set(gtid);  // the last of a domain is its newest
  }
  return position;
}

namespace {

// The status variables of a query, which the server writes in the order of their numbers but for
// the catalog; those behind the character set say nothing about the text.
TextRules RulesIn(std::string_view variables) {
  enum Variable : uint8_t { kFlags, kSqlMode, kOldCatalog, kIncrements, kCharset, kCatalog = 6 };
  constexpr uint64_t kAnsiQuotes = 4, kNoBackslashEscapes = 1 << 20;
  TextRules rules;
  ByteReader reader(variables);
  while (reader.ok() && !reader.empty()) {
    switch (reader.Byte()) {
      case kFlags:
        reader.Little(4);
        break;
      case kSqlMode: {
        const uint64_t mode = reader.Little(8);
        rules.ansi_quotes = (mode & kAnsiQuotes) != 0;
        rules.no_backslash_escapes = (mode & kNoBackslashEscapes) != 0;
        break;
      }
      case kCatalog:
        reader.Bytes(reader.Byte());
        break;
      case kIncrements:
        reader.Little(4);
        break;
      case kCharset: {
        const auto collation = static_cast<uint32_t>(reader.Little(2));
        rules.double_bytes = DoubleBytesOf(collation);
        rules.wide_space = WideSpaceOf(collation);
        return rules;
      }
      default:
        return rules;
    }
  }
  return rules;
}

// `skipped`: the bytes between the fixed part and the variables.
absl::StatusOr<Query> QueryIn(std::string_view body, size_t skipped) {
  ByteReader reader(body);
  reader.Little(4);  // the session that ran it
  reader.Little(4);  // how long it took
  const size_t database = reader.Byte();
  Query query;
  query.error = static_cast<uint16_t>(reader.Little(2));
  const size_t variables = static_cast<size_t>(reader.Little(2));
  reader.Bytes(skipped);
  query.rules = RulesIn(reader.Bytes(variables));
  query.database = reader.Bytes(database);
  const bool ended = reader.Bytes(1) == std::string_view("\0", 1);
  query.text = reader.rest();
  if (!reader.ok() || !ended) return Malformed("QUERY", body.size());
  return query;
}

}  // namespace

absl::StatusOr<Query> ParseQuery(std::string_view body) { return QueryIn(body, 0); }

absl::StatusOr<Query> ParseLoadQuery(std::string_view body) {
  constexpr size_t kFileAndPlace = 13;
  return QueryIn(body, kFileAndPlace);
}

absl::Status CheckXid(std::string_view body) {
  return body.size() == 8 ? absl::OkStatus() : Malformed("XID", body.size());
}

absl::Status CheckXaPrepare(std::string_view body, const Xid& xid) {
  ByteReader reader(body);
  const bool one_phase = reader.Byte() != 0;
  LOCUS_ASSIGN_OR_RETURN(const Xid named, XidIn(reader, 4));
  const bool fits = !one_phase && named == xid && reader.empty();
  return fits ? absl::OkStatus() : Malformed("XA_PREPARE", body.size());
}

absl::Status CheckType(EventType type) {
  const int number = static_cast<int>(type);
  switch (type) {
    case EventType::kQuery:
    case EventType::kStop:
    case EventType::kRotate:
    case EventType::kFormatDescription:
    case EventType::kXid:
    case EventType::kTableMap:
    case EventType::kWriteRowsV1:
    case EventType::kUpdateRowsV1:
    case EventType::kDeleteRowsV1:
    case EventType::kHeartbeat:
    case EventType::kWriteRowsV2:
    case EventType::kUpdateRowsV2:
    case EventType::kDeleteRowsV2:
    case EventType::kAnnotateRows:
    case EventType::kBinlogCheckpoint:
    case EventType::kGtid:
    case EventType::kGtidList:
    // Beside a statement that is in the log as text.
    case EventType::kIntvar:
    case EventType::kRand:
    case EventType::kUserVar:
    case EventType::kAppendBlock:
    case EventType::kDeleteFile:
    case EventType::kBeginLoadQuery:
    case EventType::kExecuteLoadQuery:
    // The server decrypts what it sends, so what follows is readable.
    case EventType::kStartEncryption:
    case EventType::kXaPrepare:
      return absl::OkStatus();
    case EventType::kIncident:
      return absl::FailedPreconditionError(
          "an INCIDENT event: the server lost changes that belong here; copy the rows again");
    case EventType::kQueryCompressed:
    case EventType::kWriteRowsCompressedV1:
    case EventType::kUpdateRowsCompressedV1:
    case EventType::kDeleteRowsCompressedV1:
    case EventType::kWriteRowsCompressed:
    case EventType::kUpdateRowsCompressed:
    case EventType::kDeleteRowsCompressed:
      return absl::FailedPreconditionError(
          absl::StrCat("a compressed event, type ", number, "; set log_bin_compress=OFF"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("an event of type ", number, ", which this reader does not know"));
}

}  // namespace locus::stream
