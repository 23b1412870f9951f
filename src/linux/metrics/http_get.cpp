#include "linux/metrics/http_get.h"

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

tl::unexpected<Error> problem(const Url& url, std::string_view what, ErrorKind kind = ErrorKind::kSystem) {
  return fail(kind, fmt::format("{}: {}", url.text, what));
}

// Waits for `events`. Empty: they are there.
std::string wait_for(int fd, short events, std::uint64_t deadline_ns, int stop) {
  for (;;) {
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline_ns) return "no answer in time";
    std::array<pollfd, 2> polls{{{fd, events, 0}, {stop, POLLIN, 0}}};
    const auto timeout =
        static_cast<int>(std::min<std::uint64_t>((deadline_ns - now) / 1'000'000 + 1, 60'000));
    const int ready = ::poll(polls.data(), stop >= 0 ? 2 : 1, timeout);
    if (ready < 0 && errno != EINTR) return std::strerror(errno);
    if (stop >= 0 && polls[1].revents != 0) return "stopped";
    if (polls[0].revents != 0) return "";
  }
}

Result<std::string> unpack(const Url& url, std::string_view packed, std::size_t most) {
  z_stream stream{};
  if (::inflateInit2(&stream, 15 + 32) != Z_OK)
    return problem(url, "the answer cannot be unpacked");  // gzip or zlib
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
    return problem(url, fmt::format("the answer is longer than {} MiB", most >> 20), ErrorKind::kMalformed);
  if (status != Z_STREAM_END) return problem(url, "the answer cannot be unpacked", ErrorKind::kMalformed);
  return out;
}

Result<Fd> connect_to(const Url& url, std::uint64_t deadline_ns, int stop) {
  sockaddr_storage name{};
  socklen_t size = 0;
  if (url.address.is_unix()) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    std::memcpy(path.sun_path, url.address.path.data(), url.address.path.size());
    std::memcpy(&name, &path, sizeof(path));
    size = sizeof(path);
  } else if (!url.address.fill(name, size)) {
    return problem(url, "no numeric address", ErrorKind::kUsage);
  }
  Fd fd(::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return problem(url, std::strerror(errno));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return problem(url, std::strerror(errno));
    if (const std::string why = wait_for(fd.get(), POLLOUT, deadline_ns, stop); !why.empty())
      return problem(url, why);
    int error = 0;
    socklen_t length = sizeof(error);
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    if (error != 0) return problem(url, std::strerror(error));
  }
  return fd;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  const std::string remedy = "http://127.0.0.1:9001/metrics";
  Url url;
  url.text = text;
  if (text.starts_with("unix:")) {
    auto address = parse_address(text);
    if (!address) return tl::unexpected<Error>(address.error());
    url.address = std::move(*address);
    url.target = "/metrics";
    return url;
  }
  std::string_view rest = text;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.find("://") != rest.npos) {
    return fail(ErrorKind::kUsage, fmt::format("'{}': only http:// is supported", text), remedy);
  }
  const std::size_t slash = rest.find('/');
  std::string authority(rest.substr(0, slash));
  url.target = slash == rest.npos ? "/metrics" : rest.substr(slash, rest.find('#') - slash);
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string::npos || authority.ends_with(']')) authority += ":80";
  auto address = parse_address(authority);
  const bool printable =
      std::all_of(url.target.begin(), url.target.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!address || address->is_unix() || address->port == 0 || !printable)
    return fail(ErrorKind::kUsage,
                fmt::format("'{}' is no address of metrics; names of hosts are not looked up", text), remedy);
  url.address = std::move(*address);
  return url;
}

Result<Fetched> http_get(const Url& url, std::uint64_t deadline_ns, int stop, std::string_view accept,
                         HttpBounds bounds) {
  auto fd = connect_to(url, deadline_ns, stop);
  if (!fd) return tl::unexpected<Error>(fd.error());
  const std::string request = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: fathom\r\nAccept: {}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n",
      url.target, url.address.is_unix() ? "localhost" : url.address.to_string(), accept);
  for (std::string_view rest = request; !rest.empty();) {
    const ssize_t sent = ::send(fd->get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return problem(url, std::strerror(errno));
    } else if (const std::string why = wait_for(fd->get(), POLLOUT, deadline_ns, stop); !why.empty()) {
      return problem(url, why);
    }
  }
  HttpResponse response(bounds);
  std::array<char, 64 << 10> buffer;
  while (response.state() == HttpResponse::State::kIncomplete) {
    if (const std::string why = wait_for(fd->get(), POLLIN, deadline_ns, stop); !why.empty())
      return problem(url, why);
    const ssize_t got = ::recv(fd->get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      response.feed({buffer.data(), static_cast<std::size_t>(got)});
    } else if (got == 0) {
      response.end();
    } else if (errno != EAGAIN && errno != EINTR) {
      return problem(url, std::strerror(errno));
    }
  }
  if (response.state() == HttpResponse::State::kTooLong)
    return problem(url, fmt::format("the answer is longer than {} MiB", bounds.body_bytes >> 20),
                   ErrorKind::kMalformed);
  if (response.state() != HttpResponse::State::kWhole)
    return problem(url, "the answer is no HTTP", ErrorKind::kMalformed);
  Fetched fetched{response.status(), response.content_type(), response.body()};
  if (response.content_encoding() == "gzip" || response.content_encoding() == "x-gzip") {
    auto body = unpack(url, fetched.body, bounds.body_bytes);
    if (!body) return tl::unexpected<Error>(body.error());
    fetched.body = std::move(*body);
  } else if (!response.content_encoding().empty() && response.content_encoding() != "identity") {
    return problem(url, "the answer is packed in a way that was not asked for", ErrorKind::kMalformed);
  }
  return fetched;
}

}  // namespace fathom::metrics
