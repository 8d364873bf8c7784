// SPDX-License-Identifier: Apache-2.0
// order_nos.
#include <algorithm>
#include <vector>

#include "apps/c_api/call.h"
#include "locus/key_ring.h"
#include "locus/order_no_codec.h"

using locus::KeyRing;
using locus::KeyVersion;
using locus::OrderId;
using locus::OrderNo;
using locus::OrderNo64;
using locus::OrderNoCodec;
using locus::SpaceName;
using namespace locus::c_api;

struct locus_codec {
  OrderNoCodec numbers;
};

locus_code locus_order_no_parse(const char* text, size_t length, locus_order_no* number,
                                locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("text", text));
    LOCUS_RETURN_IF_ERROR(NotNull("number", number));
    LOCUS_ASSIGN_OR_RETURN(OrderNo parsed, OrderNo::Parse(std::string_view(text, length)));
    *number = WordsOf(parsed);
    return absl::OkStatus();
  });
}

locus_code locus_order_no_from_bytes(const void* bytes, size_t length, locus_order_no* number,
                                     locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    const char* const first = static_cast<const char*>(bytes);
    LOCUS_RETURN_IF_ERROR(NotNull("bytes", first));
    LOCUS_RETURN_IF_ERROR(NotNull("number", number));
    LOCUS_ASSIGN_OR_RETURN(OrderNo read, OrderNo::FromBytes(std::string_view(first, length)));
    *number = WordsOf(read);
    return absl::OkStatus();
  });
}

locus_code locus_order_no_text(const locus_order_no* number, char text[LOCUS_ORDER_NO_TEXT_BYTES],
                               locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("number", number));
    LOCUS_RETURN_IF_ERROR(NotNull("text", text));
    LOCUS_ASSIGN_OR_RETURN(OrderNo of, NumberOf(*number));
    of.Format(text);
    text[OrderNo::kTextLength] = '\0';
    return absl::OkStatus();
  });
}

locus_code locus_order_no_bytes(const locus_order_no* number, uint8_t bytes[LOCUS_ORDER_NO_BYTES],
                                locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("number", number));
    LOCUS_RETURN_IF_ERROR(NotNull("bytes", bytes));
    LOCUS_ASSIGN_OR_RETURN(OrderNo of, NumberOf(*number));
    std::memcpy(bytes, of.ToBytes().data(), LOCUS_ORDER_NO_BYTES);
    return absl::OkStatus();
  });
}

locus_code locus_order_no_gene(const locus_order_no* number, uint16_t* gene, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("number", number));
    LOCUS_RETURN_IF_ERROR(NotNull("gene", gene));
    LOCUS_ASSIGN_OR_RETURN(OrderNo of, NumberOf(*number));
    *gene = of.gene().value();
    return absl::OkStatus();
  });
}

locus_code locus_codec_open(const char* key_file, const char* space, locus_codec** codec,
                            locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("key_file", key_file));
    LOCUS_RETURN_IF_ERROR(NotNull("codec", codec));
    LOCUS_ASSIGN_OR_RETURN(SpaceName name, SpaceOf(space));
    LOCUS_ASSIGN_OR_RETURN(KeyRing ring, KeyRing::Load(key_file));
    LOCUS_ASSIGN_OR_RETURN(OrderNoCodec numbers, OrderNoCodec::Create(ring, name));
    *codec = new locus_codec{std::move(numbers)};
    return absl::OkStatus();
  });
}

locus_code locus_codec_encode(const locus_codec* codec, const locus_order_id* ids, size_t count,
                              locus_order_no* numbers, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("codec", codec));
    LOCUS_RETURN_IF_ERROR(NotNull("ids", ids));
    LOCUS_RETURN_IF_ERROR(NotNull("numbers", numbers));
    std::vector<OrderId> of(count);
    for (size_t i = 0; i < count; ++i) {
      LOCUS_ASSIGN_OR_RETURN(of[i], IdOf(ids[i]));
    }
    std::vector<OrderNo> made(count);
    LOCUS_RETURN_IF_ERROR(codec->numbers.EncodeBatch(of, made));
    for (size_t i = 0; i < count; ++i) numbers[i] = WordsOf(made[i]);
    return absl::OkStatus();
  });
}

locus_code locus_codec_decode(const locus_codec* codec, const locus_order_no* number,
                              locus_order_id* id, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("codec", codec));
    LOCUS_RETURN_IF_ERROR(NotNull("number", number));
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_ASSIGN_OR_RETURN(OrderNo of, NumberOf(*number));
    LOCUS_ASSIGN_OR_RETURN(OrderId decoded, codec->numbers.Decode(of));
    *id = WordsOf(decoded);
    return absl::OkStatus();
  });
}

locus_code locus_codec_active_version(const locus_codec* codec, uint8_t* version,
                                      locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("codec", codec));
    LOCUS_RETURN_IF_ERROR(NotNull("version", version));
    *version = codec->numbers.active().value();
    return absl::OkStatus();
  });
}

locus_code locus_codec_encode_ff1(const locus_codec* codec, const locus_order_id* ids, size_t count,
                                  uint8_t version, int64_t* numbers, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("codec", codec));
    LOCUS_RETURN_IF_ERROR(NotNull("ids", ids));
    LOCUS_RETURN_IF_ERROR(NotNull("numbers", numbers));
    LOCUS_ASSIGN_OR_RETURN(const KeyVersion of, KeyVersion::FromInt(version));
    std::vector<int64_t> made(count);
    for (size_t i = 0; i < count; ++i) {
      LOCUS_ASSIGN_OR_RETURN(const OrderId id, IdOf(ids[i]));
      LOCUS_ASSIGN_OR_RETURN(const OrderNo64 number, codec->numbers.EncodeFf1(id, of));
      made[i] = number.ToInt64();
    }
    std::copy(made.begin(), made.end(), numbers);
    return absl::OkStatus();
  });
}

locus_code locus_codec_decode_ff1(const locus_codec* codec, int64_t number, uint8_t version,
                                  locus_order_id* id, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("codec", codec));
    LOCUS_RETURN_IF_ERROR(NotNull("id", id));
    LOCUS_ASSIGN_OR_RETURN(const KeyVersion of, KeyVersion::FromInt(version));
    LOCUS_ASSIGN_OR_RETURN(const OrderNo64 read, OrderNo64::FromInt64(number));
    LOCUS_ASSIGN_OR_RETURN(const OrderId decoded, codec->numbers.DecodeFf1(read, of));
    *id = WordsOf(decoded);
    return absl::OkStatus();
  });
}

void locus_codec_close(locus_codec* codec) { delete codec; }
