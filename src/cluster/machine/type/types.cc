// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/type/types.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::type_machine {

using internal::ByteReader;
using internal::ByteWriter;

void Put(ByteWriter& writer, const Call& call) {
  writer.Text(call.name);
  writer.Number(call.expected);
  writer.Byte(call.next.has_value());
  if (!call.next) return;
  writer.Number(call.next->version);
  writer.Text(call.next->text);
}

Call GetCall(ByteReader& reader) {
  const size_t place = reader.at();
  Call call;
  call.name = reader.Text(kLongestName, "a rule's name");
  call.expected = reader.Number();
  if (reader.Flag()) {
    Rule& next = call.next.emplace();
    next.version = reader.Number();
    next.text = reader.Text(kLongestText, "a rule");
  }
  if (!reader.ok()) return call;
  const absl::Status status = Check(call);
  if (!status.ok()) reader.Fail(place, absl::StrCat("a call that cannot be: ", status.message()));
  return call;
}

void Put(ByteWriter& writer, const Reply& reply) { writer.Byte(reply.done); }

Reply GetReply(ByteReader& reader) { return {reader.Flag()}; }

absl::StatusOr<Reply> Rules::Apply(const Call& call, bool& changed) {
  changed = false;
  LOCUS_RETURN_IF_ERROR(Check(call));
  const auto known = rules_.find(call.name);
  const uint64_t version = known == rules_.end() ? 0 : known->second.version;
  if (version != call.expected) return Reply{false};
  if (!call.next) {
    changed = known != rules_.end();
    if (changed) rules_.erase(known);
    return Reply{true};
  }
  if (known == rules_.end() && rules_.size() >= kMostTypes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the cluster has ", kMostTypes,
                     " rules of sequences, dropped ones included, which is the most"));
  }
  rules_[call.name] = *call.next;
  changed = true;
  return Reply{true};
}

void Rules::Put(ByteWriter& writer) const {
  writer.Size(rules_.size());
  for (const auto& [name, rule] : rules_) {
    writer.Text(name);
    writer.Number(rule.version);
    writer.Text(rule.text);
  }
}

void Rules::Get(ByteReader& reader) {
  const size_t count = reader.Size(kMostTypes, "rules of sequences");
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const size_t place = reader.at();
    Call call;
    call.name = reader.Text(kLongestName, "a rule's name");
    Rule& rule = call.next.emplace();
    rule.version = reader.Number();
    rule.text = reader.Text(kLongestText, "a rule");
    if (!reader.ok()) return;
    if (!Check(call).ok() || (!rules_.empty() && !(rules_.rbegin()->first < call.name))) {
      return reader.Fail(place, "a rule that cannot be, or is not after the one before");
    }
    rules_.emplace_hint(rules_.end(), std::move(call.name), *std::move(call.next));
  }
}

}  // namespace locus::type_machine
