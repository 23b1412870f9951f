// fathom view: a recording as a page, served to a browser on this machine or written as one file.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/annotate/annotation.h"
#include "analysis/core/functions.h"
#include "analysis/core/words.h"
#include "base/parse.h"
#include "base/spawn.h"
#include "cli/annotate_options.h"
#include "cli/command.h"
#include "cli/end_signals.h"
#include "cli/frozen_page.h"
#include "cli/newest_recording.h"
#include "cli/notices.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/selection_options.h"
#include "cli/view_pair.h"
#include "present/code/annotation_json.h"
#include "present/page/columns.h"
#include "present/page/document.h"
#include "present/page/html.h"
#include "present/page/page_server.h"
#include "present/page/redirect_page.h"
#include "present/page/span_columns.h"

namespace fathom::cli {
namespace {

struct ViewArguments {
  std::string file;
  std::vector<std::string> base, fresh;  // several runs of either side
  SelectionOptions selection;
  OutputPath html;
  std::uint16_t port = 0;
  bool no_open = false, with_source = false;
};

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// Opens a browser only if the user can see it: at a terminal of this machine with a display, and not as root.
bool may_open_browser() {
  return ::isatty(STDERR_FILENO) == 1 && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) &&
         !is_set("SSH_CONNECTION") && !is_set("SSH_TTY") && ::geteuid() != 0;
}

// `page`: a file. The address itself on a command line would be read by every user of this machine.
void open_browser(const std::string& page, const sigset_t& signals) {
  Spawn spawn;
  spawn.file(STDOUT_FILENO, "/dev/null", O_WRONLY);
  spawn.file(STDERR_FILENO, "/dev/null", O_WRONLY);
  spawn.signal_mask(signals);
  // It passes the page to a running browser and ends; we do not wait for it.
  (void)spawn.start("xdg-open", {"xdg-open", page});
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "HOST";
}

std::string code_problem(const std::string& why) {
  return nlohmann::ordered_json{{"problem", why}}.dump(-1, ' ', false,
                                                       nlohmann::ordered_json::error_handler_t::replace);
}

// What the page asks its server: the words of the command line, as a query.
std::string answer_code(const model::Profile& profile, const ViewArguments& arguments,
                        std::string_view query) {
  SelectionOptions options = arguments.selection;
  std::string function;
  for (auto& [name, value] : page::query_words(query)) {
    if (name == "fn") function = value;
    if (name == "metric") options.metric = value;
    if (name == "thread") options.thread = value;
    if (name == "asked-size") options.asked_size = value;
    if (name == "focus") options.focus.push_back(value);
    if (name == "ignore") options.ignore.push_back(value);
    if (name != "from" && name != "until") continue;
    const auto seconds = parse_number<double>(value);
    if (seconds && *seconds >= 0 && *seconds < 1e9)
      (name == "from" ? options.from : options.until) = {*seconds, {}};
  }
  if (function.empty()) return code_problem("no function is named");
  const Result<analysis::Selection> selection = selection_from(options, profile);
  if (!selection) return code_problem(selection.error().message);
  const Result<annotate::Annotation> annotation =
      annotate::annotate(profile, *selection, annotate_options(function, arguments.selection.symbols));
  return annotation ? present::to_json(*annotation) : code_problem(annotation.error().message);
}

// For the file: the code of what costs most by itself, by function.
Result<std::string> code_of_file(const model::Profile& profile, const ViewArguments& arguments) {
  constexpr std::size_t kMostFunctions = 40;
  constexpr std::size_t kMostBytes = 24'000'000;  // before they are compressed, to about a tenth
  const Result<analysis::Selection> selection = selection_from(arguments.selection, profile);
  if (!selection) return tl::unexpected(selection.error());
  analysis::TreeOptions options;
  options.selection = *selection;
  const analysis::CallTree tree = analysis::build_call_tree(profile, options);
  std::string json = "{";
  std::size_t count = 0;
  for (const analysis::FunctionRow& row : analysis::function_table(tree, analysis::SortBy::kSelf)) {
    if (row.self == 0 || count == kMostFunctions) break;
    const std::string& name = tree.names[row.name];
    const Result<annotate::Annotation> annotation =
        annotate::annotate(profile, *selection, annotate_options(name, arguments.selection.symbols));
    if (!annotation) continue;
    const std::string one = present::to_json(*annotation);
    if (json.size() + one.size() > kMostBytes) break;
    json +=
        (count++ == 0 ? "" : ",") +
        nlohmann::ordered_json(name).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
        ":" + one;
  }
  const std::array<std::string_view, 2> parts{json, "}"};
  return page::compress(parts);
}

Result<int> write_html(const std::string& html, const ViewArguments& arguments) {
  if (is_standard_output(arguments.html.path) && ::isatty(STDOUT_FILENO) == 1)
    return fail(ErrorKind::kUsage, "a page is not written to a terminal", "--html FILE.html");
  const Result<> written = write_output(html, arguments.html);
  if (!written) return tl::unexpected(written.error());
  if (!is_standard_output(arguments.html.path))
    say("{} ({}): one file, which opens without a network\n", arguments.html.path,
        analysis::bytes(static_cast<double>(html.size())));
  return kDone;
}

Result<int> write_page(model::Profile profile, const page::ReadAgain& again, const ViewArguments& arguments,
                       const page::DocumentOptions& options) {
  Result<std::string> code = std::string();
  if (arguments.with_source) code = code_of_file(profile, arguments);
  if (!code) return tl::unexpected(code.error());
  const Result<std::string> html =
      again ? frozen_page(std::move(profile), again, arguments.file, *code, options)
            : frozen_page(profile, arguments.file, *code, options);
  if (!html) return tl::unexpected(html.error());
  return write_html(*html, arguments);
}

Result<int> serve(std::string html, const ViewArguments& arguments, page::PageServer::Query code = {},
                  page::PageServer::Query page = {}) {
  const EndSignals signals;  // before the server has its thread
  auto server = page::PageServer::open(std::move(html), arguments.port, std::move(code), std::move(page));
  if (!server) return tl::unexpected(server.error());
  const std::string url = (*server)->url();
  fmt::print("{}\n", url);
  std::fflush(stdout);
  say("fathom: only this machine can reach it, and only with this address; Ctrl-C ends it\n");
  std::optional<page::RedirectPage> redirect;
  if (may_open_browser()) {
    if (!arguments.no_open)
      if (auto made = page::RedirectPage::write(url)) redirect.emplace(std::move(*made));
    if (redirect) open_browser(redirect->path(), signals.before());
  } else {
    say("from another machine: ssh -L {0}:127.0.0.1:{0} {1}   and then the same address there\n",
        (*server)->port(), host_name());
  }
  signals.wait();
  return kDone;
}

std::string file_name(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  return name.empty() ? file : name;
}

// What the page's commands call the recording: they are typed elsewhere.
std::string absolute(const std::string& file) {
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::absolute(file, ignored);
  return ignored || file == "-" ? file : path.lexically_normal().string();
}

// What the page's commands need to read the same: names of stripped programs, how dumps are taken together, spans from files.
std::vector<std::string> reading_words(const ViewArguments& arguments) {
  const bool frozen = !arguments.html.path.empty();
  const auto called = [&](const std::string& file) { return frozen ? file_name(file) : absolute(file); };
  std::vector<std::string> words;
  for (const std::string& dump : arguments.selection.dumps.more) words.push_back(called(dump));
  if (!arguments.selection.dumps.merge.empty())
    words.insert(words.end(), {"--merge", arguments.selection.dumps.merge});
  if (!arguments.selection.symbols.empty())
    words.insert(words.end(), {"--symbols", called(arguments.selection.symbols)});
  const std::vector<std::string>& files = arguments.selection.spans.files;
  if (!files.empty()) words.push_back("--spans");
  for (const std::string& file : files) words.push_back(called(file));
  return words;
}

// The chosen spans, as words of a command.
std::vector<std::string> span_words(const SpanOptions& chosen) {
  if (chosen.name.empty()) return {};
  std::vector<std::string> words{"--span", chosen.name};
  if (chosen.slower_s) words.insert(words.end(), {"--slower-than", fmt::format("{}", *chosen.slower_s)});
  if (chosen.faster_s) words.insert(words.end(), {"--faster-than", fmt::format("{}", *chosen.faster_s)});
  return words;
}

// Two recordings are compared; several dumps of jemalloc are taken together.
bool is_pair(const ViewArguments& arguments) {
  const DumpInputs& dumps = arguments.selection.dumps;
  if (dumps.more.size() != 1 || !dumps.merge.empty()) return false;
  return !is_jemalloc_dump(arguments.file) || !is_jemalloc_dump(dumps.more.front());
}

Result<int> view_sides(const std::vector<std::string>& base, const std::vector<std::string>& fresh,
                       const ViewArguments& arguments) {
  if (arguments.with_source)
    return fail(ErrorKind::kUsage, "--with-source takes one recording", "fathom view FILE --with-source");
  SelectionOptions reading = arguments.selection;
  reading.dumps.more.clear();
  const bool frozen = !arguments.html.path.empty();
  const auto called = [&](const std::vector<std::string>& files) {
    std::vector<std::string> names;
    for (const std::string& file : files) names.push_back(frozen ? file_name(file) : absolute(file));
    return names;
  };
  page::ComparisonOptions options{called(base), called(fresh)};
  ViewArguments plain = arguments;
  plain.selection.dumps.more.clear();  // the new side
  options.arguments = reading_words(plain);
  for (std::string& word : span_words(reading.spans)) options.arguments.push_back(std::move(word));
  const Result<page::Document> document = compare_files(base, fresh, reading, options);
  if (!document) return tl::unexpected(document.error());
  std::string html = page::html_page(document->bytes);
  return frozen ? write_html(html, arguments) : serve(std::move(html), arguments);
}

// The recording, cut to the spans of the options, and in `options` what the page needs to know of them: all spans, the chosen
// ones, and the words that its commands need for the same.
Result<model::Profile> open_recording(const ViewArguments& arguments, page::DocumentOptions& options) {
  constexpr std::uint32_t kBlocks = 2000;  // the largest and the oldest, where single ones were recorded
  SelectionOptions reading = arguments.selection;
  reading.packed = true;
  SpanOptions chosen = reading.spans;
  options.arguments = reading_words(arguments);
  options.spans.reset();
  options.span_cut.reset();
  if (chosen.name.empty()) return open_selected(arguments.file, reading, kBlocks, true);
  reading.spans.name.clear();
  reading.spans.slower_s.reset();
  reading.spans.faster_s.reset();
  Result<model::Profile> profile = open_selected(arguments.file, reading, kBlocks, true);
  if (!profile) return profile;
  options.spans = page::spans_of(*profile);
  chosen.files.clear();
  if (auto applied = apply_spans(*profile, chosen); !applied) return tl::unexpected(applied.error());
  options.span_cut = page::SpanCut{chosen.name, chosen.slower_s.value_or(0), chosen.faster_s};
  for (std::string& word : span_words(chosen)) options.arguments.push_back(std::move(word));
  return profile;
}

// "span=newPayload&slower-than=0.1": the spans that the page asks for. Without a name: those of the command line.
ViewArguments with_spans(const ViewArguments& arguments, std::string_view query) {
  ViewArguments wanted = arguments;
  SpanOptions& spans = wanted.selection.spans;
  const auto words = page::query_words(query);
  const auto name = std::ranges::find(words, "span", &std::pair<std::string, std::string>::first);
  if (name == words.end()) return wanted;
  spans.name = name->second;
  spans.slower_s.reset();
  spans.faster_s.reset();
  for (const auto& [word, value] : words) {
    const auto seconds = parse_number<double>(value);
    if (!seconds || !(*seconds >= 0 && *seconds < 1e9)) continue;
    if (word == "slower-than") spans.slower_s = seconds;
    if (word == "faster-than") spans.faster_s = seconds;
  }
  return wanted;
}

// Empty if that is impossible, as for standard input and pipes, or would repeat notices about names and
// dumps.
page::ReadAgain reading_again(const ViewArguments& arguments) {
  std::error_code ignored;
  const SelectionOptions& selection = arguments.selection;
  if (!std::filesystem::is_regular_file(arguments.file, ignored) || !selection.symbols.empty() ||
      !selection.dumps.more.empty() || !selection.dumps.merge.empty())
    return {};
  return [&arguments] {
    page::DocumentOptions same;
    return open_recording(arguments, same);
  };
}

Result<int> run_view(ViewArguments& arguments) {
  if (auto fitting = fits_ending(arguments.html.path, OutputKind::kPage); !fitting)
    return tl::unexpected(fitting.error());
  if (!arguments.base.empty() || !arguments.fresh.empty()) {
    if (!arguments.file.empty() || arguments.base.empty() || arguments.fresh.empty())
      return fail(
          ErrorKind::kUsage, "two sides are compared",
          "fathom view --base RUN... --new RUN..., or fathom view BASE NEW; times of one recording are compared on its page");
    return view_sides(arguments.base, arguments.fresh, arguments);
  }
  if (auto chosen = choose_input(arguments.file); !chosen) return tl::unexpected(chosen.error());
  if (is_pair(arguments))
    return view_sides({arguments.file}, {arguments.selection.dumps.more.front()}, arguments);
  page::DocumentOptions options;
  Result<model::Profile> profile = open_recording(arguments, options);
  if (!profile) return tl::unexpected(profile.error());
  const page::ReadAgain again = reading_again(arguments);
  if (!arguments.html.path.empty()) return write_page(std::move(*profile), again, arguments, options);
  options.file = absolute(arguments.file);
  options.can_ask_spans = static_cast<bool>(again);
  const std::uint64_t began = profile->meta.start_ns;
  Result<page::Document> document = again ? page::make_document(std::move(*profile), again, options)
                                          : page::make_document(*profile, options);
  if (!document) return within(arguments.file, document.error());
  tell_what_was_folded(document->folded_share);
  std::string html = page::html_page(document->bytes, {.served = true});
  document = page::Document();
  // A server waits for hours. What it has shown stays with the browser; the recording is read again for the first question
  // about code, and then kept for the next one.
  std::optional<model::Profile> kept;
  if (!again) kept = std::move(*profile);
  profile = model::Profile();
  ::malloc_trim(0);
  const auto is_same = [&](const model::Profile& read) { return read.meta.start_ns == began; };
  const std::string changed = arguments.file + " is a different recording now: open it again";
  const auto code = [&](std::string_view query) {
    if (again && query.find("span=") != query.npos) {
      const ViewArguments wanted = with_spans(arguments, query);
      page::DocumentOptions unused;
      const Result<model::Profile> cut = open_recording(wanted, unused);
      if (!cut) return code_problem(cut.error().message);
      return is_same(*cut) ? answer_code(*cut, wanted, query) : code_problem(changed);
    }
    if (!kept) {
      Result<model::Profile> read = again();
      if (!read) return code_problem(read.error().message);
      if (!is_same(*read)) return code_problem(changed);
      kept = std::move(*read);
    }
    return answer_code(*kept, arguments, query);
  };
  if (!again) return serve(std::move(html), arguments, code);
  return serve(std::move(html), arguments, code, [&](std::string_view query) {
    page::DocumentOptions cut = options;
    const ViewArguments wanted = with_spans(arguments, query);
    Result<model::Profile> read = open_recording(wanted, cut);
    if (read && !is_same(*read)) return page::message_page(changed);
    const Result<page::Document> made =
        read ? page::make_document(*read, cut) : Result<page::Document>(tl::unexpected(read.error()));
    return made ? page::html_page(made->bytes, {.served = true}) : page::message_page(made.error().message);
  });
}

}  // namespace

