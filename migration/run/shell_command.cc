// SPDX-License-Identifier: Apache-2.0
#include "migration/run/shell_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace locus::internal {

absl::StatusOr<int> RunShellCommand(
    const std::string& command, const std::vector<std::pair<std::string, std::string>>& variables,
    absl::Duration most) {
  std::vector<std::string> words;
  for (char** word = environ; *word != nullptr; ++word) {
    // The command must not see the passwords of this process.
    const std::string_view variable(*word);
    const std::string_view name = variable.substr(0, variable.find('='));
    if (name.starts_with("LOCUS_") && name.ends_with("_PASSWORD")) continue;
    words.emplace_back(variable);
  }
  for (const auto& [name, value] : variables) words.push_back(absl::StrCat(name, "=", value));
  std::vector<char*> environment;
  for (std::string& word : words) environment.push_back(word.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  // This process ignores them; a command such as "yes | head -1" relies on them.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::string shell = "sh", option = "-c", text = command;
  char* arguments[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = -1;
  const int error =
      posix_spawn(&child, "/bin/sh", &files, &attributes, arguments, environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("/bin/sh did not start: ", std::strerror(error)));
  }

  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(most);
  int state = 0;
  while (true) {
    const pid_t ended = waitpid(child, &state, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("waitpid: ", std::strerror(errno)));
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      kill(-child, SIGKILL);
      while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
      }
      return absl::DeadlineExceededError(
          absl::StrCat("the command took longer than ", absl::FormatDuration(most)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

}  // namespace locus::internal
