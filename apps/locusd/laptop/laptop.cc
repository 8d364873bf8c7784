// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/laptop/laptop.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locusd/console/console_api.h"
#include "apps/locusd/front/front.h"
#include "apps/locusd/ids/id_api.h"
#include "apps/locusd/ids/id_metrics.h"
#include "apps/locusd/ids/id_places.h"
#include "apps/locusd/ids/running.h"
#include "locus/key_ring.h"
#include "locus/routing/uri.h"
#include "src/base/check.h"
#include "src/base/loopback.h"
#include "src/base/text.h"
#include "src/http/endpoint.h"
#include "src/http/server.h"

namespace locus::locusd {

using http::Endpoint;
using http::Server;
using http::ServerRequest;
using internal::Quoted;

namespace {

constexpr size_t kMostSequences = 1000;

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  // Its own, not those on the way to it, nor one that was there.
  if (!error && made && chmod(path.c_str(), 0700) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot use the directory ", Quoted(path), ": ", error.message()));
}

// That this process uses a directory, for as long as it lives and whatever becomes of the directory
// meanwhile: a name of the kernel's. Known within one network namespace.
class Presence {
 public:
  explicit Presence(const std::string& directory) {
    std::error_code ignored;
    const size_t place =
        std::hash<std::string>()(std::filesystem::weakly_canonical(directory, ignored).string());
    for (int i = 0; i < kMost; ++i) {
      const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      if (fd < 0) continue;
      sockaddr_un address = {};
      address.sun_family = AF_UNIX;
      const std::string name = absl::StrCat("locusd ", getuid(), " ", place, " ", i);
      memcpy(address.sun_path + 1, name.data(), name.size());
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0;
      others_ = others_ || !bound;
      if (bound && fd_ < 0) {
        fd_ = fd;
      } else {
        close(fd);
      }
    }
  }
  ~Presence() {
    if (fd_ >= 0) close(fd_);
  }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  // Other processes use it, or what was there before.
  bool others() const { return others_; }

 private:
  static constexpr int kMost = 16;
  int fd_ = -1;
  bool others_ = false;
};

// Whether the IDs of the directory are its first ever. What a process that still runs was granted
// by a store that was removed would be granted again. FAILED_PRECONDITION.
absl::StatusOr<bool> IsFirstEver(const std::string& directory, bool others) {
  std::error_code ignored;
  auto has = [&](const char* name) { return std::filesystem::exists(directory + name, ignored); };
  if (has("/ids.db")) return false;
  if (others) {
    return absl::FailedPreconditionError(
        absl::StrCat("another locusd uses ", Quoted(directory),
                     ", whose ids.db is not there: it was removed, or is just being made. End that "
                     "process first, or start this one again"));
  }
  return !has("/ids.db-locus") && !has("/keys");
}

absl::StatusOr<KeyRing> KeysAt(const std::string& path) {
  absl::StatusOr<KeyRing> ring = KeyRing::Load(path);
  if (!absl::IsNotFound(ring.status())) return ring;
  LOCUS_ASSIGN_OR_RETURN(ring, KeyRing::Generate());
  const absl::Status saved = ring->Save(path, /*must_not_exist=*/true);
  // Another process was faster.
  if (absl::IsAlreadyExists(saved)) return KeyRing::Load(path);
  LOCUS_RETURN_IF_ERROR(saved);
  return ring;
}

struct OpenedParts {
  std::shared_ptr<const IdParts> parts;
  SpaceOptions space;  // of the order IDs
  // A count, which publishes nothing else; the generator's callback holds it.
  std::shared_ptr<std::atomic<uint64_t>> lead_used_up = std::make_shared<std::atomic<uint64_t>>(0);
};

absl::StatusOr<OpenedParts> OpenParts(const std::string& directory, bool first_ever) {
  const std::string uri = absl::StrCat("sqlite:", directory, "/ids.db");
  OpenedParts opened;
  auto made = std::make_shared<IdParts>();
  IdParts& parts = *made;
  OrderIdGenerator::Options orders;
  orders.create_space = true;
  orders.wide = true;
  orders.on_event = [count = opened.lead_used_up](const GeneratorEvent& event) {
    if (event.kind == GeneratorEvent::Kind::kLeadUsedUp) *count += event.sections;
  };
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<SegmentStore> segments,
                         OpenSegmentStore(uri, {.password = nullptr, .create = true}));
  LOCUS_ASSIGN_OR_RETURN(parts.orders, OrderIdGenerator::Create(segments, orders));
  LOCUS_ASSIGN_OR_RETURN(opened.space, segments->ReadOptions(orders.space));
  LOCUS_ASSIGN_OR_RETURN(const KeyRing keys, KeysAt(directory + "/keys"));
  LOCUS_ASSIGN_OR_RETURN(OrderNoCodec numbers, OrderNoCodec::Create(keys));
  parts.numbers = std::make_shared<const OrderNoCodec>(std::move(numbers));
  SequenceSettings sequences;
  sequences.place.uri = uri;
  sequences.create = true;
  sequences.most = kMostSequences;
  LOCUS_ASSIGN_OR_RETURN(parts.sequences,
                         OpenSequences(sequences, IdSettings().waiting, nullptr, nullptr));
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<WorkerLeaseStore> leases,
                         OpenWorkerLeaseStore(uri, {.password = nullptr, .create = true}));
  LeasedSnowflakeOptions snowflake;
  snowflake.reacquire = true;  // after the machine has slept
  // Only processes without a configuration lease from the file, all for this ttl.
  WorkerSpacePast past;
  past.first_ever = first_ever;
  past.longest_ttl = snowflake.lease.ttl;
  LOCUS_RETURN_IF_ERROR(leases->Create(snowflake.lease.space, past, absl::Now()));
  LOCUS_ASSIGN_OR_RETURN(parts.snowflake, LeasedSnowflake<>::Create(std::move(leases), snowflake));
  const std::string table = directory + "/table.json";
  std::error_code ignored;
  if (std::filesystem::exists(table, ignored)) {
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TableSource> source,
                           OpenTableSource(absl::StrCat("file:", table)));
    LOCUS_ASSIGN_OR_RETURN(parts.router, Router::Open(std::move(source)));
  }
  opened.parts = std::move(made);
  return opened;
}

