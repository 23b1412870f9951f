#include "cli/block_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/parse.h"
#include "cli/option_groups.h"
#include "cli/seconds_word.h"

namespace fathom::cli {
namespace {

constexpr double kMost = 9e18;  // below 2^63

struct Unit {
  std::string_view name;
  double factor;
};

template <std::size_t N>
Result<std::uint64_t> parse_with_unit(std::string_view text, const Unit (&units)[N], std::string_view what,
                                      std::string_view example) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units)
    if (error == std::errc() && name == unit.name && number >= 0 && number * unit.factor < kMost)
      return static_cast<std::uint64_t>(std::llround(number * unit.factor));
  return fail(ErrorKind::kUsage, fmt::format("'{}' is not a {}", text, what), std::string(example));
}

Result<std::uint64_t> parse_address(std::string_view text) {
  const std::string_view digits = text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text;
  if (const auto address = parse_number(digits, 16)) return *address;
  return fail(ErrorKind::kUsage, fmt::format("'{}' is not an address", text),
              "--address 0x7f12345678 or FIRST:END");
}

// "MIN:MAX", either of which may be missing; "VALUE" is both.
template <class Parse>
Result<> parse_range(std::string_view option, std::string_view text, const Parse& parse, std::uint64_t& least,
                     std::uint64_t& most) {
  const std::size_t colon = text.find(':');
  const std::string_view first = text.substr(0, colon);
  const std::string_view last = colon == std::string_view::npos ? first : text.substr(colon + 1);
  if (first.empty() && last.empty())
    return fail(ErrorKind::kUsage, fmt::format("{}: neither a least nor a most", option));
  for (auto [part, value] : {std::pair(first, &least), std::pair(last, &most)}) {
    if (part.empty()) continue;
    const Result<std::uint64_t> parsed = parse(part);
    if (!parsed) return within(option, parsed.error());
    *value = *parsed;
  }
  if (least > most)
    return fail(ErrorKind::kUsage, fmt::format("{}: the least is more than the most", option));
  return {};
}

// Reading ten million blocks takes about a second: the user should see progress.
std::function<void(double)> progress_line() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  using Clock = std::chrono::steady_clock;
  struct Line {
    Clock::time_point begun = Clock::now(), shown = begun;
    bool visible = false;
    ~Line() {
      if (visible) std::fputs("\r\033[K", stderr);
    }
  };
  const auto line = std::make_shared<Line>();
  return [line](double part) {
    const Clock::time_point now = Clock::now();
    if (now - line->begun < std::chrono::milliseconds(500) ||
        now - line->shown < std::chrono::milliseconds(100))
      return;
    line->shown = now;
    line->visible = true;
    fmt::print(stderr, "\rreading blocks: {:.0f} %\033[K", 100 * part);
    std::fflush(stderr);
  };
}

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
  // A letter alone means what it means to docker and systemd.
  static constexpr Unit kUnits[] = {{"", 1},        {"B", 1},       {"k", 1024},      {"K", 1024},
                                    {"KiB", 1024},  {"m", 1 << 20}, {"M", 1 << 20},   {"MiB", 1 << 20},
                                    {"g", 1 << 30}, {"G", 1 << 30}, {"GiB", 1 << 30}, {"KB", 1e3},
                                    {"kB", 1e3},    {"MB", 1e6},    {"GB", 1e9}};
  return parse_with_unit(text, kUnits, "number of bytes", "such as 4096, 64KiB or 1.5MiB");
}

Result<std::uint64_t> parse_duration_ns(std::string_view text) {
  static constexpr Unit kUnits[] = {{"", 1e9},  {"ns", 1},   {"us", 1e3},   {"\u00b5s", 1e3}, {"ms", 1e6},
                                    {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9},    {"d", 86400e9}};
  return parse_with_unit(text, kUnits, "duration", "such as 500us, 10ms or 2s");
}

Result<analysis::SizeBuckets> parse_asked_sizes(const std::string& text) {
  std::uint64_t least = 0, most = UINT64_MAX;
  if (const Result<> read = parse_range("--asked-size", text, parse_bytes, least, most); !read)
    return tl::unexpected(read.error());
  return analysis::SizeBuckets{static_cast<std::uint8_t>(std::bit_width(least)),
                               static_cast<std::uint8_t>(std::bit_width(most) + 1)};
}

void add_block_options(CLI::App& app, BlockOptions& options) {
  const std::string group = kBlocksGroup;
  const auto seconds = CLI::Range(0.0, 1e9);
  app.add_option("--size", options.size, "blocks of this size: 4096, 64KiB:1MiB, 1MiB:, :100")
      ->type_name("MIN:MAX")
      ->group(group);
  app.add_option("--lifetime", options.lifetime,
                 "blocks that lived this long: :1ms, 10s: (live blocks count until the end)")
      ->type_name("MIN:MAX")
      ->group(group);
  app.add_option("--address", options.address, "blocks that contain this address, or start in FIRST:END")
      ->type_name("ADDRESS")
      ->group(group);
  app.add_option("--alive-at", options.alive_at_s, "blocks that were live at this time after the start")
      ->transform(seconds_word())
      ->check(seconds)
      ->type_name("S")
      ->group(group);
  app.add_option("--freed-after", options.freed_after_s,
                 "blocks that were freed at this time after the start or later")
      ->transform(seconds_word())
      ->check(seconds)
      ->type_name("S")
      ->group(group);
  app.add_flag("--leaked", options.leaked, "blocks that were never freed")->group(group);
  app.add_option("--freed-by", options.freed_by,
                 "blocks that were freed by a thread with this name or number")
      ->type_name("THREAD")
      ->group(group);
}

Result<store::ReadOptions> read_options_from(const BlockOptions& options, std::uint32_t keep) {
  store::HeapBlockFilter filter;
  filter.keep = keep;
  filter.leaked = options.leaked;
  filter.freed_by = options.freed_by;
  if (!options.size.empty())
    if (auto parsed = parse_range("--size", options.size, parse_bytes, filter.least_size, filter.most_size);
        !parsed)
      return tl::unexpected(parsed.error());
  if (!options.lifetime.empty())
    if (auto parsed = parse_range("--lifetime", options.lifetime, parse_duration_ns, filter.least_lifetime_ns,
                                  filter.most_lifetime_ns);
        !parsed)
      return tl::unexpected(parsed.error());
  if (!options.address.empty()) {
    const std::size_t colon = options.address.find(':');
    std::uint64_t first = 0, end = UINT64_MAX;
    if (colon == std::string::npos) {
      const Result<std::uint64_t> address = parse_address(options.address);
      if (!address) return within("--address", address.error());
      filter.first_address = *address;
    } else {
      if (auto parsed = parse_range("--address", options.address, parse_address, first, end); !parsed)
        return tl::unexpected(parsed.error());
      filter.first_address = first;
      filter.end_address = end;
    }
  }
  if (options.alive_at_s) filter.alive_at_ns = static_cast<std::uint64_t>(*options.alive_at_s * 1e9);
  if (options.freed_after_s) filter.freed_after_ns = static_cast<std::uint64_t>(*options.freed_after_s * 1e9);
  store::ReadOptions read;
  if (keep == 0 && filter.selects_all()) return read;
  read.blocks = std::move(filter);
  read.progress = progress_line();
  return read;
}

}  // namespace fathom::cli
