#include "present/text/text_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/core/call_tree.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/shown_calls.h"
#include "analysis/core/words.h"
#include "analysis/stacks/groups.h"
#include "analysis/waits/async_tasks.h"
#include "present/sentences/stacks_sentences.h"
#include "present/text/terminal_style.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::counted;
using analysis::printable;
using stacks::Group;
using stacks::Look;
using stacks::ThreadLook;

// Of a group, where --all does not ask for all.
constexpr std::size_t kMostThreads = 8, kMostFrames = 24;

std::string bold(std::string text, bool color) {
  return color ? in_bold(text) : text;
}

std::string head(const Look& look) {
  std::string text;
  for (const stacks::Target& target : look.targets)
    text += fmt::format("{}{} (pid {})", text.empty() ? "" : ", ", printable(target.name), target.pid);
  if (look.is_core) return fmt::format("core of {}: {}\n", text, counted(look.threads.size(), "thread"));
  return fmt::format("{}: {}, read in {}\n", text, counted(look.threads.size(), "thread"),
                     analysis::seconds(static_cast<double>(look.took_ns) * 1e-9));
}

std::string frames_of(const model::Profile& profile, model::StackId stack, const StacksTextOptions& options) {
  std::vector<std::string> lines;
  std::size_t of_executor = 0;
  const analysis::ShownCalls all(profile, nullptr);
  all.visit(stack, 0, [&](model::FrameId id, std::uint32_t line) {
    // How the executor came to a task is the same for all of them.
    of_executor +=
        of_executor != 0 || analysis::polls_a_task(analysis::frame_name(profile, id, line)) ? 1 : 0;
    if (of_executor != 0 && !options.all) return true;
    const model::Frame& frame = profile.frames[id.value];
    const model::Module& module = profile.modules[frame.module.value];
    const bool kernel = module.kind == model::ModuleKind::kKernel;
    if (kernel && !options.all) return true;
    std::string place;
    if (line < frame.line_count) {
      const model::Line& row = profile.lines[frame.first_line + line];
      if (row.file.value != 0 && row.line != 0) {
        const std::string_view path = profile.strings[row.file];
        place = fmt::format("{}:{}", printable(path), row.line);
        place = " " + (options.color ? linked_place(place, path) : place);
      }
    }
    std::string name = printable(analysis::frame_name(profile, id, line));
    if (place.empty() && !kernel && name.front() != '[' && module.name.value != 0)
      place = fmt::format(" ({})", printable(profile.strings[module.name]));
    if (kernel) place = " [kernel]";
    const std::string start = fmt::format("    #{:<2} ", lines.size());
    const std::size_t taken = start.size() + display_width(place);
    if (options.width != 0)
      name = shorten_name(name, std::max<std::size_t>(40, options.width > taken ? options.width - taken : 0));
    lines.push_back(start + name + place + "\n");
    return true;
  });
  if (lines.empty()) return stack.value == 0 ? "    no stack\n" : "    no user stack\n";
  std::string text;
  const std::size_t shown = options.all ? lines.size() : std::min(lines.size(), kMostFrames);
  for (std::size_t i = 0; i < shown; ++i) text += lines[i];
  if (of_executor != 0 && !options.all && shown == lines.size())
    text += fmt::format("    ... {} of the executor (--all shows all)\n", counted(of_executor, "frame"));
  if (shown < lines.size())
    text += fmt::format("    ... {} more (--all shows all)\n", counted(lines.size() - shown, "frame"));
  return text;
}

// "main (thread 12), worker (threads 13, 14 and 9 more)": by name, in the order of the group.
std::string names_of(const Look& look, const Group& group, bool all) {
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> names;
  for (const std::size_t row : group.threads) {
    const ThreadLook& thread = look.threads[row];
    const auto known = std::ranges::find(names, thread.name, [](const auto& each) { return each.first; });
    if (known == names.end())
      names.emplace_back(thread.name, std::vector{thread.tid});
    else
      known->second.push_back(thread.tid);
  }
  std::string text;
  for (auto& [name, tids] : names) {
    std::ranges::sort(tids);
    text += fmt::format("{}{} ({} ", text.empty() ? "" : ", ", name.empty() ? "?" : printable(name),
                        tids.size() == 1 ? "thread" : "threads");
    const std::size_t shown = all ? tids.size() : std::min(tids.size(), kMostThreads);
    for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + std::to_string(tids[i]);
    if (shown < tids.size()) text += fmt::format(" and {} more", tids.size() - shown);
    text += ")";
  }
  return text;
}

