#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "analysis/core/words.h"
#include "cli/examples.h"
#include "cli/idioms.h"
#include "cli/option_table.h"
#include "cli/output.h"
#include "cli/presets.h"
#include "cli/symptoms.h"

namespace fathom::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : commands_of(app))
    if (command->get_name() == name) return command;
  return nullptr;
}

std::string names_of_commands(const CLI::App& app, std::string_view between = " ") {
  std::string all;
  for (const CLI::App* command : commands_of(app))
    all += (all.empty() ? "" : std::string(between)) + command->get_name();
  return all;
}

Error no_such_page(const CLI::App& app, const std::string& name) {
  return {ErrorKind::kUsage, fmt::format("there is no command '{}'", analysis::printable(name)),
          "one of " + names_of_commands(app, ", ") + "; fathom help words, symptoms, idioms or presets"};
}

// Not CLI11's help(), which goes on to the command that was asked for: that is `help` here.
std::string help_of(const CLI::App& app, const CLI::App& command, const std::string& name) {
  return app.get_formatter()->make_help(&command, name, CLI::AppFormatMode::Normal);
}

// Text of man(7): what begins a line with a dot or a quote is no request, and a dash is one.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool first = out.empty() || out.back() == '\n';
    if (first && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

// Without the program's own name, which stands before it.
std::string said_of(const CLI::App& command) {
  std::string text = command.get_description();
  if (const std::string prefix = command.get_name() + ": "; text.starts_with(prefix))
    text.erase(0, prefix.size());
  return text;
}

void append_options(std::string& page, const CLI::App& command) {
  for (const OptionGroup& group : options_of(command)) {
    std::string title = group.title;
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
    page += fmt::format(".SH {}\n", roff(title));
    for (const OptionRow& row : group.rows)
      page += fmt::format(".TP\n.B {}\n{}\n", roff(names_and_value(row)), roff(description(row)));
  }
}

// One word in single quotes, as a POSIX shell reads it.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool takes_a_file(const OptionRow& row) {
  return row.choices.empty() && (row.value == "FILE" || row.value == "FOLDER");
}

std::vector<OptionRow> rows_of(const CLI::App& command) {
  std::vector<OptionRow> rows;
  for (OptionGroup& group : options_of(command))
    for (OptionRow& row : group.rows)
      if (!row.positional) rows.push_back(std::move(row));
  return rows;
}

std::string words(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& word : all) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string bash_completion(const CLI::App& app) {
  std::string commands;
  std::string options, values;
  for (const CLI::App* command : commands_of(app)) {
    const std::string& name = command->get_name();
    commands += (commands.empty() ? "" : " ") + name;
    std::vector<std::string> names;
    for (const OptionRow& row : rows_of(*command)) {
      names.insert(names.end(), row.names.begin(), row.names.end());
      if (row.choices.empty() || row.value_may_be_left_out) continue;
      for (const std::string& option : row.names)
        values += fmt::format("    {}:{}) words={} ;;\n", name, option, in_quotes(words(row.choices)));
    }
    options += fmt::format("    {}) words={} ;;\n", name, in_quotes(words(names)));
  }
  return fmt::format(R"(# Completion of fathom for bash: source <(fathom completion bash)
_fathom() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      COMPREPLY=($(compgen -c -- "$word")); return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W {} -- "$word")); return
  fi
  case $command:$before in
    help:* | man:*) words={} ;;
    completion:*) words='bash zsh fish' ;;
{}  esac
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word")); return
  fi
  [[ $word == -* ]] || {{ COMPREPLY=($(compgen -f -- "$word")); return; }}
  case $command in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o filenames -F _fathom fathom
)",
                     in_quotes(commands), in_quotes(commands), values, options);
}

