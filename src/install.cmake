# What `cmake --install` installs: library, headers, tools, and the package for find_package(redlock CONFIG).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/redlock)
install(TARGETS redlock EXPORT redlock
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT redlock NAMESPACE redlock:: DESTINATION ${package_dir} FILE redlock-targets.cmake)
configure_package_config_file(src/redlock-config.cmake.in ${PROJECT_BINARY_DIR}/redlock-config.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/redlock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/redlock-config.cmake ${PROJECT_BINARY_DIR}/redlock-config-version.cmake src/find_boost.cmake
    DESTINATION ${package_dir})
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(REDLOCK_BUILD_TOOLS)
    install(TARGETS redlock_demo redlock_bench DESTINATION ${CMAKE_INSTALL_BINDIR})
    if(TARGET redlock_shop)
        install(TARGETS redlock_shop DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endif()
