// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_UUID_H_
#define LOCUS_UUID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/internal/cxx20.h"
#include "locus/str.h"

namespace locus {

// A UUID (RFC 9562): any 128 bits. An immutable value of 16 bytes; copies are cheap. operator< is
// the order of the bytes, which is also the order of the texts.
//
// Version 7, as NewV7 makes it:
//
//   ms since 1970 48 | 0111 | 1/4096 ms 12 | 10 | counter 4 | random 58
//
// It is RFC 9562 section 6.2 method 3 (the clock's precision in rand_a, 12 bits, 244 ns) followed
// by method 1 (a dedicated counter of 4 bits, 0 in each new tick of 244 ns; a full one carries into
// the tick). Time and counter form one number that a process never uses twice: the clock's reading
// with counter 0, or the last number plus 1 if the clock has not passed that.
//
// Order. If one call of NewV7 returns before another begins in the same process, on any threads, it
// made the smaller UUID. This holds within a millisecond and after the clock was set back: UUIDs
// then continue from the highest time used, 15 ns each, until the clock has passed it. More than 65
// million UUIDs a second run ahead of the clock in the same way. Across processes the order follows
// their clocks.
//
// Random bits come from OpenSSL, 4 KiB at a time for each thread. They are never used twice: in a
// forked child, also after a bare clone(), the unused ones are erased. They are left out of core
// dumps, and each is erased when it is used. Do not call these functions in a signal handler.
//
// Thread safety: all functions may be called from any thread.
// Cost: a clock reading and one compare-and-swap on a word that all threads share; no lock. The
// first call of a thread allocates 4 KiB.
class Uuid {
 public:
  static constexpr size_t kBytes = 16;
  static constexpr size_t kTextLength = 36;

  // The Nil UUID: 128 zero bits.
  constexpr Uuid() = default;

  // UNAVAILABLE: OpenSSL has no randomness.
  static absl::StatusOr<Uuid> NewV7();
  // Version 4: 122 random bits. UNAVAILABLE as above.
  static absl::StatusOr<Uuid> NewV4();

  // The two halves as big-endian numbers.
  static constexpr Uuid FromWords(uint64_t high, uint64_t low) { return Uuid(high, low); }
  // From 16 bytes. INVALID_ARGUMENT: another length.
  static absl::StatusOr<Uuid> FromBytes(std::string_view bytes);
  // From text: 36 characters, hex digits of either case in groups of 8-4-4-4-12, of any version and
  // variant. Braces and urn:uuid: are refused. INVALID_ARGUMENT: the message names the text, the
  // character at fault and its position from 1.
  static absl::StatusOr<Uuid> Parse(std::string_view text);

  constexpr uint64_t high_word() const { return high_; }
  constexpr uint64_t low_word() const { return low_; }

  // nullopt: the variant is not that of RFC 9562 (bits 10), as in the Nil and the Max UUID.
  constexpr std::optional<int> version() const {
    if (low_ >> 62 != 0b10) return std::nullopt;
    return static_cast<int>(high_ >> 12 & 0xF);
  }
  // The millisecond of a version 7 UUID. nullopt: it has another version.
  std::optional<absl::Time> time() const;

  // 36 characters, lower case. Parse() reads it back.
  std::string ToString() const;
  // Writes the same text, without a terminating NUL.
  void FormatTo(std::span<char, kTextLength> out) const;
  // 16 bytes, big-endian, as for a column BINARY(16).
  std::string ToBytes() const;

  friend constexpr auto operator<=>(const Uuid&, const Uuid&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Uuid& uuid);
  template <typename Sink>
  friend void AbslStringify(Sink& sink, const Uuid& uuid) {
    sink.Append(uuid.ToString());
  }

 private:
  constexpr Uuid(uint64_t high, uint64_t low) : high_(high), low_(low) {}

  uint64_t high_ = 0;
  uint64_t low_ = 0;
};

}  // namespace locus

template <>
struct std::hash<locus::Uuid> {
  size_t operator()(const locus::Uuid& uuid) const noexcept {
    // Fibonacci hashing: neighbouring version 7 UUIDs share their high bits.
    return (uuid.high_word() ^ uuid.low_word()) * 0x9E3779B97F4A7C15u;
  }
};

#endif  // LOCUS_UUID_H_
