// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/store_bodies.h"

#include <array>
#include <boost/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/http/api/members.h"
#include "src/segment/rules.h"

namespace locus::cluster_api {

namespace json = boost::json;

using CounterCall = counter_machine::Call;
using CounterReply = counter_machine::Reply;
using internal::ParseDecimal;
using internal::Quoted;

namespace {

constexpr std::array<std::string_view, 5> kKinds = {"take", "store", "store_new", "load",
                                                    "put_back"};
constexpr uint64_t kMostNumber = INT64_MAX;
constexpr size_t kMostSectionsOfSpace = 65536;

json::string Json(std::string_view text) { return json::string(text.data(), text.size()); }
json::string NumberText(uint64_t number) { return Json(absl::StrCat(number)); }
json::string NumberText(int64_t number) { return Json(absl::StrCat(number)); }

json::string NanosText(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) return Json("inf");
  if (duration == -absl::InfiniteDuration()) return Json("-inf");
  return NumberText(absl::ToInt64Nanoseconds(duration));
}

uint64_t NumberIn(Members& members, const char* name, uint64_t most) {
  const std::string text = members.Text(name, 20);
  const std::optional<uint64_t> number = ParseDecimal(text, most);
  if (!number) {
    members.Fail(absl::StrCat("\"", name, "\" is ", Quoted(text),
                              "; it must be a decimal text of at most ", most));
  }
  return number.value_or(0);
}

absl::Duration NanosIn(Members& members, const char* name) {
  const std::string text = members.Text(name, 21);
  if (text == "inf") return absl::InfiniteDuration();
  if (text == "-inf") return -absl::InfiniteDuration();
  const bool negative = text.starts_with('-');
  const auto number = ParseDecimal(std::string_view(text).substr(negative ? 1 : 0), kMostNumber);
  if (!number) {
    members.Fail(absl::StrCat("\"", name, "\" is ", Quoted(text), ", which is no duration"));
    return absl::ZeroDuration();
  }
  const absl::Duration duration = absl::Nanoseconds(static_cast<int64_t>(*number));
  return negative ? -duration : duration;
}

void Add(const SpaceOptions& options, json::object& object) {
  object["section_size"] = options.section_size;
  object["floor_epoch_ns"] = NumberText(absl::ToUnixNanos(options.floor_epoch));
  object["floor_rate"] = options.floor_rate;
  object["max_lead"] = options.max_lead;
}

SpaceOptions OptionsIn(Members& members) {
  SpaceOptions options;
  options.section_size = static_cast<uint32_t>(members.Number("section_size", UINT32_MAX));
  options.floor_epoch =
      absl::FromUnixNanos(static_cast<int64_t>(NumberIn(members, "floor_epoch_ns", kMostNumber)));
  options.floor_rate = members.Number("floor_rate");
  options.max_lead = members.Number("max_lead");
  return options;
}

struct AddOne {
  json::object& object;

  void operator()(const segment_machine::Create& one) const { Add(one.options, object); }
  void operator()(const segment_machine::Allocation& one) const {
    Add(one.options, object);
    json::array requests;
    for (const SegmentRequest& request : one.requests) {
      requests.push_back(json::object{{"section", request.section},
                                      {"length", NumberText(request.length)},
                                      {"seen", NumberText(request.seen)}});
    }
    object["requests"] = std::move(requests);
  }
  void operator()(const segment_machine::DeclareRestored&) const {}
  void operator()(const segment_machine::Raise& one) const {
    object["to"] = NumberText(one.to);
    object["reach"] = Json(ToString(one.reach));
  }
};

// The last step of the parsers of segment calls: no member may be left over, and the machine must
// accept the call.
template <typename Call>
absl::StatusOr<Call> Finished(Members& members, Call call) {
  call.caller_now = members.Time("caller_now_ms");
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(segment_machine::Check(call));
  return call;
}

}  // namespace

