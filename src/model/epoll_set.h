// A fact of each epoll descriptor that threads waited at: what kinds of files are in it. A wait in epoll is the same for a server
// without requests and for a client whose server has not answered; what is in the set shows which of both it is.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace fathom::model {

struct EpollSet {
  std::uint32_t connected = 0;  // sockets that the process connected to a peer
  std::uint32_t accepted = 0;   // sockets that a peer connected to it
  std::uint32_t listening = 0;  // sockets that take peers, or messages of anyone
  std::uint32_t timers = 0;
  std::uint32_t wakers = 0;  // eventfds and signalfds: other threads and the kernel wake with them
  std::uint32_t others = 0;  // pipes, pairs of sockets, devices
  bool operator==(const EpollSet&) const = default;

  // It gets answers only to what the process asked for.
  bool asks() const { return connected > 0 && accepted == 0 && listening == 0; }
  bool has_timers_only() const {
    return timers > 0 && connected == 0 && accepted == 0 && listening == 0 && others == 0;
  }
};

namespace detail {
inline constexpr std::array<std::pair<std::string_view, std::uint32_t EpollSet::*>, 6> kEpollCounts{
    {{"connected", &EpollSet::connected},
     {"accepted", &EpollSet::accepted},
     {"listening", &EpollSet::listening},
     {"timers", &EpollSet::timers},
     {"wakers", &EpollSet::wakers},
     {"others", &EpollSet::others}}};
}  // namespace detail

// The key of the fact about descriptor `fd` of process `pid`; its value is a text of an EpollSet. Missing: not known.
inline constexpr std::string_view kEpollSetFact = "epoll_set.";
inline std::string epoll_set_fact(std::int32_t pid, std::uint64_t fd) {
  return std::string(kEpollSetFact) + std::to_string(pid) + "." + std::to_string(fd);
}

// "connected 8, timers 1"
inline std::string to_text(const EpollSet& set) {
  std::string text;
  for (const auto& [name, count] : detail::kEpollCounts)
    if (set.*count != 0)
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(set.*count);
  return text;
}

// Parts that are not known are left out.
inline EpollSet epoll_set_of(std::string_view text) {
  EpollSet set;
  for (const auto& [name, count] : detail::kEpollCounts) {
    const std::size_t at = text.find(name);
    if (at == text.npos) continue;
    const std::string_view number = text.substr(std::min(text.size(), at + name.size() + 1));
    std::from_chars(number.data(), number.data() + number.size(), set.*count);
  }
  return set;
}

}  // namespace fathom::model
