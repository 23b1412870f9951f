#include "present/page/redirect_page.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/files.h"

namespace fathom::page {
namespace {

std::string parent_folder() {
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"})
    if (const char* value = std::getenv(variable); value != nullptr && value[0] == '/') return value;
  return "/tmp";
}

}  // namespace

Result<RedirectPage> RedirectPage::write(const std::string& url) {
  std::string folder = parent_folder() + "/fathom-view-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return system_error(folder, errno);  // mode 0700
  RedirectPage page(std::move(folder));
  const Result<> written = write_file(
      page.path(),
      fmt::format(
          "<!DOCTYPE html>\n<meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0; url={0}\">\n<title>fathom</title>\n"
          "<p><a href=\"{0}\">fathom view</a>\n",
          url));
  if (!written) return tl::unexpected(written.error());
  return page;
}

RedirectPage::~RedirectPage() {
  if (folder_.empty()) return;
  ::unlink(path().c_str());
  ::rmdir(folder_.c_str());
}

}  // namespace fathom::page
