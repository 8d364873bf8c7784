// SPDX-License-Identifier: Apache-2.0
// Genes, order IDs, UUIDs.
#include "apps/c_api/call.h"
#include "locus/shard_gene.h"
#include "locus/uuid.h"

using locus::BuyerKey;
using locus::OrderId;
using locus::ShardGene;
using locus::Uuid;
using namespace locus::c_api;

namespace {

std::string_view View(const void* bytes, size_t length) {
  return bytes == nullptr ? std::string_view()
                          : std::string_view(static_cast<const char*>(bytes), length);
}

}  // namespace

uint16_t locus_gene_of_uint64(uint64_t buyer) {
  return ShardGene::Of(BuyerKey::Uint64(buyer)).value();
}

uint16_t locus_gene_of_text(const char* buyer, size_t length) {
  return ShardGene::Of(BuyerKey::Text(View(buyer, length))).value();
}

locus_code locus_order_id_make(uint16_t gene, uint64_t sequence, locus_order_id* id,
                               locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_ASSIGN_OR_RETURN(OrderId made, OrderId::FromParts(ShardGene::FromUint16(gene), sequence));
    *id = WordsOf(made);
    return absl::OkStatus();
  });
}

locus_code locus_order_id_parse(const char* text, size_t length, locus_order_id* id,
                                locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("text", text));
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_ASSIGN_OR_RETURN(OrderId parsed, OrderId::Parse(View(text, length)));
    *id = WordsOf(parsed);
    return absl::OkStatus();
  });
}

locus_code locus_order_id_from_bytes(const void* bytes, size_t length, locus_order_id* id,
                                     locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("bytes", bytes));
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_ASSIGN_OR_RETURN(OrderId read, OrderId::FromBytes(View(bytes, length)));
    *id = WordsOf(read);
    return absl::OkStatus();
  });
}

locus_code locus_order_id_text(const locus_order_id* id, char text[LOCUS_ORDER_ID_TEXT_BYTES],
                               locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_RETURN_IF_ERROR(NotNull("text", text));
    LOCUS_ASSIGN_OR_RETURN(OrderId of, IdOf(*id));
    const std::string written = of.ToString();
    LOCUS_CHECK(written.size() < LOCUS_ORDER_ID_TEXT_BYTES);
    std::memcpy(text, written.c_str(), written.size() + 1);
    return absl::OkStatus();
  });
}

locus_code locus_order_id_bytes(const locus_order_id* id, uint8_t bytes[LOCUS_ORDER_ID_BYTES],
                                size_t* length, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_RETURN_IF_ERROR(NotNull("bytes", bytes));
    LOCUS_RETURN_IF_ERROR(NotNull("length", length));
    LOCUS_ASSIGN_OR_RETURN(OrderId of, IdOf(*id));
    const std::string written = of.ToBytes();
    std::memcpy(bytes, written.data(), written.size());
    *length = written.size();
    return absl::OkStatus();
  });
}

locus_code locus_order_id_split(const locus_order_id* id, locus_order_id_parts* parts,
                                locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_RETURN_IF_ERROR(NotNull("parts", parts));
    LOCUS_ASSIGN_OR_RETURN(OrderId of, IdOf(*id));
    *parts = {of.gene().value(), static_cast<uint16_t>(of.cohort()),
              static_cast<uint32_t>(of.width()), of.sequence()};
    return absl::OkStatus();
  });
}

locus_code locus_uuid_v7(uint8_t bytes[LOCUS_UUID_BYTES], locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("bytes", bytes));
    LOCUS_ASSIGN_OR_RETURN(Uuid uuid, Uuid::NewV7());
    std::memcpy(bytes, uuid.ToBytes().data(), LOCUS_UUID_BYTES);
    return absl::OkStatus();
  });
}
