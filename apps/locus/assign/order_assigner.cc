// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/assign/order_assigner.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "locus/order_id.h"
#include "locus/shard_gene.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/order/order_no_assembler.h"

namespace locus::cli {

using internal::OrderNoAssembler;
using internal::Quoted;
using internal::ToAbsl;

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kBatch = 2048;
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kProgressPeriod = std::chrono::milliseconds(500);
// Two commas, an order ID of at most 32 characters and an order_no of at most 26.
constexpr size_t kMaxIdAndNumber = 2 + 32 + OrderNo::kTextLength;

char* Copy(std::string_view text, char* out) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* FormatId(const OrderId& id, char* out) {
  if (id.is_wide()) return Copy(id.ToString(), out);
  return std::to_chars(out, out + 20, id.first_word()).ptr;
}

}  // namespace

OrderAssigner::OrderAssigner(const Parts& parts, const csv::Record& header, OrderColumns columns,
                             BuyerType buyer_type)
    : parts_(parts),
      batch_(columns, buyer_type),
      ids_(kBatch),
      numbers_(kBatch, OrderNoAssembler::Of(0, 0)) {
  parts_.out.Append(header.bytes);
  parts_.out.Append(",order_id,order_no,shard");
  parts_.out.Append(header.ending);
  if (parts_.rejects == nullptr) return;
  parts_.rejects->Append(header.bytes);
  parts_.rejects->Append(",line,reason");
  parts_.rejects->Append(header.ending);
}

absl::Status OrderAssigner::Run(ByteSource& in, csv::RecordSplitter& splitter) {
  csv::Record record;
  for (;;) {
    LOCUS_ASSIGN_OR_RETURN(csv::RecordSplitter::Step step, splitter.Next(record));
    if (step == csv::RecordSplitter::Step::kRecord) {
      LOCUS_RETURN_IF_ERROR(Take(record));
      continue;
    }
    LOCUS_RETURN_IF_ERROR(FinishBatch());
    if (step == csv::RecordSplitter::Step::kEnd) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(size_t count, in.Read(splitter.Room()));
    count == 0 ? splitter.Finish() : splitter.Filled(count);
    bytes_read_ += count;
  }
}

absl::Status OrderAssigner::Take(const csv::Record& record) {
  if (record.bytes.empty()) return absl::OkStatus();
  Rejection rejection = batch_.Add(record);
  if (rejection != Rejection::kNone) Reject(record, rejection);
  return batch_.rows().size() < kBatch ? absl::OkStatus() : FinishBatch();
}

void OrderAssigner::Reject(const csv::Record& record, Rejection rejection) {
  ++rejected_;
  if (parts_.rejects != nullptr) {
    parts_.rejects->Append(record.bytes);
    parts_.rejects->Append(absl::StrCat(",", record.line, ",", ToAbsl(TextOf(rejection))));
    parts_.rejects->Append(record.ending);
  } else if (rejected_ <= kMaxShown) {
    parts_.progress.Wipe();
    Complain("assign", absl::StrCat("line ", record.line, ": ", ToAbsl(TextOf(rejection)), ": ",
                                    Quoted(record.bytes)));
  }
}

absl::Status OrderAssigner::FinishBatch() {
  LOCUS_RETURN_IF_ERROR(FillIds());
  LOCUS_RETURN_IF_ERROR(FillNumbers());
  for (size_t row = 0; row < batch_.rows().size(); ++row) WriteRow(row);
  assigned_ += batch_.rows().size();
  batch_.Clear();
  LOCUS_RETURN_IF_ERROR(parts_.out.status());
  if (parts_.rejects != nullptr && !absl::IsCancelled(parts_.rejects->status())) {
    LOCUS_RETURN_IF_ERROR(parts_.rejects->status());
  }
  parts_.progress.Show(assigned_ + rejected_, bytes_read_);
  return absl::OkStatus();
}

