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
#include "locus/str.h"

namespace locus {
namespace internal {
class KeyRingText;
}

// The master keys of order_nos, by version. New order_nos are made with the active version. Keys of
// other versions stay readable until they are retired. A retired version has no key any more, and
// its version is never used again.
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
// Versions may follow the first two lines in any order. Every line ends with a newline, including
// the last one: a file that was cut off inside a line is refused.
class KeyRing {
 public:
  enum class State { kActive, kReadable, kRetired };
  struct Entry {
    KeyVersion version;
    State state;
  };
  static constexpr size_t kKeyBytes = 32;

  // A ring of one random key, version 1, active. UNAVAILABLE: the system gives no randomness.
  static absl::StatusOr<KeyRing> Generate();
  // A ring of one given key, active. INVALID_ARGUMENT: `key` does not have 32 bytes.
  static absl::StatusOr<KeyRing> FromKey(KeyVersion version, std::string_view key);
  // Reads a key ring file. NOT_FOUND: there is no such file. FAILED_PRECONDITION: the file gives a
  // permission to group or others, its owner is neither root nor the caller, it is not a regular
  // file, or the caller may not read it. INVALID_ARGUMENT: its text is not a key ring; the message
  // names path and line, never the line's contents. UNAVAILABLE: the disk fails.
  static absl::StatusOr<KeyRing> Load(const std::string& path);
  // Parses the text of a key ring file. INVALID_ARGUMENT as for Load.
  static absl::StatusOr<KeyRing> Parse(std::string_view text);

  KeyRing(KeyRing&&) noexcept;
  KeyRing& operator=(KeyRing&&) noexcept;
  ~KeyRing();

  // Replaces the file atomically, with permissions 0600; it is durable on return. Follows a
  // symbolic link at `path`. ALREADY_EXISTS: `must_not_exist` is set and `path` exists. NOT_FOUND:
  // there is no such directory. FAILED_PRECONDITION: the caller may not write it. UNAVAILABLE: the
  // disk is full or fails.
  absl::Status Save(const std::string& path, bool must_not_exist = false) const;

  KeyVersion active() const;
  // Ordered by version.
  std::vector<Entry> entries() const;

  // Adds a random key under a version that was never used, and returns the version. The key is not
  // active: distribute the ring to all readers before you call Activate(). The version is one above
  // the highest used; once 127 was used, it is the smallest unused one. OUT_OF_RANGE: all 128
  // versions were used.
  absl::StatusOr<KeyVersion> Add();
  // Adds a given key, not active. ALREADY_EXISTS: the version was used before, even if it is
  // retired now. INVALID_ARGUMENT: `key` does not have 32 bytes.
  absl::Status AddKey(KeyVersion version, std::string_view key);
  // Makes new order_nos use this version. NOT_FOUND: there is no such version. FAILED_PRECONDITION:
  // it is retired.
  absl::Status Activate(KeyVersion version);
  // Destroys the key: order_nos made with it can never be decoded again. Does nothing if the
  // version is retired already. NOT_FOUND: there is no such version. FAILED_PRECONDITION: it is the
  // active one.
  absl::Status Retire(KeyVersion version);

  // The 32 bytes of a version's master key. NOT_FOUND: there is no such version, or it is retired.
  // The view is valid until the ring changes or is destroyed.
  absl::StatusOr<std::string_view> key(KeyVersion version) const;

 private:
  friend class internal::KeyRingText;  // src/order/key_ring_text.h: the text of the file
  struct Rep;
  explicit KeyRing(std::unique_ptr<Rep> rep);
  // A ring without any key, to be filled.
  static absl::StatusOr<KeyRing> Empty();
  absl::Status AddRandom(KeyVersion version);

  std::unique_ptr<Rep> rep_;
};

// "active", "readable", "retired".
std::string_view ToString(KeyRing::State state);
template <typename Sink>
void AbslStringify(Sink& sink, KeyRing::State state) {
  sink.Append(std::string(ToString(state)));
}

}  // namespace locus

#endif  // LOCUS_KEY_RING_H_