// What follows a name between brackets in zsh's _arguments.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_completion(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(app)) {
    commands +=
        fmt::format("    {}\n", in_quotes(command->get_name() + ":" + zsh_text(command->get_description())));
    cases += fmt::format("    {}) _arguments", command->get_name());
    for (const OptionRow& row : rows_of(*command)) {
      for (const std::string& name : row.names) {
        std::string spec = name;
        if (!row.value.empty()) spec += row.value_may_be_left_out ? "=-" : name.starts_with("--") ? "=" : "";
        spec += "[" + zsh_text(row.text) + "]";
        if (!row.value.empty()) {
          spec += row.value_may_be_left_out ? "::" : ":";
          spec += row.choices.empty() ? row.value + ":" : "value:(" + words(row.choices) + ")";
          if (takes_a_file(row)) spec += "_files";
        }
        cases += " \\\n      " + in_quotes(spec);
      }
    }
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef fathom
# Completion of fathom for zsh: fathom completion zsh > FOLDER/_fathom, where FOLDER is in $fpath.
_fathom() {{
  local -a commands=(
{}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{}    *) _files ;;
  esac
}}
_fathom "$@"
)",
                     commands, cases);
}

std::string fish_completion(const CLI::App& app) {
  std::string out =
      "# Completion of fathom for fish: fathom completion fish > ~/.config/fish/completions/fathom.fish\n";
  for (const CLI::App* command : commands_of(app)) {
    const std::string& name = command->get_name();
    out += fmt::format("complete -c fathom -n __fish_use_subcommand -f -a {} -d {}\n", name,
                       in_quotes(command->get_description()));
    for (const OptionRow& row : rows_of(*command)) {
      out += fmt::format("complete -c fathom -n '__fish_seen_subcommand_from {}'", name);
      for (const std::string& option : row.names)
        out += option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
      if (!row.choices.empty())
        out += fmt::format(" -x -a {}", in_quotes(words(row.choices)));
      else if (takes_a_file(row))
        out += " -r -F";
      else if (!row.value.empty())
        out += " -x";
      out += fmt::format(" -d {}\n", in_quotes(row.text));
    }
  }
  return out;
}

// A cell of a table of Markdown; what looks like HTML is text.
std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|')
      out += "\\|";
    else if (c == '<')
      out += "&lt;";
    else if (c == '\n')
      out += ' ';
    else
      out += c;
  }
  return out;
}

// docs/commands.md.
std::string commands_page(const CLI::App& app) {
  std::string page =
      "# Commands and options\n\nThis page is generated: `fathom completion markdown`. `fathom COMMAND --help` prints the common options of a command, and `--help-all` all of them.\n\n| command | what it does |\n|---|---|\n";
  for (const CLI::App* command : commands_of(app))
    page += fmt::format("| [{0}](#{0}) | {1} |\n", command->get_name(), markdown(said_of(*command)));
  page += "\n" + app.get_footer() + "\n";
  for (const CLI::App* command : commands_of(app)) {
    page += fmt::format("\n## {}\n\n{}.\n\n```sh\n", command->get_name(), said_of(*command));
    for (const Example& example : examples_of(command->get_name()))
      page += fmt::format("{}  # {}\n", example.line, example.meaning);
    page += "```\n";
    for (const OptionGroup& group : options_of(*command)) {
      page += fmt::format("\n| {} | |\n|---|---|\n", group.title);
      for (const OptionRow& row : group.rows)
        page += fmt::format("| `{}` | {} |\n", markdown(names_and_value(row)), markdown(description(row)));
    }
    const std::string& notes = command->get_footer();
    if (!notes.empty() && notes != app.get_footer()) page += "\n" + notes + "\n";
  }
  return page;
}

}  // namespace

