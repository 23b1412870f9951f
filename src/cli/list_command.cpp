// fathom list: which recordings lie in a folder, and what each of them is.
#include <memory>

#include "cli/command.h"
#include "cli/earlier_results.h"
#include "cli/newest_recording.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "tools/shelf/recordings.h"
#include "tools/shelf/text.h"

namespace fathom::cli {
namespace {

struct ListArguments {
  std::string folder;  // empty: none was named
  std::string program, tag;
  bool json = false;
  OutputPath output;
};

Result<int> run_list(const ListArguments& arguments) {
  Result<std::vector<shelf::Recording>> found =
      arguments.folder.empty() ? shelf::find_recordings_here(".", is_earlier_result)
                               : shelf::find_recordings(arguments.folder, is_earlier_result);
  if (!found) return tl::unexpected<Error>(found.error());
  if (found->empty() && arguments.folder.empty()) return tl::unexpected<Error>(no_recording_here());
  if (!arguments.program.empty())
    std::erase_if(*found, [&](const shelf::Recording& row) { return row.program != arguments.program; });
  if (!arguments.tag.empty())
    std::erase_if(*found, [&](const shelf::Recording& row) { return !shelf::has_tag(row, arguments.tag); });
  const std::string text = arguments.json
                               ? shelf::list_json(*found)
                               : shelf::list_text(*found, arguments.output.path.empty() ? output_width() : 0);
  return end_with_output(text, arguments.output);
}

}  // namespace

Run add_list(CLI::App& app) {
  auto arguments = std::make_shared<ListArguments>();
  app.add_option(
         "folder", arguments->folder,
         "folder with recordings; the folders in it are read too (default: this folder and fathom-profiles)")
      ->type_name("FOLDER");
  begin_group(app, kSelectionGroup);
  app.add_option("--program", arguments->program, "only recordings of this program")->type_name("NAME");
  app.add_option("--tag", arguments->tag, "only recordings with this tag (record --tag)")->type_name("WORD");
  begin_group(app, kOutputGroup);
  app.add_flag("--json", arguments->json, "print JSON, newest first");
  add_output_options(app, arguments->output, "file (default: standard output)");
  return [arguments] { return run_list(*arguments); };
}

}  // namespace fathom::cli
