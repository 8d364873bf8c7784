// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_MYSQL_SQL_SECTIONS_H_
#define LOCUS_TESTS_ENGINE_MYSQL_SQL_SECTIONS_H_

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus {

// The statements of a file between its lines "-- begin NAME" and "-- end NAME", by name. A
// statement ends with a ';' at the end of a line, or before a comment there.
inline std::map<std::string, std::vector<std::string>> SqlSections(const std::string& path) {
  std::map<std::string, std::vector<std::string>> sections;
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::string section, statement;
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "-- begin ")) section = line.substr(9);
    if (absl::StartsWith(line, "-- end ")) {
      EXPECT_EQ(line.substr(7), section);
      EXPECT_EQ(statement, "") << "no ';' at its end";
      section.clear();
    }
    line = line.substr(0, line.find("--"));
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.empty()) continue;
    EXPECT_NE(section, "") << "a statement that no test runs: " << line;
    absl::StrAppend(&statement, line, "\n");
    if (line.back() != ';') continue;
    statement.resize(statement.size() - 2);
    sections[section].push_back(std::move(statement));
    statement.clear();
  }
  return sections;
}

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_MYSQL_SQL_SECTIONS_H_
