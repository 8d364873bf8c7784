// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STREAM_EVENT_BYTES_H_
#define LOCUS_TESTS_STREAM_EVENT_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "migration/stream/event.h"

// Events as a server would write them, for tests that need no server.

namespace locus {

template <typename T>
std::string Little(T value, size_t size = sizeof(T)) {
  std::string bytes(size, '\0');
  uint64_t wide = static_cast<uint64_t>(value);
  std::memcpy(bytes.data(), &wide, size);
  return bytes;
}

struct EventOptions {
  uint32_t server = 7;
  uint32_t next_position = 1000;
  uint16_t flags = 0;
};

inline std::string MakeEvent(stream::EventType type, std::string_view body,
                             const EventOptions& options = {}) {
  std::string event =
      Little(uint32_t{1700000000}) + Little(static_cast<uint8_t>(type)) + Little(options.server) +
      Little(static_cast<uint32_t>(stream::kHeaderSize + body.size() + stream::kChecksumSize)) +
      Little(options.next_position) + Little(options.flags);
  event += body;
  return event + Little(stream::EventChecksum(event));
}

inline std::string FormatBody(uint8_t checksum = 1) {
  std::string server = "10.11.19-MariaDB-log";
  server.resize(50, '\0');
  // The fixed parts' lengths of MariaDB 10.11, for types 1 to 171.
  std::string sizes(171, '\0');
  const std::vector<std::pair<int, int>> known = {{2, 13},  {4, 8},   {18, 26},  {19, 8},
                                                  {23, 8},  {24, 8},  {25, 8},   {30, 10},
                                                  {31, 10}, {32, 10}, {162, 19}, {163, 4}};
  for (auto [type, size] : known) sizes[type - 1] = static_cast<char>(size);
  return Little(uint16_t{4}) + server + Little(uint32_t{0}) + Little(uint8_t{19}) + sizes +
         Little(checksum);
}
inline std::string FormatEvent(uint8_t checksum = 1) {
  return MakeEvent(stream::EventType::kFormatDescription, FormatBody(checksum));
}

inline std::string RotateEvent(std::string_view file) {
  return MakeEvent(stream::EventType::kRotate, Little(uint64_t{4}) + std::string(file),
                   {7, 0, 0x20});
}

enum GtidFlag : uint8_t { kStandaloneFlag = 1, kTransactionalFlag = 4 };
inline std::string GtidEvent(uint64_t sequence, uint32_t domain = 0,
                             uint8_t flags = kTransactionalFlag) {
  return MakeEvent(stream::EventType::kGtid,
                   Little(sequence) + Little(domain) + Little(flags) + std::string(6, '\0'));
}

inline std::string QueryEvent(std::string_view text, std::string_view database = "shop") {
  return MakeEvent(stream::EventType::kQuery, std::string(8, '\0') +
                                                  Little(static_cast<uint8_t>(database.size())) +
                                                  std::string(4, '\0') + std::string(database) +
                                                  std::string(1, '\0') + std::string(text));
}

inline std::string XidEvent() { return MakeEvent(stream::EventType::kXid, Little(uint64_t{99})); }

inline std::string Counted(std::string_view bytes) {
  return Little(static_cast<uint8_t>(bytes.size())) + std::string(bytes);
}

// Of columns that need no more than a type and the bytes of its size.
struct PlainColumn {
  uint8_t type;
  std::string size;
  std::string name;
};
inline std::string TableMapBody(uint64_t id, std::string_view database, std::string_view table,
                                const std::vector<PlainColumn>& columns,
                                std::string_view more = {}) {
  std::string types, sizes, names;
  for (const PlainColumn& column : columns) {
    types += static_cast<char>(column.type);
    sizes += column.size;
    names += Counted(column.name);
  }
  return Little(id, 6) + Little(uint16_t{1}) + Counted(database) + std::string(1, '\0') +
         Counted(table) + std::string(1, '\0') + Counted(types) + Counted(sizes) +
         std::string((columns.size() + 7) / 8, '\xFF') + "\x04" + Counted(names) +
         std::string(more);
}

// orders(id INT, v LONGBLOB), with all metadata: INT signed, binary, key (id).
inline std::string OrdersBody(uint64_t id = 5, std::string_view table = "orders") {
  return TableMapBody(id, "shop", table, {{3, "", "id"}, {252, "\x04", "v"}},
                      std::string("\x01\x01\x00\x02\x01\x3F\x08\x01\x00", 9));
}
inline std::string OrdersEvent(uint64_t id = 5, std::string_view table = "orders") {
  return MakeEvent(stream::EventType::kTableMap, OrdersBody(id, table));
}
inline std::string OrderRow(int32_t id, std::string_view value) {
  return std::string(1, '\xFC') + Little(id) + Little(static_cast<uint32_t>(value.size())) +
         std::string(value);
}
inline std::string RowsBody(uint64_t table, std::string_view rows, bool ends_statement = true,
                            uint8_t columns = 2, std::string_view present = "\xFF") {
  return Little(table, 6) + Little(static_cast<uint16_t>(ends_statement ? 1 : 0)) +
         Little(columns) + std::string(present) + std::string(rows);
}
inline std::string InsertEvent(std::string_view rows, bool ends_statement = true,
                               uint64_t table = 5) {
  return MakeEvent(stream::EventType::kWriteRowsV1, RowsBody(table, rows, ends_statement));
}

}  // namespace locus

#endif  // LOCUS_TESTS_STREAM_EVENT_BYTES_H_
