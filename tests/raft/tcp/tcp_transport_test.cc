// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/tcp_transport.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/tcp/frame.h"
#include "tests/support/authority.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/lying_server.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::raft {
namespace {

using ::testing::HasSubstr;

std::string Local(uint16_t port) { return absl::StrCat("127.0.0.1:", port); }

Hello HelloTo1(NodeId from, bool bulk = false) {
  Hello hello;
  hello.from = from;
  hello.to = 1;
  hello.bulk = bulk;
  hello.cluster = "workers";
  hello.address = "127.0.0.1:1";
  return hello;
}

// A transport with what came to it.
class Side {
 public:
  explicit Side(TcpOptions options) : options_(std::move(options)) {
    auto made = TcpTransport::Create(options_);
    EXPECT_TRUE(made.ok()) << made.status();
    transport = *std::move(made);
    const absl::Status status = transport->Start([this](NodeId from, Message message) {
      std::lock_guard lock(mutex_);
      came_.emplace_back(from, std::move(message));
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  ~Side() { transport->Stop(); }
  static TcpOptions Options(NodeId self, uint16_t port) {
    TcpOptions options;
    options.self = self;
    options.cluster = "workers";
    options.listen = Local(port);
    return options;
  }
  std::vector<std::pair<NodeId, Message>> came() {
    std::lock_guard lock(mutex_);
    return came_;
  }
  // Sends with the term until one comes.
  bool Reaches(Side& other, const std::string& address, Term term = 1) {
    return WaitUntil([&] {
      transport->Send(other.options_.self, address, StandNow{term});
      for (const auto& [from, message] : other.came()) {
        if (from == options_.self && message == Message(StandNow{term})) return true;
      }
      return false;
    });
  }
  // Sends until the link shows an error that has this in it.
  bool Fails(NodeId to, const std::string& address, const std::string& why) {
    return WaitUntil([&] {
      transport->Send(to, address, StandNow{1});
      for (const TcpTransport::Link& link : transport->Links()) {
        if (link.error.find(why) != std::string::npos) return true;
        last_error = link.error;
      }
      return false;
    });
  }
  std::unique_ptr<TcpTransport> transport;
  std::string last_error;

 private:
  TcpOptions options_;
  std::mutex mutex_;
  std::vector<std::pair<NodeId, Message>> came_;
};

TEST(TcpTransportTest, Messages_ArriveInOrderAndAreAnsweredByTheAddressOfTheCaller) {
  const uint16_t ports[] = {FreePort(), FreePort()};
  Side one(Side::Options(1, ports[0])), two(Side::Options(2, ports[1]));
  ASSERT_TRUE(one.Reaches(two, Local(ports[1])));
  const size_t before = two.came().size();
  for (Term term = 100; term < 1100; ++term) {
    one.transport->Send(2, Local(ports[1]), StandNow{term});
  }
  ASSERT_TRUE(WaitUntil([&] { return two.came().size() >= before + 1000; }));
  auto came = two.came();
  came.erase(came.begin(), came.end() - 1000);
  for (Term term = 100; term < 1100; ++term) {
    ASSERT_EQ(came[term - 100].second, Message(StandNow{term}));
  }
  EXPECT_TRUE(two.Reaches(one, ""));
}

TEST(TcpTransportTest, LongMessages_ArriveWhole) {
  const uint16_t ports[] = {FreePort(), FreePort()};
  Side one(Side::Options(1, ports[0])), two(Side::Options(2, ports[1]));
  InstallSnapshot install;
  install.mark = {7, 3, {{1, true, "a"}}};
  install.state.resize(30 << 20);
  for (size_t i = 0; i < install.state.size(); ++i) install.state[i] = static_cast<char>(i * 31);
  Append append;
  append.entries.push_back({1, Entry::Kind::kCommand, std::string(kMostEntryBytes, 'x'), {}});
  one.transport->Send(2, Local(ports[1]), install);
  one.transport->Send(2, Local(ports[1]), append);
  ASSERT_TRUE(WaitUntil([&] { return two.came().size() >= 2; }));
  for (const auto& [from, message] : two.came()) {
    EXPECT_TRUE(message == Message(install) || message == Message(append));
  }
}

// Each time that something comes, a frame ends and the next one begins: each has its own time.
TEST(TcpTransportTest, FramesThatOverlap_KeepTheirConnection) {
  const uint16_t port = FreePort();
  Side node(Side::Options(1, port));
  const int call = ConnectToLoopback(port);
  const std::string frame = Framed(Encode(Message(StandNow{1})));
  auto say = [&](const std::string& bytes) {
    return send(call, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  };
  const timeval limit{20, 0};
  setsockopt(call, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char answer[9];
  ASSERT_TRUE(say(Framed(Encode(HelloTo1(9))) + frame.substr(0, 7)));
  ASSERT_EQ(recv(call, answer, 9, MSG_WAITALL), 9);
  int frames = 0;
  // For longer than the 3 s that a connection may take.
  for (const absl::Time end = absl::Now() + absl::Seconds(4); absl::Now() < end; ++frames) {
    ASSERT_TRUE(say(frame.substr(7) + frame.substr(0, 7))) << frames;
    ASSERT_EQ(recv(call, answer, 1, 0), 1) << frames;
  }
  EXPECT_GT(frames, 2);
  close(call);
}

TEST(TcpTransportTest, NodeThatComesBack_IsReached) {
  const uint16_t ports[] = {FreePort(), FreePort()};
  Side one(Side::Options(1, ports[0]));
  EXPECT_TRUE(one.Fails(2, Local(ports[1]), "refused"));
  for (Term life = 1; life < 4; ++life) {
    Side two(Side::Options(2, ports[1]));
    EXPECT_TRUE(one.Reaches(two, Local(ports[1]), life));
  }
}

TEST(TcpTransportTest, OtherClusterOrNode_IsRefusedWithTheReason) {
  const uint16_t ports[] = {FreePort(), FreePort()};
  TcpOptions other = Side::Options(2, ports[1]);
  other.cluster = "others";
  Side one(Side::Options(1, ports[0])), two(other);
  EXPECT_TRUE(one.Fails(2, Local(ports[1]),
                        "the caller is of cluster \"workers\", this node of \"others\""))
      << one.last_error;
  EXPECT_TRUE(one.Fails(3, Local(ports[0]), "the caller wants node 3, this is node 1"))
      << one.last_error;
  EXPECT_TRUE(two.came().empty());
}

TEST(TcpTransportTest, BeyondLoopbackWithoutTls_IsRefused) {
  TcpOptions options = Side::Options(1, FreePort());
  options.listen = absl::StrCat("0.0.0.0:", FreePort());
  EXPECT_EQ(TcpTransport::Create(options).status().code(), absl::StatusCode::kFailedPrecondition);
  Side one(Side::Options(1, FreePort()));
  EXPECT_TRUE(one.Fails(2, "192.0.2.1:7000", "beyond loopback")) << one.last_error;
}

TEST(TcpTransportTest, PortThatIsTaken_IsNamed) {
  const uint16_t port = FreePort();
  Side one(Side::Options(1, port));
  const absl::Status status = TcpTransport::Create(Side::Options(2, port)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(Local(port)));
}

TEST(TcpTransportTest, Tls_TakesNodesOfTheAuthorityOnly) {
  TemporaryDirectory directory;
  Authority authority(directory, "ours"), stranger(directory, "theirs");
  auto files = [](const Authority& of, const std::string& certificate) {
    return http::TlsFiles{of.file(), certificate, certificate + ".key"};
  };
  const std::string names = "IP:127.0.0.1";
  const uint16_t ports[] = {FreePort(), FreePort(), FreePort(), FreePort()};
  TcpOptions options[4];
  for (NodeId i = 0; i < 4; ++i) options[i] = Side::Options(i + 1, ports[i]);
  options[0].tls = files(authority, authority.Sign("one", names));
  options[1].tls = files(authority, authority.Sign("two", names));
  options[2].tls =
      http::TlsFiles{authority.file(), stranger.Sign("three", names), directory / "three.key"};
  options[3].tls = files(authority, authority.Sign("four", "DNS:elsewhere"));
  TcpOptions no_authority = options[0];
  no_authority.tls->ca_file.clear();
  EXPECT_EQ(TcpTransport::Create(no_authority).status().code(),
            absl::StatusCode::kFailedPrecondition);

  Side one(options[0]), two(options[1]), three(options[2]), four(options[3]);
  EXPECT_TRUE(one.Reaches(two, Local(ports[1])));
  EXPECT_TRUE(two.Reaches(one, ""));
  // The callee's certificate: of another authority, of another host.
  EXPECT_TRUE(one.Fails(3, Local(ports[2]), "certificate verify failed")) << one.last_error;
  EXPECT_TRUE(two.Fails(4, Local(ports[3]), "certificate verify failed")) << two.last_error;
  // The caller's certificate; and none at all.
  EXPECT_TRUE(three.Fails(1, Local(ports[0]), "alert")) << three.last_error;
  Side plain(Side::Options(5, FreePort()));
  EXPECT_TRUE(plain.Fails(1, Local(ports[0]), "reading")) << plain.last_error;
  for (const auto& [from, message] : one.came()) EXPECT_EQ(from, 2u);
}

TEST(TcpTransportTest, CallerWhoseCertificateNamesAnotherHost_DoesNotSpeakForAMember) {
  TemporaryDirectory directory;
  Authority authority(directory, "ours");
  auto options = [&](NodeId id, const std::string& name) {
    TcpOptions made = Side::Options(id, FreePort());
    const std::string certificate = authority.Sign(absl::StrCat("of", id), name);
    made.tls = http::TlsFiles{authority.file(), certificate, certificate + ".key"};
    return made;
  };
  const TcpOptions first = options(1, "IP:127.0.0.1");
  Side one(first), two(options(2, "IP:127.0.0.1"));
  one.transport->NoteMembers({{1, true, first.listen}, {2, true, "127.0.0.2:7000"}});
  EXPECT_TRUE(two.Fails(1, first.listen,
                        "does not name \"127.0.0.2:7000\", where the members say that node 2"))
      << two.last_error;
  TcpOptions elsewhere = options(3, "IP:127.0.0.1");
  elsewhere.advertise = "db.example:7000";
  Side three(elsewhere);
  EXPECT_TRUE(three.Fails(1, first.listen, "does not name \"db.example:7000\", where it says"))
      << three.last_error;
  EXPECT_TRUE(one.came().empty());
  one.transport->NoteMembers({{1, true, first.listen}, {2, true, "127.0.0.1:7000"}});
  EXPECT_TRUE(two.Reaches(one, first.listen));
}

TEST(TcpTransportTest, LostBytes_EndTheConnectionAndANewOneIsMade) {
  const uint16_t ports[] = {FreePort(), FreePort()};
  Side one(Side::Options(1, ports[0])), two(Side::Options(2, ports[1]));
  FaultProxy proxy(ports[1]);
  ASSERT_TRUE(one.Reaches(two, Local(proxy.port()), 1));
  proxy.set_fault(FaultProxy::Fault::kDrop);
  EXPECT_TRUE(one.Fails(2, Local(proxy.port()), "not confirmed")) << one.last_error;
  proxy.set_fault(FaultProxy::Fault::kNone);
  EXPECT_TRUE(one.Reaches(two, Local(proxy.port()), 2));
  proxy.set_fault(FaultProxy::Fault::kReset);
  EXPECT_TRUE(WaitUntil([&] {
    one.transport->Send(2, Local(proxy.port()), StandNow{3});
    return proxy.met() > 3;
  }));
  proxy.set_fault(FaultProxy::Fault::kNone);
  EXPECT_TRUE(one.Reaches(two, Local(proxy.port()), 4));
}

// A callee that says nothing, or nonsense.
TEST(TcpTransportTest, StrangeCallees_AreLeft) {
  Side one(Side::Options(1, FreePort()));
  LyingServer silent([](LyingPeer& peer) { peer.Hang(); });
  EXPECT_TRUE(one.Fails(2, Local(silent.port()), "reading")) << one.last_error;
  LyingServer nonsense([](LyingPeer& peer) {
    peer.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.Hang();
  });
  EXPECT_TRUE(one.Fails(3, Local(nonsense.port()), "a frame of")) << one.last_error;
}

// Callers that announce much, drip, or send nonsense: they lose their connection in time, and the
// node serves others.
TEST(TcpTransportTest, StrangeCallers_AreLeft) {
  const uint16_t port = FreePort(), other_port = FreePort();
  Side node(Side::Options(1, port));
  const std::string greeting = Framed(Encode(HelloTo1(9, true)));
  auto size_of = [](uint32_t size) {
    return std::string(reinterpret_cast<const char*>(&size), sizeof size);
  };
  const std::string before[] = {"",
                                "GET / HTTP/1.1\r\n\r\n",
                                size_of(0xFFFFFFFF),
                                size_of(1000) + "LRAF",
                                Framed("LRAFxxxxxxxxxxxxxxxxxxxxx"),
                                greeting.substr(0, 20)};
  const std::string after[] = {size_of(kMostBulkFrameBytes + 1), Framed("\x63nonsense"), Framed(""),
                               size_of(1000) + "what follows never comes"};
  const size_t memory = PeakMemoryMiB();
  std::vector<int> calls;
  for (const std::string& bytes : before) {
    calls.push_back(ConnectToLoopback(port));
    ASSERT_EQ(send(calls.back(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  for (const std::string& bytes : after) {
    calls.push_back(ConnectToLoopback(port));
    const std::string all = greeting + bytes;
    ASSERT_EQ(send(calls.back(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    char welcome[9];
    ASSERT_EQ(recv(calls.back(), welcome, sizeof welcome, MSG_WAITALL), 9);
    EXPECT_EQ(welcome[8], '\1');
  }
  // A frame of the largest size is awaited, but no memory is taken for it before it comes.
  calls.push_back(ConnectToLoopback(port));
  const std::string large = greeting + size_of(kMostBulkFrameBytes) + "x";
  ASSERT_EQ(send(calls.back(), large.data(), large.size(), 0), static_cast<ssize_t>(large.size()));
  calls.pop_back();
  Side other(Side::Options(2, other_port));
  EXPECT_TRUE(other.Reaches(node, Local(port)));
  for (size_t i = 0; i < calls.size(); ++i) {
    const timeval limit{20, 0};
    setsockopt(calls[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char byte;
    ssize_t got = 1;
    while (got > 0) got = recv(calls[i], &byte, 1, 0);
    EXPECT_TRUE(got == 0 || errno == ECONNRESET) << "call " << i << ": " << std::strerror(errno);
    close(calls[i]);
  }
  EXPECT_LT(PeakMemoryMiB(), memory + 60);
}

// More IDs than a node remembers, each of which called once: a node that is new is served.
TEST(TcpTransportTest, MadeUpIds_DoNotKeepOutANewNode) {
  const uint16_t port = FreePort(), new_port = FreePort();
  Side node(Side::Options(1, port));
  for (NodeId id = 1000; id < 1200; ++id) {
    const std::string greeting = Framed(Encode(HelloTo1(id)));
    const int call = ConnectToLoopback(port);
    ASSERT_EQ(send(call, greeting.data(), greeting.size(), 0),
              static_cast<ssize_t>(greeting.size()));
    char welcome[9];
    EXPECT_EQ(recv(call, welcome, sizeof welcome, MSG_WAITALL), 9);
    EXPECT_EQ(welcome[8], '\1') << "ID " << id;
    close(call);
  }
  Side fresh(Side::Options(2, new_port));
  EXPECT_TRUE(fresh.Reaches(node, Local(port)));
  EXPECT_TRUE(node.Reaches(fresh, ""));
}

// Callers that say nothing, that made their IDs up, and that claim to be the member: hundreds that
// stay, and more that come all the time.
TEST(TcpTransportTest, SilentAndLyingCallers_DoNotKeepOutAMember) {
  const uint16_t port = FreePort();
  Side node(Side::Options(1, port));
  node.transport->NoteMembers({{1, true, ""}, {2, true, ""}});
  std::deque<int> calls;
  NodeId made_up = 1000;
  auto call = [&] {
    const NodeId ids[] = {0, ++made_up, 2};
    const NodeId id = ids[made_up % 3];
    const std::string greeting = id == 0 ? "" : Framed(Encode(HelloTo1(id)));
    calls.push_back(ConnectToLoopback(port));
    send(calls.back(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
    if (calls.size() <= 400) return;
    close(calls.front());
    calls.pop_front();
  };
  for (int i = 0; i < 400; ++i) call();
  std::atomic<bool> over = false;
  std::thread flood([&] {
    while (!over) call();
  });
  Side member(Side::Options(2, FreePort()));
  EXPECT_TRUE(member.Reaches(node, Local(port), 1));
  auto dropped = [&] { return member.transport->Links().at(0).dropped; };
  const uint64_t before = dropped();
  for (Term term = 2; term <= 200; ++term) {
    ASSERT_TRUE(member.Reaches(node, Local(port), term)) << term;
  }
  EXPECT_EQ(dropped(), before) << "its connection was ended";
  over = true;
  flood.join();
  for (int one : calls) close(one);
}

// A caller gets answers under made-up IDs, to addresses where no process answers.
TEST(TcpTransportTest, AnswersToMadeUpIds_DoNotKeepAMemberFromBeingCalled) {
  const uint16_t port = FreePort();
  Side one(Side::Options(1, FreePort())), two(Side::Options(2, port));
  one.transport->NoteMembers({{1, true, ""}, {2, true, ""}});
  LyingServer silent([](LyingPeer& peer) { peer.Hang(); });
  for (NodeId id = 1000; id < 1300; ++id) {
    one.transport->Send(id, Local(silent.port()), StandNow{1});
  }
  EXPECT_TRUE(one.Reaches(two, Local(port)));
  EXPECT_LT(one.transport->Links().size(), 20u);
}

}  // namespace
}  // namespace locus::raft
