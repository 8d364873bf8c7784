// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd.h"
#include "src/base/os/check.h"
#include "src/cluster/api/store_bodies.h"
#include "src/engine/locusd/nodes.h"

namespace locus {
namespace {

using locusd::Nodes;
using locusd::Request;
using type_machine::Type;

class Types final : public LocusdSequenceTypeStore {
 public:
  explicit Types(std::unique_ptr<Nodes> nodes) : nodes_(std::move(nodes)) {}

  LocusdStats Stats() const override { return nodes_->Stats(); }

 private:
  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) override {
    LOCUS_ASSIGN_OR_RETURN(auto types, Read("/v1/sequence_types?name=" + name));
    const auto found = types.find(name);
    if (found == types.end()) return std::nullopt;
    return std::move(found->second);
  }

  absl::StatusOr<std::map<std::string, Stored>> LoadAll() override {
    return Read("/v1/sequence_types");
  }

  absl::StatusOr<bool> Swap(const std::string& name, uint64_t expected,
                            const std::optional<Stored>& next) override {
    type_machine::Call call{name, expected, std::nullopt};
    if (next) call.next = Type{next->version, next->text};
    LOCUS_RETURN_IF_ERROR(type_machine::Check(call));
    LOCUS_ASSIGN_OR_RETURN(const std::string body,
                           nodes_->Call({"POST", "/v1/sequence_types", cluster_api::BodyOf(call),
                                         200, Request::Id::kSession}));
    LOCUS_ASSIGN_OR_RETURN(const auto reply, Said(cluster_api::ParseTypeReply(body)));
    return reply.done;
  }

  absl::StatusOr<std::map<std::string, Stored>> Read(std::string path) {
    constexpr size_t kMostAnswer = size_t{16} << 20;  // of all types
    LOCUS_ASSIGN_OR_RETURN(const std::string body, nodes_->Call({"GET", std::move(path), "", 200,
                                                                 Request::Id::kNone, kMostAnswer}));
    LOCUS_ASSIGN_OR_RETURN(auto types, Said(cluster_api::ParseTypes(body)));
    std::map<std::string, Stored> stored;
    for (auto& [name, type] : types) stored[name] = {type.version, std::move(type.text)};
    return stored;
  }

  template <typename Parsed>
  static absl::StatusOr<Parsed> Said(absl::StatusOr<Parsed> parsed) {
    if (parsed.ok()) return parsed;
    return absl::DataLossError(absl::StrCat("locusd: ", parsed.status().message()));
  }

  const std::unique_ptr<Nodes> nodes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocusdSequenceTypeStore>> LocusdSequenceTypeStore::Open(
    const LocusdOptions& options, Clock& clock) {
  LOCUS_ASSIGN_OR_RETURN(auto nodes, Nodes::Open(options, Nodes::Follow::kEndpoints, clock));
  return std::make_unique<Types>(std::move(nodes));
}

}  // namespace locus