Result<std::string> manual_page(const CLI::App& app, const std::string& command) {
  const CLI::App* about = &app;
  if (!command.empty()) about = command_named(app, command);
  if (about == nullptr) return tl::unexpected<Error>(no_such_page(app, command));
  const std::string name = command.empty() ? "fathom" : "fathom-" + command;
  std::string page = fmt::format(".TH {} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B fathom{}\n", roff(name),
                                 roff(name), roff(said_of(*about)), command.empty() ? "" : " " + command);
  if (command.empty()) {
    page += ".I COMMAND\n[\\fIOPTIONS\\fP]\n.SH COMMANDS\n";
    for (const CLI::App* each : commands_of(app))
      page += fmt::format(".TP\n.B {}\n{}; see\n.BR fathom\\-{} (1)\n", each->get_name(),
                          roff(each->get_description()), each->get_name());
  } else {
    page += "[\\fIOPTIONS\\fP]";
    for (const OptionGroup& group : options_of(*about))
      for (const OptionRow& row : group.rows)
        if (row.positional) page += fmt::format(" [\\fI{}\\fP]", roff(names_and_value(row)));
    page += "\n";
  }
  append_options(page, *about);
  if (const auto examples = examples_of(command); !examples.empty()) {
    page += ".SH EXAMPLES\n";
    for (const Example& example : examples)
      page += fmt::format(".TP\n.B {}\n{}\n", roff(example.line), roff(example.meaning));
  }
  if (const std::string footer = about->get_footer(); !footer.empty())
    page += ".SH NOTES\n" + roff(footer) + "\n";
  if (!command.empty()) page += ".SH SEE ALSO\n.BR fathom (1)\n";
  return page;
}

Result<std::string> completion_for(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return bash_completion(app);
  if (shell == "zsh") return zsh_completion(app);
  if (shell == "fish") return fish_completion(app);
  if (shell == "markdown") return commands_page(app);
  if (shell == "names") return names_of_commands(app) + "\n";
  return fail(ErrorKind::kUsage, fmt::format("there is no completion for '{}'", shell), "bash, zsh or fish");
}

static Result<std::string> presets_here() {
  const auto project = find_presets();
  if (!project) return tl::unexpected<Error>(project.error());
  return presets_text(*project ? &**project : nullptr);
}

std::vector<AboutCommand> add_about_commands(CLI::App& app) {
  const auto print = [](const Result<std::string>& text) -> Result<int> {
    if (!text) return tl::unexpected<Error>(text.error());
    if (auto written = write_output(*text, OutputPath{}); !written)
      return tl::unexpected<Error>(written.error());
    return 0;
  };
  const auto add = [&app](const char* name, const char* text, const char* option, const char* option_text,
                          bool needed) {
    CLI::App* command = app.add_subcommand(name, text)->group(kMoreGroup);
    auto word = std::make_shared<std::string>();
    command->add_option(option, *word, option_text)->required(needed);
    return std::pair(command, word);
  };
  std::vector<AboutCommand> all;
  const auto [help, helped] = add(
      "help",
      "print the help of a command; help words explains the words in reports, help symptoms says where to begin, help idioms lists fathom lines for perf and other tools, help presets lists options by name",
      "command", "command, words, symptoms, idioms or presets", false);
  all.push_back({help, [&app, print, word = helped]() -> Result<int> {
                   if (word->empty()) return print(help_of(app, app, "fathom"));
                   if (*word == "words") return print(std::string(kWordsText));
                   if (*word == "presets") return print(presets_here());
                   if (*word == "idioms") return print(idioms_text());
                   if (*word == "symptoms") return print(symptoms_text());
                   const CLI::App* command = command_named(app, *word);
                   if (command == nullptr) return tl::unexpected<Error>(no_such_page(app, *word));
                   return print(help_of(app, *command, "fathom " + *word));
                 }});
  const auto [man, paged] =
      add("man", "print a manual page", "command", "command (default: fathom itself)", false);
  all.push_back({man, [&app, print, word = paged] { return print(manual_page(app, *word)); }});
  const auto [completion, shell] =
      add("completion", "print completions for a shell", "shell", "bash, zsh or fish", true);
  all.push_back({completion, [&app, print, word = shell] { return print(completion_for(app, *word)); }});
  return all;
}

}  // namespace fathom::cli
