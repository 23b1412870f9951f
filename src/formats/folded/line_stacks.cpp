#include "formats/folded/line_stacks.h"

#include <algorithm>
#include <deque>
#include <string>

#include "formats/folded/source_frame.h"
#include "formats/import/addresses.h"
#include "formats/import/source_names.h"

namespace fathom::formats {
namespace {

constexpr std::string_view kKernel = "_[k]";
constexpr std::string_view kJit = "_[j]";

}  // namespace

LineStacks::LineStacks(model::Profile& profile, model::Builder& builder, std::size_t most_functions)
    : builder_(builder), most_functions_(most_functions), stacks_(profile.stacks) {
  model::Module names;
  names.kind = model::ModuleKind::kNames;
  plain_ = builder_.module(names);
}

void LineStacks::add(std::string_view text, const Parts& parts, std::size_t first) {
  const std::size_t kept = may_keep_ && !is_full() ? calls_kept(last_, parts, first) : 0;
  const std::uint64_t left_out = hash(parts, first, kept, last_);
  may_keep_ = true;
  const std::size_t begin = hashes_.size();
  hashes_.insert(hashes_.end(), last_.hashes.begin(), last_.hashes.end());
  paths_.insert(paths_.end(), last_.paths.begin(), last_.paths.end());
  lines_.push_back({text, first, begin, hashes_.size(), left_out});
  stacks_.prefetch(last_.paths);
}

void LineStacks::add(std::string_view text, std::size_t first, std::span<const std::uint64_t> hashes,
                     std::span<const std::uint64_t> paths) {
  const std::size_t begin = hashes_.size();
  hashes_.insert(hashes_.end(), hashes.begin(), hashes.end());
  paths_.insert(paths_.end(), paths.begin(), paths.end());
  if (!other_texts_.empty()) {
    std::uint64_t path = model::StackPaths::kRoot;
    for (std::size_t i = begin; i < hashes_.size(); ++i) {
      if (const auto known = other_texts_.find(hashes_[i]); known != other_texts_.end())
        hashes_[i] = known->second;
      paths_[i] = path = model::StackPaths::path_of(path, hashes_[i]);
    }
  }
  // Functions beyond what is kept are seen in the second step, as they are not known there.
  lines_.push_back({text, first, begin, hashes_.size(), 0});
  stacks_.prefetch(std::span(paths_).subspan(begin));
}

model::StackId LineStacks::stack_of(const Line& line) {
  std::span<const std::uint64_t> hashes(hashes_.data() + line.begin, line.end - line.begin);
  std::span<const std::uint64_t> paths(paths_.data() + line.begin, line.end - line.begin);
  std::uint64_t left_out = line.left_out;
  bool is_cut = false;  // it is in again_
  const auto cut = [&] {
    if (!is_cut) again_.cut(line.text);
    is_cut = true;
    return hash(again_, line.first, 0, calls_again_);
  };
  for (;;) {
    const auto found = stacks_.find_or_add(paths, [&](std::size_t at) -> std::optional<model::FrameId> {
      if (const auto frame = first_texts_.find(hashes[at])) return model::FrameId{*frame};
      if (!is_cut) (void)cut();
      return frame_of(again_, calls_again_.parts[at], hashes[at]);
    });
    if (found) {
      functions_left_out_ += left_out;
      return *found;
    }
    // A text turned out to be a known frame or too many, and has another hash now.
    may_keep_ = false;
    left_out = cut();
    hashes = calls_again_.hashes;
    paths = calls_again_.paths;
  }
}

void LineStacks::find_again() {
  stacks_.find_again([this](model::FrameId frame) { return first_texts_.hash(frame.value); });
}

std::uint64_t LineStacks::hash(const Parts& parts, std::size_t first, std::size_t kept, Calls& calls) {
  std::uint64_t left_out = 0;
  const bool full = is_full();
  hash_calls(parts, first, kept, calls, [&](std::string_view text) {
    std::uint64_t hash = text_hash(text);
    if (full && !texts_.find(text, hash)) {
      ++left_out;
      hash = first_texts_.hash(other().value);
    }
    if (other_texts_.empty()) return hash;
    const auto known = other_texts_.find(hash);
    return known == other_texts_.end() ? hash : known->second;
  });
  return left_out;
}

std::optional<model::FrameId> LineStacks::frame_of(const Parts& parts, Call call, std::uint64_t hash) {
  const std::string_view text = parts.between(call.first, call.end);
  const std::uint64_t own = other_texts_.empty() ? hash : text_hash(text);
  if (is_full() && !texts_.find(text, own)) return std::nullopt;
  const std::uint32_t number = texts_.number_of(text, own);
  if (number == frames_.size()) frames_.push_back(make(parts, call.first, call.end));
  const model::FrameId frame = frames_[number];
  const std::uint64_t of_first = first_hash_of(frame, hash);
  if (of_first == hash) return frame;
  other_texts_.emplace(hash, of_first);
  return std::nullopt;
}

model::FrameId LineStacks::other() {
  if (!other_) {
    other_ = builder_.named_frame(kOtherFunctions, plain_);
    (void)first_hash_of(*other_, text_hash(kOtherFunctions));
  }
  return *other_;
}

// Of a frame that is new: `hash`.
std::uint64_t LineStacks::first_hash_of(model::FrameId frame, std::uint64_t hash) {
  if (frame.value == first_texts_.size()) first_texts_.add(hash);
  return first_texts_.hash(frame.value);
}

// The frame of parts[first], with what was inlined into it behind.
model::FrameId LineStacks::make(const Parts& parts, std::size_t first, std::size_t end) {
  std::vector<model::Builder::NamedLine> lines;
  std::deque<std::string> places;  // that lines name
  const auto add = [&](std::string_view name) {
    for (const std::string_view suffix : {kInlinedSuffix, kKernel, kJit}) {
      if (!name.ends_with(suffix)) continue;
      name.remove_suffix(suffix.size());
      break;
    }
    if (const std::optional<SourceFrame> source = source_frame(name))
      lines.push_back({source->function, source->file, source->line});
    else if (is_address(name))
      lines.push_back({places.emplace_back(place_of_address(name, "")), "", 0});
    else
      lines.push_back({name.empty() ? "[unknown]" : name, "", 0});
  };
  for (std::size_t i = end; i-- > first;) add(parts[i]);  // innermost first
  SourceNames names;
  names.replace_in(lines);
  return builder_.frame_with_lines(module_of(parts[first]), {}, lines);
}

model::ModuleId LineStacks::module_of(std::string_view name) {
  if (name.ends_with(kKernel)) return module_named("[kernel]", model::ModuleKind::kKernel);
  if (name.ends_with(kJit)) return module_named("[jit]", model::ModuleKind::kAnonymous);
  // "[libc.so.6+0x1234]", as we write places without a name.
  const std::size_t plus = name.rfind("+0x");
  if (plus == std::string_view::npos || plus < 2 || name.front() != '[' || name.back() != ']') return plain_;
  return module_named(name.substr(1, plus - 1), model::ModuleKind::kNames);
}

model::ModuleId LineStacks::module_named(std::string_view name, model::ModuleKind kind) {
  model::Module row;
  row.kind = kind;
  row.name = builder_.string(name);
  return builder_.module(row);
}

}  // namespace fathom::formats
