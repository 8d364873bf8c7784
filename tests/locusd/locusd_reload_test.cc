// SPDX-License-Identifier: Apache-2.0
// What locusd takes over while it runs: all that changed, or, where anything is wrong, nothing.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/key_ring.h"
#include "locus/routing/routing_table.h"
#include "tests/locusd/ids_process.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRole[] = "roles = [\"id-service\"]\n";
constexpr char kOne[] = R"({"buyers":["1"]})";
constexpr char kDone[] = "info file read again";
constexpr char kFailed[] = "error file not taken over";
constexpr char kFirst[] = "the-first-token-of-all";
constexpr char kSecond[] = "the-second-token-of-all";

class LocusdReloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteSecret(token_, absl::StrCat(kFirst, "\n"));
    ASSERT_TRUE(ring_.Save(keys_).ok());
    WriteTable(table_, 1, "a");
    WriteConfig();
    ids_.token = kFirst;
    ASSERT_TRUE(ids_.Start());
  }

  static constexpr char kTableId[] = "00112233445566aa";
  void WriteTable(const std::string& path, uint64_t epoch, const std::string& shard,
                  const std::string& table_id = kTableId) {
    std::ofstream(path + ".new")
        << RoutingTable::Make(
               epoch, {{.id = 1, .name = shard, .endpoint = "mysql://127.0.0.1:1/a", .labels = {}}},
               {{65535, 1}}, {}, table_id)
               ->ToJson();
    fs::rename(path + ".new", path);
  }
  void WriteConfig(const std::string& more = "", const std::string& place = "") {
    const std::string uri = absl::StrCat("\"sqlite:", directory_ / "ids.db", "\"\ncreate = true\n");
    ids_.Write(kRole, more_api_,
               absl::StrCat("[ids]\nkeys = \"", keys_, "\"\n[ids.orders]\nstore = ", uri,
                            "[ids.table]\nplace = \"file:", place.empty() ? table_ : place,
                            "\"\n[[token]]\nname = \"shop\"\nfile = \"", token_,
                            "\"\nscopes = [\"ids\", \"route\", \"decode\", \"read\"]\n", more));
  }
  json Order() { return ids_.Good("POST", "/v1/orders/ids", kOne)["orders"][0]; }
  std::string Shard() { return Order()["shard"]; }
  bool TakesOver(const std::function<void()>& change) { return ids_.LogsAfter(change, kDone); }
  // Says why, and changes nothing.
  void ExpectRefused(const std::function<void()>& change, const std::string& why) {
    const std::string before = ids_.LogText();
    EXPECT_TRUE(ids_.LogsAfter(change, kFailed)) << why;
    EXPECT_THAT(ids_.LogText().substr(before.size()), HasSubstr(why));
    EXPECT_EQ(ids_.Metric("locusd_reload_failing"), "1");
    EXPECT_EQ(ids_.Good("GET", "/v1/uuid")["uuids"].size(), 1u) << "the token goes on";
    EXPECT_EQ(ids_.StatusOf("GET", "/readyz"), 200u);
  }

  const TemporaryDirectory directory_;
  const std::string token_ = directory_ / "token";
  const std::string keys_ = directory_ / "keys";
  const std::string table_ = directory_ / "table.json";
  std::string more_api_;
  KeyRing ring_ = KeyRing::Generate().value();
  IdsProcess ids_{directory_};
};

TEST_F(LocusdReloadTest, Tokens_AreThoseOfTheirFiles) {
  EXPECT_TRUE(TakesOver([&] { WriteSecret(token_, absl::StrCat(kSecond, "\n")); }));
  EXPECT_EQ(ids_.StatusOf("GET", "/v1/uuid"), 401u);
  ids_.token = kSecond;
  EXPECT_EQ(ids_.StatusOf("GET", "/v1/uuid"), 200u);
  ExpectRefused([&] { WriteSecret(token_, "short\n"); }, token_);
  // Written in its place, and readable by others.
  ExpectRefused(
      [&] {
        std::ofstream(directory_ / "x") << kFirst;
        fs::rename(directory_ / "x", token_);
      },
      token_);
  ExpectRefused([&] { fs::remove(token_); }, token_);
  EXPECT_TRUE(TakesOver([&] { WriteSecret(token_, absl::StrCat(kSecond, "\n")); }));
  EXPECT_EQ(ids_.Metric("locusd_reload_failing"), "0");
  EXPECT_EQ(ids_.Metric("locusd_reload_failures_total"), "3");
  EXPECT_THAT(ids_.LogText(), AllOf(Not(HasSubstr(kFirst)), Not(HasSubstr(kSecond))));
}

