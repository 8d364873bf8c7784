// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_KEY_RING_H_
#define LOCUS_KEY_RING_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/order_no.h"

namespace locus {
namespace internal {
class KeyRingText;
}

// The master keys of order numbers, by version. One version is active: new numbers are made with
// it. The others stay readable until they are retired; a retired version has no key any more and
// its number is never given again.
//
// Key material lives in memory that core dumps leave out, is wiped on destruction, and appears in
// no message. A KeyRing is moved, not copied; one that was moved from can only be assigned to or
// destroyed.
// Thread safety: const methods may be called from any thread.
//
// The file, text, its permissions 0600 or stricter:
//
//   locus-key-ring 1
//   active 2
//   1 <base64 of 32 bytes, with padding>
//   2 <base64 of 32 bytes, with padding>
//   0 retired
//
// The first two lines stand first; versions may follow in any order. Every line ends with a
// newline, the last one too: a file that was cut off inside a line is refused.
class KeyRing {
 public:
  enum class State { kActive, kReadable, kRetired };
  struct Entry {
    KeyVersion version;
    State state;
  };
  static constexpr size_t kKeyBytes = 32;

  // A ring of one random key, version 1, active. UNAVAILABLE: no randomness to be had.
  static absl::StatusOr<KeyRing> Generate();
  // A ring of one given key, active. INVALID_ARGUMENT: `key` has not 32 bytes.
  static absl::StatusOr<KeyRing> FromKey(KeyVersion version, std::string_view key);
  // Reads a key ring file. NOT_FOUND; FAILED_PRECONDITION: the opened file gives any permission
  // to group or others, or its owner is neither root nor the caller, or it is no regular file, or
  // the caller may not read it; INVALID_ARGUMENT: its text is not a key ring (names path and line,
  // never what stands there); UNAVAILABLE: the disk fails.
  static absl::StatusOr<KeyRing> Load(const std::string& path);
  // As Load, of the text of a file.
  static absl::StatusOr<KeyRing> Parse(std::string_view text);

  KeyRing(KeyRing&&) noexcept;
  KeyRing& operator=(KeyRing&&) noexcept;
  ~KeyRing();

  // Writes the file anew, with permissions 0600: whole or not at all, durable on return.
  // Follows a symbolic link at `path`. ALREADY_EXISTS: `must_not_exist` and there is something at
  // `path`; NOT_FOUND: no such directory; FAILED_PRECONDITION: it may not be written;
  // UNAVAILABLE: the disk is full or fails.
  absl::Status Save(const std::string& path, bool must_not_exist = false) const;

  KeyVersion active() const;
  // In order of version.
  std::vector<Entry> entries() const;

  // Adds a random key under a version that was never given, and returns it; not active: ship the
  // ring to all readers before Activate(). The version is one above the highest given, or the
  // smallest never given once 127 was. OUT_OF_RANGE: all 128 versions were given.
  absl::StatusOr<KeyVersion> Add();
  // Adds a given key, not active. ALREADY_EXISTS: the version was given before, even if it is
  // retired now; INVALID_ARGUMENT: `key` has not 32 bytes.
  absl::Status AddKey(KeyVersion version, std::string_view key);
  // NOT_FOUND: no such version; FAILED_PRECONDITION: it is retired.
  absl::Status Activate(KeyVersion version);
  // Wipes the key for good: numbers made with it can no longer be read. Nothing happens to a
  // version that is retired already. NOT_FOUND: no such version; FAILED_PRECONDITION: it is the
  // active one.
  absl::Status Retire(KeyVersion version);

  // The 32 bytes of a version's master key. NOT_FOUND: no such version, or retired. The view holds
  // until the ring changes or dies.
  absl::StatusOr<std::string_view> key(KeyVersion version) const;

 private:
  friend class internal::KeyRingText;  // src/order_no/key_ring_text.h: the text of the file
  struct Rep;
  explicit KeyRing(std::unique_ptr<Rep> rep);
  // Without any key, therefore without an active one: to be filled.
  static absl::StatusOr<KeyRing> Empty();
  absl::Status AddRandom(KeyVersion version);

  std::unique_ptr<Rep> rep_;
};

// "active", "readable", "retired".
std::string_view ToString(KeyRing::State state);
template <typename Sink>
void AbslStringify(Sink& sink, KeyRing::State state) {
  sink.Append(ToString(state));
}

}  // namespace locus

#endif  // LOCUS_KEY_RING_H_
