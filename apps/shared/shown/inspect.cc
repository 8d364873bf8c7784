// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/shown/inspect.h"

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::apps {
namespace {

using Json = nlohmann::ordered_json;

// Writes the known fields of one order and leaves out the others.
class Inspector {
 public:
  explicit Inspector(const InspectWith& with)
      : codec_(with.codec),
        table_(with.table),
        space_(with.space),
        scheme64_(with.scheme64),
        version64_(with.version64) {}
  absl::Status InspectInto(std::string_view value, Json& json) const;
  absl::Status InspectOrderNo64(std::string_view value, Json& json) const;
  absl::Status InspectOrderNo(const OrderNo& number, Json& json) const;
  absl::Status InspectOrderId(const OrderId& id, Json& json) const;
  void AddShard(const OrderId& id, Json& json) const;
  void AddShards(ShardGene gene, Json& json) const;

 private:
  const OrderNoCodec* const codec_;
  const RoutingTable* const table_;
  const SpaceName& space_;
  const std::optional<Scheme> scheme64_;
  const std::optional<KeyVersion> version64_;
};

void Begin(std::string_view kind, int width, ShardGene gene, Json& json) {
  json["kind"] = kind;
  json["width"] = width;
  json["gene"] = gene.value();
}

// Kinds differ by length and, at 128 bits, by format.
absl::Status Inspector::InspectInto(std::string_view given, Json& json) const {
  const std::string value = Unspaced(given);
  if (value.size() == OrderNo::kTextLength) {
    LOCUS_ASSIGN_OR_RETURN(OrderNo number, OrderNo::Parse(value));
    return InspectOrderNo(number, json);
  }
  if (value.size() == 2 * OrderNo::kBytes) {
    absl::StatusOr<OrderId> wide = OrderId::Parse(value);
    if (wide.ok()) return InspectOrderId(*wide, json);
    // Where the format is a wide order ID's, only the order ID's error says what is wrong.
    std::optional<absl::uint128> bits = internal::ParseHex(value);
    if (bits && (absl::Uint128High64(*bits) >> 43 & 0xF) == 0xF) return wide.status();
    LOCUS_ASSIGN_OR_RETURN(OrderNo number, OrderNo::Parse(value));
    return InspectOrderNo(number, json);
  }
  if (value.find_first_not_of("0123456789") != std::string::npos) return NotOfALength(value);
  if (scheme64_) return InspectOrderNo64(value, json);
  LOCUS_ASSIGN_OR_RETURN(OrderId id, OrderId::Parse(value));
  return InspectOrderId(id, json);
}

absl::Status Inspector::InspectOrderNo64(std::string_view value, Json& json) const {
  LOCUS_ASSIGN_OR_RETURN(OrderNo64 number, OrderNo64::Parse(value));
  Begin("order_no", 64, number.gene(), json);
  std::optional<OrderId> id;
  std::optional<KeyVersion> version = version64_;
  if (codec_) {
    version = version.value_or(codec_->active());
    LOCUS_ASSIGN_OR_RETURN(id, *scheme64_ == Scheme::kFf1 ? codec_->DecodeFf1(number, *version)
                                                          : codec_->DecodeCtr64(number, *version));
    json["cohort"] = id->cohort();
  }
  if (version) json["key_version"] = version->value();
  if (id) {
    json["sequence"] = absl::StrCat(id->sequence());
    json["order_id"] = id->ToString();
  }
  json["order_no"] = number.ToString();
  id ? AddShard(*id, json) : AddShards(number.gene(), json);
  return absl::OkStatus();
}

absl::Status Inspector::InspectOrderNo(const OrderNo& number, Json& json) const {
  std::optional<OrderId> id;
  if (codec_) {
    LOCUS_ASSIGN_OR_RETURN(id, DecodeOrderNo(*codec_, space_, number));
  }
  Begin("order_no", number.is_wide() ? 128 : 64, number.gene(), json);
  if (id) json["cohort"] = id->cohort();
  json["key_version"] = number.key_version().value();
  if (id) {
    json["sequence"] = absl::StrCat(id->sequence());
    json["order_id"] = id->ToString();
  }
  json["order_no"] = number.ToString();
  id ? AddShard(*id, json) : AddShards(number.gene(), json);
  return absl::OkStatus();
}

absl::Status Inspector::InspectOrderId(const OrderId& id, Json& json) const {
  Begin("order_id", id.width(), id.gene(), json);
  json["cohort"] = id.cohort();
  if (codec_) json["key_version"] = codec_->active().value();
  json["sequence"] = absl::StrCat(id.sequence());
  json["order_id"] = id.ToString();
  if (codec_) {
    LOCUS_ASSIGN_OR_RETURN(OrderNo number, codec_->Encode(id));
    json["order_no"] = number.ToString();
  }
  AddShard(id, json);
  return absl::OkStatus();
}

void Inspector::AddShard(const OrderId& id, Json& json) const {
  if (!table_) return;
  const VnodeMove* move = table_->MoveOf(id.gene());
  bool moved = move != nullptr && id.cohort() < move->permyriad;
  json["shard"] = moved ? table_->FindShard(move->to)->name : table_->OwnerOf(id.gene()).name;
}

// Without the cohort an order of a moving vnode may be on either shard, unless all or nothing of
// the vnode has moved.
void Inspector::AddShards(ShardGene gene, Json& json) const {
  if (!table_) return;
  const VnodeMove* move = table_->MoveOf(gene);
  bool all_moved = move != nullptr && move->permyriad == RoutingTable::kMaxPermyriad;
  json["shard"] = all_moved ? table_->FindShard(move->to)->name : table_->OwnerOf(gene).name;
  if (move != nullptr && move->permyriad > 0 && !all_moved) {
    json["target"] = table_->FindShard(move->to)->name;
  }
}

}  // namespace

absl::StatusOr<std::string> InspectAsJson(std::string_view value, const InspectWith& with) {
  Json json;
  LOCUS_RETURN_IF_ERROR(Inspector(with).InspectInto(value, json));
  return json.dump();
}

std::string InspectGeneAsJson(ShardGene gene, const RoutingTable* table) {
  Json json;
  json["kind"] = "gene";
  json["gene"] = gene.value();
  Inspector({.table = table}).AddShards(gene, json);
  const VnodeMove* move = table == nullptr ? nullptr : table->MoveOf(gene);
  if (move != nullptr) json["permyriad"] = move->permyriad;
  return json.dump();
}

}  // namespace locus::apps
