#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/text.h"

#include "formats/jemalloc/dump.h"

namespace fathom::formats {
namespace {

constexpr std::string_view kRemedy =
    "a dump of jemalloc (prof.dump, prof_final) or gperftools, whole and as it was written";
constexpr std::string_view kThreads = "heap_v2/", kLegacy = "heap profile:", kNames = "--- symbol",
                           kHeapPart = "--- heap", kMaps = "MAPPED_LIBRARIES:", kOldMaps = "--- Memory map:";

// Takes the text apart from its front; the first thing that is not there makes ok() false for good.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  bool ok() const { return ok_; }
  std::string_view rest() const { return trimmed(rest_); }
  Words& skip(std::string_view what) {
    spaces();
    if (rest_.starts_with(what))
      rest_.remove_prefix(what.size());
    else
      ok_ = false;
    return *this;
  }
  std::uint64_t number(int base = 10) {
    spaces();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc{}) {
      ok_ = false;
      return 0;
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  // "13: 6688 [20: 9000]"
  DumpCounts counts() {
    DumpCounts read;
    read.live.objects = number();
    read.live.bytes = skip(":").number();
    read.allocated.objects = skip("[").number();
    read.allocated.bytes = skip(":").number();
    skip("]");
    return read;
  }

 private:
  void spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
  bool ok_ = true;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Result<HeapDump> read() {
    std::optional<std::string_view> line = next();
    if (line && line->starts_with(kNames)) {
      if (const Result<> names = read_names(); !names) return tl::unexpected(names.error());
      line = next();
    }
    if (!line) return wrong("no heap in it");
    const Result<> body = line->starts_with(kThreads)  ? read_threads(line->substr(kThreads.size()))
                          : line->starts_with(kLegacy) ? read_legacy(*line)
                                                       : wrong("not the first line of a heap profile");
    if (!body) return tl::unexpected(body.error());
    for (const DumpStack& stack : dump_.stacks)
      dump_.counts_allocated = dump_.counts_allocated || stack.counts.allocated.objects != 0;
    return std::move(dump_);
  }

 private:
  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    ++line_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    whole_line_ = end < rest_.size();
    rest_.remove_prefix(std::min(rest_.size(), end + 1));
    return line;
  }
  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorKind::kMalformed, fmt::format("{}: line {}: {}", name_, line_, what),
                std::string(kRemedy));
  }

  // "0x401136 inlined--function" up to the line "--- heap".
  Result<> read_names() {
    while (const auto line = next()) {
      if (line->starts_with(kHeapPart)) return {};
      if (line->starts_with("binary=")) {
        dump_.program = trimmed(line->substr(7));
      } else if (line->starts_with("0x")) {
        Words words(line->substr(2));
        const std::uint64_t address = words.number(16);
        if (words.ok() && !words.rest().empty()) dump_.names.try_emplace(address, places_in(words.rest()));
      }
    }
    return wrong("names of addresses, and no heap behind them");
  }

  // "caller--inlined": callers come first.
  static std::vector<DumpPlace> places_in(std::string_view text) {
    std::vector<DumpPlace> places;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find("--"), text.size());
      if (end != 0) places.push_back({std::string(text.substr(0, end)), "", 0});
      text.remove_prefix(std::min(text.size(), end + 2));
    }
    std::ranges::reverse(places);
    return places;
  }

  bool has_name(std::uint64_t address) const {
    return dump_.names.contains(address) || dump_.names.contains(address - 1);
  }
  void drop_nameless_root() {
    if (named_ != 0)
      for (DumpStack& stack = dump_.stacks.back();
           stack.addresses != 0 && !has_name(dump_.addresses[stack.first_address + stack.addresses - 1]);)
        --stack.addresses;
    named_ = 0;
  }

  // "#	0x6e1b44	main.grow+0x84	/app/main.go:41" of Go, behind the stack: innermost first, an inlined call with the address of
  // its caller. What has no such line at either end of a stack is of Go's runtime, whose names are left out.
  void read_go_place(std::string_view text) {
    Words words(text.substr(1));
    const std::uint64_t address = words.skip("0x").number(16);
    const std::string_view rest = words.rest();
    if (!words.ok() || rest.empty() || dump_.stacks.empty()) return;
    DumpStack& stack = dump_.stacks.back();
    const auto is_at = [&](std::uint64_t row) { return row == address || row - 1 == address; };
    if (stack.addresses != 0 && named_ == 0) {
      std::uint32_t runtime = 0;
      while (runtime < stack.addresses && !is_at(dump_.addresses[stack.first_address + runtime])) ++runtime;
      if (runtime == stack.addresses) return;
      stack.first_address += runtime;
      stack.addresses -= runtime;
    }
    ++named_;
    DumpPlace place;
    const std::size_t tab = std::min(rest.find('\t'), rest.size());
    place.function = rest.substr(0, std::min(rest.substr(0, tab).rfind("+0x"), tab));
    const std::string_view where = trimmed(rest.substr(tab));
    if (const std::size_t colon = where.rfind(':'); colon != std::string_view::npos) {
      place.file = where.substr(0, colon);
      const std::string_view line = where.substr(colon + 1);
      std::from_chars(line.data(), line.data() + line.size(), place.line);
    }
    std::vector<DumpPlace>& places = dump_.names[address];
    constexpr std::size_t kMostInlined = 64;
    if (places.size() < kMostInlined && std::ranges::find(places, place) == places.end())
      places.push_back(std::move(place));
  }

  void take_maps() {
    dump_.maps = rest_;
    dump_.cut = !rest_.empty() && rest_.back() != '\n';  // the kernel ends each line
    rest_ = {};
  }

  // "0x12 0x34": appended; the root's end of a stack that is too deep is left out.
  bool read_addresses(std::string_view text, DumpStack& stack) {
    stack.first_address = static_cast<std::uint32_t>(dump_.addresses.size());
    bool deep = false;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
      if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
      std::uint64_t address = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address, 16);
      if (error != std::errc{}) return false;
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      if (!text.empty() && text.front() != ' ' && text.front() != '\t') return false;
      if (stack.addresses < kMostFrames) {
        dump_.addresses.push_back(address);
        ++stack.addresses;
      } else {
        deep = true;
      }
    }
    // 3.x ends stacks with addresses of 0, which are no places.
    while (stack.addresses != 0 && dump_.addresses.back() == 0) {
      dump_.addresses.pop_back();
      --stack.addresses;
    }
    dump_.deep += deep ? 1 : 0;
    return dump_.addresses.size() < std::numeric_limits<std::uint32_t>::max() - kMostFrames;
  }

  void keep_sound(DumpPair& pair) {
    if (pair.objects == 0) pair = {};  // bytes of no objects are nothing that was sampled
    if (pair.objects != 0 && pair.bytes == 0) {
      ++dump_.without_bytes;
      pair = {};
    }
  }
  DumpCounts sound(DumpCounts counts) {
    keep_sound(counts.live);
    keep_sound(counts.allocated);
    return counts;
  }

  // 0 and 1 byte between samples: every call.
  Result<> set_mean(std::uint64_t bytes) {
    if (bytes > std::uint64_t{1} << 62) return wrong("the mean of bytes between samples is too large");
    dump_.mean_bytes = bytes <= 1 ? 0 : static_cast<double>(bytes);
    return {};
  }

  Result<> read_threads(std::string_view mean) {
    dump_.per_thread = true;
    Words words(mean);
    if (const Result<> set = set_mean(words.number()); !set) return set;
    if (!words.ok()) return wrong("no number of bytes between samples");
    DumpStack stack;
    bool in_stack = false, has_counts = false;
    const auto end_stack = [&] {
      if (in_stack && has_counts) dump_.stacks.push_back(stack);
      if (in_stack && !has_counts) dump_.cut = true;
    };
    while (const auto line = next()) {
      const std::string_view text = trimmed(*line);
      if (text.starts_with("@")) {
        end_stack();
        stack = {};
        if (!read_addresses(text.substr(1), stack)) {
          if (!whole_line_) break;
          return wrong("'@' and no addresses behind it");
        }
        stack.first_thread = static_cast<std::uint32_t>(dump_.threads.size());
        in_stack = true;
        has_counts = false;
      } else if (text == kMaps) {
        end_stack();
        take_maps();
        return {};
      } else if (text.starts_with("t*:")) {
        Words row(text.substr(3));
        const DumpCounts counts = row.counts();
        if (!row.ok() && !whole_line_) break;
        if (!row.ok()) return wrong("not 'objects: bytes [objects: bytes]'");
        if (!in_stack) continue;  // of all: not the sum of what is printed for stacks
        stack.counts = sound(counts);
        has_counts = true;
      } else if (text.size() > 1 && text[0] == 't' && text[1] >= '0' && text[1] <= '9') {
        Words row(text.substr(1));
        DumpThread thread;
        thread.thread = row.number();
        thread.counts = sound(row.skip(":").counts());
        if (!row.ok() && !whole_line_) break;
        if (!row.ok()) return wrong("not 'objects: bytes [objects: bytes]'");
        if (!in_stack) {
          if (!row.rest().empty()) dump_.thread_names[thread.thread] = row.rest();
        } else if (thread.counts != DumpCounts{}) {
          dump_.threads.push_back(thread);
          ++stack.threads;
        }
      }
    }
    end_stack();
    dump_.cut = true;  // what was mapped ends every whole one
    return {};
  }

  Result<> read_legacy(std::string_view header) {
    Words words(header.substr(kLegacy.size()));
    words.counts();
    std::string_view kind = words.skip("@").rest();
    if (!words.ok()) return wrong("not the first line of a heap profile");
    std::uint64_t mean = 0;
    if (const std::size_t slash = kind.find('/'); slash != std::string_view::npos) {
      Words number(kind.substr(slash + 1));
      mean = number.number();
      if (!number.ok()) return wrong("no number of bytes between samples");
      kind = kind.substr(0, slash);
      if (kind == "heap") mean /= 2;  // Go writes twice the mean
    }
    if (const Result<> set = set_mean(mean); !set) return set;
    while (const auto line = next()) {
      const std::string_view text = trimmed(*line);
      if (text == kMaps || text.starts_with(kOldMaps)) {
        drop_nameless_root();
        take_maps();
        return {};
      }
      if (text.starts_with('#')) read_go_place(text);
      if (text.empty() || text.front() == '#') continue;
      drop_nameless_root();
      Words row(text);
      DumpStack stack;
      stack.counts = sound(row.counts());
      row.skip("@");
      if (!row.ok() || !read_addresses(row.rest(), stack)) {
        if (!whole_line_) break;
        return wrong("not 'objects: bytes [objects: bytes] @ addresses'");
      }
      dump_.stacks.push_back(stack);
    }
    drop_nameless_root();
    dump_.cut = !whole_line_;
    return {};
  }

  std::string_view rest_;
  const std::string& name_;
  std::size_t line_ = 0;
  bool whole_line_ = true;
  std::uint32_t named_ = 0;  // places of the stack that was read last
  HeapDump dump_;
};

}  // namespace

bool is_heap_dump(std::string_view content) {
  return content.starts_with(kThreads) || content.starts_with(kLegacy) || content.starts_with(kNames);
}

Result<HeapDump> read_heap_dump(std::string_view text, const std::string& name) {
  return Reader(text, name).read();
}

}  // namespace fathom::formats
