// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/request.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/text/text.h"

namespace locus::etcd {

using internal::ToAbsl;

namespace {

std::string Base64(std::string_view bytes) { return absl::Base64Escape(ToAbsl(bytes)); }

// The first text that does not begin with `prefix` any more.
std::string FirstAfter(std::string_view prefix) {
  std::string after(prefix);
  while (after.back() == '\xFF') after.pop_back();
  ++after.back();
  return after;
}

constexpr size_t kMostSideBySide = 120;
// Operations of a transaction count together with those of the transactions that it is within.
constexpr size_t kMostWithin = 40;

// The list of operations of a transaction.
std::string ListOf(std::vector<std::string> operations) {
  size_t most = kMostSideBySide;
  while (operations.size() > most) {
    std::vector<std::string> outer;
    for (size_t first = 0; first < operations.size(); first += kMostWithin) {
      const size_t last = std::min(first + kMostWithin, operations.size());
      outer.push_back(absl::StrCat(R"({"requestTxn":{"success":[)",
                                   absl::StrJoin(&operations[first], &operations[0] + last, ","),
                                   "]}}"));
    }
    operations = std::move(outer);
    most = kMostWithin;
  }
  return absl::StrJoin(operations, ",");
}

// Base64 and numbers need no escapes.
template <typename... Parts>
void Add(std::vector<std::string>& list, const Parts&... parts) {
  list.push_back(absl::StrCat(parts...));
}
template <typename... Parts>
void Add(std::string& list, const Parts&... parts) {
  absl::StrAppend(&list, list.empty() ? "" : ",", parts...);
}

}  // namespace

Txn& Txn::IfRevision(std::string_view key, int64_t mod_revision) {
  Add(compares_, R"({"key":")", Base64(key), R"(","target":"MOD","result":"EQUAL","modRevision":")",
      mod_revision, R"("})");
  return *this;
}

void Txn::Compare(std::string_view key, const char* result, std::string_view value) {
  Add(compares_, R"({"key":")", Base64(key), R"(","target":"VALUE","result":")", result,
      R"(","value":")", Base64(value), R"("})");
}

Txn& Txn::IfValue(std::string_view key, std::string_view value) {
  Compare(key, "EQUAL", value);
  return *this;
}

Txn& Txn::IfMarked(std::string_view key, std::string_view mark) {
  Compare(key, "GREATER", mark);
  Compare(key, "LESS", FirstAfter(mark));
  return *this;
}

Txn& Txn::Put(std::string_view key, std::string_view value, int64_t lease) {
  Add(puts_, R"({"requestPut":{"key":")", Base64(key), R"(","value":")", Base64(value),
      R"(","lease":")", lease, R"("}})");
  return *this;
}

Txn& Txn::Delete(std::string_view first, std::string_view end) {
  Add(puts_, R"({"requestDeleteRange":{"key":")", Base64(first), R"(","rangeEnd":")", Base64(end),
      R"("}})");
  return *this;
}

Txn& Txn::GetRevision(std::string_view key) {
  Add(ranges_, R"({"requestRange":{"key":")", Base64(key), R"(","keysOnly":true}})");
  return *this;
}

Txn& Txn::Get(std::string_view key) {
  Add(ranges_, R"({"requestRange":{"key":")", Base64(key), R"("}})");
  return *this;
}

Txn& Txn::GetAll(std::string_view prefix) {
  Add(ranges_, R"({"requestRange":{"key":")", Base64(prefix), R"(","rangeEnd":")",
      Base64(FirstAfter(prefix)), R"("}})");
  return *this;
}

Txn& Txn::GetRange(std::string_view first, std::string_view end, int64_t limit) {
  has_limit_ = true;
  Add(ranges_, R"({"requestRange":{"key":")", Base64(first), R"(","rangeEnd":")", Base64(end),
      R"(","limit":")", limit, R"("}})");
  return *this;
}

std::string Txn::Json() const {
  const std::string ranges = ListOf(ranges_);
  if (!writes()) return absl::StrCat(R"({"success":[)", ranges, "]}");
  return absl::StrCat(R"({"compare":[)", compares_, R"(],"success":[)", ListOf(puts_),
                      R"(],"failure":[)", ranges, "]}");
}

std::string WatchJson(std::string_view key, int64_t from_revision) {
  return absl::StrCat(R"({"createRequest":{"key":")", Base64(key), R"(","startRevision":")",
                      from_revision, R"("}})");
}

std::string LeaseGrantJson(int64_t ttl_seconds) {
  return absl::StrCat(R"({"TTL":")", ttl_seconds, R"("})");
}

}  // namespace locus::etcd
