// The folder in which windows are kept: STORE/TARGET/20261127T085700.020Z-60.040s.fathom, a recording each. The name says when it began
// (UTC) and how long it is, so that a range is found without opening a file. A longer window replaces the shorter ones that it was
// made of; as it is written first, the shorter ones do not count any more from then on. "-pinned" before the ending: it stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::serve {

struct WindowName {
  std::uint64_t start_unix_ns = 0;  // whole milliseconds
  std::uint64_t length_ms = 0;      // at least 1
  bool pinned = false;
  std::uint64_t end_unix_ns() const { return start_unix_ns + length_ms * 1'000'000; }
  bool operator==(const WindowName&) const = default;
};
std::string to_file_name(const WindowName& name);
std::optional<WindowName> parse_window_name(std::string_view file);

// The name of a target as that of a folder and as a part of an address: letters, digits and . _ + - ; at most 64 of them.
std::string folder_name(std::string_view target);

struct StoredWindow {
  WindowName name;
  std::string path;
  std::uint64_t bytes = 0;
};
// Of one target's folder, by time. Those that a longer one has replaced are left out, unless `all`.
std::vector<StoredWindow> windows_in(const std::string& folder, bool all = false);
// Pure; what windows_in() leaves out.
std::vector<StoredWindow> without_replaced(std::vector<StoredWindow> windows);

// The targets of a store, by name: folders in which at least one window lies. Empty: it is no store.
std::vector<std::string> targets_in(const std::string& store);

// A range of CLOCK_REALTIME; open where nothing is said.
struct TimeRange {
  std::optional<std::uint64_t> from_unix_ns = {}, until_unix_ns = {};
};
std::vector<StoredWindow> windows_of(const std::vector<StoredWindow>& windows, const TimeRange& range);

// Writes it under its name, whole or not at all. `pinned`: retention leaves it alone. Returns the path.
Result<std::string> write_window(const std::string& folder, const model::Profile& window,
                                 bool pinned = false);

// Renames it; nothing happens to one that is pinned or gone.
void pin_window(const StoredWindow& window);

// Several windows of one target as one recording: to the unit what one recording of the time would have. `cut`: rows outside of the
// range are left out and counted as filtered; the times of threads stay those of whole windows.
Result<model::Profile> read_windows(const std::vector<StoredWindow>& windows, const TimeRange& cut = {});

}  // namespace fathom::serve
