// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_
#define LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_

#include "apps/locusd/config/config.h"
#include "apps/toml/toml_section.h"

// The sections of the configuration; each refuses what is wrong in it.
namespace locus::locusd {

void ReadHealth(apps::TomlSection section, Config& config);
void ReadAudit(apps::TomlSection section, Config& config);
void ReadIds(apps::TomlSection section, IdSettings& ids);
// Of a [[token]].
void ReadToken(apps::TomlSection section, Config& config);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_
