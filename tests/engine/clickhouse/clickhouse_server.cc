// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/clickhouse/clickhouse_server.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace locus {
namespace {

constexpr char kUsers[] = R"xml(<yandex>
  <profiles><default><max_threads>2</max_threads></default></profiles>
  <quotas><default></default></quotas>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile><quota>default</quota></default>
    <audit><password>s3cret</password><networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile><quota>default</quota></audit>
  </users>
</yandex>
)xml";

}  // namespace

ClickHouseServer::ClickHouseServer() : port_(FreePort()) {
  const std::string path = directory_ / "data/";
  std::filesystem::create_directory(path);
  std::ofstream(directory_ / "users.xml") << kUsers;
  std::ofstream(directory_ / "config.xml")
      << "<yandex><logger><level>warning</level><console>1</console></logger><http_port>" << port_
      << "</http_port><tcp_port>" << FreePort() << "</tcp_port><interserver_http_port>"
      << FreePort() << "</interserver_http_port><listen_host>127.0.0.1</listen_host><path>" << path
      << "</path><tmp_path>" << path << "tmp/</tmp_path><users_config>" << directory_ / "users.xml"
      << "</users_config><default_profile>default</default_profile>"
         "<default_database>default</default_database><mark_cache_size>1048576</mark_cache_size>"
         "<uncompressed_cache_size>0</uncompressed_cache_size></yandex>\n";
  server_ = std::make_unique<PrivateServer>(
      std::vector<std::string>{"clickhouse-server", "--config-file=" + directory_ / "config.xml"},
      directory_ / "server.log");
}

bool ClickHouseServer::Start() {
  return server_->Start([this] {
    if (!Listens(port_)) return false;
    ClickHouseOptions one_second = options();
    one_second.timeout = absl::Seconds(1);
    auto audit = ClickHouseAudit::Open(one_second);
    // The table may be missing; the server answers.
    return audit.ok() && !absl::IsUnavailable((*audit)->Query({}).status());
  });
}

ClickHouseOptions ClickHouseServer::options() const {
  ClickHouseOptions options;
  options.endpoint = absl::StrCat("127.0.0.1:", port_);
  options.timeout = absl::Seconds(30);
  return options;
}

}  // namespace locus
