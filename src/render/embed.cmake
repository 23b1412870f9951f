# flame_graph.js -> OUTPUT, a source file that holds it as text. Comment lines and indentation stay behind.
file(READ ${INPUT} text)
string(REGEX REPLACE "(^|\n)[ \t]*//[^\n]*" "" text "${text}")
string(REGEX REPLACE "\n[ \t\n]*" "\n" text "${text}")
string(STRIP "${text}" text)
string(SHA256 hash "${text}")
file(WRITE ${OUTPUT} "#include \"render/flame_graph_script.h\"

namespace fathom::render {

const std::string_view kFlameGraphScript = R\"SCRIPT(${text})SCRIPT\";
const std::string_view kFlameGraphScriptSha256 = \"${hash}\";

}  // namespace fathom::render
")
