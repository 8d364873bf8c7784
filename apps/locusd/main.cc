// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "apps/locusd/check_files.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/config/config_template.h"
#include "apps/locusd/daemon.h"
#include "apps/locusd/laptop/laptop.h"
#include "apps/locusd/log.h"
#include "apps/locusd/reload/file_watch.h"
#include "apps/shared/commit/commit.h"
#include "locus/version.h"
#include "src/base/os/atomic_file.h"

namespace locus::locusd {
namespace {

enum Exit {
  kDone = 0,
  kFailed = 1,   // a supervisor may start it again
  kRefused = 2,  // the command line, the file or what it names is wrong: to be mended first
  kRemoved = 3,  // from the cluster: it is of no use any more
};

struct Line {
  std::string config;  // empty: an ID service for one machine
  LaptopOptions laptop;
  bool check = false;
  bool begin = false;
  bool begin_only = false;
  std::vector<std::string> roles = {"id-service"};  // of `init`
  std::string output;                               // likewise; empty: stdout
  bool force = false;
};

// The file's state and what happens to the process. Signals are blocked in every thread.
class Events {
 public:
  Events() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    ended_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a write past the limit fails instead
  }
  ~Events() {
    close(signals_);
    close(ended_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  bool works() const { return signals_ >= 0 && ended_ >= 0; }
  // By any thread.
  void End() { (void)!eventfd_write(ended_, 1); }

  enum class Event { kNone, kReload, kStop, kEnded, kFiles };
  // `files`: of a FileWatch; -1: none.
  Event Wait(std::chrono::milliseconds most, int files = -1) {
    pollfd fds[] = {{signals_, POLLIN, 0}, {ended_, POLLIN, 0}, {files, POLLIN, 0}};
    if (poll(fds, 3, static_cast<int>(most.count())) <= 0) return Event::kNone;
    if (fds[1].revents != 0) return Event::kEnded;
    if (fds[0].revents == 0) return Event::kFiles;
    signalfd_siginfo signal = {};
    if (read(signals_, &signal, sizeof signal) != sizeof signal) return Event::kNone;
    return signal.ssi_signo == SIGHUP ? Event::kReload : Event::kStop;
  }

 private:
  int signals_ = -1;
  int ended_ = -1;
};

// The file that the process runs by, and those that it names.
class Reloader {
 public:
  using Clock = std::chrono::steady_clock;

  // Before what the configuration names is read.
  Reloader(const Line& line, const Config& config, Log& log) : line_(line), log_(log) {
    Watch(config);
  }

  int fd() const { return watch_.fd(); }
  void TakeEvents() { watch_.TakeEvents(Clock::now()); }
  // At most `most`, and not beyond the time at which the files are to be looked at.
  std::chrono::milliseconds Until(std::chrono::milliseconds most) const {
    const auto due = watch_.due();
    if (!due) return most;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - Clock::now());
    return std::clamp(left, std::chrono::milliseconds(0), most);
  }
  // Takes over what changed; looks now and then without being told, too.
  void Look(Daemon& daemon) {
    const auto now = Clock::now();
    const auto due = watch_.due();
    if (due ? *due > now : now - looked_ < kUntold) return;
    looked_ = now;
    if (watch_.Look()) Reload(daemon, "a file changed");
  }
  void Hup(Daemon& daemon) {
    watch_.Look();
    Reload(daemon, "SIGHUP");
  }

 private:
  void Reload(Daemon& daemon, const char* why) {
    sd_notify(0, "RELOADING=1");
    const absl::StatusOr<Config> config = ReadConfig(line_.config);
    // Where it failed, a file that this one names may be what somebody mends next.
    if (config.ok()) Watch(*config);
    const absl::Status status = daemon.Reload(config);
    if (status.ok()) {
      log_.Info("file read again", {{"because", why}});
    } else {
      log_.Error("file not taken over", {{"because", why}, {"why", std::string(status.message())}});
    }
    sd_notify(0, "READY=1");
  }

  static constexpr std::chrono::seconds kUntold{10};

  void Watch(const Config& config) {
    std::vector<std::string> files = FilesToWatch(config);
    files.push_back(line_.config);
    watch_.Watch(files);
  }

  const Line& line_;
  Log& log_;
  FileWatch watch_;
  Clock::time_point looked_ = Clock::now();
};

// Until a signal or the node ends it.
Exit Serve(Reloader& reloader, Events& events, Daemon& daemon, Log& log) {
  uint64_t watchdog_us = 0;
  const bool watched = sd_watchdog_enabled(0, &watchdog_us) > 0;
  std::chrono::milliseconds round{1000};
  if (watched) {
    round = std::clamp(std::chrono::milliseconds(watchdog_us / 3000), std::chrono::milliseconds(1),
                       round);
  }
  sd_notify(0, "READY=1");
  auto checked = std::chrono::steady_clock::now() - round;
  while (true) {
    const Events::Event event = events.Wait(reloader.Until(round), reloader.fd());
    const auto now = std::chrono::steady_clock::now();
    // Events must not keep it from what it does once a round.
    if (now - checked >= round) {
      checked = now;
      if (absl::Status status = daemon.FilesInPlace(); !status.ok()) {
        sd_notify(0, "STOPPING=1");
        log.Error("node failed", {{"why", status.ToString()}});
        return kFailed;
      }
      daemon.Tell();
      if (watched && daemon.Works()) sd_notify(0, "WATCHDOG=1");
    }
    switch (event) {
      case Events::Event::kNone:
        break;
      case Events::Event::kFiles:
        reloader.TakeEvents();
        break;
      case Events::Event::kReload:
        reloader.Hup(daemon);
        break;
      case Events::Event::kStop:
        sd_notify(0, "STOPPING=1");
        log.Info("ends");
        daemon.Close();
        return kDone;
      case Events::Event::kEnded:
        sd_notify(0, "STOPPING=1");
        if (daemon.removed()) return kRemoved;
        return absl::IsFailedPrecondition(daemon.failure()) ? kRefused : kFailed;
    }
    reloader.Look(daemon);
  }
}

// Of a start that failed.
Exit ExitFor(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status) ? kRefused : kFailed;
}

Exit Begin(const Config& config, Log& log) {
  const absl::Status status =
      config.cluster_node ? ClusterRole::Begin(config, log)
                          : absl::InvalidArgumentError(
                                "roles have no \"cluster-node\", and only these have a cluster");
  if (status.ok()) return kDone;
  log.Error("cannot begin", {{"why", status.ToString()}});
  return ExitFor(status);
}

Exit Check(const std::string& path, const Config& config) {
  if (const absl::Status status = CheckAllButServers(config); !status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return kRefused;
  }
  std::printf("%s: ok\n", path.c_str());
  for (const std::string& line : WhatHasEnded(config, absl::Now())) {
    std::printf("%s\n", line.c_str());
  }
  const std::vector<std::string> unasked = KeysOfServers(config);
  if (!unasked.empty()) {
    std::printf("%s: not judged, as only the start asks these: %s\n", path.c_str(),
                absl::StrJoin(unasked, ", ").c_str());
  }
  return std::fflush(stdout) == 0 ? kDone : kFailed;
}

Exit Run(const Line& line) {
  auto config = ReadConfig(line.config);
  if (!config.ok()) {
    std::fprintf(stderr, "%s\n", std::string(config.status().message()).c_str());
    return kRefused;
  }
  if (line.check) return Check(line.config, *config);
  // Keys and tokens never reach core files.
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  Events events;
  if (!events.works()) {
    std::perror("locusd: signalfd");
    return kFailed;
  }
  Log log(config->log_level);
  Exit exit = kFailed;
  if (line.begin_only) {
    exit = Begin(*config, log);
  } else {
    Reloader reloader(line, *config, log);
    auto daemon = Daemon::Open(*config, line.begin ? Daemon::Start::kBegin : Daemon::Start::kJoin,
                               log, [&events] { events.End(); });
    if (daemon.ok()) {
      exit = Serve(reloader, events, **daemon, log);
    } else {
      log.Error("cannot start", {{"why", daemon.status().ToString()}});
      exit = ExitFor(daemon.status());
    }
  }
  // A reader of the log that takes nothing holds nobody up for ever.
  alarm(5);
  return exit;
}

// Until a signal ends it. Nothing needs to be configured.
Exit RunLaptop(LaptopOptions options) {
  if (options.data.empty()) {
    auto directory = LaptopDirectory();
    if (!directory.ok()) {
      std::fprintf(stderr, "%s\n", std::string(directory.status().message()).c_str());
      return kRefused;
    }
    options.data = *std::move(directory);
  }
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  Events events;
  if (!events.works()) {
    std::perror("locusd: signalfd");
    return kFailed;
  }
  auto laptop = Laptop::Open(options);
  if (!laptop.ok()) {
    std::fprintf(stderr, "locusd: %s\n", std::string(laptop.status().message()).c_str());
    return absl::IsUnavailable(laptop.status()) ? kFailed : kRefused;
  }
  const std::string url = (*laptop)->url();
  std::printf(
      "locusd %s serves IDs at %s and keeps them in %s. Try:\n\n"
      "  curl %s/v1/orders/ids -d '{\"buyers\": [\"12345\"]}'\n"
      "  curl %s/v1/sequences/invoices/next\n"
      "  curl '%s/v1/snowflake?n=3'\n\n"
      "Ctrl-C ends it. For a service or a cluster: locusd --config FILE, see locusd(8).\n",
      Version(), url.c_str(), options.data.c_str(), url.c_str(), url.c_str(), url.c_str());
  if (std::fflush(stdout) != 0) return kFailed;
  while (true) {
    const Events::Event event = events.Wait(std::chrono::seconds(1));
    if (event == Events::Event::kStop) break;
    if (const absl::Status status = (*laptop)->FilesInPlace(); !status.ok()) {
      std::fprintf(stderr, "locusd: %s\n", std::string(status.message()).c_str());
      return kFailed;
    }
  }
  (*laptop)->Close(absl::Seconds(5));
  return kDone;
}

// Writes a configuration of all defaults.
Exit Init(const Line& line) {
  auto has = [&line](const char* role) {
    return std::find(line.roles.begin(), line.roles.end(), role) != line.roles.end();
  };
  const std::string text =
      ConfigTemplate({has("cluster-node"), has("id-service"), has("sequence-node")});
  if (line.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0 ? kDone : kFailed;
  }
  const absl::Status written = line.force ? internal::ReplaceFile(line.output, text, 0644)
                                          : internal::CreateFile(line.output, text, 0644);
  if (!written.ok()) {
    std::fprintf(stderr, "%s%s\n", std::string(written.message()).c_str(),
                 absl::IsAlreadyExists(written) ? "; --force replaces it" : "");
    return kRefused;
  }
  std::printf("%s: written; edit it, then `locusd --config %s --check`\n", line.output.c_str(),
              line.output.c_str());
  return std::fflush(stdout) == 0 ? kDone : kFailed;
}

int Main(int argc, char** argv) {
  // Bodies have memory of their own, which goes back to the system at once. Left alone, glibc
  // raises this threshold with the first large body, and keeps the memory of later ones.
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  Line line;
  CLI::App app(
      "Without --config, an ID service for this machine: order IDs, order_nos, sequences and "
      "Snowflakes over HTTP, kept in one directory. With it, an ID service for others, a node of a "
      "cluster that leases worker IDs, a node of strict sequences, or several of these.",
      "locusd");
  app.set_version_flag("--version", "locusd " + apps::VersionAndCommit());
  auto* config = app.add_option("--config", line.config, "The TOML file; `locusd init` writes one")
                     ->type_name("FILE");
  auto* check =
      app.add_flag("--check", line.check, "Only say whether the file is right")->needs(config);
  auto* begin =
      app.add_flag("--begin", line.begin,
                   "First start of the first node: begin a new cluster, of this node alone")
          ->needs(config)
          ->excludes(check);
  app.add_flag("--begin-only", line.begin_only,
               "The same, and end: for a first node that systemd or Kubernetes starts afterwards")
      ->needs(config)
      ->excludes(check)
      ->excludes(begin);
  app.add_option("--listen", line.laptop.listen,
                 "Without --config: where it listens, on loopback; port 0 is a free one")
      ->type_name("HOST:PORT")
      ->capture_default_str()
      ->excludes(config);
  app.add_option("--data", line.laptop.data,
                 "Without --config: where IDs and keys are kept; $XDG_DATA_HOME/locusd, or "
                 "~/.local/share/locusd")
      ->type_name("DIRECTORY")
      ->excludes(config);
  auto* init = app.add_subcommand(
      "init", "Write a commented configuration with every key and its default, and end");
  init->add_option("--role", line.roles,
                   "cluster-node, id-service or sequence-node; several: give it as often")
      ->check(CLI::IsMember({"cluster-node", "id-service", "sequence-node"}))
      ->capture_default_str();
  init->add_option("--output", line.output, "Where to write it; stdout")->type_name("FILE");
  init->excludes(config);
  init->add_flag("--force", line.force, "Replace a file that is there");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kDone : kRefused;
  }
  if (init->parsed()) return Init(line);
  return config->count() > 0 ? Run(line) : RunLaptop(line.laptop);
}

}  // namespace
}  // namespace locus::locusd

int main(int argc, char** argv) { return locus::locusd::Main(argc, argv); }
