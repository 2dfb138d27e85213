# Installs the pages, with links that lead to where the headers are then. Wants source, prefix, and the folders includes and pages,
# below the prefix or absolute.
get_filename_component(to "${pages}" ABSOLUTE BASE_DIR "${prefix}")
get_filename_component(headers "${includes}" ABSOLUTE BASE_DIR "${prefix}")
file(RELATIVE_PATH up "${to}" "${headers}")
file(GLOB all RELATIVE ${source} ${source}/README.md ${source}/CHANGELOG.md ${source}/CONTRIBUTING.md
     ${source}/SECURITY.md ${source}/docs/*.md ${source}/docs/how-to/*.md)
foreach(page IN LISTS all)
    file(READ ${source}/${page} text)
    string(REPLACE "](../../include/" "](../../${up}/" text "${text}")
    string(REPLACE "](../include/" "](../${up}/" text "${text}")
    string(REGEX REPLACE "\\]\\(\\.\\./src/stores/([a-z]+)/schema\\.sql" "](sql/locks_\\1.sql" text "${text}")
    string(REPLACE "](include/" "](${up}/" text "${text}")
    file(WRITE "$ENV{DESTDIR}${to}/${page}" "${text}")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${to}/${page}")
    message(STATUS "Installing: $ENV{DESTDIR}${to}/${page}")
endforeach()
