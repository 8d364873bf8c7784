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
  call.name = reader.Text(kLongestName, "a sequence type's name");
  call.expected = reader.Number();
  if (reader.Flag()) {
    Type& next = call.next.emplace();
    next.version = reader.Number();
    next.text = reader.Text(kLongestText, "a sequence type");
  }
  if (!reader.ok()) return call;
  const absl::Status status = Check(call);
  if (!status.ok()) reader.Fail(place, absl::StrCat("a call that cannot be: ", status.message()));
  return call;
}

void Put(ByteWriter& writer, const Reply& reply) { writer.Byte(reply.done); }

Reply GetReply(ByteReader& reader) { return {reader.Flag()}; }

absl::StatusOr<Reply> Types::Apply(const Call& call, bool& changed) {
  changed = false;
  LOCUS_RETURN_IF_ERROR(Check(call));
  const auto known = types_.find(call.name);
  const uint64_t version = known == types_.end() ? 0 : known->second.version;
  if (version != call.expected) return Reply{false};
  if (!call.next) {
    changed = known != types_.end();
    if (changed) types_.erase(known);
    return Reply{true};
  }
  if (known == types_.end() && types_.size() >= kMostTypes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the cluster has ", kMostTypes,
                     " sequence types, dropped ones included, which is the most"));
  }
  types_[call.name] = *call.next;
  changed = true;
  return Reply{true};
}

void Types::Put(ByteWriter& writer) const {
  writer.Size(types_.size());
  for (const auto& [name, type] : types_) {
    writer.Text(name);
    writer.Number(type.version);
    writer.Text(type.text);
  }
}

void Types::Get(ByteReader& reader) {
  const size_t count = reader.Size(kMostTypes, "sequence types");
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const size_t place = reader.at();
    Call call;
    call.name = reader.Text(kLongestName, "a sequence type's name");
    Type& type = call.next.emplace();
    type.version = reader.Number();
    type.text = reader.Text(kLongestText, "a sequence type");
    if (!reader.ok()) return;
    if (!Check(call).ok() || (!types_.empty() && !(types_.rbegin()->first < call.name))) {
      return reader.Fail(place, "an impossible sequence type, or one out of order");
    }
    types_.emplace_hint(types_.end(), std::move(call.name), *std::move(call.next));
  }
}

}  // namespace locus::type_machine
