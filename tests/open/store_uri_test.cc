// SPDX-License-Identifier: Apache-2.0
#include "src/open/store_uri.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus {

using internal::StoreUri;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

StoreUri Read(std::string_view text) {
  auto uri = StoreUri::Parse(text);
  EXPECT_TRUE(uri.ok()) << uri.status();
  return uri.value_or(StoreUri());
}

std::string Refusal(std::string_view text) {
  auto uri = StoreUri::Parse(text);
  EXPECT_TRUE(absl::IsInvalidArgument(uri.status())) << text;
  return std::string(uri.status().message());
}

TEST(StoreUriTest, Sqlite_TakesThePathAsItStands) {
  EXPECT_EQ(Read("sqlite:/a b/%20?x@y").path, "/a b/%20?x@y");
  EXPECT_THAT(Refusal("sqlite:"), HasSubstr("sqlite:PATH"));
}

TEST(StoreUriTest, SqliteWithAHost_IsRefused) {
  for (const char* text : {"sqlite://x.db", "sqlite://host/x.db", "sqlite://"}) {
    EXPECT_EQ(Refusal(text), "store \"" + std::string(text) +
                                 "\" names a host; write sqlite:PATH, or sqlite:///PATH");
  }
  EXPECT_EQ(Read("sqlite:///a/x.db").path, "/a/x.db");
  EXPECT_EQ(Read("sqlite:////a").path, "//a");
}

TEST(StoreUriTest, Mysql_HasUserHostsAndDatabase) {
  StoreUri uri = Read("mysql://sh%40p@db1:3307,db2,[::1]:3308/orders");
  EXPECT_EQ(uri.engine->name, "mysql");
  EXPECT_EQ(uri.user, "sh@p");
  EXPECT_EQ(uri.path, "orders");
  EXPECT_THAT(uri.hosts, ElementsAre(StoreUri::Host{"db1", 3307}, StoreUri::Host{"db2", 3306},
                                     StoreUri::Host{"::1", 3308}));
  EXPECT_THAT(Refusal("mysql://shop@db1:3306"), HasSubstr("database"));
}

TEST(StoreUriTest, Redis_HasANumberedDatabase) {
  StoreUri uri = Read("redis://127.0.0.1:6380/3");
  EXPECT_EQ(uri.engine->name, "redis");
  EXPECT_EQ(uri.number, 3u);
  EXPECT_THAT(uri.hosts, ElementsAre(StoreUri::Host{"127.0.0.1", 6380}));
  EXPECT_EQ(Read("redis://localhost").number, 0u);
  EXPECT_EQ(Read("redis://localhost").hosts[0].port, 6379);
  EXPECT_THAT(Refusal("redis://localhost/orders"), HasSubstr("\"orders\""));
}

TEST(StoreUriTest, Sentinel_NamesItsMaster) {
  StoreUri uri = Read("redis+sentinel://h1:1,h2:2/main");
  EXPECT_EQ(uri.engine->name, "redis");
  EXPECT_EQ(uri.path, "main");
  EXPECT_EQ(uri.hosts.size(), 2u);
  EXPECT_THAT(Refusal("redis+sentinel://h1:1/"), HasSubstr("master name"));
}

TEST(StoreUriTest, Etcd_MayHaveAPrefixAndTls) {
  StoreUri uri = Read("etcd://h1,h2:2380/locus/a?tls_ca=/etc/ca%20b.pem&tls_cert=c&tls_key=k");
  EXPECT_EQ(uri.engine->name, "etcd");
  EXPECT_EQ(uri.path, "locus/a");
  EXPECT_EQ(uri.settings["tls_ca"], "/etc/ca b.pem");
  EXPECT_EQ(uri.settings["tls_key"], "k");
  EXPECT_EQ(Read("etcd://h1").path, "");
}

TEST(StoreUriTest, Zookeeper_MayHaveAPrefix) {
  StoreUri uri = Read("zookeeper://shop@h1,h2:2182/locus/a");
  EXPECT_EQ(uri.engine->name, "zookeeper");
  EXPECT_EQ(uri.path, "locus/a");
  EXPECT_EQ(uri.user, "shop");
  EXPECT_EQ(uri.hosts[0].port, 2181);
  EXPECT_EQ(uri.hosts[1].port, 2182);
  EXPECT_THAT(Refusal("zookeeper://h1?tls=on"), HasSubstr("\"tls\""));
}

