// Probes of one recording: looks their functions up in what the targets have mapped, has the engine set the breakpoints, and turns
// its accounts into rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "binary/probes/find.h"
#include "binary/symbolize/debug_files.h"
#include "model/profile.h"
#include "record/bpf/function_probes.h"
#include "record/session/calls/call_book.h"
#include "record/session/record_options.h"
#include "record/session/tracking/event_sink.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

class CallProbes {
 public:
  // All outlive it.
  CallProbes(const RecordOptions& options, model::Profile& profile, model::Builder& builder,
             ProcessTable& processes, EventSink& sink)
      : options_(options), profile_(profile), builder_(builder), processes_(processes), sink_(sink) {}

  // Of processes whose code is mapped and known. An error: the recording must not begin. `probes`: the engine's, which outlive
  // this object, or null.
  Result<> begin(const std::vector<std::int32_t>& pids, sources::FunctionProbes* probes);
  // Counts up to now; `last`: the breakpoints are gone.
  void take(std::uint64_t now_ns, bool last);
  // What it cost and what is missing, as facts and notes of the profile.
  void account();

 private:
  struct File {
    const CodeModule* module = nullptr;
    std::string path;
    bool is_program = false;                            // of one of the targets; else a library
    std::shared_ptr<const symbolize::DebugFile> names;  // that was stripped off it; null: none
    std::vector<std::int32_t> pids;
  };
  std::vector<File> files_of(const std::vector<std::int32_t>& pids) const;
  void find_names(std::vector<File>& files) const;
  Result<> add(const probes::Wish& wish, const std::vector<File>& files);
  Result<> add_usdt(const probes::Wish& wish, const std::vector<File>& files,
                    std::span<const probes::Module> modules);
  void book(const probes::Wish& wish, const std::string& name, const CodeModule& module, bool timed);
  void take_spans();
  void note_open_spans();

  const RecordOptions& options_;
  model::Profile& profile_;
  model::Builder& builder_;
  ProcessTable& processes_;
  sources::FunctionProbes* probes_ = nullptr;  // from begin() on
  EventSink& sink_;
  CallBook book_;
  std::vector<model::StringId> span_names_;  // by probe; empty text: its calls are no spans
};

}  // namespace fathom::session
