// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_PASSWORD_SEARCH_H_
#define LOCUS_TESTS_SUPPORT_PASSWORD_SEARCH_H_

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "src/base/os/secret_bytes.h"

// Searches what a core dump of this process would hold for one password.
namespace locus {

inline constexpr char kMask = 0x55;
inline constexpr size_t kLength = 24;

// Made of letters in an order that occurs nowhere else in the program.
inline char Masked(size_t i) { return static_cast<char>(('a' + (i * 7 + 3) % 26) ^ kMask); }

inline bool IsAt(const char* memory) {
  for (size_t i = 0; i < kLength; ++i) {
    if ((memory[i] ^ kMask) != Masked(i)) return false;
  }
  return true;
}

struct Found {
  size_t dumped = 0;  // where core dumps look
  size_t left_out = 0;
};

// How often it occurs in this process's writable memory.
inline Found Search() {
  constexpr size_t kWindow = 1 << 20;
  internal::SecretBytes window = internal::SecretBytes::Allocate(kWindow).value();
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
        // The window itself is also searched: remains of other memory in it must not count.
        std::memset(window.data(), 0, kWindow);
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

// Written by hand, because a std::string leaves copies behind when it grows.
inline void Fill(std::string& password) {
  password.resize(kLength);
  for (size_t i = 0; i < kLength; ++i) password[i] = static_cast<char>(Masked(i) ^ kMask);
}

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_PASSWORD_SEARCH_H_
