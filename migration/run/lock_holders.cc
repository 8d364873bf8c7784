// SPDX-License-Identifier: Apache-2.0
#include "migration/run/lock_holders.h"

#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace locus::mysql {

namespace {

// The server renews its list only after 100 ms without a reader.
constexpr std::chrono::milliseconds kPause{120};
constexpr size_t kMostNamed = 5;

std::string TextOf(const Result::Row& row) {
  // A transaction that was prepared outlives its session.
  if (!row[0]) return "a prepared XA transaction (XA RECOVER lists it)";
  return absl::StrCat("session ", *row[0], " (", row[1].value_or(""), "@", row[2].value_or(""),
                      ", its transaction began ", row[3].value_or("?"), " s ago)");
}

}  // namespace

LockHolders::LockHolders(ShardLink& link, bool watches) : link_(link) {
  const uint64_t session = link.session();
  if (watches && session != 0) thread_ = std::thread([this, session] { Watch(session); });
}

LockHolders::~LockHolders() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::string LockHolders::Text() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  return seen_;
}

void LockHolders::Watch(uint64_t session) {
  auto other = link_.Another();
  if (!other.ok()) return;
  const std::string select = absl::StrCat(
      "SELECT DISTINCT p.ID, p.USER, p.HOST, TIMESTAMPDIFF(SECOND, b.trx_started, NOW()) FROM"
      " information_schema.INNODB_LOCK_WAITS w"
      " JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id"
      " JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id"
      " LEFT JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id"
      " WHERE r.trx_mysql_thread_id = ",
      session, " ORDER BY b.trx_started LIMIT ", kMostNamed);
  while (!stop_) {
    auto found = (*other)->Run(select, {Rows(4, kMostNamed)});
    if (!found.ok()) return;
    if (const std::vector<Result::Row>& rows = (*found)[0].rows; !rows.empty()) {
      seen_ = absl::StrCat(absl::StrJoin(rows, ", ",
                                         [](std::string* out, const Result::Row& row) {
                                           absl::StrAppend(out, TextOf(row));
                                         }),
                           "; end it, or have it commit sooner");
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace locus::mysql
