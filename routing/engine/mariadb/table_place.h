// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_MARIADB_TABLE_PLACE_H_
#define LOCUS_ROUTING_ENGINE_MARIADB_TABLE_PLACE_H_

#include <string>

#include "locus/engine/mariadb.h"

namespace locus::mariadb {

// "mariadb at h1:3306,h2:3306 database orders".
std::string TablePlace(const MariadbOptions& options);

}  // namespace locus::mariadb

#endif  // LOCUS_ROUTING_ENGINE_MARIADB_TABLE_PLACE_H_
