# SCRIPT and STYLE, the built page -> OUTPUT, a source file that holds both, byte for byte, with their sums, by which the
# page's content security policy names them.
file(READ ${SCRIPT} script)
file(READ ${STYLE} style)
file(SHA256 ${SCRIPT} script_sum)
file(SHA256 ${STYLE} style_sum)
file(WRITE ${OUTPUT} "#include \"page/html.h\"

namespace fathom::page {

const std::string_view kScript = R\"PAGE(${script})PAGE\";
const std::string_view kScriptSha256 = \"${script_sum}\";
const std::string_view kStyle = R\"PAGE(${style})PAGE\";
const std::string_view kStyleSha256 = \"${style_sum}\";

}  // namespace fathom::page
")
