# Installs the manual pages of the tool, and what completes its words in shells, as it prints them itself. Wants tool, prefix, and the folders
# manual and data, below the prefix or absolute.
get_filename_component(manual "${manual}" ABSOLUTE BASE_DIR "${prefix}")
get_filename_component(data "${data}" ABSOLUTE BASE_DIR "${prefix}")

macro(install_words to)  # WORD…: what to say to the tool
    execute_process(COMMAND "${tool}" ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "redlock ${ARGN} has failed: ${status}")
    endif()
    file(WRITE "$ENV{DESTDIR}${to}" "${text}")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${to}")
    message(STATUS "Installing: $ENV{DESTDIR}${to}")
endmacro()

execute_process(COMMAND "${tool}" man --list OUTPUT_VARIABLE pages COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" pages "${pages}")
foreach(page IN LISTS pages)
    string(REGEX REPLACE "^redlock-?" "" command "${page}")
    install_words("${manual}/man1/${page}.1" man ${command})
endforeach()
install_words("${data}/bash-completion/completions/redlock" completion bash)
install_words("${data}/zsh/site-functions/_redlock" completion zsh)
install_words("${data}/fish/vendor_completions.d/redlock.fish" completion fish)
