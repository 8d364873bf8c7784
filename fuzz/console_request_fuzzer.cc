// SPDX-License-Identifier: Apache-2.0
// What consoles ask: "plan", "publish" or a query of /v1/inspect, a line break, and the body or the
// query. What is understood is answered with JSON.
#include <cstdlib>
#include <string>
#include <string_view>

#include "apps/locusd/console/console_places.h"
#include "apps/locusd/console/plan_request.h"
#include "apps/locusd/console/table_answers.h"
#include "locus/engine/memory.h"
#include "locus/key_ring.h"
#include "nlohmann/json.hpp"

namespace {

using locus::locusd::ConsolePlaces;

void Check(bool right) {
  if (!right) std::abort();
}

ConsolePlaces& Places() {
  // Never destroyed.
  static ConsolePlaces& places = *new ConsolePlaces([] {
    auto ids = std::make_shared<locus::locusd::IdParts>();
    ids->order_no_codec = std::make_shared<const locus::OrderNoCodec>(
        locus::OrderNoCodec::Create(
            locus::KeyRing::FromKey(locus::KeyVersion(), std::string(32, 'k')).value())
            .value());
    ids->router = std::make_unique<locus::Router>(
        locus::RoutingTable::MakeEven(
            {{"a", "mysql://127.0.0.1:1/a"}, {"b", "mysql://127.0.0.1:1/b"}})
            .value());
    locus::locusd::ConsoleParts parts;
    parts.ids = [ids] { return ids; };
    return parts;
  }());
  return places;
}

void CheckAnswer(const absl::StatusOr<std::string>& answer) {
  if (answer.ok()) return Check(nlohmann::json::accept(*answer));
  Check(!answer.status().message().empty());
  Check(absl::IsInvalidArgument(answer.status()) || absl::IsAborted(answer.status()) ||
        absl::IsFailedPrecondition(answer.status()) || absl::IsNotFound(answer.status()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  if (line == text.npos) return 0;
  const std::string body(text.substr(line + 1));
  const std::string_view what = text.substr(0, line);
  if (what == "plan") {
    CheckAnswer(Places().Plan(body, std::vector<double>(65'536, 1)));
  } else if (what == "publish") {
    const auto request = locus::locusd::ParsePublishRequest(body);
    if (request.ok()) {
      Check(request->digest.size() == 64 && nlohmann::json::accept(request->plan));
    } else {
      Check(absl::IsInvalidArgument(request.status()));
    }
  } else if (what == "inspect") {
    const auto query = locus::locusd::Query::Parse(body);
    if (query.ok()) CheckAnswer(Places().Inspect(*query, size % 2 == 0));
  }
  return 0;
}
