#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <span>

#include "base/cursor.h"
#include "base/text.h"
#include "formats/gperftools/cpu_profile.h"
#include "formats/import/import.h"

namespace fathom::formats {
namespace {

constexpr std::uint64_t kHeaderWords = 3, kMostDepth = 1 << 16;

Cursor cursor_of(std::string_view bytes) {
  return Cursor(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name)
      : in_(cursor_of(bytes)), name_(name), wide_(bytes.size() >= 16 && bytes[8] == 3) {}

  Result<model::Profile> read() {
    (void)word();
    const std::uint64_t header = word();
    const std::uint64_t version = word(), period_us = word();
    (void)word();
    if (!in_.ok() || header != kHeaderWords || version != 0) return wrong("a header of another version");
    model::Meta& meta = import_.profile.meta;
    meta.event = "cpu";
    if (period_us > 0 && period_us <= 1'000'000)
      meta.frequency_hz = static_cast<std::uint32_t>(1'000'000 / period_us);

    struct Stack {
      std::uint64_t count, first, depth;
    };
    std::vector<Stack> stacks;
    std::vector<std::uint64_t> addresses;
    bool whole = false;
    while (!in_.at_end()) {
      const std::uint64_t count = word(), depth = word();
      if (!in_.ok()) break;
      if (depth == 0 || depth > kMostDepth || depth > in_.remaining() / width())
        return depth > 0 && depth <= kMostDepth ? read_stacks(std::move(stacks), addresses, false)
                                                : wrong("a stack of no sound depth");
      const std::uint64_t first = word();
      if (count == 0 && depth == 1 && first == 0) {
        whole = true;
        break;
      }
      stacks.push_back({count, addresses.size(), depth});
      addresses.push_back(first);
      for (std::uint64_t i = 1; i < depth; ++i) addresses.push_back(word());
    }
    const std::string_view text(reinterpret_cast<const char*>(in_.rest().data()), in_.rest().size());
    if (whole) read_maps(text);
    return read_stacks(std::move(stacks), addresses, whole);
  }

 private:
  struct Mapping {
    std::uint64_t end, offset;
    std::string_view path;
  };

  std::size_t width() const { return wide_ ? 8 : 4; }
  std::uint64_t word() { return wide_ ? in_.read<std::uint64_t>() : in_.read<std::uint32_t>(); }
  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorKind::kMalformed, fmt::format("{}: a CPU profile of gperftools: {}", name_, what));
  }

  template <class Stacks>
  Result<model::Profile> read_stacks(Stacks stacks, const std::vector<std::uint64_t>& addresses, bool whole) {
    const model::ThreadId thread = import_.thread(import_.process(0, program_), 0, base_name(program_));
    std::uint64_t samples = 0;
    for (const auto& row : stacks) {
      model::Sample sample;
      sample.thread = thread;
      for (std::uint64_t i = std::min<std::uint64_t>(row.depth, kMostImportedFrames); i-- > 0;)
        // What a call pushed points behind it.
        sample.stack = import_.builder.stack(
            sample.stack, frame_of(addresses[static_cast<std::size_t>(row.first + i)] - (i == 0 ? 0 : 1)));
      if (row.count == 0 || row.count > INT64_MAX / 2) continue;
      sample.value = static_cast<std::int64_t>(row.count);
      samples += std::min<std::uint64_t>(row.count, UINT64_MAX - samples);
      import_.profile.samples.push_back(sample);
    }
    import_.profile.quality.samples = samples;
    import_.profile.quality.truncated = !whole;
    if (!whole)
      import_.note(
          "The file ends before the profile does, so nothing says which files its addresses are of.");
    import_.note("The file has addresses and no names: google-pprof PROGRAM FILE looks them up.");
    return import_.finish(name_);
  }

  // "7f00-7f10 r-xp 00001000 08:01 123 /lib/x.so"
  void read_maps(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(text.size(), end + 1));
      std::uint64_t from = 0, to = 0, offset = 0;
      const auto hex = [&](std::uint64_t& value) {
        const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
        line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
        return error == std::errc{};
      };
      if (!hex(from) || !line.starts_with('-')) continue;
      line.remove_prefix(1);
      if (!hex(to) || line.size() < 6) continue;
      line.remove_prefix(6);  // " r-xp "
      if (!hex(offset)) continue;
      const std::size_t path = line.find_first_of("/[");
      if (path == std::string_view::npos) continue;
      mappings_.insert_or_assign(from, Mapping{to, offset, line.substr(path)});
      if (program_.empty() && line[path] == '/') program_ = line.substr(path);
    }
  }

  model::FrameId frame_of(std::uint64_t address) {
    auto mapping = mappings_.upper_bound(address);
    if (mapping == mappings_.begin() || address >= (--mapping)->second.end)
      return import_.frame(import_.module({}), fmt::format("[{:#x}]", address));
    return import_.frame(import_.module(mapping->second.path, {}, model::SymbolSource::kNone),
                         fmt::format("[{}+{:#x}]", base_name(mapping->second.path),
                                     address - mapping->first + mapping->second.offset));
  }

  Cursor in_;
  const std::string& name_;
  const bool wide_;
  Import import_{"gperftools CPU profile"};
  std::map<std::uint64_t, Mapping> mappings_;  // by start
  std::string_view program_;
};

}  // namespace

bool is_gperftools_cpu(std::string_view bytes) {
  const auto starts = [&]<class Word>(Word) {
    Cursor in = cursor_of(bytes);
    return in.read<Word>() == 0 && in.read<Word>() == kHeaderWords && in.read<Word>() == 0 &&
           in.read<Word>() <= 1'000'000 && in.ok();
  };
  return starts(std::uint64_t{}) || starts(std::uint32_t{});
}

Result<model::Profile> read_gperftools_cpu(std::string_view bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

}  // namespace fathom::formats
