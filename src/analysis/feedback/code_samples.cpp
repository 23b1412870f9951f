#include "analysis/feedback/code_samples.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "analysis/core/call_tree.h"
#include "binary/elf/module_file.h"

namespace fathom::feedback {
namespace {

// The largest; of equal ones the first by name, so that two runs choose the same.
std::string most_sampled(const std::map<std::string, std::int64_t>& by_build) {
  std::string best;
  std::int64_t most = 0;
  for (const auto& [build_id, samples] : by_build)
    if (samples > most) {
      most = samples;
      best = build_id;
    }
  return best;
}

}  // namespace

Result<CodeSamples> code_samples(const model::Profile& profile, const analysis::Selection& selection,
                                 const std::string& build_id) {
  if (selection.metric != model::Metric::kCpu)
    return fail(ErrorKind::kUsage,
                fmt::format("compilers use CPU time, not {}", model::to_string(selection.metric)),
                "--metric cpu");
  CodeSamples result;
  result.build_id = build_id;
  const std::vector<analysis::StackValue> values = analysis::stack_values(profile, selection);
  const auto module_of = [&](const analysis::StackValue& row) {
    return profile.frames[profile.stacks[row.stack.value].frame.value].module;
  };
  const auto build_of = [&](model::ModuleId id) {
    return std::string(profile.strings[profile.modules[id.value].build_id]);
  };
  if (build_id.empty()) {
    std::map<std::string, std::int64_t> by_build;
    for (const analysis::StackValue& row : values)
      if (row.stack.value != 0 && profile.modules[module_of(row).value].kind == model::ModuleKind::kFile)
        by_build[build_of(module_of(row))] += row.value;
    by_build.erase("");  // of imported text: nothing says which file that was
    result.build_id = most_sampled(by_build);
    if (result.build_id.empty())
      return fail(ErrorKind::kNotFound, "no sample is in a program or library with a known build id",
                  "fathom record, which keeps build ids and addresses");
  }
  std::vector<char> is_inside(profile.modules.size(), 0);
  for (std::uint32_t i = 0; i < profile.modules.size(); ++i)
    if (profile.modules[i].kind == model::ModuleKind::kFile && build_of({i}) == result.build_id) {
      is_inside[i] = 1;
      result.modules.push_back({i});
    }

  std::map<ElfAddress, std::int64_t> at;
  for (const analysis::StackValue& row : values) {
    result.all += row.value;
    const model::ModuleId module = row.stack.value != 0 ? module_of(row) : model::ModuleId{0};
    if (is_inside[module.value] != 0) {
      at[profile.frames[profile.stacks[row.stack.value].frame.value].address] += row.value;
      result.inside += row.value;
      continue;
    }
    switch (profile.modules[module.value].kind) {
      case model::ModuleKind::kKernel:
      case model::ModuleKind::kVdso:
        result.in_kernel += row.value;
        break;
      case model::ModuleKind::kFile:
        result.in_other_files += row.value;
        break;
      default:
        result.elsewhere += row.value;
        break;
    }
  }
  if (result.inside == 0)
    return fail(ErrorKind::kNotFound,
                fmt::format("no sample is in the file with build id {}", result.build_id),
                "fathom report FILE lists the files");
  for (const auto& [address, samples] : at)
    if (samples > 0) result.at.push_back({address, samples});
  return result;
}

Result<annotate::LocalCode> open_code(const model::Profile& profile, const CodeSamples& samples,
                                      const std::string& path) {
  std::string problem = "no module of the recording has this code";
  for (const model::ModuleId id : samples.modules) {
    const model::Module& module = profile.modules[id.value];
    const std::string twin(profile.strings[module.symbols_path]);
    annotate::LocalCode code = annotate::LocalCode::open(profile, module, path.empty() ? twin : path);
    if (code.present()) return code;
    problem = code.problem();
  }
  return fail(ErrorKind::kNotFound, problem, "--binary PATH, the program or library as it was recorded");
}

Result<std::string> build_id_of(const std::string& path) {
  const auto file = elf::ModuleFile::open(path);
  if (!file) return tl::unexpected(file.error());
  return file->elf().identity();
}

}  // namespace fathom::feedback
