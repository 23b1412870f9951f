#include "cli/code_exports.h"

#include <fmt/format.h>

#include <string_view>

#include "analysis/core/words.h"
#include "analysis/feedback/code_samples.h"
#include "analysis/feedback/read_code.h"
#include "analysis/feedback/symbol_counts.h"
#include "cli/notices.h"
#include "present/feedback/bolt_writer.h"
#include "present/feedback/sample_profile_writer.h"

namespace fathom::cli {
namespace {

struct OpenedCode {
  feedback::CodeSamples samples;
  annotate::LocalCode code;
};

Result<OpenedCode> open_feedback(const model::Profile& profile, const analysis::Selection& selection,
                                 const std::string& binary) {
  std::string build_id;
  if (!binary.empty()) {
    const Result<std::string> known = feedback::build_id_of(binary);
    if (!known)
      return fail(known.error().kind, known.error().message,
                  "--binary PATH, the program or library that ran");
    build_id = *known;
  }
  Result<feedback::CodeSamples> samples = feedback::code_samples(profile, selection, build_id);
  if (!samples) return tl::unexpected(samples.error());
  Result<annotate::LocalCode> code = feedback::open_code(profile, *samples, binary);
  if (!code) return tl::unexpected(code.error());
  return OpenedCode{std::move(*samples), std::move(*code)};
}

// "fathom: /usr/bin/x: 9,312 of 10,000 samples; not in the profile: 600 in the kernel, 88 in other files\n"
void say_what_is_in(const OpenedCode& opened, std::int64_t written, std::int64_t without_name,
                    std::string_view nameless) {
  std::string rest;
  const auto add = [&rest](std::int64_t samples, std::string_view where) {
    if (samples == 0) return;
    rest += fmt::format("{}{} {}", rest.empty() ? "; not in the profile: " : ", ",
                        analysis::with_commas(samples), where);
  };
  add(opened.samples.in_kernel, "in the kernel");
  add(opened.samples.in_other_files, "in other files");
  add(opened.samples.elsewhere, "in code without a file");
  add(without_name, nameless);
  say("fathom: {}: {} of {} samples{}\n", opened.code.path(), analysis::with_commas(written),
      analysis::with_commas(opened.samples.all), rest);
}

}  // namespace

Result<std::string> bolt_export(const model::Profile& profile, const analysis::Selection& selection,
                                const std::string& binary) {
  const Result<OpenedCode> opened = open_feedback(profile, selection, binary);
  if (!opened) return tl::unexpected(opened.error());
  const elf::ElfFile& file = opened->code.elf();
  if (file.section(".symtab") == nullptr)
    return fail(ErrorKind::kUnsupported,
                opened->code.path() + " is stripped, and BOLT needs its symbol table",
                "--binary PATH, the same build with symbols");
  const feedback::SymbolCounts counts = feedback::symbol_counts(file, opened->samples.at);
  say_what_is_in(*opened, counts.samples, counts.without_symbol, "in code without a symbol");
  if (file.section(".rela.text") == nullptr)
    say("fathom: {} has no relocations, so BOLT cannot move its functions; link it with -Wl,--emit-relocs\n",
        opened->code.path());
  return present::bolt_text(counts);
}

Result<std::string> sample_profile_export(const model::Profile& profile, const analysis::Selection& selection,
                                          const std::string& binary, const std::string& symbols) {
  Result<OpenedCode> opened = open_feedback(profile, selection, binary);
  if (!opened) return tl::unexpected(opened.error());
  symbolize::Options names;
  names.reader.program = "/proc/self/exe";
  names.symbol_directory = symbols;
  const Result<feedback::ReadCode> read =
      feedback::read_code(profile, selection, opened->samples, opened->code, names);
  if (!read) return tl::unexpected(read.error());
  const feedback::SourceProfile source = feedback::source_profile(read->functions, read->calls);
  say_what_is_in(*opened, source.samples, source.without_line + read->outside, "in code without a line");
  return present::sample_profile_text(source);
}

}  // namespace fathom::cli
