// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/problem.h"

#include <boost/json.hpp>

namespace locus::http_api {

namespace json = boost::json;

bool IsProblem(const http::ServerAnswer& answer) {
  for (const auto& [name, value] : answer.headers) {
    if (name == "Content-Type") return value == "application/problem+json";
  }
  return false;
}

void AddToProblem(http::ServerAnswer& answer, const json::object& members) {
  if (!IsProblem(answer)) return;
  json::error_code error;
  json::value problem = json::parse(answer.body, error);
  if (error || !problem.is_object()) return;
  for (const auto& [name, value] : members) problem.get_object()[name] = value;
  answer.body = json::serialize(problem) + '\n';
}

}  // namespace locus::http_api