// It publishes to the table of the directory only.
absl::StatusOr<std::unique_ptr<ConsoleApi>> OpenConsole(const Running& running,
                                                        const std::string& directory) {
  ConsoleParts parts;
  parts.ids = running.parts;
  if (running.parts()->router) {
    parts.table_place = absl::StrCat("file:", directory, "/table.json");
    parts.open_publisher = running.open_publisher;
  }
  parts.open_leases = running.open_leases;
  parts.lease_space = running.lease_space;
  ConsoleOptions options;
  options.laptop = true;
  return ConsoleApi::Make(std::move(parts), options);
}

}  // namespace

absl::StatusOr<std::string> LaptopDirectory() {
  const char* const data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return absl::StrCat(data, "/locusd");
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return absl::StrCat(home, "/.local/share/locusd");
  return absl::FailedPreconditionError(
      "neither XDG_DATA_HOME nor HOME is set: say by --data DIRECTORY where the IDs are kept");
}

class Laptop::Rep {
 public:
  absl::Status Open(const LaptopOptions& options) {
    LOCUS_ASSIGN_OR_RETURN(const Endpoint listen,
                           Endpoint::Parse(options.listen, Endpoint::Port::kMayBeZero));
    if (!internal::IsLoopback(listen.host)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--listen ", Quoted(options.listen),
                       " is beyond loopback, where no token is asked for: use --config FILE"));
    }
    host_ = listen.text.substr(0, listen.text.rfind(':'));
    data_ = options.data;
    LOCUS_RETURN_IF_ERROR(MakeDirectory(data_));
    presence_.emplace(data_);
    LOCUS_ASSIGN_OR_RETURN(const bool first_ever, IsFirstEver(data_, presence_->others()));
    LOCUS_ASSIGN_OR_RETURN(const OpenedParts opened, OpenParts(data_, first_ever));
    LOCUS_ASSIGN_OR_RETURN(ids_, IdApi::Make(opened.parts, {}));
    LOCUS_ASSIGN_OR_RETURN(console_, OpenConsole(MakeRunning(), options.data));
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<AccessControl> everybody,
                           AccessControl::Make({}, Scopes::All()));
    FrontOptions front;
    front.only_loopback_hosts = true;
    front.metrics = [this, space = opened.space, lead_used_up = opened.lead_used_up] {
      return IdMetrics(*ids_->parts(), space, *lead_used_up);
    };
    front_.emplace(std::move(everybody), std::move(front));
    front_->Add(*ids_);
    front_->Add(*console_);
    http::ServerOptions server;
    server.listen = options.listen;
    server.reads_body = [this](const http::ServerRequest& request) {
      return front_->ReadsBody(request);
    };
    server.on_refusal = [this](const std::string& peer, http::ServerAnswer& answer) {
      front_->Refused(peer, answer);
    };
    server.threads = std::max(1u, std::thread::hardware_concurrency());
    auto started = Server::Start(server, [this](ServerRequest request, Server::Respond respond) {
      front_->Handle(std::move(request), std::move(respond));
    });
    if (!started.ok()) {
      return absl::Status(
          started.status().code(),
          absl::StrCat(started.status().message(), "; --listen HOST:PORT chooses another place"));
    }
    server_ = *std::move(started);
    return absl::OkStatus();
  }
  ~Rep() {
    server_.reset();  // its threads call the front, which calls the handlers
  }

  std::string url() const { return absl::StrCat("http://", host_, ":", server_->port()); }
  void Close(absl::Duration within) {
    front_->Drain();
    server_->Drain(within);
  }

 private:
  // What handlers may ask of this process.
  Running MakeRunning() {
    Running running;
    running.is_laptop = running.is_id_service = true;
    running.parts = [this] { return ids_->parts(); };
    running.open_publisher = [path = data_ + "/table.json"] {
      return OpenTablePublisher(absl::StrCat("file:", path));
    };
    running.open_leases = [path = data_ + "/ids.db"] {
      return OpenWorkerLeaseStore(absl::StrCat("sqlite:", path));
    };
    return running;
  }

  std::string data_;
  std::string host_;
  std::optional<Presence> presence_;
  std::unique_ptr<IdApi> ids_;
  std::unique_ptr<ConsoleApi> console_;
  std::optional<Front> front_;
  std::unique_ptr<Server> server_;
};

Laptop::Laptop(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Laptop::~Laptop() = default;

absl::StatusOr<std::unique_ptr<Laptop>> Laptop::Open(const LaptopOptions& options) {
  auto rep = std::make_unique<Rep>();
  LOCUS_RETURN_IF_ERROR(rep->Open(options));
  return std::unique_ptr<Laptop>(new Laptop(std::move(rep)));
}

std::string Laptop::url() const { return rep_->url(); }
void Laptop::Close(absl::Duration within) { rep_->Close(within); }

}  // namespace locus::locusd
