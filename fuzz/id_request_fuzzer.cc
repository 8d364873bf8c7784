// SPDX-License-Identifier: Apache-2.0
// Requests to the ID service: "METHOD TARGET\nACCEPT\nBODY". What it answers without waiting is
// JSON, or lines of it; IDs and numbers that it makes, it also reads.
#include <cstdlib>
#include <string>
#include <string_view>

#include "apps/locusd/ids/id_jobs.h"
#include "locus/engine/memory.h"
#include "locus/key_ring.h"
#include "nlohmann/json.hpp"

namespace {

using locus::locusd::IdParts;

void Check(bool right) {
  if (!right) std::abort();
}

std::shared_ptr<const IdParts> MakeParts() {
  auto parts = std::make_shared<IdParts>();
  locus::OrderIdGenerator::Options orders;
  orders.create_space = true;
  parts->orders =
      locus::OrderIdGenerator::Create(std::make_shared<locus::MemorySegmentStore>(), orders)
          .value();
  Check(parts->orders->Warm(absl::Seconds(10)).ok());
  parts->order_no_codec = std::make_shared<const locus::OrderNoCodec>(
      locus::OrderNoCodec::Create(
          locus::KeyRing::FromKey(locus::KeyVersion(), std::string(32, 'k')).value())
          .value());
  parts->router = std::make_unique<locus::Router>(
      locus::RoutingTable::MakeEven(
          {{"a", "mysql://127.0.0.1:1/a"}, {"b", "mysql://127.0.0.1:1/b"}})
          .value());
  auto types = std::make_shared<locus::MemorySequenceTypeStore>();
  locus::SequenceType invoices;
  invoices.name = "invoices";
  invoices.pattern = "{shop:2}-{seq:19}";
  Check(types->Create(invoices).ok());
  auto open = [](const locus::SequencerOptions& options)
      -> absl::StatusOr<std::shared_ptr<locus::Sequencer>> {
    return locus::MemorySequencer::Create(options);
  };
  auto typed = std::make_unique<locus::locusd::TypedNumbers>(
      std::make_unique<locus::TypedSequences>(types, open),
      locus::locusd::TypedNumbers::Options{.most = 2});
  // The one that requests find open.
  Check(
      typed->Wait(typed->Open("invoices", "").value(), std::chrono::steady_clock::time_point::max())
          .ok());
  parts->sequences = std::make_shared<locus::locusd::SequenceSet>(
      locus::MemorySequencer::Create({}).value(), 2, std::set<std::string>(),
      locus::SegmentSequence::Options(), std::move(typed));
  return parts;
}

std::string TakeLine(std::string_view& text, char end) {
  const size_t at = text.find(end);
  std::string line(text.substr(0, at));
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Never destroyed.
  static const auto& parts = *new std::shared_ptr<const IdParts>(MakeParts());
  std::string_view text(reinterpret_cast<const char*>(data), size);
  locus::http::ServerRequest request;
  request.method = TakeLine(text, ' ');
  std::string target = TakeLine(text, '\n');
  request.path = target.substr(0, target.find('?'));
  if (request.path.size() < target.size()) request.query = target.substr(request.path.size() + 1);
  request.headers.emplace_back("Accept", TakeLine(text, '\n'));
  request.body = text;
  if (locus::locusd::IdRoutes().Find(request.path).path == nullptr) return 0;
  auto understood = locus::locusd::Understand(request, parts);
  if (!understood.ok()) {
    Check(absl::IsInvalidArgument(understood.status()) || absl::IsNotFound(understood.status()));
    Check(!understood.status().message().empty());
    return 0;
  }
  auto body = understood->job(std::nullopt);
  if (!body.ok()) return 0;
  std::string_view rest = *body;
  if (!understood->lines) {
    Check(nlohmann::json::accept(rest));
    return 0;
  }
  while (!rest.empty()) Check(nlohmann::json::accept(TakeLine(rest, '\n')));
  return 0;
}
