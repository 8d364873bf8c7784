// SPDX-License-Identifier: Apache-2.0
// Two datacenters set up as docs/run/datacenters.md says, with the commands of that page, in two
// networks whose link is cut.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/order_id.h"
#include "locus/snowflake.h"
#include "tests/datacenters/layout.h"
#include "tests/proof/network.h"
#include "tests/proof/process.h"
#include "tests/proof/seeds.h"
#include "tests/support/golden.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::datacenters {
namespace {

namespace fs = std::filesystem;

// Hosts 0 and 2 are in the east, with its etcd and its service; 1 and 3 in the west.
constexpr uint16_t kPort = 2379;
constexpr std::array<const char*, 2> kNames = {"east", "west"};

// The blocks of commands under a heading of the document, without their indentation.
std::vector<std::string> CommandsUnder(const std::string& heading) {
  std::ifstream document(golden::ProjectDirectory() + "/docs/run/datacenters.md");
  std::vector<std::string> commands;
  std::string line;
  while (std::getline(document, line) && line != heading) continue;
  bool fenced = false;
  for (bool in = false; std::getline(document, line) && !line.starts_with("## ");) {
    if (line.starts_with("```")) fenced = !fenced;
    const bool indented = !fenced && line.starts_with("    ");
    if (indented && !in) commands.emplace_back();
    if (indented) absl::StrAppend(&commands.back(), line.substr(4), "\n");
    in = indented;
  }
  return commands;
}

class DatacentersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto network = proof::MakeNetwork(4, directory_.str(), {1, 3});
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
    for (int at : {0, 1}) {
      network_->Serve(at, kPort);
      StartEtcd(at);
    }
    for (int at : {0, 1}) ASSERT_TRUE(WaitUntil([&] { return Answers(at); })) << kNames[at];
  }

  void StartEtcd(int at) {
    const std::string here = absl::StrCat("http://", network_->FromHere(at, kPort));
    proof::Command command;
    command.words = {"etcd",
                     absl::StrCat("--data-dir=", directory_ / kNames[at]),
                     "--listen-client-urls=" + here,
                     "--advertise-client-urls=" + here,
                     "--listen-peer-urls=http://127.0.0.1:" + absl::StrCat(FreePort()),
                     "--unsafe-no-fsync",
                     "--log-level=error"};
    command.log = absl::StrCat(directory_ / kNames[at], ".log");
    network_->Put(at, command);
    if (network_->of_proxies()) command.routes.clear();  // it listens where proxies lead
    etcds_[at].Start(command);
  }
  std::string UriFromHere(int at) const {
    return absl::StrCat("etcd://", network_->FromHere(at, kPort), "/shop");
  }
  static std::string UriOf(int at) {
    return absl::StrCat("etcd://", proof::Network::AddressOf(at), ":", kPort, "/shop");
  }
  bool Answers(int at) {
    auto store = OpenSegmentStore(UriFromHere(at));
    return store.ok() && absl::IsNotFound((*store)->ReadOptions(SpaceName()).status());
  }

  // As an operator types them, in the directory of the test.
  bool Run(const std::string& commands) {
    const std::string words =
        absl::StrReplaceAll(commands, {{"etcd://etcd.east.example:2379/shop", UriFromHere(0)},
                                       {"etcd://etcd.west.example:2379/shop", UriFromHere(1)}});
    std::ofstream(directory_ / "commands") << words;
    const std::string bin = fs::path(LOCUS_BINARY).parent_path().string();
    const int status =
        std::system(absl::StrCat("cd '", directory_.str(), "' && PATH='", bin,
                                 "':$PATH bash -euo pipefail commands > commands.log 2>&1")
                        .c_str());
    return status == 0;
  }
  std::string Said() const { return proof::TailOf(directory_ / "commands.log"); }

  void StartService(int at) {
    proof::Command command;
    const std::string out = directory_ / absl::StrCat("service-", kNames[at], "-", outs_.size());
    command.words = {DATACENTER_SERVICE, out, absl::StrCat(at), UriOf(0), UriOf(1)};
    command.log = out + ".log";
    network_->Put(2 + at, command);
    services_[at].Kill();
    services_[at].Start(command);
    latest_[at] = out;
    outs_.push_back(out);
  }
  // Whether both kinds of IDs of the datacenter's own are made, anew from now on.
  bool Works(int at) {
    const uintmax_t orders = SizeOf(at, ".home"), snowflakes = SizeOf(at, ".snowflake");
    return WaitUntil(
        [&] { return SizeOf(at, ".home") > orders && SizeOf(at, ".snowflake") > snowflakes; });
  }
  bool BothWork() { return Works(0) && Works(1); }
  bool Follows(int at, uint64_t epoch) {
    return WaitUntil([&] { return fs::exists(absl::StrCat(latest_[at], ".epoch-", epoch)); });
  }
  uintmax_t SizeOf(int at, const char* kind) const {
    std::error_code none;
    const uintmax_t size = fs::file_size(latest_[at] + kind, none);
    return none ? 0 : size;
  }
  std::string Logs() const {
    std::string text;
    for (const std::string& out : outs_) absl::StrAppend(&text, proof::TailOf(out + ".log"));
    return text;
  }

  // All IDs of all services, and the datacenter of each; fails where one was made twice.
  void JudgeIds() {
    std::vector<int64_t> orders, snowflakes;
    for (const std::string& out : outs_) {
      const uint64_t at = out.find(kNames[0]) != out.npos ? 0 : 1;
      for (const char* kind : {".home", ".away", ".snowflake"}) {
        std::ifstream in(out + kind);
        for (std::string line; std::getline(in, line);) {
          int64_t id = 0;
          if (in.eof() || !absl::SimpleAtoi(line, &id)) break;  // a line that a kill cut off
          const bool snowflake = kind == std::string_view(".snowflake");
          (snowflake ? snowflakes : orders).push_back(id);
          const uint64_t of = snowflake ? SnowflakeDefaultLayout::Decompose(id)->datacenter - 1
                                        : DatacenterOf(OrderId::FromInt64(id)->gene());
          ASSERT_EQ(of == at, kind != std::string_view(".away")) << out << kind << ": " << line;
        }
      }
    }
    for (auto* ids : {&orders, &snowflakes}) {
      std::sort(ids->begin(), ids->end());
      const auto twice = std::adjacent_find(ids->begin(), ids->end());
      EXPECT_EQ(twice, ids->end()) << *twice << " was made twice";
    }
    EXPECT_GT(orders.size(), 1000u);
    EXPECT_GT(snowflakes.size(), 1000u);
    std::cout << orders.size() << " order IDs and " << snowflakes.size() << " Snowflakes\n";
  }

  TemporaryDirectory directory_;
  std::unique_ptr<proof::Network> network_;
  std::array<proof::Process, 2> etcds_, services_;
  std::array<std::string, 2> latest_;  // of the service that runs
  std::vector<std::string> outs_;
};

