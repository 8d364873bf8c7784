// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/store_bodies.h"
#include "src/http/api/members.h"

namespace locus::cluster_api {

namespace json = boost::json;

using type_machine::Call;
using type_machine::Reply;
using type_machine::Type;

namespace {

json::string Json(std::string_view text) { return json::string(text.data(), text.size()); }

void Add(const Type& type, json::object& object) {
  object["version"] = Json(absl::StrCat(type.version));
  object["text_hex"] = Json(absl::BytesToHexString(internal::ToAbsl(type.text)));
}

Type TypeIn(Members& members) {
  Type type;
  type.version = members.Token("version", type_machine::kHighestVersion);
  type.text = members.Bytes("text_hex", type_machine::kLongestText);
  return type;
}

}  // namespace

std::string BodyOf(const Call& call) {
  json::object object{{"name", Json(call.name)}, {"expected", Json(absl::StrCat(call.expected))}};
  json::value next = nullptr;
  if (call.next) Add(*call.next, next.emplace_object());
  object["next"] = std::move(next);
  return json::serialize(object);
}

absl::StatusOr<Call> ParseTypeCall(std::string_view body) {
  Members members(body);
  Call call;
  call.name = members.Text("name", type_machine::kLongestName);
  call.expected = members.Token("expected", type_machine::kHighestVersion);
  if (const json::value* next = members.ObjectOrNull("next")) {
    Members of(*next, "\"next\"");
    call.next = TypeIn(of);
    LOCUS_RETURN_IF_ERROR(of.Finish());
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(type_machine::Check(call));
  return call;
}

std::string BodyOf(const Reply& reply) {
  return json::serialize(json::object{{"done", reply.done}});
}

absl::StatusOr<Reply> ParseTypeReply(std::string_view body) {
  Members members(body);
  Reply reply{members.Bool("done")};
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return reply;
}

std::string BodyOf(const std::map<std::string, Type>& types) {
  json::array list;
  for (const auto& [name, type] : types) {
    json::object object{{"name", Json(name)}};
    Add(type, object);
    list.push_back(std::move(object));
  }
  return json::serialize(json::object{{"rules", std::move(list)}});
}

absl::StatusOr<std::map<std::string, Type>> ParseTypes(std::string_view body) {
  Members members(body);
  std::map<std::string, Type> types;
  if (const json::array* list = members.Array("rules", type_machine::kMostTypes)) {
    for (const json::value& each : *list) {
      Members of(each, "a sequence type");
      std::string name = of.Text("name", type_machine::kLongestName);
      types[std::move(name)] = TypeIn(of);
      LOCUS_RETURN_IF_ERROR(of.Finish());
    }
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return types;
}

}  // namespace locus::cluster_api
