// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_ROW_DECODER_H_
#define LOCUS_MIGRATION_STREAM_ROW_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/stream/byte_reader.h"
#include "migration/stream/change.h"
#include "migration/stream/event.h"

namespace locus::stream {

// The part of a rows event before its rows. The views view the body.
struct RowsHeader {
  ChangeKind kind = ChangeKind::kInsert;
  uint64_t table_id = 0;
  bool ends_statement = false;  // the statement's tables are forgotten after it
  uint64_t columns = 0;
  std::string_view present;        // a bit for each column of the (first) image
  std::string_view present_after;  // likewise of an update's second image; otherwise empty
  std::string_view rows;
};
absl::StatusOr<RowsHeader> ParseRowsHeader(const Event& event);

// The number that a rows event has which only ends a statement.
constexpr uint64_t kNoTable = 0xFFFFFF;

// DATA_LOSS: the rows are of another number of columns than the table. FAILED_PRECONDITION: they
// lack columns, because binlog_row_image is not FULL.
absl::Status CheckImage(const RowsHeader& header, const TableLayout& table);

// The most bytes that a COMPRESSED column may unpack to: the longest string of a server.
constexpr size_t kMostUnpackedBytes = size_t{1} << 30;

// Reads the next row image from the front of `rows`. `row` keeps its memory from call to call.
// DATA_LOSS: the bytes are no row of `table`, all of whose columns they have.
absl::Status DecodeRow(const TableLayout& table, ByteReader& rows, Row& row);

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_ROW_DECODER_H_
