// SPDX-License-Identifier: Apache-2.0
// Processes that are nodes of a cluster, and give out what this cluster keeps: order IDs, numbers,
// Snowflake IDs, strict sequences. None of them waits for it before it answers, as the others would
// wait for that.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/locusd/ids_process.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr size_t kNodes = 3;
constexpr char kNotOpen[] = "the set of strict sequences is not open yet";
// In the log, of order IDs, sequences and Snowflake IDs.
constexpr char kNotYet[] = " cannot be had yet";

class LocusdRolesTest : public ::testing::Test {
 protected:
  LocusdRolesTest() {
    for (size_t i = 0; i < kNodes; ++i) {
      nodes_.push_back(std::make_unique<IdsProcess>(directory_, absl::StrCat("n", i)));
      rafts_.push_back(absl::StrCat("127.0.0.1:", FreePort()));
      absl::StrAppend(&store_, i == 0 ? "" : ",", nodes_[i]->api());
    }
    for (size_t i = 0; i < kNodes; ++i) {
      nodes_[i]->Write(
          absl::StrCat("roles = [\"cluster-node\", \"id-service\", \"sequence-node\"]\n",
                       "cluster = \"all\"\ndata = \"", directory_ / absl::StrCat("data", i),
                       "\"\n"),
          "store = true\n",
          absl::StrCat("[raft]\nlisten = \"", rafts_[i], "\"\n[ids.orders]\nstore = \"", store_,
                       "\"\ncreate = true\n[ids.sequences]\nstore = \"", store_,
                       "\"\ncreate = true\n[ids.snowflake]\nleases = \"", store_,
                       "\"\ncreate = true\n[strict]\nname = \"n", i, "\"\nstore = \"", store_,
                       "\"\ncreate = true\nuids = 1000\nsection_size = 100\nttl = \"3s\"\n"));
    }
  }

  bool IsReady(size_t node) { return nodes_[node]->StatusOf("GET", "/readyz") == 200; }
  void Begin() {
    for (size_t i = 0; i < kNodes; ++i) {
      ASSERT_TRUE(nodes_[i]->Start(/*begin=*/i == 0)) << nodes_[i]->LogText();
      if (i > 0) Add(i);
    }
    MakeFirstSpace(store_);
    MarkFirstSequences(store_);
    for (size_t i = 0; i < kNodes; ++i) {
      ASSERT_TRUE(WaitUntil([&] { return IsReady(i); })) << nodes_[i]->LogText();
    }
  }
  void Add(size_t node) {
    const std::string id = nodes_[node]->Good("GET", "/v1/status").value("id", "");
    const auto posted = [&](const std::string& target, const std::string& body) {
      return WaitUntil([&] {
        for (size_t i = 0; i <= node; ++i) {
          if (nodes_[i]->StatusOf("POST", target, body) == 204) return true;
        }
        return false;
      });
    };
    ASSERT_TRUE(
        posted("/v1/members", absl::StrCat(R"({"id":")", id, R"(","address":")", rafts_[node], " ",
                                           nodes_[node]->api(), R"("})")));
    ASSERT_TRUE(posted(absl::StrCat("/v1/members/", id, ":promote"), ""));
  }
  void Kill() {
    for (const auto& node : nodes_) node->process().KillHard();
  }
  // What its log says since it was started last.
  std::string LogOfLastStart(size_t node) {
    const std::string log = nodes_[node]->LogText();
    return log.substr(std::min(log.size(), before_[node]));
  }
  // Before it had asked the cluster in vain.
  bool ServedFirst(size_t node) {
    const std::string log = LogOfLastStart(node);
    return log.find("info serves") < std::min(log.find(kNotOpen), log.find(kNotYet));
  }
  void NoteLogs() {
    before_.clear();
    for (const auto& node : nodes_) before_.push_back(node->LogText().size());
  }

  const TemporaryDirectory directory_;
  std::string store_ = "raft://";
  std::vector<std::unique_ptr<IdsProcess>> nodes_;
  std::vector<std::string> rafts_;
  std::vector<size_t> before_;
};

TEST_F(LocusdRolesTest, BeforeThereIsALeader_ItAnswersAndSaysWhatIsMissing) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  Kill();
  NoteLogs();
  ASSERT_TRUE(nodes_[0]->Start()) << nodes_[0]->LogText();
  // It served before it asked the cluster, which nobody can lead.
  EXPECT_TRUE(ServedFirst(0)) << LogOfLastStart(0);
  EXPECT_EQ(nodes_[0]->StatusOf("GET", "/readyz"), 503u);
  EXPECT_EQ(nodes_[0]->StatusOf("GET", "/healthz"), 200u);
  ASSERT_TRUE(WaitUntil([&] { return LogOfLastStart(0).find(kNotOpen) != std::string::npos; }));
  const auto answer = nodes_[0]->Ask("POST", "/v1/strict/next", R"({"uids":["7"]})",
                                     {{"Content-Type", "application/json"}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 503u);
  EXPECT_THAT(answer->body, HasSubstr(R"("code":"UNAVAILABLE")"));
  EXPECT_THAT(answer->body, HasSubstr(absl::StrCat(kNotOpen, ": ")));
  EXPECT_EQ(nodes_[0]->StatusOf("POST", "/v1/orders/ids", R"({"buyers":["7"]})"), 503u);
  EXPECT_EQ(nodes_[0]->StatusOf("GET", "/v1/sequences/invoices/next"), 503u);
  EXPECT_EQ(nodes_[0]->StatusOf("GET", "/v1/snowflake"), 503u);
}

TEST_F(LocusdRolesTest, AllStartedAtOnce_AreReadySoon) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  Kill();
  NoteLogs();
  const absl::Time begun = absl::Now();
  for (const auto& node : nodes_) ASSERT_TRUE(node->Launch());
  EXPECT_TRUE(WaitUntil([&] {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const auto& node) { return node->Serves(); });
  }));
  const absl::Duration served = absl::Now() - begun;
  for (size_t i = 0; i < kNodes; ++i) {
    EXPECT_TRUE(WaitUntil([&] { return IsReady(i); })) << nodes_[i]->LogText();
  }
  std::cout << "all serve after " << served << ", are ready after " << absl::Now() - begun << "\n";
  for (size_t i = 0; i < kNodes; ++i) {
    EXPECT_TRUE(ServedFirst(i)) << LogOfLastStart(i);
  }
  // And they draw.
  EXPECT_TRUE(WaitUntil([&] {
    for (const auto& node : nodes_) {
      const auto answer = node->Ask("POST", "/v1/strict/next", R"({"uids":["7"]})",
                                    {{"Content-Type", "application/json"}});
      if (answer.ok() && answer->status == 200) return true;
    }
    return false;
  }));
  for (const auto& node : nodes_) {
    node->Good("POST", "/v1/orders/ids", R"({"buyers":["7"]})");
    node->Good("GET", "/v1/sequences/invoices/next");
    node->Good("GET", "/v1/snowflake");
  }
}

}  // namespace
}  // namespace locus