TEST_F(LocusdReloadTest, Keys_RotateAndWrongOnesChangeNothing) {
  const json first = Order();
  EXPECT_EQ(first["order_no"].get<std::string>().size(),
            Order()["order_no"].get<std::string>().size());
  const KeyVersion added = ring_.Add().value();
  ASSERT_TRUE(ring_.Activate(added).ok());
  EXPECT_TRUE(TakesOver([&] { ASSERT_TRUE(ring_.Save(keys_).ok()); }));
  const json second = Order();
  auto decoded = [&](const json& order) {
    return ids_.Good("POST", "/v1/order_no:decode",
                     json{{"order_nos", {order["order_no"]}}}.dump())["order_ids"][0];
  };
  EXPECT_EQ(decoded(first), first["order_id"]) << "of before, by the key of before";
  EXPECT_EQ(decoded(second), second["order_id"]);
  ExpectRefused([&] { WriteSecret(keys_, "locus-key-ring 1\nactive 1\n"); }, "keys");
  // Another ring: whatever was made could not be read any more.
  ExpectRefused([&] { ASSERT_TRUE(KeyRing::Generate()->Save(keys_).ok()); }, "ids.keys");
  EXPECT_EQ(decoded(first), first["order_id"]);
  EXPECT_TRUE(TakesOver([&] { ASSERT_TRUE(ring_.Save(keys_).ok()); }));
}

TEST_F(LocusdReloadTest, PlaceOfTheTable_IsAnotherOnlyWithALaterTable) {
  EXPECT_EQ(Shard(), "a");
  const std::string other = directory_ / "other.json";
  WriteTable(other, 2, "b");
  EXPECT_TRUE(TakesOver([&] { WriteConfig("", other); }));
  EXPECT_EQ(Shard(), "b");
  ExpectRefused([&] { WriteConfig("", table_); }, "older than the one in force");
  EXPECT_EQ(Shard(), "b");
  const std::string stranger = directory_ / "stranger.json";
  WriteTable(stranger, 9, "c", "ffffffffffffffff");
  ExpectRefused([&] { WriteConfig("", stranger); }, "another table");
  ExpectRefused([&] { WriteConfig("", directory_ / "none.json"); }, "none.json");
  EXPECT_EQ(Shard(), "b");
}

TEST_F(LocusdReloadTest, OneWrongThing_KeepsAllTheRightOnesBack) {
  EXPECT_EQ(Shard(), "a");
  const std::string other = directory_ / "other.json";
  WriteTable(other, 2, "b");
  // A good table and a good level, but a token's file that is not there.
  const std::string more = "[log]\nlevel = \"debug\"\n[[token]]\nname = \"n\"\nfile = \"" +
                           (directory_ / "n") + "\"\nscopes = [\"ids\"]\n";
  ExpectRefused([&] { WriteConfig(more, other); }, directory_ / "n");
  EXPECT_EQ(Shard(), "a");
  EXPECT_FALSE(ids_.Logged(" debug "));
  // The missing file comes, and is noticed, though it is of a file that was refused.
  EXPECT_TRUE(TakesOver([&] { WriteSecret(directory_ / "n", "the-token-of-n-is-here\n"); }));
  EXPECT_EQ(Shard(), "b");
  EXPECT_TRUE(WaitUntil([&] {
    ids_.Good("GET", "/v1/uuid");
    return ids_.Logged("debug request");
  }));
  EXPECT_TRUE(ids_.Logs("client=shop"));
  ExpectRefused([&] { std::ofstream(ids_.config(), std::ios::app) << "broken\n"; }, "is no TOML");
  EXPECT_EQ(Shard(), "b");
}

