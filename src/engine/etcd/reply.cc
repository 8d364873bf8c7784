// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/reply.h"

#include <boost/json.hpp>
#include <boost/system/error_code.hpp>
#include <limits>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::etcd {

using internal::ParseDecimal;
using internal::Printable;
using internal::Quoted;
using internal::ToAbsl;

namespace {

namespace json = boost::json;

absl::Status Odd(std::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("the answer does not come from etcd's JSON gateway: ", ToAbsl(what)));
}

// The largest legal answer lists 4,097 keys, each in a range of its own, of five members each.
constexpr size_t kMostValues = 1 << 17;
constexpr size_t kDeepest = 16;

// Whether `body` announces more values than any answer of etcd has. Each would take 24 bytes and
// more in memory, for as little as two bytes that were sent.
bool HasTooManyValues(std::string_view body) {
  size_t values = 1;
  bool in_text = false;
  for (size_t i = 0; i < body.size() && values <= kMostValues; ++i) {
    char c = body[i];
    if (c == '"') in_text = !in_text;
    if (in_text && c == '\\') ++i;
    if (!in_text && (c == ',' || c == '[' || c == '{')) ++values;
  }
  return values > kMostValues;
}

absl::StatusOr<json::object> Parse(std::string_view body) {
  if (HasTooManyValues(body)) return Odd(absl::StrCat("more than ", kMostValues, " values"));
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = kDeepest;
  json::value value = json::parse({body.data(), body.size()}, error, {}, options);
  if (error) return Odd("no JSON: " + error.message());
  if (!value.is_object()) return Odd("no object");
  return std::move(value.as_object());
}

const json::value* Find(const json::object& object, std::string_view name) {
  return object.if_contains({name.data(), name.size()});
}

absl::StatusOr<std::string_view> String(const json::object& object, std::string_view name) {
  const json::value* value = Find(object, name);
  if (value == nullptr) return std::string_view();
  if (!value->is_string()) return Odd(std::string(name) + " is not a string");
  return std::string_view(value->as_string().data(), value->as_string().size());
}

absl::StatusOr<uint64_t> Number(const json::object& object, std::string_view name,
                                uint64_t max = std::numeric_limits<uint64_t>::max()) {
  LOCUS_ASSIGN_OR_RETURN(std::string_view text, String(object, name));
  if (text.empty()) return 0;
  std::optional<uint64_t> number = ParseDecimal(text, max);
  if (!number) return Odd(absl::StrCat(ToAbsl(name), " is ", Quoted(text)));
  return *number;
}

absl::StatusOr<int64_t> Positive(const json::object& object, std::string_view name) {
  LOCUS_ASSIGN_OR_RETURN(uint64_t number,
                         Number(object, name, std::numeric_limits<int64_t>::max()));
  return static_cast<int64_t>(number);
}

absl::StatusOr<std::string> Bytes(const json::object& object, std::string_view name) {
  LOCUS_ASSIGN_OR_RETURN(std::string_view text, String(object, name));
  std::string bytes;
  // Abseil also takes what is not canonical.
  if (absl::Base64Unescape(ToAbsl(text), &bytes) && absl::Base64Escape(bytes) == ToAbsl(text)) {
    return bytes;
  }
  return Odd(std::string(name) + " is not base64");
}

absl::StatusOr<const json::object*> Object(const json::object& object, std::string_view name) {
  const json::value* value = Find(object, name);
  if (value == nullptr || !value->is_object()) {
    return Odd(std::string(name) + " is missing or not an object");
  }
  return &value->as_object();
}

absl::StatusOr<Header> ReadHeader(const json::object& reply) {
  LOCUS_ASSIGN_OR_RETURN(const json::object* object, Object(reply, "header"));
  Header header;
  LOCUS_ASSIGN_OR_RETURN(header.cluster_id, Number(*object, "cluster_id"));
  LOCUS_ASSIGN_OR_RETURN(header.member_id, Number(*object, "member_id"));
  LOCUS_ASSIGN_OR_RETURN(header.revision, Positive(*object, "revision"));
  if (header.cluster_id != 0 && header.member_id != 0 && header.revision != 0) return header;
  return Odd("its header lacks cluster_id, member_id or revision");
}

absl::StatusOr<bool> Flag(const json::object& object, std::string_view name) {
  const json::value* value = Find(object, name);
  if (value == nullptr) return false;
  if (!value->is_bool()) return Odd(std::string(name) + " is neither true nor false");
  return value->as_bool();
}

absl::StatusOr<KeyValue> ReadKeyValue(const json::value& value) {
  if (!value.is_object()) return Odd("a member of kvs is not an object");
  const json::object& object = value.as_object();
  KeyValue pair;
  LOCUS_ASSIGN_OR_RETURN(pair.key, Bytes(object, "key"));
  LOCUS_ASSIGN_OR_RETURN(pair.value, Bytes(object, "value"));
  LOCUS_ASSIGN_OR_RETURN(pair.mod_revision, Positive(object, "mod_revision"));
  if (pair.mod_revision == 0) return Odd("a key has no mod_revision");
  return pair;
}

