// SPDX-License-Identifier: Apache-2.0
#include "locus/key_ring.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"
#include "src/base/text/text.h"
#include "src/order/key_ring_rep.h"
#include "src/order/key_ring_text.h"

namespace locus {

using internal::CopySecret;
using internal::KeyRingText;
using internal::PrivateText;
using internal::Quoted;
using internal::ReadPrivateFile;
using internal::SecretBytes;
using internal::WritePrivateFile;

namespace {

absl::Status NoSuchVersion(KeyVersion version) {
  return absl::NotFoundError(absl::StrCat("the key ring has no key version ", version.value()));
}

}  // namespace

std::string_view ToString(KeyRing::State state) {
  switch (state) {
    case KeyRing::State::kActive:
      return "active";
    case KeyRing::State::kReadable:
      return "readable";
    case KeyRing::State::kRetired:
      return "retired";
  }
  return "unknown";
}

KeyRing::KeyRing(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
KeyRing::KeyRing(KeyRing&&) noexcept = default;
KeyRing& KeyRing::operator=(KeyRing&&) noexcept = default;
KeyRing::~KeyRing() = default;

absl::StatusOr<KeyRing> KeyRing::Empty() {
  auto rep = std::make_unique<Rep>();
  LOCUS_ASSIGN_OR_RETURN(rep->keys, SecretBytes::Allocate(Rep::kVersions * kKeyBytes));
  return KeyRing(std::move(rep));
}

absl::StatusOr<KeyRing> KeyRing::Generate() {
  LOCUS_ASSIGN_OR_RETURN(KeyRing ring, Empty());
  KeyVersion first = KeyVersion::FromLowBits(1);
  LOCUS_RETURN_IF_ERROR(ring.AddRandom(first));
  ring.rep_->active = first;
  return ring;
}

absl::StatusOr<KeyRing> KeyRing::FromKey(KeyVersion version, std::string_view key) {
  LOCUS_ASSIGN_OR_RETURN(KeyRing ring, Empty());
  LOCUS_RETURN_IF_ERROR(ring.AddKey(version, key));
  ring.rep_->active = version;
  return ring;
}

absl::StatusOr<KeyRing> KeyRing::Parse(std::string_view text) {
  return KeyRingText::Parse(text, "key ring");
}

absl::StatusOr<KeyRing> KeyRing::Load(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(PrivateText text, ReadPrivateFile(path, KeyRingText::kMaxBytes));
  return KeyRingText::Parse(text.view(), Quoted(path));
}

absl::Status KeyRing::Save(const std::string& path, bool must_not_exist) const {
  LOCUS_ASSIGN_OR_RETURN(PrivateText text, KeyRingText::Print(*this));
  return WritePrivateFile(path, text.view(), must_not_exist);
}

KeyVersion KeyRing::active() const { return rep_->active; }

std::vector<KeyRing::Entry> KeyRing::entries() const {
  std::vector<Entry> entries;
  for (uint8_t i = 0; i < Rep::kVersions; ++i) {
    KeyVersion version = KeyVersion::FromLowBits(i);
    if (rep_->given(version) == Rep::Given::kNever) continue;
    State state = version == rep_->active                        ? State::kActive
                  : rep_->given(version) == Rep::Given::kRetired ? State::kRetired
                                                                 : State::kReadable;
    entries.push_back({version, state});
  }
  return entries;
}

absl::StatusOr<KeyVersion> KeyRing::Add() {
  const auto& given = rep_->given_by_version;
  auto above_all = std::find_if(given.rbegin(), given.rend(), [](Rep::Given state) {
                     return state != Rep::Given::kNever;
                   }).base();
  auto next = above_all != given.end() ? above_all
                                       : std::find(given.begin(), given.end(), Rep::Given::kNever);
  if (next == given.end()) return absl::OutOfRangeError("all 128 key versions were used");
  KeyVersion version = KeyVersion::FromLowBits(static_cast<uint8_t>(next - given.begin()));
  LOCUS_RETURN_IF_ERROR(AddRandom(version));
  return version;
}

absl::Status KeyRing::AddRandom(KeyVersion version) {
  if (RAND_priv_bytes(rep_->key(version), kKeyBytes) != 1) {
    return absl::UnavailableError("OpenSSL has no randomness for a key");
  }
  rep_->given(version) = Rep::Given::kHasKey;
  return absl::OkStatus();
}

absl::Status KeyRing::AddKey(KeyVersion version, std::string_view key) {
  if (key.size() != kKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key of ", key.size(), " bytes; ", kKeyBytes, " are needed"));
  }
  if (rep_->given(version) != Rep::Given::kNever) {
    return absl::AlreadyExistsError(
        absl::StrCat("key version ", version.value(), " was used before"));
  }
  CopySecret(key.data(), rep_->key(version), kKeyBytes);
  rep_->given(version) = Rep::Given::kHasKey;
  return absl::OkStatus();
}

absl::Status KeyRing::Activate(KeyVersion version) {
  if (rep_->given(version) == Rep::Given::kNever) return NoSuchVersion(version);
  if (rep_->given(version) == Rep::Given::kRetired) {
    return absl::FailedPreconditionError(
        absl::StrCat("key version ", version.value(), " is retired"));
  }
  rep_->active = version;
  return absl::OkStatus();
}

absl::Status KeyRing::Retire(KeyVersion version) {
  if (rep_->given(version) == Rep::Given::kNever) return NoSuchVersion(version);
  if (version == rep_->active) {
    return absl::FailedPreconditionError(
        absl::StrCat("key version ", version.value(), " is the active one"));
  }
  OPENSSL_cleanse(rep_->key(version), kKeyBytes);
  // Marked instead of forgotten: a version is never given to a second key.
  rep_->given(version) = Rep::Given::kRetired;
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> KeyRing::key(KeyVersion version) const {
  if (rep_->given(version) != Rep::Given::kHasKey) return NoSuchVersion(version);
  return std::string_view(reinterpret_cast<const char*>(rep_->key(version)), kKeyBytes);
}

}  // namespace locus
