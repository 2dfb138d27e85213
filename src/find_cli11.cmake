# CLI11::CLI11, which parses the options of the tools. The library and whoever links it need nothing of it.
if(NOT TARGET CLI11::CLI11)
    find_package(CLI11 2.1 QUIET)
    if(NOT CLI11_FOUND)
        message(FATAL_ERROR "redlock's tools and tests need the headers of CLI11 2.1 or newer, and none was found: install libcli11-dev, or set "
            "CMAKE_PREFIX_PATH to its prefix. Without tools and tests: -DREDLOCK_BUILD_TOOLS=OFF -DREDLOCK_BUILD_TESTS=OFF.")
    endif()
endif()
