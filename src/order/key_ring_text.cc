// SPDX-License-Identifier: Apache-2.0
#include "src/order/key_ring_text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/order/key_ring_rep.h"

namespace locus::internal {
namespace {

constexpr std::string_view kTitle = "locus-key-ring 1";
constexpr std::string_view kActive = "active ";
constexpr std::string_view kRetired = "retired";
constexpr size_t kBase64Bytes = 44;
static_assert(kBase64Bytes == (KeyRing::kKeyBytes + 2) / 3 * 4);
static_assert(KeyRingText::kMaxBytes > 32 + 128 * (4 + kBase64Bytes + 1), "every ring fits");

// text.find(c), without the vector registers: see CopySecret().
size_t Find(std::string_view text, char c) {
  const volatile char* at = text.data();
  for (size_t i = 0; i < text.size(); ++i) {
    if (at[i] == c) return i;
  }
  return std::string_view::npos;
}

std::optional<KeyVersion> ParseVersion(std::string_view text) {
  std::optional<uint64_t> value = ParseDecimal(text, KeyVersion::kMax);
  if (!value) return std::nullopt;
  return KeyVersion::FromLowBits(static_cast<uint8_t>(*value));
}

// Decodes into key[0..31]; takes only what EVP_EncodeBlock() would have written. `scratch` is
// secret memory of kBase64Bytes + 1.
bool DecodeKey(std::string_view base64, unsigned char* key, unsigned char* scratch) {
  if (base64.size() != kBase64Bytes) return false;
  auto* in = reinterpret_cast<const unsigned char*>(base64.data());
  // EVP_DecodeBlock writes 33 bytes; the last one comes from the padding.
  if (EVP_DecodeBlock(scratch, in, kBase64Bytes) != KeyRing::kKeyBytes + 1) return false;
  CopySecret(scratch, key, KeyRing::kKeyBytes);
  EVP_EncodeBlock(scratch, key, KeyRing::kKeyBytes);
  return CRYPTO_memcmp(scratch, in, kBase64Bytes) == 0;
}

class Lines {
 public:
  Lines(std::string_view text, std::string_view where) : rest_(text), where_(where) {}

  bool done() const { return rest_.empty(); }
  // INVALID_ARGUMENT: the text is at its end, or the line has no newline.
  absl::StatusOr<std::string_view> Next() {
    ++number_;
    if (rest_.empty()) return Refuse("is missing");
    size_t newline = Find(rest_, '\n');
    if (newline == std::string_view::npos) return Refuse("does not end with a newline");
    std::string_view line = rest_.substr(0, newline);
    rest_.remove_prefix(newline + 1);
    return line;
  }
  // An error about the line that Next() read last.
  absl::Status Refuse(std::string_view reason) const { return RefuseLine(number_, reason); }
  absl::Status RefuseLine(int number, std::string_view reason) const {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(where_), ", line ", number, ": ", ToAbsl(reason)));
  }

 private:
  std::string_view rest_;
  std::string_view where_;
  int number_ = 0;
};

}  // namespace

absl::StatusOr<KeyRing> KeyRingText::Parse(std::string_view text, std::string_view where) {
  LOCUS_ASSIGN_OR_RETURN(KeyRing ring, KeyRing::Empty());
  LOCUS_ASSIGN_OR_RETURN(SecretBytes scratch, SecretBytes::Allocate(kBase64Bytes + 1));
  using Given = KeyRing::Rep::Given;
  Lines lines(text, where);

  LOCUS_ASSIGN_OR_RETURN(std::string_view title, lines.Next());
  if (title != kTitle) return lines.Refuse("is not \"locus-key-ring 1\"");

  LOCUS_ASSIGN_OR_RETURN(std::string_view second, lines.Next());
  std::optional<KeyVersion> active;
  if (second.starts_with(kActive)) active = ParseVersion(second.substr(kActive.size()));
  if (!active) return lines.Refuse("is not \"active \" and a version in 0..127");

  while (!lines.done()) {
    LOCUS_ASSIGN_OR_RETURN(std::string_view line, lines.Next());
    size_t space = Find(line, ' ');
    std::optional<KeyVersion> version = ParseVersion(line.substr(0, space));
    if (space == std::string_view::npos || !version) {
      return lines.Refuse("does not begin with a version in 0..127 and one space");
    }
    Given& given = ring.rep_->given(*version);
    if (given != Given::kNever) return lines.Refuse("its version occurs in a line above");
    std::string_view key = line.substr(space + 1);
    if (key == kRetired) {
      given = Given::kRetired;
    } else if (DecodeKey(key, ring.rep_->key(*version), scratch.bytes())) {
      given = Given::kHasKey;
    } else {
      return lines.Refuse("is neither \"retired\" nor the base64 of 32 bytes, with padding");
    }
  }
  if (ring.rep_->given(*active) != Given::kHasKey) {
    return lines.RefuseLine(2, "the key of the active version is missing");
  }
  ring.rep_->active = *active;
  return ring;
}

absl::StatusOr<PrivateText> KeyRingText::Print(const KeyRing& ring) {
  LOCUS_ASSIGN_OR_RETURN(SecretBytes memory, SecretBytes::Allocate(kMaxBytes));
  size_t size = 0;
  auto append = [&memory, &size](std::string_view text) {
    std::memcpy(memory.data() + size, text.data(), text.size());
    size += text.size();
  };
  append(kTitle);
  append("\n");
  append(kActive);
  append(absl::StrCat(ring.active().value(), "\n"));
  for (const KeyRing::Entry& entry : ring.entries()) {
    append(absl::StrCat(entry.version.value(), " "));
    if (entry.state == KeyRing::State::kRetired) {
      append(kRetired);
    } else {
      EVP_EncodeBlock(memory.bytes() + size, ring.rep_->key(entry.version), KeyRing::kKeyBytes);
      size += kBase64Bytes;
    }
    append("\n");
  }
  return PrivateText{std::move(memory), size};
}

}  // namespace locus::internal
