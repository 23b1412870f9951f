#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/row_index.h"
#include "formats/folded/folded.h"

namespace fathom::formats {
namespace {

constexpr std::string_view kFoldedRemedy = "folded text has lines 'frame;frame;frame COUNT'";
constexpr int kDecimals = 3;  // what is kept of fractions

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

// "12", "12.5": whole part and thousandths. nullopt if it is anything else or does not fit.
struct Count {
  std::int64_t whole = 0;
  std::int64_t thousandths = 0;
  bool fraction = false;
};
std::optional<Count> parse_count(std::string_view text) {
  Count count;
  if (text.empty() || !is_decimal(text[0])) return std::nullopt;
  std::size_t i = 0;
  for (; i < text.size() && is_decimal(text[i]); ++i) {
    const int digit = text[i] - '0';
    if (count.whole > (INT64_MAX - digit) / 10) return std::nullopt;
    count.whole = count.whole * 10 + digit;
  }
  if (i == text.size()) return count;
  if (text[i++] != '.') return std::nullopt;
  count.fraction = true;
  int decimals = 0;
  for (; i < text.size(); ++i) {
    if (!is_decimal(text[i])) return std::nullopt;
    if (decimals++ < kDecimals) count.thousandths = count.thousandths * 10 + (text[i] - '0');
  }
  for (; decimals < kDecimals; ++decimals) count.thousandths *= 10;
  return count;
}

// Cuts the last word off when it is a count.
std::optional<Count> take_count(std::string_view& line) {
  const std::size_t space = line.find_last_of(" \t");
  if (space == std::string_view::npos) return std::nullopt;
  const std::optional<Count> count = parse_count(line.substr(space + 1));
  if (count) line = line.substr(0, space);
  return count;
}

struct Line {
  std::string_view stack;
  Count count;
  std::size_t number;
};

// Every line that has a count; the first one without ends it.
template <class Visit>
Result<> for_each_line(std::string_view text, const std::string& name, Visit visit) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
      line.remove_suffix(1);
    if (line.empty()) continue;
    const std::optional<Count> count = take_count(line);
    if (!count) {
      if (line.front() == '#') continue;  // no format has comments, and people write them
      return fail(ErrorKind::kMalformed, fmt::format("{}: line {}: no count at the end", name, number),
                  std::string(kFoldedRemedy));
    }
    if (Result<> visited = visit(Line{line, *count, number}); !visited) return visited;
  }
  return {};
}

// What has to be known of all lines before the first is read.
struct Shape {
  std::size_t lines = 0;
  bool difference =
      true;  // "stack BEFORE AFTER" in every line; one without makes the number part of a name ("thread 12")
  bool fractions = false;
};

