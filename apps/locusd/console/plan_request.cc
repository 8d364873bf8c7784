// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/plan_request.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "apps/shared/shown/plan_step.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_publisher.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::locusd {

namespace json = boost::json;

using internal::Quoted;

namespace {

constexpr size_t kMostShards = 1000;  // in one list of a request
constexpr size_t kMostTextBytes = 4096;
constexpr size_t kMostPerShard = 65536;

absl::Status Refuse(std::string_view member, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(internal::ToAbsl(member), ": ", internal::ToAbsl(why)));
}

std::string TextOf(const json::string& text) { return std::string(text.data(), text.size()); }

// The members of an object, each of which somebody must ask for. After the first error all gives
// nothing, and Finish returns the error.
class Object {
 public:
  Object(const json::value& value, std::string path) : path_(std::move(path)) {
    object_ = value.if_object();
    if (object_ == nullptr) Fail(path_.empty() ? "the body" : path_, "must be a JSON object");
  }

  const json::value* Find(const char* name) {
    names_.emplace_back(name);
    return object_ == nullptr ? nullptr : object_->if_contains(name);
  }
  std::optional<uint64_t> Number(const char* name, uint64_t least, uint64_t most) {
    const json::value* const value = Find(name);
    if (value == nullptr) return std::nullopt;
    std::optional<uint64_t> number;
    if (value->is_uint64()) number = value->get_uint64();
    if (value->is_int64() && value->get_int64() >= 0) {
      number = static_cast<uint64_t>(value->get_int64());
    }
    if (number && *number >= least && *number <= most) return number;
    Fail(In(name), absl::StrCat("must be a number from ", least, " to ", most));
    return std::nullopt;
  }
  std::optional<double> Part(const char* name) {
    const json::value* const value = Find(name);
    if (value == nullptr) return std::nullopt;
    json::error_code error;
    const double part = value->to_number<double>(error);
    if (!error && std::isfinite(part) && part >= 0 && part <= 1) return part;
    Fail(In(name), "must be a number from 0 to 1");
    return std::nullopt;
  }
  std::optional<std::string> Text(const char* name) {
    const json::value* const value = Find(name);
    return value == nullptr ? std::nullopt : TextIn(*value, In(name));
  }
  std::optional<std::string> TextIn(const json::value& value, const std::string& path) {
    const json::string* const text = value.if_string();
    if (text != nullptr && text->size() <= kMostTextBytes) return TextOf(*text);
    Fail(path, absl::StrCat("must be a text of at most ", kMostTextBytes, " bytes"));
    return std::nullopt;
  }
  const json::array* Array(const char* name) {
    const json::value* const value = Find(name);
    if (value == nullptr) return nullptr;
    const json::array* const array = value->if_array();
    if (array != nullptr && array->size() <= kMostShards) return array;
    Fail(In(name), absl::StrCat("must be an array of at most ", kMostShards, " elements"));
    return nullptr;
  }
  const json::object* Map(const char* name) {
    const json::value* const value = Find(name);
    if (value == nullptr) return nullptr;
    const json::object* const map = value->if_object();
    if (map != nullptr && map->size() <= kMostShards) return map;
    Fail(In(name), absl::StrCat("must be an object of at most ", kMostShards, " members"));
    return nullptr;
  }

