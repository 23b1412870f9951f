#include "formats/folded/line_block.h"

#include "base/parse.h"
#include "formats/folded/source_frame.h"

namespace fathom::formats {
namespace {

constexpr std::size_t kMostRemembered = 100'000;  // first parts; they are mostly names of threads
// A longer one is no stack, and would fill the memory; see import/lines.h.
constexpr std::size_t kLongestLine = std::size_t{64} << 20;

}  // namespace

void LineBlock::clear() {
  lines.clear();
  hashes.clear();
  paths.clear();
  all = 0;
  of_three = false;
}

std::optional<std::int32_t> number_behind(char letter, std::string_view part) {
  if (!part.starts_with(letter)) return std::nullopt;
  const std::size_t colon = part.rfind(':');
  const auto number =
      parse_number<std::int32_t>(part.substr(colon == std::string_view::npos ? 1 : colon + 1));
  return number && *number >= 0 ? number : std::nullopt;
}

std::uint8_t LinePreparer::find_first_frame(const Parts& parts) {
  if (parts.size() > 1 && number_behind('P', parts[0]) && number_behind('T', parts[1])) return 2;
  if (const auto known = first_parts_.find(parts[0])) return first_frames_[*known];
  const std::uint8_t first = source_frame(parts[0]) ? 0 : 1;
  if (first_frames_.size() >= kMostRemembered) return first;
  first_parts_.number_of(parts[0]);
  first_frames_.push_back(first);
  return first;
}

void LinePreparer::add(std::string_view line, LineBlock& block) {
  ++block.all;
  line = folded_text::without_end(line.substr(0, kLongestLine));
  if (line.empty()) return;
  PreparedLine& row = block.lines.emplace_back();
  row.number = block.all;
  row.text = line;
  if (folded_text::is_comment(line)) {
    row.kind = PreparedLine::Kind::kComment;
    return;
  }
  std::string_view stack = line;
  const auto count = folded_text::take_count(stack, &block.of_three);
  if (!count || (has_deep_ && folded_text::is_message(stack))) return;
  if (difference_) (void)folded_text::take_count(stack);
  parts_.cut(stack);
  row.same_thread = has_last_ && parts_.kept() >= 2;
  if (!row.same_thread) first_frame_ = find_first_frame(parts_);
  has_last_ = true;
  row.kind = PreparedLine::Kind::kStack;
  row.first_frame = first_frame_;
  row.text = stack;
  row.first = stack.substr(0, parts_[0].size());
  if (parts_.size() > 1) row.second = stack.substr(row.first.size() + 1, parts_[1].size());
  row.count = *count;
  hash_calls(parts_, first_frame_, calls_kept(calls_, parts_, first_frame_), calls_,
             [](std::string_view text) { return text_hash(text); });
  row.begin = block.hashes.size();
  block.hashes.insert(block.hashes.end(), calls_.hashes.begin(), calls_.hashes.end());
  block.paths.insert(block.paths.end(), calls_.paths.begin(), calls_.paths.end());
  row.end = block.hashes.size();
}

void LinePreparer::add_lines(std::string_view text, LineBlock& block) {
  const std::string_view last =
      folded_text::for_each_line(text, [&](std::string_view line) { add(line, block); });
  if (!last.empty()) add(last, block);
}

}  // namespace fathom::formats