Result<Shape> shape_of(std::string_view text, const std::string& name) {
  Shape shape;
  Result<> read = for_each_line(text, name, [&](Line line) -> Result<> {
    ++shape.lines;
    shape.difference = shape.difference && take_count(line.stack).has_value();
    shape.fractions = shape.fractions || line.count.fraction;
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  if (shape.lines == 0)
    return fail(ErrorKind::kMalformed, fmt::format("{}: no stacks in it", name), std::string(kFoldedRemedy));
  return shape;
}

void cut(std::string_view stack, std::vector<std::string_view>& parts) {
  parts.clear();
  for (;;) {
    const std::size_t end = stack.find(';');
    parts.push_back(stack.substr(0, end));
    if (end == std::string_view::npos) return;
    stack.remove_prefix(end + 1);
  }
}

// Frames by their text, and stacks by their frames.
class Stacks {
 public:
  Stacks(model::Profile& profile, model::Builder& builder) : profile_(profile), builder_(builder) {
    model::Module names;
    names.kind = model::ModuleKind::kNames;
    plain_ = builder_.module(names);
  }

  // `parts`: a line cut at ";", the thread first.
  model::StackId stack(const std::vector<std::string_view>& parts) {
    // Text that was sorted begins as the line before.
    std::size_t equal = 1;
    while (equal < parts.size() && equal < before_.size() && parts[equal] == before_[equal]) ++equal;
    while (!entered_.empty() && entered_.back().end >= equal) entered_.pop_back();
    for (std::size_t at = entered_.empty() ? 1 : entered_.back().end; at < parts.size();) {
      // Inlined calls follow the function that they were inlined into, and are one frame with it.
      std::size_t end = at + 1;
      while (end < parts.size() && parts[end].ends_with(kInlined)) ++end;
      const std::string_view all(parts[at].data(),
                                 static_cast<std::size_t>(parts[end - 1].end() - parts[at].begin()));
      const auto [known, added] = frames_.try_emplace(all);
      if (added) known->second = make(parts, at, end);
      entered_.push_back(
          {end, stack_of(entered_.empty() ? model::StackId{0} : entered_.back().stack, known->second)});
      at = end;
    }
    before_ = parts;
    return entered_.empty() ? model::StackId{0} : entered_.back().stack;
  }

 private:
  static constexpr std::string_view kInlined = "_[i]";
  static constexpr std::string_view kKernel = "_[k]";
  static constexpr std::string_view kJit = "_[j]";

  struct Entered {
    std::size_t end;  // the part behind the frame
    model::StackId stack;
  };

  // As Builder::stack: a large text has millions of them, and nobody else adds any meanwhile.
  model::StackId stack_of(model::StackId parent, model::FrameId frame) {
    const auto key_of = [](model::StackId above, model::FrameId below) {
      return std::uint64_t{above.value} << 32 | below.value;
    };
    std::vector<model::Stack>& table = profile_.stacks;
    const auto next = static_cast<std::uint32_t>(table.size());
    const std::uint32_t row = index_.find_or_add(key_of(parent, frame), next, [&](std::uint32_t known) {
      return key_of(table[known].parent, table[known].frame);
    });
    if (row == next) table.push_back({parent, frame});
    return {row};
  }

  // The frame of parts[first], with what was inlined into it behind.
  model::FrameId make(const std::vector<std::string_view>& parts, std::size_t first, std::size_t end) {
    std::vector<model::Builder::NamedLine> lines;
    const auto add = [&](std::string_view name) {
      for (const std::string_view suffix : {kInlined, kKernel, kJit}) {
        if (!name.ends_with(suffix)) continue;
        name.remove_suffix(suffix.size());
        break;
      }
      lines.push_back({name.empty() ? "[unknown]" : name, "", 0});
    };
    for (std::size_t i = end; i-- > first;) add(parts[i]);  // innermost first
    return builder_.frame_with_lines(module_of(parts[first]), {}, lines);
  }

  model::ModuleId module_of(std::string_view name) {
    if (name.ends_with(kKernel)) return module_named("[kernel]", model::ModuleKind::kKernel);
    if (name.ends_with(kJit)) return module_named("[jit]", model::ModuleKind::kAnonymous);
    // "[libc.so.6+0x1234]", as we write places without a name.
    const std::size_t plus = name.rfind("+0x");
    if (plus == std::string_view::npos || plus < 2 || name.front() != '[' || name.back() != ']')
      return plain_;
    return module_named(name.substr(1, plus - 1), model::ModuleKind::kNames);
  }

  model::ModuleId module_named(std::string_view name, model::ModuleKind kind) {
    model::Module row;
    row.kind = kind;
    row.name = builder_.string(name);
    return builder_.module(row);
  }

  model::Profile& profile_;
  model::Builder& builder_;
  model::ModuleId plain_;
  std::unordered_map<std::string_view, model::FrameId> frames_;
  RowIndex index_;
  std::vector<std::string_view> before_;  // the parts of the last line, and its frames
  std::vector<Entered> entered_;
};

}  // namespace

Result<model::Profile> read_folded(std::string_view text, const std::string& name) {
  const Result<Shape> shape = shape_of(text, name);
  if (!shape) return tl::unexpected(shape.error());

  model::Profile profile;
  profile.meta.engine = "import";
  profile.meta.facts["format"] = "folded";
  if (shape->difference)
    profile.quality.notes.push_back("The file has two counts per line; the second is taken.");
  if (shape->fractions) profile.meta.facts["unit"] = "thousandths";

  model::Builder builder(profile);
  profile.processes.push_back({});
  Stacks stacks(profile, builder);
  std::unordered_map<std::string_view, model::ThreadId> threads;
  profile.samples.reserve(shape->lines);
  std::vector<std::string_view> parts;
  Result<> read = for_each_line(text, name, [&](Line line) -> Result<> {
    if (shape->difference) (void)take_count(line.stack);
    cut(line.stack, parts);
    const std::string_view thread_name = parts[0];
    const auto [thread, added] =
        threads.try_emplace(thread_name, model::ThreadId{static_cast<std::uint32_t>(profile.threads.size())});
    if (added) {
      model::Thread row;
      row.name = builder.string(thread_name);
      profile.threads.push_back(row);
    }
    model::Sample sample;
    sample.thread = thread->second;
    sample.stack = stacks.stack(parts);
    sample.value = line.count.whole;
    if (shape->fractions) {
      if (sample.value > (INT64_MAX - 999) / 1000) {
        return fail(ErrorKind::kMalformed,
                    fmt::format("{}: line {}: the count is too large", name, line.number),
                    std::string(kFoldedRemedy));
      }
      sample.value = sample.value * 1000 + line.count.thousandths;
    }
    profile.samples.push_back(sample);
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  profile.quality.samples = profile.samples.size();
  return profile;
}

}  // namespace fathom::formats
