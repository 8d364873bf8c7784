// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/laptop/laptop.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locusd/console/console_api.h"
#include "apps/locusd/front/front.h"
#include "apps/locusd/ids/id_api.h"
#include "apps/locusd/ids/id_metrics.h"
#include "apps/locusd/ids/id_places.h"
#include "apps/locusd/ids/running.h"
#include "apps/locusd/openapi/openapi.h"
#include "locus/key_ring.h"
#include "locus/open.h"
#include "locus/routing/open.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/text/text.h"
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

// The files of a store as this process found them. Another process may make a new store as soon as
// one of them has lost its name. So IDs made before a look that finds all files are older than any
// ID of a new store. This holds also between users, containers and network namespaces.
class StoreFiles {
 public:
  // Of the SQLite database at `path`, which is open.
  static absl::StatusOr<StoreFiles> Find(const std::string& path) {
    StoreFiles found;
    const std::string real_path = internal::FollowLinks(path);
    for (const std::string& name : {path, real_path + "-wal", real_path + "-shm"}) {
      // O_PATH: closing any other descriptor would end SQLite's own locks of the file.
      internal::FileDescriptor fd(open(name.c_str(), O_PATH | O_CLOEXEC));
      if (fd.get() < 0) return internal::FailedFileCall(errno, "open", name);
      found.files_.emplace_back(name, std::move(fd));
    }
    return found;
  }

  absl::Status InPlace() const {
    for (const auto& [name, fd] : files_) {
      if (internal::BearsName(fd.get(), name)) continue;
      return absl::UnavailableError(
          absl::StrCat(Quoted(name), " was removed or replaced while this process used it, ",
                       "so it gives no more IDs; start locusd again"));
    }
    return absl::OkStatus();
  }

 private:
  // Held open, so that no other file gets the number of one that was removed.
  std::vector<std::pair<std::string, internal::FileDescriptor>> files_;
};

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

// Marks the store of a directory that was not used before. A file tells that it was: the store of
// such a directory has the mark, or is lost.
absl::Status BeginNumbers(const std::string& directory, const std::string& uri) {
  const std::string path = directory + "/first-start";
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(MarkFirstStart(uri, {}, absl::Now()).status());
  constexpr char kText[] =
      "Sequences of this directory have begun. While this file is here, locusd does not start\n"
      "on a store that has forgotten them.\n";
  return internal::ReplaceFile(path, kText, 0600);
}

struct OpenedParts {
  std::shared_ptr<const IdParts> parts;
  std::shared_ptr<const StoreFiles> files;  // of all stores
  SpaceOptions space;                       // of the order IDs
  // A count, which publishes nothing else; the generator's callback holds it.
  std::shared_ptr<std::atomic<uint64_t>> lead_used_up = std::make_shared<std::atomic<uint64_t>>(0);
};

absl::StatusOr<OpenedParts> OpenParts(const std::string& directory) {
  const std::string path = directory + "/ids.db";
  const std::string uri = absl::StrCat("sqlite:", path);
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
  // Before anything is leased: leases of other files than these are then found out by InPlace.
  LOCUS_ASSIGN_OR_RETURN(StoreFiles files, StoreFiles::Find(path));
  opened.files = std::make_shared<const StoreFiles>(std::move(files));
  LOCUS_ASSIGN_OR_RETURN(parts.orders, OrderIdGenerator::Create(segments, orders));
  LOCUS_ASSIGN_OR_RETURN(opened.space, segments->ReadOptions(orders.space));
  LOCUS_RETURN_IF_ERROR(BeginNumbers(directory, uri));
  LOCUS_ASSIGN_OR_RETURN(const KeyRing keys, KeysAt(directory + "/keys"));
  LOCUS_ASSIGN_OR_RETURN(OrderNoCodec numbers, OrderNoCodec::Create(keys));
  parts.order_no_codec = std::make_shared<const OrderNoCodec>(std::move(numbers));
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
  // Where the store was replaced, the new one would take a renewal for a sign of a loss.
  snowflake.lease.healthy = [files = opened.files] { return files->InPlace().ok(); };
  // A new space need not rest. Only processes without a configuration lease from this file, all for
  // this ttl. If this store replaced another one, processes of that one have stopped (StoreFiles).
  // If leases were lost, the sidecar tells, and the space rests after all.
  WorkerSpacePast past;
  past.first_ever = true;
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
    LOCUS_ASSIGN_OR_RETURN(const OpenedParts opened, OpenParts(data_));
    files_ = opened.files;
    IdApiOptions ids;
    ids.confirm = [files = files_] { return files->InPlace(); };
    LOCUS_ASSIGN_OR_RETURN(ids_, IdApi::Make(opened.parts, ids));
    LOCUS_ASSIGN_OR_RETURN(console_, OpenConsole(MakeRunning(), options.data));
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<AccessControl> everybody,
                           AccessControl::Make({}, Scopes::All()));
    FrontOptions front;
    front.only_loopback_hosts = true;
    front.document = OpenApiText;
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

  absl::Status FilesInPlace() const { return files_->InPlace(); }
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
  std::shared_ptr<const StoreFiles> files_;
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

absl::Status Laptop::FilesInPlace() const { return rep_->FilesInPlace(); }
std::string Laptop::url() const { return rep_->url(); }
void Laptop::Close(absl::Duration within) { rep_->Close(within); }

}  // namespace locus::locusd