std::string BodyOf(const CounterCall& call) {
  json::object object{{"do", Json(kKinds[static_cast<size_t>(call.kind)])},
                      {"name_hex", Json(absl::BytesToHexString(internal::ToAbsl(call.name)))},
                      {"ttl_ms", NumberText(absl::ToInt64Milliseconds(call.ttl))}};
  if (call.kind != CounterCall::Kind::kLoad) object["number"] = NumberText(call.number);
  if (call.kind == CounterCall::Kind::kTake) {
    object["last_of_first"] = NumberText(call.last_of_first);
    object["max_value"] = NumberText(call.max_value);
    object["wraps"] = call.wraps;
  }
  if (call.kind == CounterCall::Kind::kPutBack) {
    object["last"] = NumberText(call.last);
    object["version"] = NumberText(call.version);
  }
  return json::serialize(object);
}

absl::StatusOr<CounterCall> ParseCounterCall(std::string_view body) {
  Members members(body);
  CounterCall call;
  auto number = [&members](const char* name) {
    return static_cast<int64_t>(NumberIn(members, name, kMostNumber));
  };
  const std::string kind = members.Text("do", 16);
  size_t index = 0;
  while (index < kKinds.size() && kKinds[index] != kind) ++index;
  if (index == kKinds.size()) {
    members.Fail(absl::StrCat("\"do\" is ", Quoted(kind),
                              "; it must be take, store, store_new, load or put_back"));
    return members.Finish();
  }
  call.kind = static_cast<CounterCall::Kind>(index);
  call.name = members.Bytes("name_hex", counter_machine::kLongestName);
  call.ttl = absl::Milliseconds(
      NumberIn(members, "ttl_ms",
               static_cast<uint64_t>(absl::ToInt64Milliseconds(counter_machine::kLongestTtl))));
  if (call.kind != CounterCall::Kind::kLoad) call.number = number("number");
  if (call.kind == CounterCall::Kind::kTake) {
    call.last_of_first = number("last_of_first");
    call.max_value = number("max_value");
    call.wraps = members.Bool("wraps");
  }
  if (call.kind == CounterCall::Kind::kPutBack) {
    call.last = number("last");
    call.version = NumberIn(members, "version", UINT64_MAX);
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(counter_machine::Check(call));
  return call;
}

std::string BodyOf(const CounterReply& reply) {
  json::value value = nullptr;
  if (reply.value) value = NumberText(*reply.value);
  return json::serialize(
      json::object{{"done", reply.done}, {"value", value}, {"version", NumberText(reply.version)}});
}

absl::StatusOr<CounterReply> ParseCounterReply(std::string_view body) {
  Members members(body);
  CounterReply reply;
  reply.done = members.Bool("done");
  if (const auto value = members.TokenOrNull("value", kMostNumber)) {
    reply.value = static_cast<int64_t>(*value);
  }
  reply.version = NumberIn(members, "version", UINT64_MAX);
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return reply;
}

std::string BodyOf(const segment_machine::Call& call) {
  json::object object;
  std::visit(AddOne{object}, call);
  std::visit(
      [&object](const auto& one) { object["caller_now_ms"] = absl::ToUnixMillis(one.caller_now); },
      call);
  return json::serialize(object);
}

absl::StatusOr<segment_machine::Create> ParseSegmentCreate(std::string_view body) {
  Members members(body);
  segment_machine::Create create;
  create.options = OptionsIn(members);
  return Finished(members, std::move(create));
}

absl::StatusOr<segment_machine::Allocation> ParseSegmentAllocation(std::string_view body) {
  Members members(body);
  segment_machine::Allocation allocation;
  allocation.options = OptionsIn(members);
  if (const json::array* requests = members.Array("requests", segment_machine::kMostRequests)) {
    for (const json::value& each : *requests) {
      Members of(each, "a request");
      SegmentRequest& request = allocation.requests.emplace_back();
      request.section = static_cast<uint16_t>(of.Number("section", UINT16_MAX));
      request.length = NumberIn(of, "length", segment_rules::kEndOfSequences);
      request.seen = NumberIn(of, "seen", segment_rules::kEndOfSequences);
      LOCUS_RETURN_IF_ERROR(of.Finish());
    }
  }
  return Finished(members, std::move(allocation));
}

absl::StatusOr<segment_machine::DeclareRestored> ParseSegmentRestored(std::string_view body) {
  Members members(body);
  return Finished(members, segment_machine::DeclareRestored());
}

absl::StatusOr<segment_machine::Raise> ParseSegmentRaise(std::string_view body) {
  Members members(body);
  segment_machine::Raise raise;
  raise.to = NumberIn(members, "to", UINT64_MAX);
  const std::string reach = members.Text("reach", 16);
  if (reach == ToString(RaiseReach::kAnywhere)) {
    raise.reach = RaiseReach::kAnywhere;
  } else if (reach != ToString(RaiseReach::kNearFloor)) {
    members.Fail(
        absl::StrCat("\"reach\" is ", Quoted(reach), "; it must be near_floor or anywhere"));
  }
  return Finished(members, raise);
}

std::string BodyOf(const SegmentReply& reply) {
  json::array grants;
  for (const SegmentGrant& grant : reply.grants) {
    grants.push_back(json::object{{"first", NumberText(grant.segment.first)},
                                  {"length", NumberText(grant.segment.length)},
                                  {"wait_ns", NanosText(grant.wait)},
                                  {"lead_ns", NanosText(grant.lead)},
                                  {"room_ns", NanosText(grant.room)}});
  }
  return json::serialize(json::object{{"granted_at_ms", absl::ToUnixMillis(reply.granted_at)},
                                      {"loss_noticed", reply.loss_noticed},
                                      {"grants", std::move(grants)}});
}

absl::StatusOr<SegmentReply> ParseSegmentReply(std::string_view body) {
  Members members(body);
  SegmentReply reply;
  reply.granted_at = members.Time("granted_at_ms");
  reply.loss_noticed = members.Bool("loss_noticed");
  if (const json::array* grants = members.Array("grants", segment_machine::kMostRequests)) {
    for (const json::value& each : *grants) {
      Members of(each, "a grant");
      SegmentGrant& grant = reply.grants.emplace_back();
      grant.segment.first = NumberIn(of, "first", segment_rules::kEndOfSequences);
      grant.segment.length = NumberIn(of, "length", segment_rules::kEndOfSequences);
      grant.wait = NanosIn(of, "wait_ns");
      grant.lead = NanosIn(of, "lead_ns");
      grant.room = NanosIn(of, "room_ns");
      LOCUS_RETURN_IF_ERROR(of.Finish());
    }
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return reply;
}

std::string BodyOf(const BaseRaise& raised) {
  return json::serialize(
      json::object{{"before", NumberText(raised.before)}, {"after", NumberText(raised.after)}});
}

absl::StatusOr<BaseRaise> ParseBaseRaise(std::string_view body) {
  Members members(body);
  BaseRaise raised;
  raised.before = NumberIn(members, "before", segment_rules::kEndOfSequences);
  raised.after = NumberIn(members, "after", segment_rules::kEndOfSequences);
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return raised;
}

std::string BodyOf(const SpaceView& view) {
  json::array sections;
  for (const SpaceView::Section& section : view.sections) {
    sections.push_back(json::object{{"section", section.section},
                                    {"head", NumberText(section.head)},
                                    {"lead_ns", NanosText(section.lead)},
                                    {"granted_at_ms", absl::ToUnixMillis(section.granted_at)}});
  }
  json::object object;
  Add(view.options, object);
  object["base"] = NumberText(view.base);
  object["losses"] = NumberText(view.losses);
  object["now_ms"] = absl::ToUnixMillis(view.now);
  object["sections"] = std::move(sections);
  return json::serialize(object);
}

absl::StatusOr<SpaceView> ParseSpaceView(std::string_view body) {
  Members members(body);
  SpaceView view;
  view.options = OptionsIn(members);
  view.base = NumberIn(members, "base", segment_rules::kEndOfSequences);
  view.losses = NumberIn(members, "losses", UINT64_MAX);
  view.now = members.Time("now_ms");
  if (const json::array* sections = members.Array("sections", kMostSectionsOfSpace)) {
    for (const json::value& each : *sections) {
      Members of(each, "a section");
      SpaceView::Section& section = view.sections.emplace_back();
      section.section = static_cast<uint16_t>(of.Number("section", UINT16_MAX));
      section.head = NumberIn(of, "head", segment_rules::kEndOfSequences);
      section.lead = NanosIn(of, "lead_ns");
      section.granted_at = of.Time("granted_at_ms");
      LOCUS_RETURN_IF_ERROR(of.Finish());
    }
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(view.options));
  return view;
}

}  // namespace locus::cluster_api
