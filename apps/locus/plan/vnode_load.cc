// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/plan/vnode_load.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/io/csv.h"
#include "locus/shard_gene.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ParseDecimal;
using internal::Quoted;

namespace {

std::optional<double> ParseLoad(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !std::isfinite(value) || std::signbit(value)) return std::nullopt;
  return value;
}

class LoadRows {
 public:
  absl::Status Add(const csv::Record& record) {
    if (record.bytes.empty()) return absl::OkStatus();
    bool first = std::exchange(first_, false);
    if (first && record.bytes == kVnodeLoadHeader) return absl::OkStatus();
    if (record.field_ends.size() != 2) {
      return Refuse(record,
                    absl::StrCat("has ", record.field_ends.size(), " fields, not two: vnode,load"));
    }
    std::optional<uint64_t> vnode = ParseDecimal(record.field(0), ShardGene::kCount - 1);
    if (!vnode) {
      return Refuse(record, absl::StrCat("vnode ", Quoted(record.field(0)), " is not 0..65535"));
    }
    std::optional<double> load = ParseLoad(record.field(1));
    if (!load) {
      return Refuse(record, absl::StrCat("load ", Quoted(record.field(1)),
                                         " is not a finite number from 0 on"));
    }
    if (lines_[*vnode] != 0) {
      return Refuse(record, absl::StrCat("vnode ", *vnode, " has its load on line ", lines_[*vnode],
                                         " already"));
    }
    lines_[*vnode] = record.line;
    load_[*vnode] = *load;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<double>> Take() {
    if (std::ranges::any_of(load_, [](double load) { return load > 0; })) return std::move(load_);
    return absl::InvalidArgumentError("no vnode has any load");
  }

 private:
  static absl::Status Refuse(const csv::Record& record, const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat("line ", record.line, ": ", why));
  }

  bool first_ = true;
  std::vector<double> load_ = std::vector<double>(ShardGene::kCount);
  std::vector<uint64_t> lines_ = std::vector<uint64_t>(ShardGene::kCount);  // 0: not named yet
};

absl::StatusOr<std::vector<double>> ReadRows(ByteSource& in) {
  csv::RecordSplitter splitter(4096);
  csv::Record record;
  LoadRows rows;
  for (;;) {
    LOCUS_ASSIGN_OR_RETURN(csv::RecordSplitter::Step step, splitter.Next(record));
    if (step == csv::RecordSplitter::Step::kEnd) return rows.Take();
    if (step == csv::RecordSplitter::Step::kRecord) {
      LOCUS_RETURN_IF_ERROR(rows.Add(record));
      continue;
    }
    LOCUS_ASSIGN_OR_RETURN(size_t count, in.Read(splitter.Room()));
    count == 0 ? splitter.Finish() : splitter.Filled(count);
  }
}

}  // namespace

absl::StatusOr<std::vector<double>> ReadVnodeLoad(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(ByteSource in, ByteSource::Open(path));
  absl::StatusOr<std::vector<double>> load = ReadRows(in);
  if (!absl::IsInvalidArgument(load.status())) return load;
  return absl::InvalidArgumentError(
      absl::StrCat(path == "-" ? "stdin" : path, ": ", load.status().message()));
}

}  // namespace locus::cli
