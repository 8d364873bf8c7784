// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/mysql/mariadb_server.h"

#include <fcntl.h>
#include <mysql.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "src/engine/mysql/sigpipe.h"

namespace locus {

namespace fs = std::filesystem;

int RunProgram(const std::vector<std::string>& words, const std::string& out,
               const std::string& in) {
  pid_t child = fork();
  if (child == 0) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    dup2(open(in.c_str(), O_RDONLY), 0);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(1, 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

namespace {

// The program as execvp finds it, or in /usr/sbin; empty: there is none.
fs::path WhereIs(const std::string& program) {
  const char* const path = std::getenv("PATH");
  for (const auto folder : absl::StrSplit(absl::StrCat(path ? path : "", ":/usr/sbin"), ':')) {
    std::error_code none;
    const fs::path file = fs::path(std::string(folder)) / program;
    if (fs::is_regular_file(file, none)) return file;
  }
  return {};
}

// Changes with an upgrade of this program.
std::string Stamp(const std::string& program) {
  struct stat about = {};
  stat(WhereIs(program).c_str(), &about);
  return absl::StrCat(about.st_size, "-", about.st_mtime);
}

// A folder of this user alone that outlives the tests; empty: it cannot be had.
fs::path FolderOfRuns() {
  const fs::path folder = fs::temp_directory_path() / absl::StrCat("locus-tests-", getuid());
  mkdir(folder.c_str(), 0700);
  struct stat about = {};
  const bool is_ours = lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
                       about.st_uid == getuid() && (about.st_mode & 077) == 0;
  return is_ours ? folder : fs::path();
}

// Copies `from`, and shows it as `to` once it is whole. Others may do the same meanwhile.
bool PutInPlace(const fs::path& from, const fs::path& to) {
  std::string fresh = (to.parent_path() / "new-XXXXXX").string();
  if (mkdtemp(fresh.data()) == nullptr) return false;
  std::error_code failed;
  fs::copy(from, fresh + "/data", fs::copy_options::recursive, failed);
  if (!failed) fs::rename(fresh + "/data", to, failed);
  std::error_code ignored;
  fs::remove_all(fresh, ignored);
  return fs::exists(to, ignored);
}

}  // namespace

MariadbServer::MariadbServer(Settings settings)
    : settings_(std::move(settings)), port_(settings_.port.value_or(FreePort())) {
  WriteConfig();
}

void MariadbServer::WriteConfig() {
  std::ofstream config(path("my.cnf"));
  // The log is written and synced as it must be; the directory is in memory, so that is quick.
  // Temporary files too: in a common directory those of servers with one pid, each in a namespace
  // of its own, have one name.
  config << "[mariadbd]\ndatadir=" << path("data") << "\ntmpdir=" << directory_.str()
         << "\nsocket=" << path("sock") << "\npid-file=" << path("pid") << "\nport=" << port_
         << "\nbind-address=127.0.0.1\nserver-id=" << settings_.server_id
         << "\nskip-name-resolve\nperformance-schema=OFF\ninnodb-buffer-pool-size=16M\n"
            "innodb-log-file-size=8M\nmax-connections=200\nskip-log-error\n";
  if (getuid() == 0) {
    config << (settings_.as_mysql ? "user=mysql\n" : "user=root\n");
    const passwd* mysql = getpwnam("mysql");
    if (settings_.as_mysql && mysql != nullptr) {
      EXPECT_EQ(chown(directory_.str().c_str(), mysql->pw_uid, mysql->pw_gid), 0);
    }
  }
  for (const std::string& line : settings_.lines) config << line << "\n";
}

bool MariadbServer::Install() {
  std::string log = path("install.log");
  int exit = RunProgram({"mariadb-install-db", "--defaults-file=" + path("my.cnf"),
                         "--auth-root-authentication-method=normal", "--skip-test-db"},
                        log);
  if (exit != 0) {
    ADD_FAILURE() << "mariadb-install-db: exit " << exit << "\n" << std::ifstream(log).rdbuf();
  }
  return exit == 0;
}

// mariadb-install-db takes longer than the server's start. So it runs once for all tests, whose
// settings are none that a data directory keeps; each server gets a copy.
std::string MariadbServer::PreparedData() {
  static const std::string prepared = []() -> std::string {
    const fs::path folder = FolderOfRuns();
    if (folder.empty()) return "";
    const fs::path data =
        folder / absl::StrCat("mariadb-", Stamp("mariadbd"), "-", Stamp("mariadb-install-db"));
    if (fs::exists(data)) return data.string();
    MariadbServer plain;
    return plain.Install() && PutInPlace(plain.path("data"), data) ? data.string() : "";
  }();
  return prepared;
}

bool MariadbServer::MakeData() {
  const std::string prepared = PreparedData();
  if (prepared.empty()) return Install();
  fs::copy(prepared, path("data"), fs::copy_options::recursive);
  const passwd* const mysql = settings_.as_mysql && getuid() == 0 ? getpwnam("mysql") : nullptr;
  if (mysql == nullptr) return true;
  EXPECT_EQ(chown(path("data").c_str(), mysql->pw_uid, mysql->pw_gid), 0);
  for (const auto& file : fs::recursive_directory_iterator(path("data"))) {
    EXPECT_EQ(chown(file.path().c_str(), mysql->pw_uid, mysql->pw_gid), 0) << file;
  }
  return true;
}

bool MariadbServer::Start(const std::vector<std::string>& arguments) {
  if (!fs::exists(path("data"))) {
    if (!MakeData()) return false;
    std::ofstream(path("accounts.sql"))
        << "CREATE USER IF NOT EXISTS locus@'%' IDENTIFIED BY 's3cret';\n"
           "GRANT ALL ON `locus\\_%`.* TO locus@'%';\n";
  }
  std::vector<std::string> command = {"mariadbd", "--defaults-file=" + path("my.cnf")};
  if (settings_.make_accounts) command.push_back("--init-file=" + path("accounts.sql"));
  command.insert(command.end(), arguments.begin(), arguments.end());
  server_ = std::make_unique<PrivateServer>(command, path("log"));
  return server_->Start([this] { return Answers(); });
}

bool MariadbServer::Answers() { return Listens(port_) && TrySql("DO 1").ok(); }

void MariadbServer::Empty() {
  server_->KillHard();
  fs::remove_all(path("data"));
}

absl::StatusOr<std::vector<mysql::Result>> MariadbServer::TrySql(const std::string& statements,
                                                                 absl::Duration timeout) {
  MysqlOptions options;
  options.hosts = {{"127.0.0.1", port_}};
  options.user = "root";
  options.database = "mysql";
  options.timeout = timeout;
  auto session = SqlSession::Open(options);
  if (!session.ok()) return session.status();
  return (*session)->Run(statements);
}

// With the client library alone: what the engine adds starts a thread, and tests fork.
absl::StatusOr<std::unique_ptr<SqlSession>> SqlSession::Open(const MysqlOptions& options) {
  mysql::HoldSigpipe hold;
  static const bool library_started = [] {  // which ignores SIGPIPE for the whole process
    struct sigaction before;
    sigaction(SIGPIPE, nullptr, &before);
    bool started = mysql_library_init(0, nullptr, nullptr) == 0;
    sigaction(SIGPIPE, &before, nullptr);
    return started;
  }();
  mysql::Handle handle(library_started ? mysql_init(nullptr) : nullptr);
  if (handle == nullptr) return absl::InternalError("the client library does not start");
  unsigned connect_seconds = mysql::WholeSeconds(options.connect_timeout);
  unsigned seconds = mysql::WholeSeconds(options.timeout);
  unsigned tcp = MYSQL_PROTOCOL_TCP;
  mysql_optionsv(handle.get(), MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
  mysql_optionsv(handle.get(), MYSQL_OPT_READ_TIMEOUT, &seconds);
  mysql_optionsv(handle.get(), MYSQL_OPT_WRITE_TIMEOUT, &seconds);
  mysql_optionsv(handle.get(), MYSQL_OPT_PROTOCOL, &tcp);
  mysql_optionsv(handle.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const MysqlOptions::Host& host = options.hosts[0];
  if (mysql_real_connect(handle.get(), host.name.c_str(), options.user.c_str(),
                         options.password.c_str(), options.database.c_str(), host.port, nullptr,
                         CLIENT_MULTI_STATEMENTS | CLIENT_MULTI_RESULTS) == nullptr) {
    return mysql::ErrorOf(handle.get(), "of the test");
  }
  fcntl(static_cast<int>(mysql_get_socket(handle.get())), F_SETFD, FD_CLOEXEC);
  std::unique_ptr<SqlSession> session(new SqlSession(std::move(handle)));
  absl::Status set = session
                         ->Run(
                             "SET SESSION time_zone='+00:00', character_set_results=binary,"
                             " sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';"
                             "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
                         .status();
  if (!set.ok()) return set;
  return session;
}

absl::StatusOr<std::vector<mysql::Result>> SqlSession::Run(const std::string& statements) {
  MYSQL* handle = handle_.get();
  std::vector<mysql::Result> results;
  int more = mysql_real_query(handle, statements.data(), statements.size());
  while (more == 0) {
    mysql::Result& result = results.emplace_back();
    result.affected = mysql_affected_rows(handle);
    result.insert_id = mysql_insert_id(handle);
    unsigned columns = mysql_field_count(handle);
    MYSQL_RES* rows = mysql_store_result(handle);
    if (rows == nullptr && columns > 0) break;
    while (MYSQL_ROW row = rows == nullptr ? nullptr : mysql_fetch_row(rows)) {
      auto& out = result.rows.emplace_back(columns);
      for (unsigned i = 0; i < columns; ++i) {
        if (row[i] != nullptr) out[i].emplace(row[i], mysql_fetch_lengths(rows)[i]);
      }
    }
    mysql_free_result(rows);
    more = mysql_next_result(handle);
    if (more < 0) {
      error_ = 0;
      return results;
    }
  }
  error_ = mysql_errno(handle);
  return mysql::ErrorOf(handle, "of the test");
}

std::vector<mysql::Result> MariadbServer::Sql(const std::string& statements) {
  auto results = TrySql(statements, absl::Seconds(60));
  EXPECT_TRUE(results.ok()) << statements << ": " << results.status();
  return results.value_or(std::vector<mysql::Result>());
}

std::string MariadbServer::Value(const std::string& query) {
  auto results = Sql(query);
  if (results.empty() || results[0].rows.empty()) return "";
  return results[0].rows[0][0].value_or("NULL");
}

MysqlOptions MariadbServer::Account(const std::string& database) const {
  MysqlOptions options;
  options.hosts = {{"127.0.0.1", port_}};
  options.user = "locus";
  options.password = "s3cret";
  options.database = database;
  return options;
}

MysqlOptions MariadbServer::OptionsFor(const std::string& database) {
  Sql("CREATE DATABASE IF NOT EXISTS " + database);
  return Account(database);
}

MariadbServer& SharedMariadb() {
  static MariadbServer& server = *[] {
    static MariadbServer started;
    EXPECT_TRUE(started.Start());
    return &started;
  }();
  return server;
}

MysqlOptions FreshMariadbDatabase() {
  static int made = 0;
  MysqlOptions options = SharedMariadb().OptionsFor(absl::StrCat("locus_", ++made));
  absl::Status created = MysqlSegmentStore::CreateSchema(options);
  EXPECT_TRUE(created.ok()) << created;
  return options;
}

}  // namespace locus
