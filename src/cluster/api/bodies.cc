// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/bodies.h"

#include <array>
#include <boost/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/nonce_mark.h"
#include "src/base/text/text.h"
#include "src/cluster/api/listing_query.h"
#include "src/http/api/members.h"

namespace locus::cluster_api {

namespace json = boost::json;

using internal::Printable;

namespace {

constexpr std::array<std::pair<absl::StatusCode, std::string_view>, 12> kCodes = {{
    {absl::StatusCode::kInvalidArgument, "INVALID_ARGUMENT"},
    {absl::StatusCode::kNotFound, "NOT_FOUND"},
    {absl::StatusCode::kAlreadyExists, "ALREADY_EXISTS"},
    {absl::StatusCode::kOutOfRange, "OUT_OF_RANGE"},
    {absl::StatusCode::kResourceExhausted, "RESOURCE_EXHAUSTED"},
    {absl::StatusCode::kUnavailable, "UNAVAILABLE"},
    {absl::StatusCode::kAborted, "ABORTED"},
    {absl::StatusCode::kFailedPrecondition, "FAILED_PRECONDITION"},
    {absl::StatusCode::kDeadlineExceeded, "DEADLINE_EXCEEDED"},
    {absl::StatusCode::kDataLoss, "DATA_LOSS"},
    {absl::StatusCode::kUnauthenticated, "UNAUTHENTICATED"},
    {absl::StatusCode::kPermissionDenied, "PERMISSION_DENIED"},
}};

json::string Json(std::string_view text) { return json::string(text.data(), text.size()); }

json::value Json(absl::Time time) {
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return nullptr;
  return absl::ToUnixMillis(time);
}

json::value Json(absl::Duration duration) { return absl::ToInt64Milliseconds(duration); }

json::string TokenOf(uint64_t token) { return Json(absl::StrCat(token)); }

std::string TextOf(const json::object& object) { return json::serialize(object); }

WorkerLeaseTerm TermOf(Members& members) {
  WorkerLeaseTerm term;
  term.ttl = members.Duration("ttl_ms");
  term.max_skew = members.Duration("max_skew_ms");
  return term;
}

WorkerRecord RecordOf(Members& members) {
  WorkerRecord record;
  record.worker = members.Number("worker", kMostWorker);
  record.token = members.Token("token");
  record.floor = members.TimeOr("floor_ms", absl::InfinitePast());
  record.ceiling = members.TimeOr("ceiling_ms", absl::InfinitePast());
  record.granted_at = members.TimeOr("granted_at_ms", absl::InfinitePast());
  record.renewed_at = members.TimeOr("renewed_at_ms", absl::InfinitePast());
  record.nonce = members.Text("nonce", 64);
  record.holder = members.Text("holder", kMostHolderBytes);
  return record;
}

}  // namespace

std::string BodyOf(const CreateWish& wish) {
  return TextOf({{"rest_ms", Json(wish.rest)}, {"caller_now_ms", Json(wish.caller_now)}});
}

absl::StatusOr<CreateWish> ParseCreate(std::string_view body) {
  Members members(body);
  CreateWish wish;
  wish.rest = members.Duration("rest_ms");
  wish.caller_now = members.Time("caller_now_ms");
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return wish;
}

std::string BodyOf(const OfSpace<WorkerAcquire>& of) {
  const WorkerAcquire& wish = of.wish;
  json::value preferred = nullptr;
  if (wish.preferred) preferred = *wish.preferred;
  return TextOf({{"space", Json(of.space.str())},
                 {"first", wish.range.first},
                 {"last", wish.range.last},
                 {"preferred", preferred},
                 {"start", wish.start},
                 {"ttl_ms", Json(wish.term.ttl)},
                 {"max_skew_ms", Json(wish.term.max_skew)},
                 {"nonce", Json(wish.nonce)},
                 {"holder", Json(wish.holder)},
                 {"caller_now_ms", Json(wish.caller_now)}});
}

absl::StatusOr<OfSpace<WorkerAcquire>> ParseAcquire(std::string_view body) {
  Members members(body);
  OfSpace<WorkerAcquire> of;
  of.space = members.Space("space");
  of.wish.range.first = members.Number("first", kMostWorker);
  of.wish.range.last = members.Number("last", kMostWorker);
  of.wish.preferred = members.NumberOrNull("preferred", kMostWorker);
  of.wish.start = members.Number("start", kMostWorker);
  of.wish.term = TermOf(members);
  of.wish.nonce = members.Text("nonce", 64);
  of.wish.holder = members.Text("holder", kMostHolderBytes);
  of.wish.caller_now = members.Time("caller_now_ms");
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return of;
}

std::string BodyOf(const OfSpace<WorkerRenew>& of) {
  const WorkerRenew& wish = of.wish;
  return TextOf({{"space", Json(of.space.str())},
                 {"token", TokenOf(wish.token)},
                 {"ceiling_ms", Json(wish.ceiling)},
                 {"ttl_ms", Json(wish.term.ttl)},
                 {"max_skew_ms", Json(wish.term.max_skew)},
                 {"nonce", Json(wish.nonce)},
                 {"holder", Json(wish.holder)},
                 {"caller_now_ms", Json(wish.caller_now)}});
}

absl::StatusOr<OfSpace<WorkerRenew>> ParseRenew(uint64_t worker, std::string_view body) {
  Members members(body);
  OfSpace<WorkerRenew> of;
  of.space = members.Space("space");
  of.wish.worker = worker;
  of.wish.token = members.Token("token");
  of.wish.ceiling = members.Time("ceiling_ms");
  of.wish.term = TermOf(members);
  of.wish.nonce = members.Text("nonce", 64);
  of.wish.holder = members.Text("holder", kMostHolderBytes);
  of.wish.caller_now = members.Time("caller_now_ms");
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return of;
}

std::string BodyOf(const OfSpace<WorkerRelease>& of) {
  // Up to the next millisecond: no time that was used lies above it. Before 1970: 1970.
  json::value last_used = nullptr;
  if (of.wish.last_used != absl::InfiniteFuture()) {
    last_used =
        std::max<int64_t>(absl::ToUnixMillis(std::max(of.wish.last_used, absl::UnixEpoch()) +
                                             absl::Milliseconds(1) - absl::Nanoseconds(1)),
                          0);
  }
  json::object body = {{"space", Json(of.space.str())},
                       {"token", TokenOf(of.wish.token)},
                       {"last_used_ms", last_used}};
  if (!of.wish.nonce.empty()) body.emplace("nonce", Json(of.wish.nonce));
  return TextOf(body);
}

absl::StatusOr<OfSpace<WorkerRelease>> ParseRelease(uint64_t worker, std::string_view body) {
  Members members(body);
  OfSpace<WorkerRelease> of;
  of.space = members.Space("space");
  of.wish.worker = worker;
  of.wish.token = members.Token("token");
  of.wish.last_used = members.TimeOr("last_used_ms", absl::InfiniteFuture());
  of.wish.nonce = members.TextOrNothing("nonce", 64);
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return of;
}

std::string BodyOf(const WorkerGrant& grant) {
  return TextOf({{"worker", grant.worker},
                 {"token", TokenOf(grant.token)},
                 {"floor_ms", Json(grant.floor)},
                 {"ceiling_ms", Json(grant.ceiling)},
                 {"granted_at_ms", Json(grant.granted_at)},
                 {"loss_noticed", grant.loss_noticed}});
}

absl::StatusOr<WorkerGrant> ParseGrant(std::string_view body) {
  Members members(body);
  WorkerGrant grant;
  grant.worker = members.Number("worker", kMostWorker);
  grant.token = members.Token("token");
  grant.floor = members.TimeOr("floor_ms", absl::InfinitePast());
  grant.ceiling = members.Time("ceiling_ms");
  grant.granted_at = members.Time("granted_at_ms");
  grant.loss_noticed = members.Bool("loss_noticed");
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return grant;
}

std::string BodyOf(const ViewPage& page) {
  const WorkerSpaceView& view = page.view;
  json::array workers;
  for (const WorkerRecord& record : view.workers) {
    workers.push_back(json::object{{"worker", record.worker},
                                   {"token", TokenOf(record.token)},
                                   {"floor_ms", Json(record.floor)},
                                   {"ceiling_ms", Json(record.ceiling)},
                                   {"granted_at_ms", Json(record.granted_at)},
                                   {"renewed_at_ms", Json(record.renewed_at)},
                                   {"nonce", Json(internal::NonceMark(record.nonce))},
                                   {"holder", Json(record.holder)}});
  }
  return TextOf({{"now_ms", Json(view.now)},
                 {"rest_until_ms", Json(view.rest_until)},
                 {"losses", view.losses},
                 {"workers", std::move(workers)},
                 {"next", page.next ? json::value(*page.next) : json::value()}});
}

absl::StatusOr<ViewPage> ParsePage(std::string_view body) {
  Members members(body);
  ViewPage page;
  WorkerSpaceView& view = page.view;
  view.now = members.Time("now_ms");
  view.rest_until = members.TimeOr("rest_until_ms", absl::InfinitePast());
  view.losses = members.Number("losses", INT64_MAX);
  if (const json::array* workers = members.Array("workers", kMostListed)) {
    for (const json::value& worker : *workers) {
      Members of_worker(worker, "a worker");
      view.workers.push_back(RecordOf(of_worker));
      LOCUS_RETURN_IF_ERROR(of_worker.Finish());
    }
  }
  page.next = members.NumberOrNull("next", kMostWorker);
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return page;
}

unsigned HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return 409;
    case absl::StatusCode::kFailedPrecondition:
      return 412;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

std::string BodyOf(const absl::Status& status, unsigned http_status) {
  std::string_view code = "UNAVAILABLE";
  for (const auto& [each, name] : kCodes) {
    if (each == status.code()) code = name;
  }
  const std::string detail =
      Printable(std::string_view(status.message().data(), status.message().size()), 1024);
  return TextOf({{"title", Json(code)},
                 {"status", http_status},
                 {"detail", Json(detail)},
                 {"code", Json(code)}});
}

absl::Status ParseProblem(unsigned http_status, std::string_view body) {
  json::error_code error;
  const json::value value = json::parse({body.data(), body.size()}, error);
  std::string detail, code;
  if (!error && value.is_object()) {
    for (auto [name, text] : {std::pair{"detail", &detail}, std::pair{"code", &code}}) {
      const json::value* member = value.get_object().if_contains(name);
      if (member != nullptr && member->is_string()) {
        text->assign(member->get_string().data(), member->get_string().size());
      }
    }
  }
  const std::string message =
      detail.empty() ? absl::StrCat("HTTP ", http_status) : Printable(detail, 1024);
  for (const auto& [each, name] : kCodes) {
    if (name != code) continue;
    const bool of_token =
        each == absl::StatusCode::kUnauthenticated || each == absl::StatusCode::kPermissionDenied;
    return absl::Status(of_token ? absl::StatusCode::kFailedPrecondition : each, message);
  }
  if (http_status >= 500 || http_status == 429) return absl::UnavailableError(message);
  return absl::FailedPreconditionError(message);
}

}  // namespace locus::cluster_api
