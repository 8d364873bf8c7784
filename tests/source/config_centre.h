// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SOURCE_CONFIG_CENTRE_H_
#define LOCUS_TESTS_SOURCE_CONFIG_CENTRE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "locus/routing/routing_table.h"
#include "locus/routing/table_source.h"

namespace locus {

// A configuration centre of a test: a server (or a directory) with one place for routing tables,
// and what may happen to it. Nothing is published at first.
class ConfigCentre {
 public:
  virtual ~ConfigCentre() = default;

  // Starts, the first time or again, with what it has stored. False: the test was failed.
  virtual bool Start() = 0;
  virtual void KillHard() = 0;
  // Of a directory: not possible, aborts.
  virtual void Stall() = 0;
  virtual void Resume() = 0;
  // It has lost all that it had, and runs again.
  virtual bool Empty() = 0;

  // A source as a DAO opens it; it may be opened while the centre is down.
  virtual std::unique_ptr<TableSource> Follow() = 0;
  // Publishes as an operator does, also where Put left something else; fails the test otherwise.
  virtual void Publish(const RoutingTable& table) = 0;
  // Puts a document there past all publishers, for sources to find.
  virtual void Put(const std::string& document) = 0;
};

struct ConfigCentreKind {
  std::string name;
  std::function<std::unique_ptr<ConfigCentre>()> make;
};
inline void PrintTo(const ConfigCentreKind& kind, std::ostream* out) { *out << kind.name; }

ConfigCentreKind FileCentre();
ConfigCentreKind EtcdCentre();  // of three members
ConfigCentreKind MariadbCentre();
ConfigCentreKind HttpCentre();

}  // namespace locus

#endif  // LOCUS_TESTS_SOURCE_CONFIG_CENTRE_H_
