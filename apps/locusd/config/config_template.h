// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONFIG_CONFIG_TEMPLATE_H_
#define LOCUS_APPS_LOCUSD_CONFIG_CONFIG_TEMPLATE_H_

#include <string>

namespace locus::locusd {

// A commented configuration of these roles, at least one: every key, those with a default behind
// "#". It is right as it stands, on loopback; ParseConfig says what is wrong once it is edited.
struct TemplateRoles {
  bool cluster_node = false;
  bool id_service = false;
  bool sequence_node = false;
};
std::string ConfigTemplate(const TemplateRoles& roles);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONFIG_CONFIG_TEMPLATE_H_
