// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/probe/health_url.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::holder_probe {
namespace {

using ::testing::HasSubstr;

std::vector<AddressBlock> Blocks(const std::vector<std::string>& texts) {
  std::vector<AddressBlock> blocks;
  for (const std::string& text : texts) blocks.push_back(AddressBlock::Parse(text).value());
  return blocks;
}

TEST(AddressBlockTest, Contains_TheAddressesOfItsPrefix) {
  auto contains = [](const char* block, const char* address) {
    return AddressBlock::Parse(block).value().Contains(*ParseAddress(address));
  };
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.255.255"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(contains("10.1.2.128/25", "10.1.2.128"));
  EXPECT_FALSE(contains("10.1.2.128/25", "10.1.2.127"));
  EXPECT_TRUE(contains("10.1.2.3/32", "10.1.2.3"));
  EXPECT_FALSE(contains("10.1.2.3/32", "10.1.2.2"));
  EXPECT_TRUE(contains("0.0.0.0/0", "255.0.0.1"));
  EXPECT_FALSE(contains("0.0.0.0/0", "::1")) << "IPv6 is not part of all IPv4";
  EXPECT_TRUE(contains("fd00::/8", "fdff::1"));
  EXPECT_FALSE(contains("fd00::/8", "fe00::1"));
  EXPECT_TRUE(contains("::/0", "::1"));
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.0.0.1")) << "the same host in another form";
  EXPECT_FALSE(contains("fd00::/8", "::ffff:10.0.0.1"));
  for (const char* bad : {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "fd00::/129",
                          "fd00::1/8", "host/8", "10.0.0.0/8/8", "10.0.0/8", "010.0.0.0/8"}) {
    EXPECT_EQ(AddressBlock::Parse(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(HealthUrlTest, AllowedUrl_IsTakenApart) {
  const auto allowed = Blocks({"10.0.0.0/8", "fd00::/8"});
  auto url = HealthUrl::Parse("http://10.0.0.1:8080/healthz?deep=1", allowed);
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_FALSE(url->tls);
  EXPECT_EQ(url->endpoint.text, "10.0.0.1:8080");
  EXPECT_EQ(url->target, "/healthz?deep=1");
  url = HealthUrl::Parse("https://[fd00::1]", allowed);
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->endpoint.host, "fd00::1");
  EXPECT_EQ(url->endpoint.port, 443);
  EXPECT_EQ(url->target, "/");
  EXPECT_EQ(HealthUrl::Parse("http://10.0.0.1?x", allowed)->target, "/?x");
  EXPECT_EQ(HealthUrl::Parse("http://10.0.0.1", allowed)->endpoint.port, 80);
  EXPECT_EQ(HealthUrl::Parse("http://[fd00::1]:81/", allowed)->endpoint.port, 81);
}

TEST(HealthUrlTest, AllElse_IsRefused) {
  const auto allowed = Blocks({"10.0.0.0/8"});
  auto refused = [&](const std::string& text, const char* says) {
    const absl::Status status = HealthUrl::Parse(text, allowed).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says)) << text;
  };
  refused("", "neither");
  refused("ftp://10.0.0.1/", "neither");
  refused("HTTP://10.0.0.1/", "neither");
  refused("http://11.0.0.1/", "none of the blocks");
  refused("http://[::ffff:11.0.0.1]/", "none of the blocks");
  refused("http://127.0.0.1/", "none of the blocks");
  refused("http://localhost/", "no IP address");
  refused("http://10.0.0.1.example.com/", "no IP address");
  refused("http://0x0a000001/", "no IP address");
  refused("http://10.1/", "no IP address");
  refused("http://167772161/", "no IP address");
  refused("http://10.0.0.1@evil/", "a user");
  refused("http://evil@10.0.0.1/", "a user");
  refused("http://10.0.0.1:0/", "port");
  refused("http://10.0.0.1:65536/", "port");
  refused("http:///path", "no host");
  refused("http://10.0.0.1/#x", "fragment");
  refused("http://10.0.0.1/a b", "printable");
  refused("http://10.0.0.1/\r\nX: y", "printable");
  refused(absl::StrCat("http://10.0.0.1/", std::string(500, 'x')), "longer");
  EXPECT_FALSE(HealthUrl::Parse("http://10.0.0.1/", {}).ok()) << "nothing is allowed";
}

TEST(HealthUrlTest, MemberOfAHolder_IsFound) {
  EXPECT_EQ(HealthMemberOf(R"({"host":"a","health":"http://10.0.0.1/"})"), "http://10.0.0.1/");
  for (const char* none :
       {"", "{}", "[]", R"({"health":1})", R"({"a":{"health":"x"}})", R"({"health":"x")"}) {
    EXPECT_EQ(HealthMemberOf(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace locus::holder_probe
