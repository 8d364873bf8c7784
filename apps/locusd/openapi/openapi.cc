// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/openapi/openapi.h"

#include <boost/json.hpp>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/locusd/console/console_api.h"
#include "apps/locusd/front/front.h"
#include "apps/locusd/ids/id_jobs.h"
#include "apps/locusd/openapi/schemas.h"
#include "apps/locusd/strict/strict_api.h"
#include "src/base/os/check.h"
#include "src/cluster/api/api.h"
#include "src/http/api/route_table.h"

namespace locus::locusd {
namespace {

namespace json = boost::json;

using http_api::Route;
using http_api::RouteTable;

json::string JsonOf(std::string_view text) { return json::string(text.data(), text.size()); }
std::string_view TextOf(const json::string& text) { return {text.data(), text.size()}; }

std::vector<std::string> WordsOf(const json::value& text) {
  return absl::StrSplit(std::string(TextOf(text.as_string())), ' ');
}

json::value RefTo(const char* kind, std::string_view name) {
  return json::object{
      {"$ref", JsonOf(absl::StrCat("#/components/", kind, "/", std::string(name)))}};
}

// The shorthands of schemas.json, written out.
json::value Expanded(const json::value& value) {
  if (const json::string* const text = value.if_string()) {
    const bool names = text->size() > 1 && (*text)[0] == '$' && absl::ascii_isupper((*text)[1]);
    return names ? RefTo("schemas", TextOf(*text).substr(1)) : value;
  }
  if (const json::array* const array = value.if_array()) {
    json::array expanded;
    for (const json::value& each : *array) expanded.push_back(Expanded(each));
    return expanded;
  }
  if (!value.is_object()) return value;
  json::object expanded;
  for (const auto& [key, member] : value.get_object()) {
    if (key != "object") {
      expanded[key] = Expanded(member);
      continue;
    }
    json::object properties;
    json::array required;
    for (const auto& [name, schema] : member.as_object()) {
      const bool optional = name.ends_with('?');
      const json::string bare = JsonOf({name.data(), name.size() - (optional ? 1 : 0)});
      properties[bare] = Expanded(schema);
      if (!optional) required.push_back(bare);
    }
    expanded["type"] = "object";
    expanded["additionalProperties"] = false;
    if (!required.empty()) expanded["required"] = std::move(required);
    expanded["properties"] = std::move(properties);
  }
  return expanded;
}

json::value ProblemOf(const json::value& description) {
  return json::object{
      {"description", description},
      {"content", {{"application/problem+json", {{"schema", RefTo("schemas", "Problem")}}}}}};
}

// Of a status that means the same for each operation.
std::string_view UsualResponse(std::string_view status) {
  static const std::map<std::string_view, std::string_view> kUsual = {
      {"204", "Done"},          {"307", "Elsewhere"}, {"400", "Bad"},     {"404", "Absent"},
      {"406", "NotAcceptable"}, {"409", "Conflict"},  {"412", "Refused"}, {"415", "MediaType"},
      {"422", "KeyReuse"},      {"429", "Taken"},     {"503", "Later"},   {"default", "Any"}};
  return kUsual.at(status);
}

// The document while it is made.
class Document {
 public:
  Document() : document_(Expanded(json::parse({kSchemas.data(), kSchemas.size()})).as_object()) {
    operations_ = std::move(document_.at("operations").as_object());
    document_.erase("operations");
    for (auto& each : document_.at("components").at("responses").as_object()) {
      if (each.value().is_string()) each.value() = ProblemOf(each.value());
    }
  }

  void Add(const RouteTable& table) {
    for (const Route* const route : table.routes()) {
      if (route->name.empty()) continue;
      json::value& path = paths_[JsonOf(route->path)];
      if (path.is_null()) path = json::object();
      path.as_object()[absl::AsciiStrToLower(std::string(route->method))] = OperationOf(*route);
    }
  }

  std::string Take() {
    LOCUS_CHECK(described_.size() == operations_.size());
    document_["paths"] = std::move(paths_);
    return json::serialize(document_);
  }

 private:
  json::value Schema(std::string_view name) const {
    LOCUS_CHECK(document_.at("components")
                    .at("schemas")
                    .as_object()
                    .contains(json::string_view(name.data(), name.size())));
    return json::object{{"schema", RefTo("schemas", name)}};
  }

  json::object OperationOf(const Route& route) {
    const json::value* const found =
        operations_.if_contains(json::string_view(route.name.data(), route.name.size()));
    LOCUS_CHECK(found != nullptr && described_.insert(route.name).second);
    const json::object& words = found->as_object();
    json::object operation{{"operationId", JsonOf(route.name)},
                           {"summary", words.at("summary")},
                           {"tags", json::array{words.at("tag")}}};
    if (const json::value* const text = words.if_contains("description")) {
      operation["description"] = *text;
    }
    if (words.contains("public")) operation["security"] = json::array{json::object()};
    if (!route.scopes.empty()) {
      json::array scopes;
      for (const Scope scope : Scopes::kEach) {
        if (route.scopes.Has(scope)) scopes.push_back(JsonOf(ToString(scope)));
      }
      operation["x-scopes"] = std::move(scopes);
    }
    if (const json::value* const names = words.if_contains("parameters")) {
      json::array parameters;
      for (const std::string& name : WordsOf(*names)) {
        parameters.push_back(RefTo("parameters", name));
      }
      operation["parameters"] = std::move(parameters);
    }
    if (!route.request.empty()) {
      operation["requestBody"] = {{"required", true},
                                  {"content", {{"application/json", Schema(route.request)}}}};
    }
    operation["responses"] = ResponsesOf(route, words);
    return operation;
  }

  json::object ResponsesOf(const Route& route, const json::object& words) const {
    json::object responses;
    if (route.status == 204) responses["204"] = RefTo("responses", UsualResponse("204"));
    if (!route.answer.empty()) {
      json::object content{{"application/json", Schema(route.answer)}};
      if (!route.line.empty()) content["application/x-ndjson"] = Schema(route.line);
      json::object response{{"description", words.at("answer")}, {"content", std::move(content)}};
      if (!route.line.empty() || words.at("tag") == "console") {
        response["headers"] = {{"Cache-Control", {{"schema", {{"const", "no-store"}}}}}};
      }
      responses[absl::StrCat(route.status)] = std::move(response);
    }
    if (const json::value* const refusals = words.if_contains("refusals")) {
      for (const std::string& status : WordsOf(*refusals)) {
        responses[status] = RefTo("responses", UsualResponse(status));
      }
    }
    if (const json::value* const others = words.if_contains("others")) {
      for (const auto& [status, other] : others->as_object()) {
        responses[status] = other.is_string() ? RefTo("responses", TextOf(other.as_string()))
                            : other.as_object().contains("problem") ? ProblemOf(other.at("problem"))
                                                                    : other;
      }
    }
    responses["default"] = RefTo("responses", UsualResponse("default"));
    return responses;
  }

  json::object document_;
  json::object operations_;  // by name
  json::object paths_;
  std::set<std::string_view> described_;
};

std::string Make() {
  Document document;
  document.Add(IdRoutes());
  document.Add(StrictApi::Table());
  document.Add(cluster_api::Api::Routes());
  document.Add(ConsoleApi::Table());
  document.Add(Front::Routes());
  return document.Take();
}

}  // namespace

const std::string& OpenApiText() {
  static const std::string* const text = new std::string(Make());
  return *text;
}

}  // namespace locus::locusd
