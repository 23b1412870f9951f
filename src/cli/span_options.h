// --spans FILE, --span NAME, --slower-than TIME: spans from files, and a recording cut down to chosen ones.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/spans/add_spans.h"
#include "model/profile.h"

namespace fathom::cli {

struct SpanOptions {
  std::vector<std::string> files;  // with spans; folders stand for the marker files below them
  bool asked = false;              // --spans was given, with files or without
  std::string name;                // --span
  std::optional<double> slower_s, faster_s;
  bool changes_rows() const { return !files.empty() || !name.empty(); }
};

// `options` outlives `app`.
void add_span_options(CLI::App& app, SpanOptions& options);
// "--spans run.fathom": a recording among the files of spans is the command's input, unless it has one.
void take_recording(SpanOptions& options, std::string& input);

// Files of spans, packed ones unpacked. kNotFound for a folder without marker files.
Result<std::vector<formats::SpanFile>> read_span_files(const std::vector<std::string>& paths);
// Says what is not as a user expects it: spans outside of the recording, without a thread, with another clock.
void say_placement(const formats::SpanFile& file, const formats::AddedSpans& added);
// Adds the spans of the files, and cuts the recording down to the chosen spans. Says what it did and could not do.
Result<> apply_spans(model::Profile& profile, const SpanOptions& options);

}  // namespace fathom::cli
