// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_MACHINE_FIXTURE_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_MACHINE_FIXTURE_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/machine.h"

namespace locus::cluster_machine {

// A machine to which commands come as through the log: as bytes.
class MachineTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kTtl = absl::Seconds(10);
  static constexpr absl::Duration kSkew = absl::Seconds(1);

  MachineTest() { Do(Create{absl::ZeroDuration(), now_}); }

  Machine::Applied Apply(const Command& command) {
    absl::StatusOr<std::string> bytes = Encode(command);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    absl::StatusOr<Command> back = DecodeCommand(*bytes);
    EXPECT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(Encode(*back).value(), *bytes);
    Machine::Applied applied = machine_.Apply(*back);
    facts_ = applied.facts;
    EXPECT_EQ(DecodeAnswers(Encode(applied.answers).value()).value(), applied.answers);
    return applied;
  }
  Answer Do(Action action, std::optional<RequestId> id = std::nullopt) {
    return Apply({now_, false, {{id, space_, std::move(action)}}}).answers.at(0);
  }
  void Expire() { Apply({now_, true, {}}); }

  WorkerAcquire AcquireOf(const std::string& nonce) const {
    WorkerAcquire acquire;
    acquire.range = {0, 3};
    acquire.term = {kTtl, kSkew};
    acquire.nonce = nonce;
    acquire.holder = absl::StrCat("{\"host\":\"", nonce, "\"}");
    acquire.caller_now = now_;
    return acquire;
  }
  WorkerRenew RenewOf(const WorkerGrant& grant, const std::string& nonce) const {
    return {grant.worker, grant.token, grant.ceiling, {kTtl, kSkew}, nonce, "{}", now_};
  }
  WorkerGrant Acquired(const std::string& nonce) {
    const Answer answer = Do(AcquireOf(nonce));
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    return answer.grant.value_or(WorkerGrant());
  }
  RequestId NewId() { return {now_, 7, ++ids_}; }
  std::vector<std::string> FactsTold() const {
    std::vector<std::string> told;
    for (const Fact& fact : facts_) {
      told.push_back(
          absl::StrCat(std::string(ToString(fact.kind)), " ", fact.worker, " ", fact.nonce));
    }
    return told;
  }

  SpaceName space_ = SpaceName::Parse("eu").value();
  absl::Time now_ = absl::FromUnixMillis(1'700'000'000'000);
  Machine machine_;
  std::vector<Fact> facts_;  // of the last command
  uint64_t ids_ = 0;
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_MACHINE_FIXTURE_H_
