// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/io/csv.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::csv {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kStride = sizeof(__m128i);
constexpr size_t kPadding = kStride;

// Bit i: in[i] is a quote, a comma or a line feed. Reads kStride bytes.
unsigned SpecialBytes(const char* in) {
  __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  __m128i commas = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(','));
  __m128i feeds = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
  return static_cast<unsigned>(
      _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, commas), feeds)));
}

}  // namespace

RecordSplitter::RecordSplitter(size_t max_record)
    : max_record_(max_record), buffer_(kBlock + kPadding) {
  LOCUS_CHECK(max_record <= size_t{1} << 31);
}

absl::StatusOr<RecordSplitter::Step> RecordSplitter::Next(Record& record) {
  Forget();
  if (!mark_checked_ && !SkipByteOrderMark()) return Step::kNeedInput;
  bool ended = FindRecordEnd();
  if (scanned_ > max_record_) return TooLong();
  if (ended)
    return TakeRecord(scanned_ >= 2 && record_begin()[scanned_ - 2] == '\r' ? 2 : 1, record);
  if (!finished_) return Step::kNeedInput;
  if (quoted_) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", quote_line_, ": the quote that opens here is never closed"));
  }
  if (scanned_ == 0) return Step::kEnd;
  return TakeRecord(0, record);
}

// Whether the question is settled.
bool RecordSplitter::SkipByteOrderMark() {
  std::string_view start(record_begin(), std::min(end_ - begin_, kByteOrderMark.size()));
  bool could_be = start == kByteOrderMark.substr(0, start.size());
  if (could_be && start.size() < kByteOrderMark.size() && !finished_) return false;
  if (start == kByteOrderMark) begin_ += kByteOrderMark.size();
  mark_checked_ = true;
  return true;
}

// Scans on from scanned_; true: the record's line feed is the last byte scanned.
bool RecordSplitter::FindRecordEnd() {
  const char* record = record_begin();
  size_t available = end_ - begin_;
  while (scanned_ < available) {
    unsigned specials = SpecialBytes(record + scanned_);
    size_t stride = std::min(kStride, available - scanned_);
    if (stride < kStride) specials &= (1u << stride) - 1;
    for (; specials != 0; specials &= specials - 1) {
      size_t at = scanned_ + static_cast<size_t>(std::countr_zero(specials));
      char special = record[at];
      if (special == '"') {
        if (quoted_) {
          quoted_ = false;
          opens_at_ = at + 1;  // the second of "" opens again
        } else if (at == opens_at_) {
          quoted_ = true;
          quote_line_ = line_ + lines_in_;
        }
        continue;
      }
      if (special == '\n') ++lines_in_;
      if (quoted_) continue;
      if (special == '\n') {
        scanned_ = at + 1;
        return true;
      }
      if (field_ends_.size() < kMaxFields) field_ends_.push_back(static_cast<uint32_t>(at));
      opens_at_ = at + 1;
    }
    scanned_ += stride;
  }
  return false;
}

absl::StatusOr<RecordSplitter::Step> RecordSplitter::TakeRecord(size_t ending_length,
                                                                Record& record) {
  size_t length = scanned_ - ending_length;
  field_ends_.push_back(static_cast<uint32_t>(length));
  if (field_ends_.size() > kMaxFields) {
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", line_, ": the record that starts here has more than ", kMaxFields, " fields"));
  }
  record.bytes = {record_begin(), length};
  record.ending = {record_begin() + length, ending_length};
  record.line = line_;
  record.field_ends = field_ends_;
  taken_ = true;
  return Step::kRecord;
}

// Leaves the record that was handed out, if any, behind.
void RecordSplitter::Forget() {
  if (!taken_) return;
  begin_ += scanned_;
  line_ += lines_in_;
  scanned_ = opens_at_ = 0;
  lines_in_ = 0;
  field_ends_.clear();
  taken_ = false;
}

absl::Status RecordSplitter::TooLong() const {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line_, ": the record that starts here is longer than ", max_record_,
                   " bytes", quoted_ ? absl::StrCat("; a quote opens on line ", quote_line_) : ""));
}

std::span<char> RecordSplitter::Room() {
  Forget();
  if (begin_ > 0) {
    std::memmove(buffer_.data(), record_begin(), end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - kPadding - end_ < kBlock / 2) {
    size_t doubled = std::max(end_, std::min(2 * end_, max_record_));
    buffer_.resize(doubled + kBlock + kPadding);
  }
  return std::span<char>(buffer_).subspan(end_, buffer_.size() - kPadding - end_);
}

void RecordSplitter::Filled(size_t count) {
  LOCUS_CHECK(count <= buffer_.size() - kPadding - end_);
  end_ += count;
}

std::optional<std::string_view> DecodeField(std::string_view field, std::string& scratch) {
  if (field.empty() || field[0] != '"') return field;
  std::string_view rest = field.substr(1);
  size_t quote = rest.find('"');
  if (quote == std::string_view::npos) return std::nullopt;
  if (quote + 1 == rest.size()) return rest.substr(0, quote);
  scratch.clear();
  while (quote + 1 < rest.size()) {
    if (rest[quote + 1] != '"') return std::nullopt;
    scratch += rest.substr(0, quote + 1);
    rest.remove_prefix(quote + 2);
    quote = rest.find('"');
    if (quote == std::string_view::npos) return std::nullopt;
  }
  scratch += rest.substr(0, quote);
  return scratch;
}

void AppendField(std::string_view value, std::string& out) {
  if (value.find_first_of("\",\r\n") == std::string_view::npos) {
    out += value;
    return;
  }
  out += '"';
  for (char c : value) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace locus::csv
