// SPDX-License-Identifier: Apache-2.0
// Searches what a core dump of this process would hold for the password of an open store.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "src/secret_bytes.h"
#include "tests/mariadb_fixture.h"

namespace locus {
namespace {

constexpr char kMask = 0x55;
constexpr size_t kLength = 24;

// Of letters that stand nowhere in the program as they are.
char Masked(size_t i) { return static_cast<char>(('a' + (i * 7 + 3) % 26) ^ kMask); }

bool IsAt(const char* memory) {
  for (size_t i = 0; i < kLength; ++i) {
    if ((memory[i] ^ kMask) != Masked(i)) return false;
  }
  return true;
}

struct Found {
  size_t dumped = 0;  // where core dumps look
  size_t left_out = 0;
};

// How often it stands in this process's writable memory.
Found Search() {
  constexpr size_t kWindow = 1 << 20;
  SecretBytes window = SecretBytes::Allocate(kWindow).value();
  std::ifstream smaps("/proc/self/smaps");
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  Found found;
  unsigned long begin = 0, end = 0;
  bool writable = false;
  for (std::string line; std::getline(smaps, line);) {
    char read, write;
    unsigned long from, to;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &from, &to, &read, &write) == 4) {
      begin = from, end = to, writable = write == 'w';
    } else if (line.starts_with("VmFlags:") && writable) {
      bool dumped = (line + " ").find(" dd ") == std::string::npos;
      for (unsigned long at = begin; at < end; at += kWindow - kLength + 1) {
        ssize_t got = pread(memory, window.data(), std::min<size_t>(kWindow, end - at),
                            static_cast<off_t>(at));
        for (ssize_t i = 0; i + static_cast<ssize_t>(kLength) <= got; ++i) {
          if (IsAt(window.data() + i)) ++(dumped ? found.dumped : found.left_out);
        }
      }
    }
  }
  close(memory);
  return found;
}

// Written by hand: what a std::string leaves behind when it grows is the caller's affair.
void Fill(std::string& password) {
  password.resize(kLength);
  for (size_t i = 0; i < kLength; ++i) password[i] = static_cast<char>(Masked(i) ^ kMask);
}

TEST(MariadbPasswordTest, OpenStore_LeavesNoPasswordInACoreDump) {
  MariadbOptions options = FreshMariadbDatabase();
  options.user = "secretive";
  {
    std::string statement = "CREATE USER secretive@'%' IDENTIFIED BY '";
    statement.reserve(200);
    size_t before = statement.size();
    statement.resize(before + kLength);
    for (size_t i = 0; i < kLength; ++i) {
      statement[before + i] = static_cast<char>(Masked(i) ^ kMask);
    }
    // By the client program: what its library keeps of a statement is not asked here.
    std::string file = SharedMariadb().path("user.sql");
    int fd = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
    statement += "'; GRANT ALL ON `locus\\_%`.* TO secretive@'%';";
    ASSERT_EQ(write(fd, statement.data(), statement.size()),
              static_cast<ssize_t>(statement.size()));
    close(fd);
    explicit_bzero(statement.data(), statement.size());
    ASSERT_EQ(RunProgram({"mariadb", "--no-defaults", "-h127.0.0.1",
                          "-P" + std::to_string(SharedMariadb().port()), "-uroot"},
                         "/dev/null", file),
              0);
  }
  Fill(options.password);
  Found own = Search();
  EXPECT_EQ(own.dumped + own.left_out, 1u) << "the caller's own: the search works";
  auto store = MariadbSegmentStore::Open(options);
  explicit_bzero(options.password.data(), options.password.size());
  ASSERT_TRUE(store.ok()) << store.status();
  Found kept = Search();
  EXPECT_EQ(kept.dumped, 0u);
  EXPECT_EQ(kept.left_out, 1u) << "for the next connection";
}

}  // namespace
}  // namespace locus