absl::Status OrderAssigner::FillIds() {
  std::span<const BuyerKey> buyers(batch_.buyers());
  SteadyClock::time_point give_up = SteadyClock::now() + kPatience;
  for (size_t filled = 0; filled < buyers.size();) {
    if (Interrupted()) return absl::AbortedError("interrupted");
    SteadyClock::time_point now = SteadyClock::now();
    SignalsHeld from_loading;  // signals are the main thread's; the loading thread starts here
    absl::StatusOr<size_t> count =
        parts_.generator.NextBatch(buyers.subspan(filled), std::span(ids_).subspan(filled),
                                   std::min(give_up, now + kProgressPeriod));
    if (count.ok()) {
      filled += *count;
      if (*count > 0) give_up = now + kPatience;
      continue;
    }
    if (!absl::IsDeadlineExceeded(count.status()) || now >= give_up) {
      return NoOrderId(count.status(), filled);
    }
    parts_.progress.Show(assigned_ + rejected_, bytes_read_, "waiting for the store");
  }
  return absl::OkStatus();
}

absl::Status OrderAssigner::NoOrderId(const absl::Status& status, size_t index) const {
  std::string text(status.message());
  if (absl::IsOutOfRange(status)) {
    static_assert(OrderId::kMaxNarrowSequence == (uint64_t{1} << 47) - 1, "the text says so");
    text = absl::StrCat("the sequences of vnode ", ShardGene::Of(batch_.buyers()[index]).value(),
                        " are used up: 2^47 - 1 is the last of a 64-bit order ID (space ",
                        parts_.space.str(), ")");
  } else if (text.empty()) {
    text = absl::StrCat("the generator returned ", absl::StatusCodeToString(status.code()));
  }
  return absl::Status(status.code(),
                      absl::StrCat("no order ID after ", assigned_ + index, " rows: ", text));
}

absl::Status OrderAssigner::FillNumbers() {
  std::span<const OrderId> ids = std::span(ids_).first(batch_.rows().size());
  if (!parts_.ff1) {
    return parts_.codec.EncodeBatch(ids, std::span(numbers_).first(ids.size()));
  }
  numbers64_.clear();
  for (const OrderId& id : ids) {
    LOCUS_ASSIGN_OR_RETURN(OrderNo64 number, parts_.codec.EncodeFf1(id, parts_.codec.active()));
    numbers64_.push_back(number);
  }
  return absl::OkStatus();
}

void OrderAssigner::WriteRow(size_t row) {
  auto [bytes, ending] = batch_.rows()[row];
  ShardColumn& shard = ColumnOf(ids_[row]);
  ++shard.orders;
  size_t size = bytes.size() + kMaxIdAndNumber + shard.text.size() + ending.size();
  if (size > ByteSink::kBlock / 4) {  // rare: a record larger than the sink's buffer
    parts_.out.Append(bytes);
    bytes.remove_prefix(bytes.size());
    size = kMaxIdAndNumber + shard.text.size() + ending.size();
  }
  char* begin = parts_.out.Reserve(size);
  char* out = Copy(bytes, begin);
  *out++ = ',';
  out = FormatId(ids_[row], out);
  *out++ = ',';
  out = FormatNumber(row, out);
  out = Copy(shard.text, out);
  out = Copy(ending, out);
  parts_.out.Written(static_cast<size_t>(out - begin));
}

char* OrderAssigner::FormatNumber(size_t row, char* out) const {
  if (parts_.ff1) return std::to_chars(out, out + 20, numbers64_[row].ToInt64()).ptr;
  numbers_[row].Format(out);
  return out + OrderNo::kTextLength;
}

OrderAssigner::ShardColumn& OrderAssigner::ColumnOf(const OrderId& id) {
  const RoutedShard& shard = parts_.router.Route(id);
  ShardColumn& column = shards_[&shard];
  if (column.text.empty()) {
    column.text += ',';
    csv::AppendField(shard.name, column.text);
  }
  return column;
}

OrderAssigner::Tally OrderAssigner::tally() const {
  Tally tally{assigned_, rejected_, {}};
  for (const auto& [shard, column] : shards_) {
    tally.per_shard.emplace_back(shard->name, column.orders);
  }
  std::sort(tally.per_shard.begin(), tally.per_shard.end());
  return tally;
}

}  // namespace locus::cli
