// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd.h"
#include "src/base/os/check.h"
#include "src/cluster/api/store_bodies.h"
#include "src/counter/sequencer_rules.h"
#include "src/engine/locusd/nodes.h"

namespace locus {
namespace {

using CounterCall = counter_machine::Call;
using counter_machine::Reply;
using locusd::Nodes;
using locusd::Request;

class Counters final : public LocusdSequencer {
 public:
  Counters(const SequencerOptions& options, std::unique_ptr<Nodes> nodes)
      : LocusdSequencer(options), nodes_(std::move(nodes)) {}

  LocusdStats NodeStats() const override { return nodes_->Stats(); }

 protected:
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override {
    CounterCall call = CallOf(CounterCall::Kind::kTake, name, span);
    call.last_of_first = sequencer_rules::LastOfFirst(span, options());
    call.max_value = options().max_value;
    call.wraps = options().max_value > 0 && options().at_max == SequencerOptions::AtMax::kWrap;
    LOCUS_ASSIGN_OR_RETURN(const Reply reply, Ask(call));
    if (reply.value) return Taken{*reply.value, reply.version};
    return absl::DataLossError("locusd took numbers of a counter and did not say which");
  }
  absl::Status Store(const std::string& name, int64_t value) override {
    return Ask(CallOf(CounterCall::Kind::kStore, name, value)).status();
  }
  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) override {
    LOCUS_ASSIGN_OR_RETURN(const Reply reply,
                           Ask(CallOf(CounterCall::Kind::kStoreNew, name, value)));
    return reply.done;
  }
  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override {
    LOCUS_ASSIGN_OR_RETURN(const Reply reply, Ask(CallOf(CounterCall::Kind::kLoad, name, 0)));
    return reply.value;
  }
  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken,
                               int64_t value) override {
    CounterCall call = CallOf(CounterCall::Kind::kPutBack, name, value);
    call.last = taken.last;
    call.version = taken.version;
    LOCUS_ASSIGN_OR_RETURN(const Reply reply, Ask(call));
    return reply.done;
  }

 private:
  CounterCall CallOf(CounterCall::Kind kind, const std::string& name, int64_t number) const {
    CounterCall call;
    call.kind = kind;
    call.name = name;
    call.number = number;
    call.ttl = options().ttl;
    return call;
  }

  absl::StatusOr<Reply> Ask(const CounterCall& call) {
    const bool once = call.kind != CounterCall::Kind::kLoad;
    LOCUS_ASSIGN_OR_RETURN(const std::string body,
                           nodes_->Call({"POST", "/v1/counters", cluster_api::BodyOf(call), 200,
                                         once ? Request::Id::kSession : Request::Id::kNone}));
    absl::StatusOr<Reply> reply = cluster_api::ParseCounterReply(body);
    if (reply.ok()) return reply;
    return absl::DataLossError(absl::StrCat("locusd: ", reply.status().message()));
  }

  const std::unique_ptr<Nodes> nodes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocusdSequencer>> LocusdSequencer::Open(
    const LocusdOptions& options, const SequencerOptions& of_counters, Clock& clock) {
  LOCUS_RETURN_IF_ERROR(of_counters.Check());
  LOCUS_ASSIGN_OR_RETURN(auto nodes, Nodes::Open(options, Nodes::Follow::kEndpoints, clock));
  return std::make_unique<Counters>(of_counters, std::move(nodes));
}

}  // namespace locus
