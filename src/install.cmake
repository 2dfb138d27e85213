# What `cmake --install` installs: library, headers, tools, and the package for find_package(redlock CONFIG).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/redlock)
install(TARGETS redlock redlock_testing EXPORT redlock
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/redlock/opentelemetry.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/redlock)
install(FILES include/redlock/detail/spans.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/redlock/detail)
install(EXPORT redlock NAMESPACE redlock:: DESTINATION ${package_dir} FILE redlock-targets.cmake)
foreach(store IN LISTS redlock_stores)
    install(TARGETS redlock_${store} EXPORT redlock-${store}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT redlock-${store} NAMESPACE redlock:: DESTINATION ${package_dir} FILE redlock-${store}-targets.cmake)
endforeach()
foreach(store postgresql mysql)
    install(FILES src/stores/${store}/schema.sql DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/sql RENAME locks_${store}.sql)
endforeach()
configure_package_config_file(src/redlock-config.cmake.in ${PROJECT_BINARY_DIR}/redlock-config.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/redlock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/redlock-config.cmake ${PROJECT_BINARY_DIR}/redlock-config-version.cmake src/find_boost.cmake
    src/find_mariadb.cmake src/find_zookeeper.cmake
    DESTINATION ${package_dir})
include(src/pkgconfig.cmake)
include(src/sbom.cmake)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/shop.png DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY docs/examples docs/monitoring docs/sql DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs PATTERN "*.cmake" EXCLUDE PATTERN "CMakeLists.txt" EXCLUDE)
install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")
set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
set(includes \"${CMAKE_INSTALL_INCLUDEDIR}\")
set(pages \"${CMAKE_INSTALL_DOCDIR}\")")
install(SCRIPT src/install_pages.cmake)
if(REDLOCK_BUILD_TOOLS)
    install(TARGETS redlock_tool redlock_demo redlock_bench DESTINATION ${CMAKE_INSTALL_BINDIR})
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        install(FILES packaging/systemd/redlock.service DESTINATION lib/systemd/system)
    endif()
    if(NOT CMAKE_CROSSCOMPILING)  # the tool is asked for its words
        install(CODE "set(tool \"$<TARGET_FILE:redlock_tool>\")
set(manual \"${CMAKE_INSTALL_MANDIR}\")
set(data \"${CMAKE_INSTALL_DATADIR}\")")
        install(SCRIPT src/install_words.cmake)
    endif()
    if(TARGET redlock_shop)
        install(TARGETS redlock_shop DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endif()
