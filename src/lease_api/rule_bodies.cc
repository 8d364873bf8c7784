// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/lease_api/members.h"
#include "src/lease_api/store_bodies.h"

namespace locus::lease_api {

namespace json = boost::json;

using rule_machine::Call;
using rule_machine::Reply;
using rule_machine::Rule;

namespace {

json::string Json(std::string_view text) { return json::string(text.data(), text.size()); }

void Add(const Rule& rule, json::object& object) {
  object["version"] = Json(absl::StrCat(rule.version));
  object["text_hex"] = Json(absl::BytesToHexString(internal::ToAbsl(rule.text)));
}

Rule RuleIn(Members& members) {
  Rule rule;
  rule.version = members.Token("version", rule_machine::kHighestVersion);
  rule.text = members.Bytes("text_hex", rule_machine::kLongestText);
  return rule;
}

}  // namespace

std::string BodyOf(const Call& call) {
  json::object object{{"name", Json(call.name)}, {"expected", Json(absl::StrCat(call.expected))}};
  json::value next = nullptr;
  if (call.next) Add(*call.next, next.emplace_object());
  object["next"] = std::move(next);
  return json::serialize(object);
}

absl::StatusOr<Call> ParseRuleCall(std::string_view body) {
  Members members(body);
  Call call;
  call.name = members.Text("name", rule_machine::kLongestName);
  call.expected = members.Token("expected", rule_machine::kHighestVersion);
  if (const json::value* next = members.ObjectOrNull("next")) {
    Members of(*next, "\"next\"");
    call.next = RuleIn(of);
    LOCUS_RETURN_IF_ERROR(of.Finish());
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(rule_machine::Check(call));
  return call;
}

std::string BodyOf(const Reply& reply) {
  return json::serialize(json::object{{"done", reply.done}});
}

absl::StatusOr<Reply> ParseRuleReply(std::string_view body) {
  Members members(body);
  Reply reply{members.Bool("done")};
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return reply;
}

std::string BodyOf(const std::map<std::string, Rule>& rules) {
  json::array list;
  for (const auto& [name, rule] : rules) {
    json::object object{{"name", Json(name)}};
    Add(rule, object);
    list.push_back(std::move(object));
  }
  return json::serialize(json::object{{"rules", std::move(list)}});
}

absl::StatusOr<std::map<std::string, Rule>> ParseRules(std::string_view body) {
  Members members(body);
  std::map<std::string, Rule> rules;
  if (const json::array* list = members.Array("rules", rule_machine::kMostRules)) {
    for (const json::value& each : *list) {
      Members of(each, "a rule");
      std::string name = of.Text("name", rule_machine::kLongestName);
      rules[std::move(name)] = RuleIn(of);
      LOCUS_RETURN_IF_ERROR(of.Finish());
    }
  }
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return rules;
}

}  // namespace locus::lease_api