  std::string In(std::string_view name) const {
    return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", internal::ToAbsl(name));
  }
  void Fail(std::string_view member, std::string_view why) { status_.Update(Refuse(member, why)); }
  void Fail(const absl::Status& status) { status_.Update(status); }
  // Also where a member is left that nobody asked for.
  absl::Status Finish() {
    if (!status_.ok() || object_ == nullptr) return status_;
    for (const json::key_value_pair& member : *object_) {
      const std::string_view key(member.key().data(), member.key().size());
      if (std::ranges::find(names_, key) == names_.end()) {
        return Refuse(In(Quoted(key)), "is not known");
      }
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const json::object* object_ = nullptr;
  std::vector<std::string_view> names_;
  absl::Status status_;
};

absl::StatusOr<json::value> ParseJson(std::string_view body) {
  json::parse_options options;
  options.max_depth = 16;
  json::stream_parser parser({}, options);
  json::error_code error;
  parser.write(body.data(), body.size(), error);
  if (!error) parser.finish(error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("the body is not JSON: ", error.message()));
  }
  return parser.release();
}

void ReadNewShards(Object& request, RebalanceRequest& change) {
  const json::array* const added = request.Array("add");
  if (added == nullptr) return;
  for (size_t i = 0; i < added->size(); ++i) {
    Object object((*added)[i], absl::StrCat("add[", i, "]"));
    RebalanceRequest::NewShard shard;
    const std::optional<std::string> name = object.Text("name");
    const std::optional<std::string> endpoint = object.Text("endpoint");
    if (!name || !endpoint) {
      object.Fail(absl::StrCat("add[", i, "]"), "must have a name and an endpoint");
    } else {
      shard.name = *name;
      shard.endpoint = *endpoint;
      object.Fail(apps::CheckEndpoint(object.In("endpoint"), *endpoint));
    }
    shard.weight = static_cast<uint32_t>(
        object.Number("weight", 0, RoutingTable::kMaxWeight).value_or(shard.weight));
    if (const json::object* const labels = object.Map("labels"); labels != nullptr) {
      for (const json::key_value_pair& label : *labels) {
        const std::string key(label.key().data(), label.key().size());
        const auto text = object.TextIn(label.value(), object.In("labels"));
        if (text) shard.labels[key] = *text;
      }
    }
    request.Fail(object.Finish());
    change.add.push_back(std::move(shard));
  }
}

void ReadChange(Object& request, RebalanceRequest& change) {
  ReadNewShards(request, change);
  if (const json::array* const removed = request.Array("remove"); removed != nullptr) {
    for (size_t i = 0; i < removed->size(); ++i) {
      const auto name = request.TextIn((*removed)[i], absl::StrCat("remove[", i, "]"));
      if (name) change.remove.push_back(*name);
    }
  }
  if (const json::object* const weights = request.Map("weights"); weights != nullptr) {
    for (const json::key_value_pair& member : *weights) {
      const std::string name(member.key().data(), member.key().size());
      const json::value& weight = member.value();
      const bool fits = weight.is_int64() && weight.get_int64() >= 0 &&
                        weight.get_int64() <= int64_t{RoutingTable::kMaxWeight};
      if (!fits) {
        request.Fail(absl::StrCat("weights.", Quoted(name)),
                     absl::StrCat("must be a number from 0 to ", RoutingTable::kMaxWeight));
        continue;
      }
      change.weights[name] = static_cast<uint32_t>(weight.get_int64());
    }
  }
}

// A new shard's weight may also stand among the weights, as on the command line.
void WeighNewShards(RebalanceRequest& change) {
  for (RebalanceRequest::NewShard& shard : change.add) {
    if (auto weight = change.weights.extract(shard.name)) shard.weight = weight.mapped();
  }
}

std::string PlanIn(Object& request) {
  const json::value* const plan = request.Find("plan");
  if (plan == nullptr) return "";
  if (plan->is_object()) return json::serialize(*plan);
  request.Fail("plan", "must be a JSON object, as /v1/plan answers it");
  return "";
}

}  // namespace

absl::StatusOr<PlanRequest> ParsePlanRequest(std::string_view body) {
  LOCUS_ASSIGN_OR_RETURN(const json::value value, ParseJson(body));
  Object object(value, "");
  PlanRequest request;
  request.epoch = object.Number("epoch", 1, RoutingTable::kMaxEpoch);
  ReadChange(object, request.change);
  if (const auto load = object.Text("load"); load) {
    if (*load != "ids") object.Fail("load", "must be \"ids\"");
    request.by_ids = true;
  }
  const std::optional<double> tolerance = object.Part("tolerance");
  if (tolerance && !request.by_ids) object.Fail("tolerance", "is for plans by load");
  if (tolerance) request.change.tolerance = *tolerance;
  request.plan = PlanIn(object);
  const RebalanceRequest& change = request.change;
  if (!request.plan.empty() && (request.by_ids || !change.add.empty() || !change.remove.empty() ||
                                !change.weights.empty())) {
    object.Fail("plan", "stands alone: it has its changes");
  }
  request.most_per_shard = object.Number("most_per_shard", 1, kMostPerShard).value_or(1);
  LOCUS_RETURN_IF_ERROR(object.Finish());
  WeighNewShards(request.change);
  return request;
}

absl::StatusOr<PublishRequest> ParsePublishRequest(std::string_view body) {
  LOCUS_ASSIGN_OR_RETURN(const json::value value, ParseJson(body));
  Object object(value, "");
  PublishRequest request;
  const auto epoch = object.Number("epoch", 1, RoutingTable::kMaxEpoch);
  if (!epoch) object.Fail("epoch", "must be there: the epoch that the plan was made from");
  request.epoch = epoch.value_or(0);
  request.plan = PlanIn(object);
  if (request.plan.empty()) object.Fail("plan", "must be there, as /v1/plan answered it");
  request.digest = object.Text("digest").value_or("");
  if (request.digest.size() != 64 || !std::ranges::all_of(request.digest, [](unsigned char c) {
        return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
      })) {
    object.Fail("digest", "must be the 64 hex digits that /v1/plan answered");
  }
  request.most_per_shard = object.Number("most_per_shard", 1, kMostPerShard).value_or(1);
  request.reason = object.Text("reason").value_or("");
  const absl::Status reason = PublicationNote{"", request.reason}.Check();
  if (!reason.ok()) object.Fail("reason", std::string(reason.message()));
  LOCUS_RETURN_IF_ERROR(object.Finish());
  return request;
}

}  // namespace locus::locusd