TEST_F(LocusdReloadTest, WhatNeedsARestart_IsNamed) {
  more_api_ = "threads = 3\n";
  EXPECT_TRUE(TakesOver([&] { WriteConfig(); }));
  EXPECT_TRUE(ids_.Logs("needs a restart keys=api.threads")) << ids_.LogText();
  EXPECT_TRUE(TakesOver([&] { kill(ids_.process().pid(), SIGHUP); })) << "also without a change";
}

// A secret of Kubernetes: tls.crt -> ..data/tls.crt, ..data -> ..1.
TEST_F(LocusdReloadTest, CertificatesOfAVolume_AreThoseOfTheNextHandshake) {
  const Authority old_one(directory_, "old");
  const Authority new_one(directory_, "new");
  const std::string volume = directory_ / "volume";
  auto fill = [&](const Authority& authority, const std::string& version) {
    fs::create_directories(volume + "/" + version);
    const std::string signed_file = authority.Sign(version + ".pem", "IP:127.0.0.1");
    fs::copy_file(signed_file, volume + "/" + version + "/tls.crt");
    fs::copy_file(signed_file + ".key", volume + "/" + version + "/tls.key");
    fs::permissions(volume + "/" + version + "/tls.key", fs::perms::owner_read);
  };
  auto swap_to = [&](const std::string& version) {
    fs::create_directory_symlink(version, volume + "/..data_tmp");
    fs::rename(volume + "/..data_tmp", volume + "/..data");
  };
  fill(old_one, "..1");
  swap_to("..1");
  for (const char* const name : {"tls.crt", "tls.key"}) {
    fs::create_symlink(absl::StrCat("..data/", name), volume + "/" + name);
  }
  more_api_ =
      absl::StrCat("certificate = \"", volume, "/tls.crt\"\nkey = \"", volume, "/tls.key\"\n");
  ids_.process().Stop();
  WriteConfig();
  const auto trusts_old = http::TlsContext::Load({old_one.file(), "", ""}).value();
  const auto trusts_new = http::TlsContext::Load({new_one.file(), "", ""}).value();
  ids_.tls = trusts_old.get();
  ASSERT_TRUE(ids_.Start());
  EXPECT_EQ(ids_.StatusOf("GET", "/v1/uuid"), 200u);
  fill(new_one, "..2");
  EXPECT_TRUE(TakesOver([&] { swap_to("..2"); }));
  EXPECT_EQ(ids_.StatusOf("GET", "/v1/uuid"), 0u) << "it trusts the old authority only";
  ids_.tls = trusts_new.get();
  EXPECT_EQ(ids_.StatusOf("GET", "/v1/uuid"), 200u);
  // A key of another certificate.
  ExpectRefused(
      [&] {
        fs::create_directories(volume + "/..3");
        fs::copy_file(volume + "/..2/tls.crt", volume + "/..3/tls.crt");
        fs::copy_file(volume + "/..1/tls.key", volume + "/..3/tls.key");
        swap_to("..3");
      },
      "tls.key");
  // Once that ended the process.
  ExpectRefused(
      [&] {
        fs::create_directories(volume + "/..4/tls.crt");
        fs::copy_file(volume + "/..2/tls.key", volume + "/..4/tls.key");
        swap_to("..4");
      },
      "tls.crt: is not a regular file");
}

TEST_F(LocusdReloadTest, TokenThatHasEnded_IsToldAndTaken) {
  const std::string more = "expires = \"2020-01-01T00:00:00Z\"\n";
  EXPECT_TRUE(TakesOver([&] { WriteConfig(more); }));
  EXPECT_TRUE(ids_.Logs("warn no longer valid"));
  EXPECT_TRUE(ids_.Logs("token[0].expires: \\\"shop\\\" ended at 2020-01-01"));
  EXPECT_EQ(ids_.StatusOf("GET", "/v1/uuid"), 401u);
  EXPECT_TRUE(TakesOver([&] { WriteConfig(); }));
  EXPECT_EQ(ids_.StatusOf("GET", "/v1/uuid"), 200u);
}

}  // namespace
}  // namespace locus
