// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/space_record.h"

#include <algorithm>
#include <boost/json.hpp>
#include <boost/system/error_code.hpp>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/segment/rules.h"

namespace locus::etcd {

using internal::HexOf;
using internal::LoadBigEndian64;
using internal::ParseDecimal;
using internal::Quoted;
using internal::StoreBigEndian64;

namespace {

namespace json = boost::json;

constexpr uint64_t kSchema = 1;
constexpr uint32_t kMostGroups = 32;
constexpr size_t kMarkBytes = 16;
constexpr size_t kRowBytes = 16;
constexpr uint64_t kMostNs = std::numeric_limits<int64_t>::max();

std::string RandomBytes() {
  std::random_device random;
  std::string bytes;
  while (bytes.size() < kMarkBytes) {
    uint32_t word = random();
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return bytes;
}

absl::Status CannotBe(std::string_view text) {
  return absl::DataLossError(absl::StrCat("holds a space ", Quoted(text), ", which cannot be"));
}

// The members of a record, each a string.
class Members {
 public:
  explicit Members(const json::object& object) : object_(object) {}

  std::string_view Text(std::string_view name) const {
    const json::value* value = object_.if_contains({name.data(), name.size()});
    if (value == nullptr || !value->is_string()) return {};
    return {value->as_string().data(), value->as_string().size()};
  }
  uint64_t Number(std::string_view name, uint64_t max = kMostNs) {
    std::optional<uint64_t> number = ParseDecimal(Text(name), max);
    good_ &= number.has_value();
    return number.value_or(0);
  }
  int64_t SignedNumber(std::string_view name) {
    std::string_view text = Text(name);
    bool negative = !text.empty() && text.front() == '-';
    std::optional<uint64_t> number = ParseDecimal(text.substr(negative ? 1 : 0), kMostNs);
    good_ &= number.has_value();
    auto value = static_cast<int64_t>(number.value_or(0));
    return negative ? -value : value;
  }
  bool good() const { return good_; }

 private:
  const json::object& object_;
  bool good_ = true;
};

}  // namespace

void SpaceRecord::NoteLoss(absl::Time now, const ClusterIdentity& found) {
  segment::NoteLoss(*this, now);
  BeginLife(now, found);
}

void Life::BeginLife(absl::Time now, const ClusterIdentity& found) {
  raised_at = now;
  identity = found;
  life = RandomMark();
}

std::string TextOf(const Life& life) {
  return absl::StrCat(absl::ToUnixNanos(life.raised_at), " ", life.identity.cluster_id, " ",
                      life.identity.surplus, " ", life.life);
}

void ReadLife(Words& words, Life& life) {
  life.raised_at = absl::FromUnixNanos(static_cast<int64_t>(words.Number()));
  life.identity.cluster_id = words.Number(std::numeric_limits<uint64_t>::max());
  life.identity.surplus = words.SignedNumber();
  life.life = std::string(words.Mark());
}

std::string RandomMark() { return HexOf(RandomBytes()); }

std::string SpaceRecord::Text() const {
  std::string text = absl::StrCat(R"({"schema":")", kSchema);
  auto add = [&](const char* name, auto value) {
    absl::StrAppend(&text, R"(",")", name, R"(":")", value);
  };
  add("section_size", options.section_size);
  add("floor_epoch_ns", absl::ToUnixNanos(options.floor_epoch));
  add("floor_rate", options.floor_rate);
  add("max_lead", options.max_lead);
  add("base", base);
  add("losses", losses);
  add("raised_at_ns", absl::ToUnixNanos(raised_at));
  add("cluster", identity.cluster_id);
  add("surplus", identity.surplus);
  add("life", life);
  return text + "\"}";
}

absl::StatusOr<SpaceRecord> SpaceRecord::Parse(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return CannotBe(text);
  Members members(value.as_object());
  uint64_t schema = members.Number("schema");
  if (!members.good()) return CannotBe(text);
  if (schema != kSchema) {
    return absl::FailedPreconditionError(absl::StrCat(
        "holds a space of schema version ", schema, "; this version of locus supports ", kSchema));
  }
  SpaceRecord record;
  record.options.section_size = static_cast<uint32_t>(members.Number("section_size", UINT32_MAX));
  record.options.floor_epoch =
      absl::FromUnixNanos(static_cast<int64_t>(members.Number("floor_epoch_ns")));
  record.options.floor_rate = members.Number("floor_rate");
  record.options.max_lead = members.Number("max_lead");
  record.base = members.Number("base", segment_rules::kEndOfSequences);
  record.losses = members.Number("losses");
  record.raised_at = absl::FromUnixNanos(static_cast<int64_t>(members.Number("raised_at_ns")));
  record.identity.cluster_id = members.Number("cluster", std::numeric_limits<uint64_t>::max());
  record.identity.surplus = members.SignedNumber("surplus");
  record.life = std::string(members.Text("life"));
  // Writing it again must give the text that was read, since transactions compare texts.
  bool exact = members.good() && segment_rules::CheckOptions(record.options).ok() &&
               record.life.size() == 32 && record.Text() == text;
  if (!exact) return CannotBe(text);
  return record;
}

uint32_t SectionsPerGroup(const SpaceOptions& options) {
  return std::max<uint32_t>(1, segment_rules::SectionsOf(options) / kMostGroups);
}

void SectionGroup::Renew() {
  mark = RandomBytes();
  mark[0] = static_cast<char>(mark[0] & 0x7F);  // never all 0xFF
}

std::string SectionGroup::Text() const {
  std::string text = mark;
  text.resize(kMarkBytes + rows.size() * kRowBytes);
  for (size_t i = 0; i < rows.size(); ++i) {
    char* row = &text[kMarkBytes + i * kRowBytes];
    StoreBigEndian64(rows[i].head, row);
    StoreBigEndian64(static_cast<uint64_t>(absl::ToUnixNanos(rows[i].granted_at)), row + 8);
  }
  return text;
}

absl::StatusOr<SectionGroup> SectionGroup::Parse(std::string_view text, uint32_t count) {
  SectionGroup group;
  group.rows.resize(count);
  if (text.empty()) return group;
  if (text.size() != kMarkBytes + count * kRowBytes) {
    return absl::DataLossError(absl::StrCat("holds ", text.size(), " bytes for ", count,
                                            " sections, which have ",
                                            kMarkBytes + count * kRowBytes));
  }
  group.mark = std::string(text.substr(0, kMarkBytes));
  if (static_cast<unsigned char>(group.mark[0]) > 0x7F) {
    return absl::DataLossError("holds sections with a mark that cannot be");
  }
  for (size_t i = 0; i < count; ++i) {
    const char* row = &text[kMarkBytes + i * kRowBytes];
    uint64_t head = LoadBigEndian64(row), ns = LoadBigEndian64(row + 8);
    if (head > segment_rules::kEndOfSequences || head % segment_rules::kUnit != 0 || ns > kMostNs) {
      return absl::DataLossError(
          absl::StrCat("holds head ", head, " and time ", ns, " of a section, which cannot be"));
    }
    group.rows[i] = {head, absl::FromUnixNanos(static_cast<int64_t>(ns))};
  }
  return group;
}

}  // namespace locus::etcd
