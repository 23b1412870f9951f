#include "tools/flight/hold/hold_guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.h"

namespace fathom::flight {
namespace {

enum class Order : std::uint8_t { kEnd, kWatch, kForget };

// Plain bytes: the guardian allocates nothing, so want of memory does not stop it.
struct Message {
  Order order = Order::kEnd;
  std::uint32_t most_ms = 0;
  char path[4096] = {};
  char off[32] = {};
};

void let_go_now(const Message& watched) {
  const int file = ::open(watched.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;  // the group is gone, and so are the processes held in it
  [[maybe_unused]] const ssize_t written = ::write(file, watched.off, ::strlen(watched.off));
  ::close(file);
}

[[noreturn]] void guard() {
  Message watched;
  bool watches = false;
  std::uint64_t until_ns = 0;
  for (;;) {
    int wait_ms = -1;
    if (watches) {
      const std::uint64_t now = monotonic_ns();
      wait_ms = now >= until_ns ? 0 : static_cast<int>((until_ns - now) / 1'000'000 + 1);
    }
    pollfd ready{process::GuardianProcess::kChannel, POLLIN, 0};
    if (::poll(&ready, 1, wait_ms) == 0) {
      watches = false;
      let_go_now(watched);
      continue;
    }
    Message message;
    if (!process::GuardianProcess::hear(message)) break;
    if (message.order == Order::kEnd) ::_exit(0);
    watches = message.order == Order::kWatch;
    if (!watches) continue;
    watched = message;
    until_ns = monotonic_ns() + std::uint64_t{message.most_ms} * 1'000'000;
  }
  if (watches) let_go_now(watched);
  ::_exit(0);
}

}  // namespace

Result<HoldGuardian> HoldGuardian::start() {
  auto guardian = process::GuardianProcess::start("the frozen target", guard);
  if (!guardian) return tl::unexpected<Error>(guardian.error());
  return HoldGuardian(std::move(*guardian));
}

Result<> HoldGuardian::watch(const Hold& hold) {
  Message message;
  message.order = Order::kWatch;
  message.most_ms = hold.most_ms;
  if (hold.path.size() >= sizeof(message.path) || hold.off.size() >= sizeof(message.off))
    return fail(ErrorKind::kUnsupported, hold.path + ": too long a path");
  std::memcpy(message.path, hold.path.data(), hold.path.size());
  std::memcpy(message.off, hold.off.data(), hold.off.size());
  if (!guardian_.tell(message))
    return fail(ErrorKind::kSystem,
                "the guardian of the held process has ended, so nothing is held any more");
  return {};
}

void HoldGuardian::forget() {
  (void)guardian_.tell(Message{.order = Order::kForget});
}

void HoldGuardian::dismiss() {
  guardian_.dismiss(Message{});
}

}  // namespace fathom::flight
