# Boost::headers: the target of the surrounding project, or else the first Boost in the usual places. Only headers are
# used. So neither CMake's own module for Boost nor Boost's package is needed, and no policy about which of them counts.
if(NOT TARGET Boost::headers)
    set(redlock_boost_needed 108100)
    find_path(REDLOCK_BOOST_INCLUDE_DIR boost/version.hpp
        HINTS ${Boost_INCLUDE_DIR} ${BOOST_ROOT} ${Boost_ROOT} ENV BOOST_ROOT ENV Boost_ROOT PATH_SUFFIXES include)
    mark_as_advanced(REDLOCK_BOOST_INCLUDE_DIR)
    set(redlock_boost_found 0)
    if(REDLOCK_BOOST_INCLUDE_DIR)
        file(STRINGS "${REDLOCK_BOOST_INCLUDE_DIR}/boost/version.hpp" redlock_boost_found REGEX "^#define BOOST_VERSION [0-9]+")
        string(REGEX REPLACE "[^0-9]+([0-9]+).*" "\\1" redlock_boost_found "${redlock_boost_found}")
    endif()
    if(redlock_boost_found LESS redlock_boost_needed)
        set(redlock_boost_there "none was found")
        if(redlock_boost_found)
            math(EXPR redlock_boost_minor "${redlock_boost_found} / 100 % 1000")
            set(redlock_boost_there "1.${redlock_boost_minor} is in ${REDLOCK_BOOST_INCLUDE_DIR}")
        endif()
        unset(REDLOCK_BOOST_INCLUDE_DIR CACHE)  # the next attempt looks again
        message(FATAL_ERROR "redlock needs the headers of Boost 1.81 or newer, and ${redlock_boost_there}: install "
            "libboost-dev or libboost1.81-dev, or set BOOST_ROOT or CMAKE_PREFIX_PATH to the prefix of such a Boost.")
    endif()
    add_library(Boost::headers INTERFACE IMPORTED)
    set_target_properties(Boost::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${REDLOCK_BOOST_INCLUDE_DIR}")
endif()
