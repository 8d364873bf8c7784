// SPDX-License-Identifier: Apache-2.0
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "apps/locus/id/codec_choice.h"
#include "apps/locus/line/values.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "locus/routing/routing_table.h"
#include "nlohmann/json.hpp"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::cli {
namespace {

using Json = nlohmann::ordered_json;

// Writes the known fields of one order and leaves out the others.
class Inspector {
 public:
  std::optional<OrderNoCodec> codec;
  SpaceName space;
  std::optional<RoutingTable> table;
  std::optional<Scheme> scheme64;       // what a decimal is; nullopt: an order ID
  std::optional<KeyVersion> version64;  // of such a decimal; nullopt: the active one

  absl::Status Inspect(std::string_view value, std::string& out) const {
    Json json;
    LOCUS_RETURN_IF_ERROR(InspectInto(value, json));
    out += json.dump();
    return absl::OkStatus();
  }

 private:
  absl::Status InspectInto(std::string_view value, Json& json) const;
  absl::Status InspectOrderNo64(std::string_view value, Json& json) const;
  absl::Status InspectOrderNo(const OrderNo& number, Json& json) const;
  absl::Status InspectOrderId(const OrderId& id, Json& json) const;
  void AddShard(const OrderId& id, Json& json) const;
  void AddShards(ShardGene gene, Json& json) const;
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
  if (scheme64) return InspectOrderNo64(value, json);
  LOCUS_ASSIGN_OR_RETURN(OrderId id, OrderId::Parse(value));
  return InspectOrderId(id, json);
}

absl::Status Inspector::InspectOrderNo64(std::string_view value, Json& json) const {
  LOCUS_ASSIGN_OR_RETURN(OrderNo64 number, OrderNo64::Parse(value));
  Begin("order_no", 64, number.gene(), json);
  std::optional<OrderId> id;
  std::optional<KeyVersion> version = version64;
  if (codec) {
    version = version.value_or(codec->active());
    LOCUS_ASSIGN_OR_RETURN(id, *scheme64 == Scheme::kFf1 ? codec->DecodeFf1(number, *version)
                                                         : codec->DecodeCtr64(number, *version));
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
  if (codec) {
    LOCUS_ASSIGN_OR_RETURN(id, DecodeOrderNo(*codec, space, number));
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
  if (codec) json["key_version"] = codec->active().value();
  json["sequence"] = absl::StrCat(id.sequence());
  json["order_id"] = id.ToString();
  if (codec) {
    LOCUS_ASSIGN_OR_RETURN(OrderNo number, codec->Encode(id));
    json["order_no"] = number.ToString();
  }
  AddShard(id, json);
  return absl::OkStatus();
}

void Inspector::AddShard(const OrderId& id, Json& json) const {
  if (!table) return;
  const VnodeMove* move = table->MoveOf(id.gene());
  bool moved = move != nullptr && id.cohort() < move->permyriad;
  json["shard"] = moved ? table->FindShard(move->to)->name : table->OwnerOf(id.gene()).name;
}

// Without the cohort an order of a moving vnode may be on either shard, unless all or nothing of
// the vnode has moved.
void Inspector::AddShards(ShardGene gene, Json& json) const {
  if (!table) return;
  const VnodeMove* move = table->MoveOf(gene);
  bool all_moved = move != nullptr && move->permyriad == RoutingTable::kMaxPermyriad;
  json["shard"] = all_moved ? table->FindShard(move->to)->name : table->OwnerOf(gene).name;
  if (move != nullptr && move->permyriad > 0 && !all_moved) {
    json["target"] = table->FindShard(move->to)->name;
  }
}

struct InspectLine {
  std::optional<std::string> table, keys, scheme;
  std::optional<KeyVersion> key_version;
  SpaceName space;
  std::vector<std::string> values;

  void DeclareOn(VerbLine& line) {
    TableOption(line, "--table FILE", &table, "The routing table, for shard and target")
        .Else("LOCUS_TABLE");
    line.File("--keys FILE", &keys, FileUse::kKeyRing,
              "The key ring file, to decode and encode order_nos")
        .Else("LOCUS_KEYS");
    SpaceOption(line, &space, "The space of the order_nos");
    line.Choice("--scheme", {"ff1", "ctr64"}, &scheme,
                "A decimal is an order_no of this form; without this option it is an order ID");
    line.Value("--key-version N", &key_version, ParseKeyVersion,
               "The key version of such an order_no, 0..127")
        .Default("the active one")
        .Needs("--scheme");
    line.Tail("VALUE", &values, VerbLine::WithoutAny::kReadsStdin,
              "Order IDs or order_nos; without any, one is read from each line of stdin");
  }
};

}  // namespace

int RunInspect(std::span<const std::string> words) {
  InspectLine line;
  VerbLine verb_line("inspect",
                     "Prints the fields of each order ID or order_no, one JSON object a line.",
                     "locus inspect --table table.json --keys keys.ring 2237160347336769");
  line.DeclareOn(verb_line);
  if (std::optional<int> exit = verb_line.Parse(words)) return *exit;
  Inspector inspector;
  if (line.scheme) inspector.scheme64 = SchemeOf(*line.scheme);
  inspector.version64 = line.key_version;
  inspector.space = line.space;
  if (line.keys) {
    absl::StatusOr<OrderNoCodec> codec = LoadCodec(*line.keys, line.space);
    if (!codec.ok()) return Fail("inspect", codec.status());
    inspector.codec = *std::move(codec);
  }
  if (line.table) {
    absl::StatusOr<RoutingTable> table = LoadTable(*line.table);
    if (!table.ok()) return Fail("inspect", table.status());
    inspector.table = *std::move(table);
  }
  return AnswerEach("inspect", line.values, [&](std::string_view value, std::string& out) {
    return inspector.Inspect(value, out);
  });
}

}  // namespace locus::cli