absl::StatusOr<std::vector<KeyValue>> ReadRange(const json::object& range, bool limited) {
  std::vector<KeyValue> pairs;
  if (!limited && Find(range, "more") != nullptr) return Odd("a range was cut short");
  const json::value* values = Find(range, "kvs");
  if (values == nullptr) return pairs;
  if (!values->is_array()) return Odd("kvs is not an array");
  for (const json::value& value : values->as_array()) {
    LOCUS_ASSIGN_OR_RETURN(KeyValue pair, ReadKeyValue(value));
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

// Adds the results of the range operations, also of transactions within the transaction.
absl::Status ReadResponses(const json::object& txn, bool limited,
                           std::vector<std::vector<KeyValue>>& ranges) {
  const json::value* responses = Find(txn, "responses");
  if (responses == nullptr) return absl::OkStatus();
  if (!responses->is_array()) return Odd("responses is not an array");
  for (const json::value& response : responses->as_array()) {
    if (!response.is_object()) return Odd("a response is not an object");
    const json::object& object = response.as_object();
    if (Find(object, "response_put") != nullptr) continue;
    if (Find(object, "response_delete_range") != nullptr) continue;
    if (Find(object, "response_txn") != nullptr) {
      LOCUS_ASSIGN_OR_RETURN(const json::object* within, Object(object, "response_txn"));
      LOCUS_RETURN_IF_ERROR(ReadResponses(*within, limited, ranges));
      continue;
    }
    LOCUS_ASSIGN_OR_RETURN(const json::object* range, Object(object, "response_range"));
    LOCUS_ASSIGN_OR_RETURN(std::vector<KeyValue> pairs, ReadRange(*range, limited));
    ranges.push_back(std::move(pairs));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TxnReply> ReadTxn(std::string_view body, bool limited) {
  LOCUS_ASSIGN_OR_RETURN(json::object object, Parse(body));
  TxnReply reply;
  LOCUS_ASSIGN_OR_RETURN(reply.header, ReadHeader(object));
  LOCUS_ASSIGN_OR_RETURN(reply.succeeded, Flag(object, "succeeded"));
  LOCUS_RETURN_IF_ERROR(ReadResponses(object, limited, reply.ranges));
  return reply;
}

absl::StatusOr<MemberStatus> ReadStatus(std::string_view body) {
  LOCUS_ASSIGN_OR_RETURN(json::object object, Parse(body));
  MemberStatus status;
  LOCUS_ASSIGN_OR_RETURN(status.header, ReadHeader(object));
  LOCUS_ASSIGN_OR_RETURN(std::string_view version, String(object, "version"));
  status.version = std::string(version);
  LOCUS_ASSIGN_OR_RETURN(status.leader, Number(object, "leader"));
  LOCUS_ASSIGN_OR_RETURN(status.raft_index, Number(object, "raftIndex", INT64_MAX));
  LOCUS_ASSIGN_OR_RETURN(status.applied_index, Number(object, "raftAppliedIndex", INT64_MAX));
  if (status.raft_index != 0 && status.applied_index != 0) return status;
  return Odd("raftIndex and raftAppliedIndex are missing; etcd before 3.4 does not send them");
}

absl::StatusOr<int64_t> ReadLeaseGrant(std::string_view body) {
  LOCUS_ASSIGN_OR_RETURN(json::object object, Parse(body));
  LOCUS_RETURN_IF_ERROR(ReadHeader(object).status());
  LOCUS_ASSIGN_OR_RETURN(int64_t id, Positive(object, "ID"));
  if (id == 0) return Odd("a lease has no ID");
  return id;
}

absl::StatusOr<std::string> ReadToken(std::string_view body) {
  LOCUS_ASSIGN_OR_RETURN(json::object object, Parse(body));
  LOCUS_ASSIGN_OR_RETURN(std::string_view token, String(object, "token"));
  for (char c : token) {
    if (c <= ' ' || c > '~') return Odd("a token is not valid in a header");
  }
  if (token.empty() || token.size() > 8192)
    return Odd("a token is empty or longer than 8192 bytes");
  return std::string(token);
}

namespace {

// The codes of gRPC that etcd uses.
enum Code : int64_t {
  kInvalidArgument = 3,
  kNotFound = 5,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

Refusal Repair(std::string_view message, std::string_view hint = "") {
  return {absl::FailedPreconditionError(absl::StrCat(ToAbsl(message), ToAbsl(hint)))};
}

Refusal Classify(int64_t code, const std::string& message) {
  auto says = [&](const char* words) { return absl::StrContains(message, words); };
  if (says("invalid auth token") || says("revision in header is old") ||
      says("revision of auth store is old")) {
    return {.status = absl::UnavailableError(message), .token_expired = true};
  }
  switch (code) {
    case kUnauthenticated:
    case kPermissionDenied:
    case kFailedPrecondition:
      return Repair(message);
    case kInvalidArgument:
      if (says("authentication failed")) {
        return Repair(message,
                      "; check the user and its password (of the command: "
                      "LOCUS_PASSWORD; of a routing table LOCUS_TABLE_PASSWORD)");
      }
      if (says("user name is empty")) {
        return Repair(message,
                      "; the URI names no user: write etcd://USER@HOST:PORT/PREFIX, and "
                      "set its password (of the command: LOCUS_PASSWORD; of a routing "
                      "table LOCUS_TABLE_PASSWORD)");
      }
      if (says("too many operations"))
        return Repair(message, " (--max-txn-ops must be at least 128)");
      if (says("too large")) return Repair(message, " (--max-request-bytes)");
      return Repair(message);
    case kNotFound:
      return {absl::NotFoundError(message)};
    case kResourceExhausted:
      if (says("space exceeded"))
        return Repair(message, " (compact, defragment, disarm the alarm)");
      if (says("larger than max")) return Repair(message, " (--max-request-bytes)");
      return {.status = absl::UnavailableError(message), .try_other_member = true};
    case kDataLoss:
      return {absl::DataLossError(message)};
    default:
      // A member that has no leader says so before it looks at the request.
      if (says("no leader")) {
        return {.status = absl::UnavailableError(message), .try_other_member = true};
      }
      return {absl::UnavailableError(message), true, true};
  }
}

}  // namespace

Refusal ReadRefusal(unsigned http_status, std::string_view body) {
  absl::StatusOr<json::object> object = Parse(body);
  if (object.ok()) {
    absl::StatusOr<std::string_view> message = String(*object, "message");
    if (message.ok() && message->empty()) message = String(*object, "error");
    const json::value* code = Find(*object, "code");
    if (message.ok() && !message->empty() && code != nullptr && code->is_int64()) {
      return Classify(code->as_int64(), Printable(*message));
    }
  }
  std::string text = absl::StrCat("HTTP status ", http_status, ", without an error of etcd");
  if (http_status == 404) return Repair(text, "; is this the JSON gateway of etcd 3.4 or newer?");
  if (http_status >= 500) return {absl::UnavailableError(text), true, true};
  return Repair(text);
}

namespace {

absl::StatusOr<WatchReply::Event> ReadEvent(const json::value& value) {
  if (!value.is_object()) return Odd("an event is not an object");
  const json::object& object = value.as_object();
  WatchReply::Event event;
  LOCUS_ASSIGN_OR_RETURN(std::string_view type, String(object, "type"));
  if (!type.empty() && type != "PUT" && type != "DELETE") {
    return Odd(absl::StrCat("an event of type ", Quoted(type)));
  }
  event.deleted = type == "DELETE";
  const json::value* pair = Find(object, "kv");
  if (pair == nullptr) return Odd("an event has no kv");
  LOCUS_ASSIGN_OR_RETURN(event.pair, ReadKeyValue(*pair));
  return event;
}

absl::Status StreamError(const json::value& error) {
  if (!error.is_object()) return Odd("error is not an object");
  LOCUS_ASSIGN_OR_RETURN(std::string_view message, String(error.as_object(), "message"));
  const json::value* code = Find(error.as_object(), "grpc_code");
  if (message.empty() || code == nullptr || !code->is_int64()) {
    return Odd("an error has no grpc_code or message");
  }
  return Classify(code->as_int64(), Printable(message)).status;
}

}  // namespace

absl::StatusOr<WatchReply> ReadWatch(std::string_view line) {
  LOCUS_ASSIGN_OR_RETURN(json::object object, Parse(line));
  if (const json::value* error = Find(object, "error")) return StreamError(*error);
  LOCUS_ASSIGN_OR_RETURN(const json::object* result, Object(object, "result"));
  WatchReply reply;
  LOCUS_ASSIGN_OR_RETURN(reply.created, Flag(*result, "created"));
  LOCUS_ASSIGN_OR_RETURN(reply.canceled, Flag(*result, "canceled"));
  // The header of a cancellation lacks the revision.
  if (!reply.canceled) {
    LOCUS_ASSIGN_OR_RETURN(reply.header, ReadHeader(*result));
  }
  LOCUS_ASSIGN_OR_RETURN(reply.compact_revision, Positive(*result, "compact_revision"));
  LOCUS_ASSIGN_OR_RETURN(std::string_view reason, String(*result, "cancel_reason"));
  reply.cancel_reason = Printable(reason);
  LOCUS_ASSIGN_OR_RETURN(bool fragment, Flag(*result, "fragment"));
  if (fragment) return Odd("a part of an event came, which was not requested");
  const json::value* events = Find(*result, "events");
  if (events == nullptr) return reply;
  if (!events->is_array()) return Odd("events is not an array");
  for (const json::value& value : events->as_array()) {
    LOCUS_ASSIGN_OR_RETURN(WatchReply::Event event, ReadEvent(value));
    reply.events.push_back(std::move(event));
  }
  return reply;
}

}  // namespace locus::etcd
