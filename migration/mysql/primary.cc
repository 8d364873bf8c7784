// SPDX-License-Identifier: Apache-2.0
#include "migration/mysql/primary.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/answer.h"

namespace locus::mysql {

absl::Status CheckIsPrimary(st_mysql* handle, const std::string& place, absl::Duration timeout) {
  const Shape shape = OneRow(1);
  Answer answer = Ask(handle, place,
                      {"SELECT @@GLOBAL.read_only",
                       {&shape, 1},
                       std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout)});
  LOCUS_RETURN_IF_ERROR(answer.results.status());
  if ((*answer.results)[0].rows[0][0] == "0") return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("mariadb ", place, ": the server is read-only"));
}

namespace {

absl::Status SetUpSession(st_mysql* handle, const std::string& place, absl::Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
  return Ask(handle, place, {absl::StrCat("SET SESSION ", kToolSession), {&kNoRows, 1}, deadline})
      .results.status();
}

}  // namespace

absl::StatusOr<Handle> LogInToPrimary(const MysqlOptions& options, std::string& place) {
  absl::Status last = absl::InvalidArgumentError("there is no host");
  for (const MysqlOptions::Host& host : options.hosts) {
    const Login login = LoginOf(options, host);
    place = login.place();
    absl::StatusOr<Handle> handle = LogIn(login, options.password.c_str());
    last = handle.ok() ? CheckIsPrimary(handle->get(), place, options.timeout) : handle.status();
    if (last.ok()) last = SetUpSession(handle->get(), place, options.timeout);
    if (last.ok()) return handle;
  }
  return last;
}

}  // namespace locus::mysql