TEST(StoreUriTest, Locusd_HasHostsAndTlsOnly) {
  StoreUri uri = Read("locusd://h1,[::1]:7071?tls_ca=/etc/ca.pem");
  EXPECT_EQ(uri.engine->name, "locusd");
  EXPECT_THAT(uri.hosts, ElementsAre(StoreUri::Host{"h1", 7070}, StoreUri::Host{"::1", 7071}));
  EXPECT_EQ(uri.Setting("tls_ca"), "/etc/ca.pem");
  EXPECT_TRUE(Read("locusd://h1/").path.empty());
  EXPECT_THAT(Refusal("locusd://shop@h1"), HasSubstr("its password is a token"));
  // What may be a secret is not printed back.
  const std::string refusal = Refusal("locusd://h1?tls=on&token=s3cret&x&password=hidden");
  EXPECT_THAT(refusal, HasSubstr("h1?tls=on&token=...&x&password=..."));
  EXPECT_THAT(refusal, ::testing::Not(HasSubstr("s3cret")));
  EXPECT_THAT(refusal, ::testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(Refusal("locusd://h1/orders"), HasSubstr("a path \"orders\""));
  EXPECT_THAT(Refusal("locusd://h1?tls_cert=a&tls_key=b"), HasSubstr("\"tls_cert\""));
}

TEST(StoreUriTest, WhatIsWrong_IsNamed) {
  EXPECT_THAT(Refusal("orders.db"), HasSubstr("names no engine"));
  EXPECT_THAT(Refusal("postgres://db/orders"), HasSubstr("\"postgres\""));
  EXPECT_THAT(Refusal("postgres://db/orders"), HasSubstr("redis+sentinel"));
  EXPECT_THAT(Refusal("mysql:db/orders"), HasSubstr("\"//\""));
  EXPECT_THAT(Refusal("mysql://db:0/orders"), HasSubstr("port \"0\""));
  EXPECT_THAT(Refusal("mysql://db:65536/orders"), HasSubstr("\"65536\" that is not 1..65535"));
  EXPECT_THAT(Refusal("mysql://db:/orders"), HasSubstr("port \"\""));
  EXPECT_THAT(Refusal("mysql:///orders"), HasSubstr("host without a name"));
  EXPECT_THAT(Refusal("mysql://a,,b/orders"), HasSubstr("host without a name"));
  EXPECT_THAT(Refusal("mysql://a b/orders"), HasSubstr("\"a b\""));
  EXPECT_THAT(Refusal("mysql://[::1/orders"), HasSubstr("']'"));
  EXPECT_THAT(Refusal("mysql://[::1]x/orders"), HasSubstr("\"x\""));
  EXPECT_THAT(Refusal("mysql://db/or%zzders"), HasSubstr("'%'"));
  EXPECT_THAT(Refusal("mysql://db/orders%00"), HasSubstr("zero byte"));
  EXPECT_THAT(Refusal("mysql://db/orders?ssl=1"), HasSubstr("\"ssl\""));
  EXPECT_THAT(Refusal("mysql://db/orders?tls=off"),
              HasSubstr("\"tls=off\", which takes only tls=on"));
  EXPECT_THAT(Refusal("mysql://db/orders?tls_ca=a&tls_ca=b"), HasSubstr("twice"));
  EXPECT_THAT(Refusal("mysql://db/orders?tls_cert=a"), HasSubstr("\"tls_cert\""));
  EXPECT_THAT(Refusal("etcd://db?tls_cert=a"), HasSubstr("tls_key"));
  EXPECT_THAT(Refusal("redis://db/0?tls=on"), HasSubstr("\"tls\""));
}

TEST(StoreUriTest, Password_IsRefusedAndNotRepeated) {
  for (const char* text :
       {"mysql://shop:hunter2@db/orders", "mysql://shop:hunt%zzer2@db/orders",
        "mysql://shop:hunter2@db:0/orders", "mysql://shop:hunter2@db", "redis://:hunter2@db/0",
        "postgres://shop:hunter2@db/orders", "mysql:shop:hunter2@db/orders",
        "mysql://shop:a@hunter2@db/orders", "mysql://shop:hunter2/x@db/orders",
        "mysql://shop:hunter2?x@db/orders", "hunter2://shop:hunter2@db"}) {
    std::string refusal = Refusal(text);
    if (std::string_view(text).starts_with("hunter2")) continue;
    EXPECT_THAT(refusal, Not(HasSubstr("hunt"))) << text;
  }
  EXPECT_THAT(Refusal("mysql://shop:hunter2@db/orders"), HasSubstr("LOCUS_PASSWORD_FILE"));
}

}  // namespace
}  // namespace locus
