#include "linux/metrics/http_exchange.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/fd.h"

namespace fathom::metrics {
namespace {

tl::unexpected<Error> exchange_failed(const std::string& name, std::string_view what,
                                      ErrorKind kind = ErrorKind::kSystem) {
  return fail(kind, fmt::format("{}: {}", name, what));
}

Result<std::string> gunzip(const std::string& name, std::string_view packed, std::size_t most) {
  z_stream stream{};
  if (::inflateInit2(&stream, 15 + 32) != Z_OK)
    return exchange_failed(name, "the answer cannot be unpacked");  // gzip or zlib
  std::string out;
  std::array<char, 64 << 10> buffer;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  int status = Z_OK;
  while (status == Z_OK && out.size() <= most) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = ::inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (out.size() > most)
    return exchange_failed(name, fmt::format("the answer is longer than {} MiB", most >> 20),
                           ErrorKind::kMalformed);
  if (status != Z_STREAM_END)
    return exchange_failed(name, "the answer cannot be unpacked", ErrorKind::kMalformed);
  return out;
}

tl::unexpected<Error> no_connection(const std::string& name, int error_number) {
  return fail(ErrorKind::kSystem, fmt::format("{}: {}", name, std::strerror(error_number)),
              "another address, or start the server that listens there");
}

Result<Fd> connect_to(const Address& address, const std::string& text, std::uint64_t deadline_ns, int stop) {
  sockaddr_storage name{};
  socklen_t size = 0;
  if (address.is_unix()) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    std::memcpy(path.sun_path, address.path.data(), std::min(address.path.size(), sizeof(path.sun_path) - 1));
    std::memcpy(&name, &path, sizeof(path));
    size = sizeof(path);
  } else if (!address.fill(name, size)) {
    return exchange_failed(text, "not a numeric address", ErrorKind::kUsage);
  }
  Fd fd(::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return exchange_failed(text, std::strerror(errno));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return no_connection(text, errno);
    if (const std::string why = wait_for_events(fd.get(), POLLOUT, deadline_ns, stop); !why.empty())
      return exchange_failed(text, why);
    int error = 0;
    socklen_t length = sizeof(error);
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    if (error != 0) return no_connection(text, error);
  }
  return fd;
}

}  // namespace

std::string wait_for_events(int fd, short events, std::uint64_t deadline_ns, int stop, short* ready) {
  for (;;) {
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline_ns) return "no answer in time";
    std::array<pollfd, 2> polls{{{fd, events, 0}, {stop, POLLIN, 0}}};
    const auto timeout =
        static_cast<int>(std::min<std::uint64_t>((deadline_ns - now) / 1'000'000 + 1, 60'000));
    const int count = ::poll(polls.data(), stop >= 0 ? 2 : 1, timeout);
    if (count < 0 && errno != EINTR) return std::strerror(errno);
    if (count <= 0) continue;
    if (stop >= 0 && polls[1].revents != 0) return "stopped";
    if (polls[0].revents == 0) continue;
    if (ready != nullptr) *ready = polls[0].revents;
    return "";
  }
}

bool can_connect(const Address& address, std::uint64_t deadline_ns, int stop) {
  return connect_to(address, "", deadline_ns, stop).has_value();
}

Result<> check_whole(const HttpResponse& response, const std::string& name, HttpBounds bounds) {
  if (response.state() == HttpResponse::State::kTooLong)
    return exchange_failed(name, fmt::format("the answer is longer than {} MiB", bounds.body_bytes >> 20),
                           ErrorKind::kMalformed);
  if (response.state() != HttpResponse::State::kWhole)
    return exchange_failed(name, "the answer is not HTTP", ErrorKind::kMalformed);
  return {};
}

Result<std::string> unpacked_body(const HttpResponse& response, const std::string& name, HttpBounds bounds) {
  const std::string& encoding = response.content_encoding();
  if (encoding == "gzip" || encoding == "x-gzip") return gunzip(name, response.body(), bounds.body_bytes);
  if (!encoding.empty() && encoding != "identity")
    return exchange_failed(name, "the answer has an encoding other than gzip", ErrorKind::kMalformed);
  return response.body();
}

Result<HttpResponse> http_exchange(const Address& address, const std::string& name, std::string_view request,
                                   std::uint64_t deadline_ns, int stop, HttpBounds bounds) {
  auto fd = connect_to(address, name, deadline_ns, stop);
  if (!fd) return tl::unexpected<Error>(fd.error());
  HttpResponse response(bounds);
  std::array<char, 64 << 10> buffer;
  std::string_view unsent = request;
  while (response.state() == HttpResponse::State::kIncomplete) {
    short ready = 0;
    const auto events = static_cast<short>(unsent.empty() ? POLLIN : POLLIN | POLLOUT);
    if (const std::string why = wait_for_events(fd->get(), events, deadline_ns, stop, &ready); !why.empty())
      return exchange_failed(name, why);
    if ((ready & POLLOUT) != 0 && (ready & POLLIN) == 0 && !unsent.empty()) {
      const ssize_t sent = ::send(fd->get(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        unsent.remove_prefix(static_cast<std::size_t>(sent));
        continue;
      }
      if (errno == EAGAIN || errno == EINTR) continue;
      // A server that refuses a request early may have answered before it closed: read on.
      if (errno != EPIPE && errno != ECONNRESET) return exchange_failed(name, std::strerror(errno));
    }
    const ssize_t got = ::recv(fd->get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      response.feed({buffer.data(), static_cast<std::size_t>(got)});
    } else if (got == 0) {
      response.end();
    } else if (errno != EAGAIN && errno != EINTR) {
      return exchange_failed(name, std::strerror(errno));
    }
  }
  if (const auto whole = check_whole(response, name, bounds); !whole)
    return tl::unexpected<Error>(whole.error());
  if (!unsent.empty() && response.status() < 300)
    return exchange_failed(name, "the server answered before it had received the whole request");
  return response;
}

}  // namespace fathom::metrics
