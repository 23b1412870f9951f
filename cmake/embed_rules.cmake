# INPUT, a file of rules -> OUTPUT, a source file that holds it as the text NAME, which HEADER declares: no file is
# looked for at run time.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace ${NAMESPACE} {

const std::string_view ${NAME} = R\"RULES(${text})RULES\";

}  // namespace ${NAMESPACE}
")
