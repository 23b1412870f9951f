// The options with which every reading command chooses samples: --metric, --thread, --pid, --from, --until,
// --focus, --ignore.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "cli/block_options.h"
#include "cli/span_options.h"
#include "cli/time_option.h"
#include "formats/open/open_profile.h"
#include "model/profile.h"

namespace fathom::cli {

// Several heap dumps as one input.
struct DumpInputs {
  std::vector<std::string> more;  // files behind the first
  std::string merge;              // how they are taken together; empty: as `initial`
  dumps::Merge initial = {};
};
// --merge, and files behind the first one; `inputs` outlives `app`.
void add_dump_inputs(CLI::App& app, DumpInputs& inputs);
// A file name like the input, where that is a pattern ("a/jeprof.*.heap": "a/jeprof") or a folder.
std::string name_of_input(const std::string& input);
// The base of the names of results of `profile`: for several dumps the one that was used.
std::string result_name(const model::Profile& profile, const std::string& input);
// --merge alone, for patterns and folders.
void add_merge_option(CLI::App& app, DumpInputs& inputs);

struct SelectionOptions {
  std::string metric;  // empty: the profile's first
  std::optional<std::string> thread;
  std::optional<std::int32_t> pid;
  TimeArgument from, until;
  std::optional<bool> fold_containers;
  bool fold_plumbing = true;
  std::vector<std::string> focus, ignore;
  analysis::StackCuts cuts;  // of add_cut_options()
  bool tracer = false;
  std::string symbols;     // folder with names; empty: none
  std::string heap_unit;   // bytes, blocks; empty: as the metric
  std::string asked_size;  // MIN:MAX; empty: all
  BlockOptions blocks;
  SpanOptions spans;
  DumpInputs dumps;
  std::string store_target;           // where the input is a store: one of its targets
  bool long_names = false;            // open::NameOptions::long_names
  std::string* statistics = nullptr;  // open::NameOptions::statistics
  bool packed = false;                // store::ReadOptions::packed
  bool all_events = false;            // open::EventChoice::all
};

// `options` outlives `app`.
void add_selection_options(CLI::App& app, SelectionOptions& options);

// --hide and --show-from, of commands that show trees of calls.
void add_cut_options(CLI::App& app, SelectionOptions& options);

// open_profile() with the requested blocks of the heap; `keep_blocks` as HeapBlockFilter::keep, `if_recorded`
// likewise if all blocks are requested.
Result<model::Profile> open_selected(const std::string& path, const SelectionOptions& options,
                                     std::uint32_t keep_blocks = 0, bool if_recorded = false);
// The runs that an input of a comparison stands for: rows of many hosts are one run for each; everything else is itself.
Result<std::vector<std::string>> runs_of_input(const std::string& path, const SelectionOptions& options);
// open_profile() with names from the folder `symbols`, if that is not empty, and with a process apart that reads files.
Result<model::Profile> open_with_names(const std::string& path, const store::ReadOptions& read,
                                       const std::string& symbols, const DumpInputs& dumps = {},
                                       std::optional<std::int32_t> pid = {}, bool long_names = false,
                                       std::string* statistics = nullptr,
                                       const open::EventChoice& event = {});
// --symbols; `folder` outlives `app`.
void add_symbols_option(CLI::App& app, std::string& folder);
// --fold-containers, --no-fold-containers, --no-fold-plumbing; both outlive `app`.
void add_containers_option(CLI::App& app, std::optional<bool>& containers, bool& plumbing);

// The same with marks turned into times. kUsage for a mark that the recording does not have.
Result<SelectionOptions> with_times(const SelectionOptions& options, const model::Profile& profile);

// kUsage for a metric that does not exist, for times that make no sense and for a broken pattern; kNotFound for a function
// that is nowhere.
Result<analysis::Selection> selection_from(const SelectionOptions& options, const model::Profile& profile);

}  // namespace fathom::cli
