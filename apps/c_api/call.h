// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_C_API_CALL_H_
#define LOCUS_APPS_C_API_CALL_H_

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "locus/locus_c.h"
#include "locus/open.h"
#include "locus/order_id.h"
#include "locus/order_no.h"
#include "locus/space.h"
#include "src/base/os/check.h"

// What the functions of locus_c.h have in common.
namespace locus::c_api {

// The code; the message too, where `error` is not NULL.
locus_code Report(const absl::Status& status, locus_error* error) noexcept;

// Runs `body`, which returns a Status; no exception passes.
template <typename Body>
locus_code Run(locus_error* error, Body&& body) noexcept {
  try {
    return Report(std::forward<Body>(body)(), error);
  } catch (const std::bad_alloc&) {
    return Report(absl::Status(absl::StatusCode::kResourceExhausted, "no memory"), error);
  } catch (const std::exception& thrown) {
    return Report(absl::InternalError(thrown.what()), error);
  } catch (...) {
    return Report(absl::InternalError("an exception of unknown type"), error);
  }
}

inline absl::Status NotNull(const char* name, const void* pointer) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is NULL"));
}

// What sizeof(Options) was in the first version that had the struct: specialise it for one that
// grows.
template <typename Options>
inline constexpr size_t kFirstSize = sizeof(Options);

// The caller's options, or the defaults, which are all 0, as are members that the caller's version
// did not have. INVALID_ARGUMENT: the struct has no size, or sets members that this version of the
// library does not know.
template <typename Options>
absl::StatusOr<Options> OptionsOr(const Options* given) {
  Options set{};
  if (given == nullptr) return set;
  if (given->size < kFirstSize<Options> || given->size > 4096) {
    return absl::InvalidArgumentError(absl::StrCat("options: the size ", given->size,
                                                   " is not that of the struct, ", sizeof(Options),
                                                   ": initialise it with its _INIT macro"));
  }
  const char* const bytes = reinterpret_cast<const char*>(given);
  const size_t known = std::min(given->size, sizeof(Options));
  std::memcpy(&set, bytes, known);
  bool more = std::any_of(bytes + known, bytes + given->size, [](char byte) { return byte != 0; });
  if constexpr (requires { set.reserved; }) more = more || set.reserved != 0;
  if (more) {
    return absl::InvalidArgumentError(
        "options: the program sets an option that this version of liblocus does not have");
  }
  return set;
}

inline std::string_view TextOr(const char* text, std::string_view otherwise) {
  return text == nullptr || *text == '\0' ? otherwise : std::string_view(text);
}
// nullptr or empty: "orders".
inline absl::StatusOr<SpaceName> SpaceOf(const char* name) {
  return SpaceName::Parse(TextOr(name, "orders"));
}
// Each nullptr or empty: none. The caller's text is used while a place is opened only; the file is
// read here. INVALID_ARGUMENT: both are set, or the file's first line is empty or too long;
// otherwise the errors of ReadPrivateFile.
absl::StatusOr<AskPassword> PasswordOf(const char* password, const char* password_file);
// Of a sequence's or numbers' options: how its engine is opened. Errors as of PasswordOf.
template <typename Options>
absl::StatusOr<SequencerUriOptions> EngineOf(const Options& set) {
  SequencerUriOptions of;
  LOCUS_ASSIGN_OR_RETURN(of.password, PasswordOf(set.password, set.password_file));
  of.ceiling = std::string(TextOr(set.ceiling, ""));
  LOCUS_ASSIGN_OR_RETURN(of.ceiling_password,
                         PasswordOf(set.ceiling_password, set.ceiling_password_file));
  return of;
}
inline absl::Duration Ms(uint32_t ms) { return absl::Milliseconds(ms); }
inline absl::Duration MsOr(uint32_t ms, absl::Duration otherwise) {
  return ms == 0 ? otherwise : Ms(ms);
}

absl::StatusOr<OrderId> IdOf(const locus_order_id& id);
inline locus_order_id WordsOf(const OrderId& id) { return {id.first_word(), id.rest_word()}; }
absl::StatusOr<OrderNo> NumberOf(const locus_order_no& number);
inline locus_order_no WordsOf(const OrderNo& number) { return {number.high(), number.low()}; }

}  // namespace locus::c_api

#endif  // LOCUS_APPS_C_API_CALL_H_
