// One line of a kernel log -> when, where from, and what the kernel said. The same message is found with many things
// in front of it: by dmesg (seconds since boot, or -T with a date), in /dev/kmsg, in a journal or a syslog file, in the
// console log of a virtual machine, with or without the number of the thread that printed it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::oom {

// Views into the line.
struct LogLine {
  std::string_view host;  // of a syslog or journal line; else empty
  std::string_view time;  // as it is written there: "Dec  7 00:05:14", "2023-12-04T10:49:30.127Z"; else empty
  std::string uptime;     // seconds since boot: "93.216000"; else empty
  std::string_view message;  // what the kernel said, without blanks around it
};

LogLine read_log_line(std::string_view line);

// Time and host in what stands before a message: "Nov 20 10:11:12 host systemd-oomd[812]: ".
LogLine read_log_prefix(std::string_view prefix);

// LogLine::time as seconds since any moment, for differences; nullopt: it is in none of the ways above.
std::optional<double> seconds_in(std::string_view time);

}  // namespace fathom::oom
