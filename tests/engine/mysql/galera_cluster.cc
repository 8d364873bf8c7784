// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/mysql/galera_cluster.h"

#include <fstream>
#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus {

GaleraCluster::GaleraCluster() {
  std::array<uint16_t, kNodes> group_ports;
  std::string address = "gcomm://";
  for (size_t i = 0; i < kNodes; ++i) {
    group_ports[i] = FreePort();
    absl::StrAppend(&address, i > 0 ? "," : "", "127.0.0.1:", group_ports[i]);
  }
  for (size_t i = 0; i < kNodes; ++i) {
    MariadbServer::Settings settings;
    settings.server_id = static_cast<uint16_t>(i + 1);
    settings.make_accounts = false;
    settings.as_mysql = true;
    settings.lines = {
        "binlog-format=ROW",
        "innodb-autoinc-lock-mode=2",
        "wsrep-on=ON",
        "wsrep-provider=/usr/lib/galera/libgalera_smm.so",
        "wsrep-cluster-name=locus_test",
        "wsrep-cluster-address=" + address,
        absl::StrCat("wsrep-node-name=node", i),
        "wsrep-node-address=127.0.0.1",
        "wsrep-sst-method=rsync",
        absl::StrCat("wsrep-sst-receive-address=127.0.0.1:", FreePort()),
        // A node that is gone is missed after three seconds: tests wait for it.
        absl::StrCat("wsrep-provider-options=\"gmcast.listen_addr=tcp://127.0.0.1:", group_ports[i],
                     ";base_port=", group_ports[i], ";ist.recv_addr=127.0.0.1:", FreePort(),
                     ";gcache.size=16M;evs.suspect_timeout=PT3S;"
                     "evs.inactive_timeout=PT10S\""),
    };
    nodes_[i] = std::make_unique<MariadbServer>(settings);
  }
}

bool GaleraCluster::Start() {
  for (size_t i = 0; i < kNodes; ++i) {
    std::vector<std::string> arguments;
    if (i == 0) arguments.push_back("--wsrep-new-cluster");
    if (nodes_[i]->Start(arguments)) continue;
    ADD_FAILURE() << "node " << i << " did not join; the first one says:\n" << nodes_[0]->LogTail();
    return false;
  }
  nodes_[0]->Sql(
      "CREATE USER locus@'%' IDENTIFIED BY 's3cret';"
      "GRANT ALL ON `locus\\_%`.* TO locus@'%'");
  return true;
}

// As the service of the packages starts a node: by the position that its tables have reached.
bool GaleraCluster::Rejoin(size_t node) {
  std::string log = nodes_[node]->path("recover.log");
  std::string config = "--defaults-file=" + nodes_[node]->path("my.cnf");
  RunProgram({"/usr/sbin/mariadbd", config, "--wsrep-recover"}, log);
  std::ifstream in(log);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  constexpr std::string_view kMark = "Recovered position: ";
  size_t mark = text.rfind(kMark);
  if (mark == std::string::npos) {
    ADD_FAILURE() << "no position was recovered:\n" << text;
    return false;
  }
  size_t begin = mark + kMark.size();
  size_t end = text.find_first_of(" \n", begin);
  return nodes_[node]->Start({"--wsrep-start-position=" + text.substr(begin, end - begin)});
}

MysqlOptions GaleraCluster::OptionsFor(const std::string& database, size_t first) const {
  MysqlOptions options = nodes_[first]->Account(database);
  for (size_t i = 1; i < kNodes; ++i) {
    options.hosts.push_back({"127.0.0.1", nodes_[(first + i) % kNodes]->port()});
  }
  return options;
}

}  // namespace locus
