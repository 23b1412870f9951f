#include "formats/import/import.h"

#include <fmt/format.h>

#include "base/abi/walk.h"
#include "base/text.h"
#include "formats/import/addresses.h"
#include "formats/import/source_names.h"
#include "model/facts.h"

namespace fathom::formats {

Import::Import(std::string_view format) : builder(profile) {
  profile.meta.engine = "import";
  model::put_facts(model::OriginFacts{.format = std::string(format)}, profile.meta);
}

model::ProcessId Import::process(std::int32_t pid, std::string_view name) {
  const auto [known, added] =
      processes_.try_emplace(pid, model::ProcessId{static_cast<std::uint32_t>(profile.processes.size())});
  if (added) {
    model::Process row;
    row.pid = pid;
    row.name = builder.string(base_name(name));
    if (name.find('/') != std::string_view::npos) row.executable = builder.string(name);
    profile.processes.push_back(row);
  }
  return known->second;
}

model::ThreadId Import::thread(model::ProcessId process, std::int32_t tid, std::string_view name) {
  const auto [known, added] =
      threads_.try_emplace({process.value, tid, std::string(name)},
                           model::ThreadId{static_cast<std::uint32_t>(profile.threads.size())});
  if (added) {
    model::Thread row;
    row.process = process;
    row.tid = tid;
    row.name = builder.string(name);
    profile.threads.push_back(row);
  }
  return known->second;
}

model::ModuleId Import::module(std::string_view path, std::string_view build_id,
                               model::SymbolSource symbols) {
  model::Module row;
  row.kind = path.empty() ? model::ModuleKind::kNames : model::ModuleKind::kFile;
  if (path.starts_with("[kernel") || path.starts_with("[guest.kernel")) row.kind = model::ModuleKind::kKernel;
  if (path == "[vdso]") row.kind = model::ModuleKind::kVdso;
  row.name = builder.string(base_name(path));
  if (path.find('/') != std::string_view::npos) row.path = builder.string(path);
  row.build_id = builder.string(build_id);
  if (!path.empty()) row.symbols = symbols;
  return builder.module(row);
}

model::FrameId Import::frame(model::ModuleId module, std::string_view function, std::string_view file,
                             std::uint32_t line) {
  std::string key = fmt::format("{} {} ", module.value, line);
  key.append(function).append(1, '\0').append(file);
  const auto [known, added] = frames_.try_emplace(std::move(key));
  if (added) {
    std::string place;
    SourceNames names;
    if (is_address(function))
      function = place = place_of_address(function, profile.strings[profile.modules[module.value].name]);
    else
      function = names.of(function);
    known->second =
        builder.frame_with_lines(module, {}, {{function.empty() ? "[unknown]" : function, file, line}});
  }
  return known->second;
}

model::HeapSiteId Import::site(model::HeapId heap, model::StackId stack, model::ThreadId thread) {
  const auto [known, added] =
      sites_.try_emplace({heap.value, stack.value, thread.value},
                         model::HeapSiteId{static_cast<std::uint32_t>(profile.heap.sites.size())});
  if (added) profile.heap.sites.push_back({heap, stack, {0}, thread, WALK_ROOT});
  return known->second;
}

Result<model::Profile> Import::finish(const std::string& name) {
  if (profile.quality.samples == 0) profile.quality.samples = profile.samples.size();
  if (const Result<> sound = model::check(profile); !sound) return within(name, sound.error());
  return std::move(profile);
}

}  // namespace fathom::formats
