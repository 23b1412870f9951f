#include "present/page/html.h"

#include <fmt/format.h>

#include "present/page/built_page.h"
#include "present/page/columns.h"

namespace fathom::page {
namespace {

// "sha256-...", as a policy names a sum.
std::string source_of(std::string_view sha256) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < sha256.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(sha256.substr(i, 2)), nullptr, 16));
  return "'sha256-" + base64(bytes) + "'";
}

}  // namespace

std::string_view page_script() {
  static const std::string text = packed::text_of(kPackedScript);
  return text;
}

std::string_view page_style() {
  static const std::string text = packed::text_of(kPackedStyle);
  return text;
}

std::string content_security_policy(bool served) {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'{}",
      source_of(kScriptSha256), source_of(kStyleSha256), served ? "; connect-src 'self'" : "");
}

std::string message_page(std::string_view message) {
  std::string text;
  for (const char c : message) {
    if (c == '<' || c == '>' || c == '&' || c == '"')
      text += fmt::format("&#{};", static_cast<int>(c));
    else
      text += c;
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>fathom</title>\n"
      "<p>{}</p>\n<p><a href=\"./\">show the whole recording</a></p>\n</html>\n",
      text);
}

std::string html_page(std::string_view document, const HtmlOptions& options) {
  std::string code;
  if (options.served) code = "<meta name=\"fathom-code\" content=\"ask\">\n";
  if (!options.code.empty())
    code = fmt::format("<script type=\"application/octet-stream\" id=\"code\">{}</script>\n",
                       base64(options.code));
  return fmt::format(
      "<!DOCTYPE html>\n<!-- fathom page -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>fathom</title>\n<style>{}</style>\n{}</head>\n<body>\n<div id=\"app\"><p class=\"loading\">fathom: the recording is unpacked here, by a script.</p></div>\n"
      "<div id=\"data\" hidden><!--{}--></div>\n<script>{}</script>\n</body>\n</html>\n",
      content_security_policy(options.served), page_style(), code, base64(document), page_script());
}

}  // namespace fathom::page
