// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_IO_CSV_H_
#define LOCUS_APPS_LOCUS_IO_CSV_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// CSV after RFC 4180 that keeps the bytes of every record as they are.
//
//   * A record ends with LF or CR LF; the last one may end with the input. A CR without LF is a
//     byte like any other.
//   * A field that begins with a quote runs to the closing quote: separators and line endings
//     inside belong to it, "" stands for one quote. A quote anywhere else is a byte like any
//     other, and so is what follows a closing quote up to the next separator.
//   * A UTF-8 byte order mark at the start of the input is dropped. Nothing else is; spaces and
//     NUL bytes belong to their fields.
//   * Lines are counted by LF, those inside quotes too; the first line is 1.
namespace locus::csv {

struct Record {
  // Without its line ending; empty for a blank line. Holds until RecordSplitter::Room().
  std::string_view bytes;
  // "\n", "\r\n", or "" where the input ends without one.
  std::string_view ending;
  // The line on which the record starts.
  uint64_t line = 0;
  // Where in `bytes` each field ends. Holds until RecordSplitter::Next().
  std::span<const uint32_t> field_ends;

  // The field as in the record, with its quotes.
  std::string_view field(size_t index) const {
    size_t begin = index == 0 ? 0 : field_ends[index - 1] + 1;
    return bytes.substr(begin, field_ends[index] - begin);
  }
};

// Splits a stream into records. The chunks in which it arrives do not matter:
//
//   for (;;) {
//     switch (*splitter.Next(record)) {
//       case kRecord:    use record
//       case kNeedInput: n = read(fd, splitter.Room()); n == 0 ? splitter.Finish() : Filled(n)
//       case kEnd:       return
//
// Memory: a buffer as large as the longest record or kBlock, whichever is more, plus kBlock.
// Not thread-safe.
class RecordSplitter {
 public:
  static constexpr size_t kBlock = 256 * 1024;
  static constexpr size_t kMaxRecord = 16 * 1024 * 1024;
  static constexpr size_t kMaxFields = 65536;

  enum class Step { kRecord, kNeedInput, kEnd };

  // `max_record`: bytes of a record, its ending included; at most 2^31.
  explicit RecordSplitter(size_t max_record = kMaxRecord);

  // INVALID_ARGUMENT, naming the line: a record is too long or has more than kMaxFields, or a quote
  // is still open at the end of the input. Do not use the splitter afterwards.
  absl::StatusOr<Step> Next(Record& record);

  // Where the next bytes of the input go: at least one byte. Ends what earlier records point to.
  std::span<char> Room();
  // The first `count` bytes of Room() are the input's next.
  void Filled(size_t count);
  // The input has ended.
  void Finish() { finished_ = true; }

 private:
  bool SkipByteOrderMark();
  bool FindRecordEnd();
  absl::StatusOr<Step> TakeRecord(size_t ending_length, Record& record);
  void Forget();
  absl::Status TooLong() const;
  const char* record_begin() const { return buffer_.data() + begin_; }

  size_t max_record_;
  std::vector<char> buffer_;  // readable kPadding bytes past end_, for whole-word loads
  size_t begin_ = 0;          // of the record being scanned
  size_t end_ = 0;            // of the input at hand
  bool finished_ = false;
  bool mark_checked_ = false;
  bool taken_ = false;  // the record at begin_ was handed out

  // The scan of the record at begin_, offsets from there.
  size_t scanned_ = 0;
  size_t opens_at_ = 0;  // a quote at this offset opens, or opens again
  bool quoted_ = false;
  std::vector<uint32_t> field_ends_;
  uint64_t line_ = 1;        // on which the record starts
  uint64_t lines_in_ = 0;    // line endings scanned in it
  uint64_t quote_line_ = 0;  // on which the open quote stands
};

// The value of a field: without its quotes, and with " for "". It points into `field`, or into
// `scratch` if quotes had to be removed. nullopt: bytes follow the closing quote, or the quote is
// never closed.
std::optional<std::string_view> DecodeField(std::string_view field, std::string& scratch);

// Appends `value` as a field, in quotes where it needs them.
void AppendField(std::string_view value, std::string& out);

}  // namespace locus::csv

#endif  // LOCUS_APPS_LOCUS_IO_CSV_H_
