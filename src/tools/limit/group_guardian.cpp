#include "tools/limit/group_guardian.h"

#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "tools/limit/memory_group.h"

namespace fathom::limit {
namespace {

constexpr int kPatienceMs = 120'000;  // memory of a large process takes its time to be freed

enum class Order : std::uint8_t { kEnd, kWatch, kForget, kHeldFor };

struct Message {
  Order order = Order::kEnd;
  int version = 0;
  int ms = 0;
  char directory[4096] = {};
};

void let_go(const Message& watched) {
  const std::string folder = watched.directory;
  if (watched.version == 2) {
    (void)write_control(folder + "/memory.high", "max").has_value();
    (void)write_control(folder + "/cgroup.freeze", "0").has_value();
  } else {
    (void)write_control(folder + "/memory.oom_control", "0").has_value();
  }
}

[[noreturn]] void guard() {
  Message watched;
  bool watches = false;
  std::uint64_t let_go_at_ns = 0;
  for (;;) {
    int wait_ms = -1;
    if (let_go_at_ns != 0) {
      const std::uint64_t now = monotonic_ns();
      wait_ms = now >= let_go_at_ns ? 0 : static_cast<int>((let_go_at_ns - now) / 1'000'000 + 1);
    }
    pollfd ready{process::GuardianProcess::kChannel, POLLIN, 0};
    if (::poll(&ready, 1, wait_ms) == 0) {
      let_go_at_ns = 0;
      if (watches) let_go(watched);
      continue;
    }
    Message message;
    if (!process::GuardianProcess::hear(message)) break;
    if (message.order == Order::kEnd) ::_exit(0);
    if (message.order == Order::kWatch) {
      watched = message;
      watches = true;
    }
    if (message.order == Order::kForget) watches = false;
    if (message.order == Order::kHeldFor)
      let_go_at_ns =
          message.ms == 0 ? 0 : monotonic_ns() + static_cast<std::uint64_t>(message.ms) * 1'000'000;
  }
  try {
    if (watches) (void)remove_group(watched.version, watched.directory, kPatienceMs);
  } catch (const std::exception&) {
    // Out of memory: the group stays, empty or not, and its name says whose it is.
  }
  ::_exit(0);
}

}  // namespace

Result<GroupGuardian> GroupGuardian::start() {
  auto guardian = process::GuardianProcess::start("the control group", guard);
  if (!guardian) return tl::unexpected<Error>(guardian.error());
  return GroupGuardian(std::move(*guardian));
}

Result<> GroupGuardian::watch(int version, const std::string& directory) {
  Message message;
  message.order = Order::kWatch;
  message.version = version;
  if (directory.size() >= sizeof(message.directory))
    return fail(ErrorKind::kUnsupported, directory + ": too long a path");
  std::memcpy(message.directory, directory.data(), directory.size());
  if (!guardian_.tell(message)) return fail(ErrorKind::kSystem, "the guardian of the control group is gone");
  return {};
}

void GroupGuardian::forget() {
  (void)guardian_.tell(Message{.order = Order::kForget});
}

void GroupGuardian::held_for(int ms) {
  (void)guardian_.tell(Message{.order = Order::kHeldFor, .ms = ms});
}

void GroupGuardian::dismiss() {
  guardian_.dismiss(Message{});
}

}  // namespace fathom::limit