TEST_F(DatacentersTest, LinkCutAndHealed_BothGoOnNoIdTwiceAndTablesMeetAgain) {
  const std::vector<std::string> set_up = CommandsUnder("## Set-up");
  const std::vector<std::string> publish = CommandsUnder("## Publishing a table");
  const std::vector<std::string> apart = CommandsUnder("## Two tables of one epoch");
  ASSERT_EQ(set_up.size(), 2u);
  ASSERT_EQ(publish.size(), 2u);
  ASSERT_EQ(apart.size(), 1u);
  ASSERT_TRUE(Run(set_up[0])) << Said();
  {
    auto stores = StoresAt({UriFromHere(0), UriFromHere(1)});
    ASSERT_TRUE(stores.ok()) << stores.status();
    const absl::Status made = stores->Establish(SpaceName(), SpaceOptions(), absl::Now(),
                                                SegmentStoreSet::Earlier::kNothingInUse);
    ASSERT_TRUE(made.ok()) << made;
  }
  ASSERT_TRUE(Run(set_up[1])) << Said();
  for (int at : {0, 1}) StartService(at);
  ASSERT_TRUE(Follows(0, 1) && Follows(1, 1)) << Logs();
  ASSERT_TRUE(BothWork()) << Logs();
  // Orders of the other datacenter's buyers, too, while the link is there.
  for (int at : {0, 1}) {
    EXPECT_TRUE(WaitUntil([&] { return SizeOf(at, ".away") > 0; })) << Logs();
  }

  network_->CutLink();
  const absl::Time cut = absl::Now();
  ASSERT_TRUE(Run(publish[0])) << Said();  // in the east: the west does not hear of it
  EXPECT_TRUE(Follows(0, 2)) << Logs();
  StartService(1);  // one that knows nothing of the east
  while (absl::Now() - cut < kTtl + absl::Seconds(2)) ASSERT_TRUE(BothWork()) << Logs();
  EXPECT_TRUE(Follows(1, 1)) << Logs();
  EXPECT_FALSE(fs::exists(latest_[1] + ".epoch-2"));

  network_->HealLink();
  ASSERT_TRUE(WaitUntil([&] { return Run(publish[1]); })) << Said();
  EXPECT_TRUE(Follows(1, 2)) << Logs();
  ASSERT_TRUE(BothWork()) << Logs();
  const uintmax_t away = SizeOf(1, ".away");
  EXPECT_TRUE(WaitUntil([&] { return SizeOf(1, ".away") > away; })) << Logs();

  // Somebody published in the west, too: the copy is refused, and what mends it is followed.
  ASSERT_TRUE(
      Run("locus table get etcd://etcd.west.example:2379/shop |\n"
          "  sed 's/\"weight\": 100/\"weight\": 50/' > other\n"
          "! cmp table.json other\n"
          "locus table publish --expect 2 --next-epoch etcd://etcd.west.example:2379/shop "
          "other\n"))
      << Said();
  EXPECT_TRUE(Follows(1, 3)) << Logs();
  const std::vector<std::pair<std::string, std::string>> an_epoch_later = {
      {"--expect 1", "--expect 2"}};
  ASSERT_TRUE(Run(absl::StrReplaceAll(publish[0], an_epoch_later))) << Said();
  EXPECT_FALSE(Run(absl::StrReplaceAll(publish[1], an_epoch_later)));
  EXPECT_THAT(Said(), ::testing::HasSubstr("epoch 3"));
  ASSERT_TRUE(Run(apart[0])) << Said();
  EXPECT_TRUE(Follows(0, 4) && Follows(1, 4)) << Logs();

  for (proof::Process& service : services_) service.Kill();
  JudgeIds();
}

}  // namespace
}  // namespace locus::datacenters
