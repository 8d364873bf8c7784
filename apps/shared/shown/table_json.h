// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_SHOWN_TABLE_JSON_H_
#define LOCUS_APPS_SHARED_SHOWN_TABLE_JSON_H_

#include <span>
#include <string>

#include "locus/routing/routing_table.h"
#include "locus/routing/table_publisher.h"

// What the verbs of routing tables print with --json: one object on one line.
namespace locus::apps {

std::string CheckAsJson(const RoutingTable& table);
std::string RingAsJson(const RoutingTable& table);
std::string HistoryAsJson(const std::string& place, std::span<const PublishedEpoch> epochs);
std::string DifferenceAsJson(const RoutingTable& before, const RoutingTable& after);

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_SHOWN_TABLE_JSON_H_
