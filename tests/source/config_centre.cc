// SPDX-License-Identifier: Apache-2.0
#include "tests/source/config_centre.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/routing/engine/etcd.h"
#include "locus/routing/engine/http.h"
#include "locus/routing/engine/mysql.h"
#include "locus/routing/file_table.h"
#include "tests/engine/etcd/etcd_server.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/source/http_table_server.h"
#include "tests/source/table_place.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

template <typename T>
std::unique_ptr<T> Opened(absl::StatusOr<std::unique_ptr<T>> made) {
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// After the newest table there; repeats calls that may be repeated.
void PublishAt(TablePublisher& publisher, const RoutingTable& table) {
  absl::StatusOr<RoutingTable> newest;
  ASSERT_TRUE(WaitUntil([&] {
    newest = publisher.Current();
    return newest.ok() || absl::IsNotFound(newest.status());
  })) << newest.status();
  absl::Status status;
  ASSERT_TRUE(WaitUntil([&] {
    status = PublishAnyway(publisher, table, newest.ok() ? newest->epoch() : 0);
    return !absl::IsUnavailable(status);
  })) << status;
  ASSERT_TRUE(status.ok()) << status;
}

// A directory that is moved away while the centre is "down".
class FileDirectory : public ConfigCentre {
 public:
  FileDirectory() { fs::create_directory(there_); }

  bool Start() override {
    if (fs::exists(away_)) fs::rename(away_, there_);
    return true;
  }
  void KillHard() override { fs::rename(there_, away_); }
  void Stall() override { std::abort(); }
  void Resume() override { std::abort(); }
  bool Empty() override {
    fs::remove_all(there_);
    return fs::create_directory(there_);
  }

  std::unique_ptr<TableSource> Follow() override { return Opened(FileTableSource::Open(path())); }
  void Publish(const RoutingTable& table) override {
    PublishAt(*Opened(FileTablePublisher::Open(path())), table);
  }
  void Put(const std::string& document) override {
    std::ofstream(path() + ".new") << document;
    fs::rename(path() + ".new", path());
  }

 private:
  std::string path() const { return there_ + "/table.json"; }

  TemporaryDirectory directory_;
  const std::string there_ = directory_ / "centre";
  const std::string away_ = directory_ / "away";
};

class Etcd : public ConfigCentre {
 public:
  bool Start() override { return server_.Start(); }
  void KillHard() override { server_.KillHard(); }
  void Stall() override {
    for (int i = 0; i < server_.members(); ++i) server_.Stall(i);
  }
  void Resume() override {
    for (int i = 0; i < server_.members(); ++i) server_.Resume(i);
  }
  bool Empty() override { return server_.RestartEmpty(); }

  std::unique_ptr<TableSource> Follow() override {
    return Opened(EtcdTableSource::Open(Options()));
  }
  // A cluster that just came up may have to elect once more.
  void Publish(const RoutingTable& table) override {
    EXPECT_TRUE(server_.WaitForLeader());
    PublishAt(*Opened(EtcdTablePublisher::Open(Options())), table);
  }
  void Put(const std::string& document) override {
    std::string file = server_.directory() / "document";
    std::ofstream(file) << document;
    EXPECT_TRUE(WaitUntil([&] { return server_.Ctl("put locus/table/newest < " + file); }));
  }

 private:
  EtcdTableOptions Options() const {
    EtcdTableOptions options;
    options.etcd = server_.options();
    return options;
  }

  EtcdServer server_{3};
};

class Mariadb : public ConfigCentre {
 public:
  bool Start() override { return server_.Start() && CreateTables(); }
  void KillHard() override { server_.KillHard(); }
  void Stall() override { server_.Stall(); }
  void Resume() override { server_.Resume(); }
  bool Empty() override {
    server_.Empty();
    return Start();
  }

  std::unique_ptr<TableSource> Follow() override {
    // Short: a stalled server is to be noticed.
    return Opened(MysqlTableSource::Open(Options(absl::Seconds(1))));
  }
  void Publish(const RoutingTable& table) override {
    PublishAt(*Opened(MysqlTablePublisher::Open(Options(absl::Seconds(30)))), table);
  }
  void Put(const std::string& document) override {
    absl::StatusOr<RoutingTable> table = RoutingTable::Parse(document);
    uint64_t epoch = table.ok() ? table->epoch() : 1'000'000;
    server_.Sql(
        absl::StrCat("USE locus_centre; BEGIN; DELETE FROM routing_table;"
                     "INSERT INTO routing_table (epoch, document) VALUES (",
                     epoch, ", '", document, "'); COMMIT"));
  }

 private:
  MysqlTableOptions Options(absl::Duration timeout) const {
    MysqlTableOptions options;
    options.mariadb = server_.Account("locus_centre");
    options.mariadb.timeout = options.mariadb.connect_timeout = timeout;
    return options;
  }
  bool CreateTables() {
    server_.Sql("CREATE DATABASE IF NOT EXISTS locus_centre");
    absl::Status created = MysqlTablePublisher::CreateSchema(Options(absl::Seconds(30)));
    EXPECT_TRUE(created.ok()) << created;
    return created.ok();
  }

  MariadbServer server_;
};

class Http : public ConfigCentre {
 public:
  Http() { server_.Behave({.hold = true}); }

  bool Start() override {
    server_.Start();
    return true;
  }
  void KillHard() override { server_.Kill(); }
  void Stall() override { server_.Behave({.fault = HttpTableServer::Fault::kStall}); }
  void Resume() override { server_.Behave({.hold = true}); }
  bool Empty() override {
    server_.RemoveDocument();
    return true;
  }

  std::unique_ptr<TableSource> Follow() override {
    HttpTableOptions options;
    options.url = server_.url();
    options.request_timeout = absl::Seconds(1);
    options.wait = absl::Seconds(2);
    return Opened(HttpTableSource::Open(options));
  }
  void Publish(const RoutingTable& table) override { server_.SetDocument(table.ToJson()); }
  void Put(const std::string& document) override { server_.SetDocument(document); }

 private:
  HttpTableServer server_;
};

template <typename Centre>
std::unique_ptr<ConfigCentre> Make() {
  return std::make_unique<Centre>();
}

}  // namespace

ConfigCentreKind FileCentre() { return {.name = "File", .make = Make<FileDirectory>}; }
ConfigCentreKind EtcdCentre() { return {.name = "Etcd", .make = Make<Etcd>}; }
ConfigCentreKind MariadbCentre() { return {.name = "Mariadb", .make = Make<Mariadb>}; }
ConfigCentreKind HttpCentre() { return {.name = "Http", .make = Make<Http>}; }

}  // namespace locus
