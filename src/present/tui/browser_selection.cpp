// The selection: time, thread and metric by keys, and all of it as a command of fathom.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/parse.h"
#include "base/shell_word.h"
#include "present/tui/browser.h"

namespace fathom::tui {
namespace {

std::optional<double> number(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && *value >= 0 && *value <= 1e9 ? value : std::nullopt;
}

}  // namespace

// "10:20", "10:", ":20"; nothing: all of it.
void Browser::set_time(const std::string& text) {
  Words words = words_;
  words.from_s.reset();
  words.until_s.reset();
  if (!text.empty()) {
    const std::size_t colon = text.find_first_of(":-");
    const std::string from = text.substr(0, colon);
    const std::string until = colon == std::string::npos ? "" : text.substr(colon + 1);
    words.from_s = number(from);
    words.until_s = number(until);
    if ((!from.empty() && !words.from_s) || (!until.empty() && !words.until_s) ||
        colon == std::string::npos) {
      status_ = "seconds from the start, as 10:20, 10: or :20";
      return;
    }
  }
  change(words);
}

// The slice, moved by its own length; the first time the first tenth.
void Browser::move_time(int steps) {
  const double all = profile_.duration_s();
  if (!(all > 0)) {
    status_ = "the recording does not say how long it is";
    return;
  }
  Words words = words_;
  if (!words_.from_s && !words_.until_s) {
    words.from_s = steps > 0 ? 0 : all * 0.9;
    words.until_s = steps > 0 ? all / 10 : all;
  } else {
    const double from = words_.from_s.value_or(0), until = words_.until_s.value_or(all),
                 length = until - from;
    const double start = std::clamp(from + steps * length, 0.0, std::max(0.0, all - length));
    words.from_s = start;
    words.until_s = start + length;
  }
  // What the screen says is what is meant.
  const auto rounded = [](double value) {
    return std::max(0.0, static_cast<double>(static_cast<std::int64_t>(value * 1000 + 0.5)) / 1000);
  };
  words.from_s = rounded(*words.from_s);
  words.until_s = rounded(*words.until_s);
  change(words);
}

void Browser::toggle_thread() {
  Words words = words_;
  if (words.thread) {
    words.thread.reset();
    return change(words);
  }
  const std::string thread = thread_here();
  if (thread.empty()) {
    prompt_ = Prompt::kThread;
    typed_.clear();
    return;
  }
  words.thread = thread;
  change(words);
}

void Browser::next_metric() {
  const std::vector<model::Metric> metrics = analysis::metrics_in(profile_);
  if (metrics.size() < 2) {
    status_ = "the recording has one metric only";
    return;
  }
  auto at = std::find(metrics.begin(), metrics.end(), selection_.metric);
  Words words = words_;
  if (at == metrics.end() || ++at == metrics.end()) at = metrics.begin();
  words.metric = std::string(model::to_string(*at));
  change(words);
}

std::string Browser::command() const {
  const View& view = views_.back();
  std::string text = "fathom report";
  for (const std::string& word : sources_.command_file) text += " " + shell_word(word);
  const auto add = [&](std::string_view option, const std::string& value) {
    text += fmt::format(" {} {}", option, shell_word(value));
  };
  switch (view.kind) {
    case ViewKind::kFlat:
      if (by_ == FlatBy::kModule) add("--by", "module");
      if (by_ == FlatBy::kThread) add("--by", "thread");
      text += sort_ == FlatSort::kTotal ? " --sort total --top 0" : " --sort self --top 0";
      break;
    case ViewKind::kTree:
      text += " --tree";
      break;
    case ViewKind::kCallers:
      add("--callers", view.function);
      break;
    case ViewKind::kCallees:
      add("--callees", view.function);
      break;
    case ViewKind::kAnnotate:
      add("--annotate", view.function);
      break;
    case ViewKind::kThreads:
      text += " --threads";
      break;
    case ViewKind::kWaits:
      text += " --waits";
      break;
    case ViewKind::kHeap:
      text += " --heap";
      break;
    case ViewKind::kAnswer:
    case ViewKind::kHelp:
      break;
  }
  if (!words_.metric.empty()) add("--metric", words_.metric);
  if (words_.thread) add("--thread", *words_.thread);
  if (words_.from_s) add("--from", fmt::format("{:g}", *words_.from_s));
  if (words_.until_s) add("--until", fmt::format("{:g}", *words_.until_s));
  for (const std::string& pattern : words_.focus) add("--focus", pattern);
  for (const std::string& pattern : words_.ignore) add("--ignore", pattern);
  for (const std::string& pattern : words_.cuts.hide) add("--hide", pattern);
  for (const std::string& pattern : words_.cuts.show_from) add("--show-from", pattern);
  return text;
}

}  // namespace fathom::tui
