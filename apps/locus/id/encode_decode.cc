// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "apps/locus/line/values.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/shared/shown/codec_choice.h"
#include "src/base/os/check.h"

namespace locus::cli {

using apps::DecodeOrderNo;
using apps::LoadCodec;
using apps::NotOfALength;
using apps::ParseKeyVersion;
using apps::Scheme;
using apps::SchemeOf;
using apps::Unspaced;

namespace {

// The options that encode and decode share.
struct CodecLine {
  std::string keys;
  SpaceName space;
  std::string scheme = "siv";
  std::optional<KeyVersion> key_version;
  std::vector<std::string> values;

  void DeclareOn(VerbLine& line, const std::string& values_help) {
    line.File("--keys FILE", &keys, FileUse::kKeyRing, "The key ring file")
        .Required()
        .Else("LOCUS_KEYS");
    SpaceOption(line, &space, "The space of the order_nos");
    line.Choice("--scheme", {"siv", "ff1", "ctr64"}, &scheme, "The form of the order_nos");
    line.Value("--key-version N", &key_version, ParseKeyVersion,
               "The key version, 0..127. A siv order_no contains its version; decode refuses "
               "another one")
        .Default("the active one");
    line.Tail("VALUE", &values, VerbLine::WithoutAny::kReadsStdin,
              values_help + "; without any, one is read from each line of stdin");
  }
};

// The same, with the keys loaded.
struct CodecChoice {
  OrderNoCodec codec;
  SpaceName space;
  Scheme scheme;
  std::optional<KeyVersion> version;  // as asked for

  KeyVersion version_or_active() const { return version.value_or(codec.active()); }
};

absl::StatusOr<CodecChoice> Load(const CodecLine& line) {
  LOCUS_ASSIGN_OR_RETURN(OrderNoCodec codec, LoadCodec(line.keys, line.space));
  return CodecChoice{std::move(codec), line.space, SchemeOf(line.scheme), line.key_version};
}

absl::Status Encode(const CodecChoice& choice, std::string_view value, std::string& out) {
  LOCUS_ASSIGN_OR_RETURN(OrderId id, OrderId::Parse(value));
  if (choice.scheme == Scheme::kSiv) {
    LOCUS_ASSIGN_OR_RETURN(OrderNo number, choice.codec.Encode(id, choice.version_or_active()));
    out += number.ToString();
    return absl::OkStatus();
  }
  auto encode = choice.scheme == Scheme::kFf1 ? &OrderNoCodec::EncodeFf1
                                              : &OrderNoCodec::EncodeCtr64ReusingKeystream;
  LOCUS_ASSIGN_OR_RETURN(OrderNo64 number, (choice.codec.*encode)(id, choice.version_or_active()));
  out += number.ToString();
  return absl::OkStatus();
}

absl::StatusOr<OrderNo> ParseSiv(const std::string& value) {
  bool fits = value.size() == OrderNo::kTextLength || value.size() == 2 * OrderNo::kBytes;
  if (!fits) return NotOfALength(value);
  return OrderNo::Parse(value);
}

absl::StatusOr<OrderId> DecodeSiv(const CodecChoice& choice, std::string_view value) {
  LOCUS_ASSIGN_OR_RETURN(OrderNo number, ParseSiv(Unspaced(value)));
  if (choice.version && number.key_version() != *choice.version) {
    return absl::InvalidArgumentError(absl::StrCat(
        number.ToString(), " has key version ", static_cast<int>(number.key_version().value()),
        ", not ", static_cast<int>(choice.version->value())));
  }
  return DecodeOrderNo(choice.codec, choice.space, number);
}

absl::StatusOr<OrderId> Decode64(const CodecChoice& choice, std::string_view value) {
  LOCUS_ASSIGN_OR_RETURN(OrderNo64 number, OrderNo64::Parse(Unspaced(value)));
  return choice.scheme == Scheme::kFf1
             ? choice.codec.DecodeFf1(number, choice.version_or_active())
             : choice.codec.DecodeCtr64(number, choice.version_or_active());
}

absl::Status Decode(const CodecChoice& choice, std::string_view value, std::string& out) {
  LOCUS_ASSIGN_OR_RETURN(OrderId id, choice.scheme == Scheme::kSiv ? DecodeSiv(choice, value)
                                                                   : Decode64(choice, value));
  out += id.ToString();
  return absl::OkStatus();
}

}  // namespace

int RunEncode(std::span<const std::string> words) {
  CodecLine codec_line;
  bool allow_keystream_reuse = false;
  VerbLine line("encode", "Prints the order_no of each order ID.",
                "locus encode --keys keys.ring 2237160347336769");
  codec_line.DeclareOn(line, "Order IDs: decimal (narrow) or 32 hex digits (wide)");
  line.Flag("--allow-keystream-reuse", &allow_keystream_reuse,
            "Required for ctr64: anyone who knows one order ID and its order_no can decode all "
            "order_nos of that gene");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (codec_line.scheme == "ctr64" && !allow_keystream_reuse) {
    return WrongUsage("encode", "--scheme ctr64 needs --allow-keystream-reuse");
  }
  absl::StatusOr<CodecChoice> choice = Load(codec_line);
  if (!choice.ok()) return Fail("encode", choice.status());
  return AnswerEach("encode", codec_line.values, [&](std::string_view value, std::string& out) {
    return Encode(*choice, value, out);
  });
}

int RunDecode(std::span<const std::string> words) {
  CodecLine codec_line;
  VerbLine line("decode", "Prints the order ID of each order_no.",
                "locus decode --keys keys.ring 2G02812R8Z8PM04ZF8ZPH5M66Z");
  codec_line.DeclareOn(line, "Order_nos: 26 base-32 or 32 hex digits (siv), decimal (others)");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::StatusOr<CodecChoice> choice = Load(codec_line);
  if (!choice.ok()) return Fail("decode", choice.status());
  return AnswerEach("decode", codec_line.values, [&](std::string_view value, std::string& out) {
    return Decode(*choice, value, out);
  });
}

}  // namespace locus::cli
