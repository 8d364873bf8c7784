// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_OPEN_OPENED_H_
#define LOCUS_SRC_OPEN_OPENED_H_

#include <openssl/crypto.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace locus::internal {

// Wipes a copy of a password when the options that it stands in are done with.
class Wiped {
 public:
  explicit Wiped(std::string& text) : text_(text) {}
  ~Wiped() { OPENSSL_cleanse(text_.data(), text_.size()); }
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;

 private:
  std::string& text_;
};

// What an engine opened, as its interface: std::shared_ptr<SegmentStore>, for example.
template <typename Pointer, typename Place>
absl::StatusOr<Pointer> As(absl::StatusOr<std::unique_ptr<Place>> place) {
  if (!place.ok()) return place.status();
  return Pointer(*std::move(place));
}

}  // namespace locus::internal

#endif  // LOCUS_SRC_OPEN_OPENED_H_