Run add_view(CLI::App& app) {
  auto arguments = std::make_shared<ViewArguments>();
  app.add_option(
         "file", arguments->file,
         "recording, or a file of another tool; - for standard input; two files: compare them; default: newest here")
      ->type_name("FILE");
  add_dump_inputs(app, arguments->selection.dumps);
  begin_group(app, kOutputGroup);
  app.add_option("--base", arguments->base, "compare: runs of the base side, as for fathom diff")
      ->type_name("RUN");
  app.add_option("--new", arguments->fresh, "compare: runs of the new side")->type_name("RUN");
  app.add_option("--html", arguments->html.path, "write the page as one file; - for standard output")
      ->type_name("OUT");
  app.add_flag("-f,--force", arguments->html.force, "--html may replace any regular file");
  app.add_flag("--with-source", arguments->with_source,
               "with --html: include source and machine code of the costliest functions")
      ->needs("--html");
  app.add_option("--metric", arguments->selection.metric, "show this event of record -e")->type_name("EVENT");
  app.add_option("--port", arguments->port, "port on 127.0.0.1 (default: a free one)")
      ->check(whole_number())
      ->type_name("PORT");
  app.add_flag("--no-open", arguments->no_open, "print the address, do not open a browser");
  begin_group(app, kRareGroup);
  add_span_options(app, arguments->selection.spans);
  add_symbols_option(app, arguments->selection.symbols);
  add_merge_option(app, arguments->selection.dumps);
  return [arguments] { return run_view(*arguments); };
}

}  // namespace fathom::cli
