#include "cli/output_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "analysis/core/words.h"

namespace fathom::cli {
namespace {

enum class Content : std::uint8_t { kImage, kSvg, kHtml, kJson, kPacked, kProfile, kRecording };

struct Ending {
  std::string_view text;
  Content content;
};
constexpr Ending kEndings[] = {
    {".pdf", Content::kImage},       {".png", Content::kImage},        {".jpg", Content::kImage},
    {".jpeg", Content::kImage},      {".gif", Content::kImage},        {".webp", Content::kImage},
    {".svg", Content::kSvg},         {".html", Content::kHtml},        {".htm", Content::kHtml},
    {".json", Content::kJson},       {".gz", Content::kPacked},        {".zst", Content::kPacked},
    {".svgz", Content::kPacked},     {".pb", Content::kProfile},       {".pprof", Content::kProfile},
    {".pftrace", Content::kProfile}, {".fathom", Content::kRecording},
};

// The content of a file that is called so; null: the name says nothing.
const Ending* ending_of(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = std::ranges::find_if(kEndings, [&](const Ending& ending) {
    return name.size() > ending.text.size() && name.ends_with(ending.text);
  });
  return found == std::ranges::end(kEndings) ? nullptr : &*found;
}

bool fits(Content content, OutputKind kind) {
  switch (kind) {
    case OutputKind::kPicture:
      return content == Content::kSvg;
    case OutputKind::kPage:
      return content == Content::kHtml;
    case OutputKind::kText:
      return false;
    case OutputKind::kJson:
      return content == Content::kJson;
    case OutputKind::kExported:  // its own ending was matched with its format; no format is one of these
      return content != Content::kImage && content != Content::kSvg && content != Content::kRecording;
  }
  return true;
}

const char* word_of(OutputKind kind) {
  switch (kind) {
    case OutputKind::kPicture:
      return "an SVG picture";
    case OutputKind::kPage:
      return "an HTML page";
    case OutputKind::kText:
      return "text";
    case OutputKind::kJson:
      return "JSON";
    case OutputKind::kExported:
      return "an export";
  }
  return "";
}

std::string remedy_for(Content content, OutputKind kind) {
  switch (content) {
    case Content::kImage:
      return kind == OutputKind::kPicture
                 ? "-o FILE.svg; a browser prints it as PDF, rsvg-convert FILE.svg -o FILE.png draws it as PNG"
                 : "fathom flamegraph -o FILE.svg; a browser prints it as PDF";
    case Content::kSvg:
      return "fathom flamegraph -o FILE.svg";
    case Content::kHtml:
      return "fathom view --html FILE.html";
    case Content::kJson:
      return kind == OutputKind::kText ? "--json -o FILE.json" : "fathom report --json -o FILE.json";
    case Content::kPacked:
      return "a name without this ending; fathom export packs what it writes: fathom export -o FILE.pb.gz";
    case Content::kProfile:
      return "fathom export -o FILE.pb.gz";
    case Content::kRecording:
      return "fathom record -o FILE.fathom; fathom merge FILE.fathom combines recordings";
  }
  return "";
}

}  // namespace

Result<> fits_ending(std::string_view path, OutputKind kind) {
  const Ending* ending = ending_of(path);
  if (ending == nullptr || fits(ending->content, kind)) return {};
  return fail(ErrorKind::kUsage,
              fmt::format("{}: this command writes {}, not a {} file", analysis::printable(std::string(path)),
                          word_of(kind), ending->text),
              remedy_for(ending->content, kind));
}

}  // namespace fathom::cli