// Of the thread that a signal ended, and with --all of every one.
std::string registers_of(const ThreadLook& thread, const StacksTextOptions& options) {
  if (thread.registers.empty() || (thread.signal == 0 && !options.all)) return "";
  constexpr std::size_t kPerLine = 4;
  std::string text;
  for (std::size_t i = 0; i < thread.registers.size(); ++i) {
    const auto& [name, value] = thread.registers[i];
    text += fmt::format("{}{:>3} {:016x}", i % kPerLine == 0 ? "    " : "  ", name, value);
    if (i % kPerLine == kPerLine - 1 || i + 1 == thread.registers.size()) text += "\n";
  }
  return text;
}

std::string group_text(const model::Profile& profile, const analysis::PolledTasks& tasks, const Look& look,
                       const Group& group, const StacksTextOptions& options) {
  const ThreadLook& first = look.threads[group.threads.front()];
  const std::string title = group.threads.size() == 1 ? names_of(look, group, options.all)
                                                      : fmt::format("{} threads: {}", group.threads.size(),
                                                                    names_of(look, group, options.all));
  std::string text = "\n" + bold(fill("", title, options.width, 4), options.color);
  // What they wait for, and for how long, if that is not the same for all of them.
  std::map<std::string, std::size_t> doing;
  for (const std::size_t row : group.threads) {
    ThreadLook thread = look.threads[row];
    thread.waited_ns.reset();
    ++doing[doing_words(look, thread)];
  }
  if (doing.size() == 1) {
    std::string words = doing.begin()->first;
    const auto times = [&](std::size_t row) { return look.threads[row].waited_ns.value_or(0); };
    const std::uint64_t most = times(group.threads.front()), least = times(group.threads.back());
    if (most != 0) {
      words += ", for " + analysis::seconds(static_cast<double>(most) * 1e-9);
      if (least < most / 10 * 9)
        words += " (the shortest: " + analysis::seconds(static_cast<double>(least) * 1e-9) + ")";
    }
    text += fill("  ", words, options.width, 4);
  } else {
    std::size_t shown = 0;
    for (const std::size_t row : group.threads) {
      if (!options.all && shown == kMostThreads) break;
      ++shown;
      text += fill("  ", thread_words(look.threads[row]) + " " + doing_words(look, look.threads[row]),
                   options.width, 4);
    }
    if (shown < group.threads.size())
      text +=
          fmt::format("  ... {} more (--all shows all)\n", counted(group.threads.size() - shown, "thread"));
  }
  if (const std::uint32_t task = tasks.task(first.stack); task != 0)
    text += fill("  ",
                 fmt::format("inside of a poll of async task {}: other tasks of this worker wait",
                             printable(analysis::spoken_name(profile.strings[profile.functions[task].name]))),
                 options.width, 4);
  return text + frames_of(profile, first.stack, options) + registers_of(first, options);
}

// One line each: their stacks say nothing new.
std::string idle_text(const Look& look, const std::vector<const Group*>& groups,
                      const StacksTextOptions& options) {
  std::map<std::string, std::vector<std::size_t>> by_rule;
  for (const Group* group : groups)
    for (const std::size_t row : group->threads) by_rule[look.threads[row].idle].push_back(row);
  std::string text = "\n" + bold("Idle threads (--all shows their stacks)", options.color) + "\n";
  for (const auto& [rule, rows] : by_rule)
    text += fill("  ", fmt::format("{}: {}", printable(rule), names_of(look, {rows, true}, false)),
                 options.width, 4);
  return text;
}

}  // namespace

std::string stacks_text(const model::Profile& profile, const std::vector<Look>& looks,
                        const StacksTextOptions& options) {
  const Look& look = looks.back();
  std::string text = head(look);
  text += "\n";
  if (const std::string ending = core_sentence(look); !ending.empty())
    text += bold(fill("", ending, options.width, 0), options.color);
  for (std::size_t i = 0; i < look.verdicts.size(); ++i) {
    const stacks::Verdict& verdict = look.verdicts[i];
    text += bold(fill("", verdict_sentence(look, verdict), options.width, 0), options.color && i == 0);
    for (const std::string& line : verdict_lines(look, verdict)) text += fill("  ", line, options.width, 4);
  }
  if (looks.size() > 1) text += "\n" + fill("", changes_sentence(looks.front(), look), options.width, 0);
  const std::vector<Group> groups = group_threads(look);
  const analysis::PolledTasks tasks(profile);
  std::vector<const Group*> idle;
  for (const Group& group : groups) {
    if (group.idle && !options.all)
      idle.push_back(&group);
    else
      text += group_text(profile, tasks, look, group, options);
  }
  if (!idle.empty()) text += idle_text(look, idle, options);
  std::set<std::string> notes;
  for (const std::string& note : look.notes)
    if (notes.insert(note).second) text += fill("\nnote: ", printable(note), options.width, 2);
  return text;
}

}  // namespace fathom::present
