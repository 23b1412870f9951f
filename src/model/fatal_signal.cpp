#include "model/fatal_signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/parse.h"

namespace fathom::model {
namespace {

// A field of a line: what separates fields and lines is no part of it.
std::string field_of_line(std::string text) {
  std::ranges::replace_if(
      text, [](char each) { return each == '\t' || each == '\n'; }, '?');
  return text;
}

std::string_view next_part(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

std::string key_of_end(std::int32_t pid) {
  return fmt::format("end_stack.{}", pid);
}

}  // namespace

void put_fatal_signal(std::int32_t pid, const FatalSignal& signal, Facts& facts) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {}\n", signal.signal, signal.code, signal.address, signal.stack_pointer,
                  signal.sender_pid, signal.tid, field_of_line(signal.thread));
  for (std::size_t i = 0; i < std::min(signal.frames.size(), kMostFatalFrames); ++i) {
    const FatalSignal::Frame& frame = signal.frames[i];
    text += fmt::format("{}\t{}\t{}\t{}\n", field_of_line(frame.function), field_of_line(frame.module),
                        field_of_line(frame.file), frame.line);
  }
  facts[key_of_end(pid)] = std::move(text);
}

std::optional<FatalSignal> fatal_signal_of(std::int32_t pid, const Facts& facts) {
  const auto fact = facts.find(key_of_end(pid));
  if (fact == facts.end()) return std::nullopt;
  std::string_view rest = fact->second, head = next_part(rest, '\n');
  const auto signal = parse_number<int>(take_until(head, ' '));
  const auto code = parse_number<std::int32_t>(take_until(head, ' '));
  const auto address = parse_number(take_until(head, ' ')),
             stack_pointer = parse_number(take_until(head, ' '));
  const auto sender = parse_number<std::int32_t>(take_until(head, ' ')),
             tid = parse_number<std::int32_t>(take_until(head, ' '));
  if (!signal || *signal <= 0 || *signal > 64 || !code || !address || !stack_pointer || !sender || !tid)
    return std::nullopt;
  FatalSignal read{*signal, *code, *address, *stack_pointer, *sender, *tid, std::string(head), {}};
  while (!rest.empty() && read.frames.size() < kMostFatalFrames) {
    std::string_view line = next_part(rest, '\n');
    FatalSignal::Frame frame;
    frame.function = next_part(line, '\t');
    frame.module = next_part(line, '\t');
    frame.file = next_part(line, '\t');
    const auto number = parse_number<std::uint32_t>(line);
    if (frame.function.empty() || !number) continue;
    frame.line = *number;
    read.frames.push_back(std::move(frame));
  }
  return read;
}

}  // namespace fathom::model
