// Frames over a socket pair: a kind, bytes, and passed descriptors. Either side may be gone or may send
// anything: a frame is read up to a limit, and while nothing comes, the caller decides whether to continue.
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/varint.h"

namespace fathom::symbolize {

enum class FrameKind : std::uint8_t { kReady, kRequest, kAnswer, kOpenFile, kFile };

// Before the bytes of each frame; fields in the byte order of the machine, as both sides are one program.
struct FrameHead {
  std::uint32_t size = 0;  // bytes that follow
  FrameKind kind = FrameKind::kReady;
};

struct Frame {
  FrameKind kind = FrameKind::kReady;
  Bytes bytes;
  std::vector<Fd> files;
};

class NameChannel {
 public:
  // Called about ten times a second while the other side is waited for. False: not any longer.
  using GoOn = std::function<bool()>;
  enum class Files : std::uint8_t { kRefused, kTaken };

  explicit NameChannel(Fd socket, Files files) : socket_(std::move(socket)), files_(files) {}
  int fd() const { return socket_.get(); }

  // False: the other side is gone, or `go_on` said no.
  bool send(FrameKind kind, std::span<const std::byte> bytes, std::span<const int> files, const GoOn& go_on);
  std::optional<Frame> receive(std::size_t largest, const GoOn& go_on);

 private:
  bool wait(short events, const GoOn& go_on) const;
  bool read_all(std::span<std::byte> bytes, std::vector<Fd>& files, const GoOn& go_on);

  Fd socket_;
  Files files_;
};

}  // namespace fathom::symbolize
