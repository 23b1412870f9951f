#include "formats/folded/line_stacks.h"

#include <algorithm>
#include <deque>
#include <string>

#include "formats/folded/source_frame.h"
#include "formats/import/addresses.h"

namespace fathom::formats {
namespace {

constexpr std::string_view kInlined = "_[i]";
constexpr std::string_view kKernel = "_[k]";
constexpr std::string_view kJit = "_[j]";

}  // namespace

LineStacks::LineStacks(model::Profile& profile, model::Builder& builder, std::size_t most_functions)
    : profile_(profile), builder_(builder), most_functions_(most_functions), stacks_(profile.stacks) {
  model::Module names;
  names.kind = model::ModuleKind::kNames;
  plain_ = builder_.module(names);
}

model::StackId LineStacks::stack(const Parts& parts, std::size_t first) {
  for (const std::uint64_t left_out = functions_left_out_;; functions_left_out_ = left_out) {
    hash_calls(parts, first);
    const auto found = stacks_.find_or_add(
        hashes_, [&](std::size_t at) { return frame_of(parts, calls_[at], hashes_[at]); }, kept_);
    may_keep_ = found.has_value();
    if (found)
      return *found;  // else a text turned out to be a known frame or too many, and has another hash now
  }
}

void LineStacks::find_again() {
  stacks_.find_again([this](model::FrameId frame) { return first_texts_.hash(frame.value); });
}

// A call ends where a part that is not inlined into it begins, so that part must have been kept as well.
std::size_t LineStacks::calls_kept(const Parts& parts, std::size_t first) const {
  if (!may_keep_ || is_full() || calls_.empty() || calls_[0].first != first) return 0;
  const auto end = std::partition_point(calls_.begin(), calls_.end(),
                                        [&](const Call& call) { return call.end < parts.kept(); });
  return static_cast<std::size_t>(end - calls_.begin());
}

void LineStacks::hash_calls(const Parts& parts, std::size_t first) {
  kept_ = calls_kept(parts, first);
  calls_.resize(kept_);
  hashes_.resize(kept_);
  const bool full = is_full();
  for (std::size_t at = kept_ == 0 ? first : calls_.back().end; at < parts.size();) {
    // Inlined calls follow the function that they were inlined into, and are one frame with it.
    std::size_t end = at + 1;
    while (end < parts.size() && parts[end].ends_with(kInlined)) ++end;
    const std::string_view text = parts.between(at, end);
    std::uint64_t hash = text_hash(text);
    if (full) hash = hash_of_known_or_other(text, hash);
    if (!other_texts_.empty())
      if (const auto known = other_texts_.find(hash); known != other_texts_.end()) hash = known->second;
    calls_.push_back({at, end});
    hashes_.push_back(hash);
    at = end;
  }
}

std::uint64_t LineStacks::hash_of_known_or_other(std::string_view text, std::uint64_t hash) {
  if (texts_.find(text, hash)) return hash;
  ++functions_left_out_;
  return first_texts_.hash(other().value);
}

std::optional<model::FrameId> LineStacks::frame_of(const Parts& parts, Call call, std::uint64_t hash) {
  if (const auto frame = first_texts_.find(hash)) return model::FrameId{*frame};
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
  std::deque<std::string> places;  // that lines speak of
  const auto add = [&](std::string_view name) {
    for (const std::string_view suffix : {kInlined, kKernel, kJit}) {
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
