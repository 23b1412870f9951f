#include "linux/metrics/address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "base/parse.h"

namespace fathom::metrics {

bool Address::is_loopback() const {
  if (is_unix()) return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::string Address::to_string() const {
  if (is_unix()) return "unix:" + path;
  return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port)
                                             : fmt::format("{}:{}", host, port);
}

bool Address::fill(sockaddr_storage& storage, socklen_t& size) const {
  storage = {};
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    std::memcpy(&storage, &four, sizeof(four));
    size = sizeof(four);
    return true;
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) != 1) return false;
  std::memcpy(&storage, &six, sizeof(six));
  size = sizeof(six);
  return true;
}

Result<Address> parse_address(std::string_view text) {
  static constexpr std::string_view kForms = "127.0.0.1:9101, [::1]:9101 or unix:/run/user/1000/fathom.sock";
  Address address;
  if (text.starts_with("unix:")) {
    address.path = text.substr(5);
    if (address.path.empty() || address.path.size() >= sizeof(sockaddr_un::sun_path) ||
        address.path.find('\0') != std::string::npos)
      return fail(ErrorKind::kUsage, fmt::format("'{}': the path of a socket has 1 to 107 characters", text),
                  std::string(kForms));
    return address;
  }
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon), port = colon == text.npos ? "" : text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    host = {};  // an address of version 6 without brackets: where it ends is not clear
  }
  address.host = host == "localhost" ? "127.0.0.1" : host;
  const auto number = parse_number<std::uint16_t>(port);
  address.port = number.value_or(0);
  sockaddr_storage storage;
  socklen_t size = 0;
  if (!number || !address.fill(storage, size))
    return fail(ErrorKind::kUsage, fmt::format("'{}' is not a numeric address with a port", text),
                std::string(kForms));
  return address;
}

Result<std::string> read_token(const std::string& path) {
  // No remedy writes to a file that is there: it may be another one than was meant.
  static constexpr std::string_view kNewOne =
      "a file of its own: (umask 077; head -c 32 /dev/urandom | base64 > FILE)";
  const auto refuse = [&](ErrorKind kind, std::string_view why, std::string remedy) {
    return fail(kind, fmt::format("{}: {}", path, why), std::move(remedy));
  };
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ELOOP)
    return refuse(ErrorKind::kUsage, "it is a link, which its owner can point elsewhere", "the file itself");
  if (!file && errno == EACCES)
    return refuse(ErrorKind::kPermission, std::strerror(errno), "a file that this user owns");
  if (!file) return refuse(ErrorKind::kNotFound, std::strerror(errno), std::string(kNewOne));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return refuse(ErrorKind::kUsage, "the token is read from a regular file only", std::string(kNewOne));
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return refuse(ErrorKind::kUsage, "the token file belongs to another user, who can change it",
                  "a file that this user or root owns");
  if ((status.st_mode & 077) != 0)
    return refuse(ErrorKind::kUsage,
                  fmt::format("the token's file can be read by others (mode {:o})", status.st_mode & 0777),
                  "chmod 600, and a new token, as others may know it");
  std::string text(1025, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text.resize(std::min(text.find('\n'), text.size()));
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (text.size() < 16 || text.size() > 1024 || !printable)
    return refuse(ErrorKind::kUsage, "a token has 16 to 1024 printable characters without blanks",
                  std::string(kNewOne));
  return text;
}

bool equal_in_constant_time(std::string_view given, std::string_view secret) {
  // As many steps as `given` has, whatever `secret` is: the time does not reveal its length either.
  volatile unsigned different = given.size() == secret.size() ? 0 : 1;  // no early way out for the compiler
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    different = different | static_cast<unsigned char>(given[i] ^ other);
  }
  return different == 0;
}

}  // namespace fathom::metrics
