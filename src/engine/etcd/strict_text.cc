// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/strict_text.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::etcd {

using internal::Quoted;

std::string StrictSet::Text() const {
  return absl::StrCat("1 ", mark, " ", TextOf(static_cast<const Life&>(*this)), " ",
                      options.first_uid, " ", options.uids, " ", options.section_size, " ",
                      options.step, " ", absl::ToInt64Milliseconds(options.ttl), " ", table_version,
                      " ", absl::ToUnixMillis(rest_until), " ", losses, " ", base);
}

absl::StatusOr<StrictSet> StrictSet::Parse(std::string_view text) {
  Words words(text);
  const std::string_view schema = words.Next();
  if (internal::ParseDecimal(schema, UINT64_MAX).has_value() && schema != "1") {
    return absl::FailedPreconditionError(
        absl::StrCat("holds a set of strict sequences of schema version ", Quoted(schema),
                     "; this version of locus supports 1"));
  }
  StrictSet set;
  set.mark = std::string(words.Mark());
  ReadLife(words, set);
  set.options.first_uid = words.Number();
  set.options.uids = words.Number();
  set.options.section_size = static_cast<uint32_t>(words.Number(UINT32_MAX));
  set.options.step = words.Number();
  set.options.ttl = absl::Milliseconds(words.Number(UINT32_MAX));
  set.table_version = words.Number();
  set.rest_until = words.Millis();
  set.losses = words.Number();
  set.base = words.Number();
  // Writing it again gives the text that was read, since transactions compare texts.
  const bool exact = words.good() && set.options.Check().ok() && set.Text() == text;
  if (exact) return set;
  return absl::DataLossError(
      absl::StrCat("holds a set of strict sequences ", Quoted(text), ", which cannot be"));
}

std::string TextOf(const strict::Record& record) {
  return absl::StrCat(record.max_seq, " ", record.start, " ", record.token, " ",
                      absl::ToUnixMillis(record.ends_at), " ", record.owner.instance, " =",
                      record.owner.name, " =", record.successor, " =", record.owner.address);
}

absl::StatusOr<strict::Record> StrictRecordOf(std::string_view text) {
  Words words(text);
  strict::Record record;
  record.max_seq = words.Number();
  record.start = words.Number();
  record.token = words.Number();
  record.ends_at = words.Millis();
  record.owner.instance = words.Number(UINT64_MAX);
  record.owner.name = std::string(words.Name());
  record.successor = std::string(words.Name());
  record.owner.address = std::string(words.Name());
  if (words.good() && TextOf(record) == text && strict::CheckRecord(record).ok()) return record;
  return absl::DataLossError(
      absl::StrCat("holds a section of strict sequences ", Quoted(text), ", which cannot be"));
}

}  // namespace locus::etcd
