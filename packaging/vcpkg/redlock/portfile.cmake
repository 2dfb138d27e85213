# An overlay port, which builds the checkout that it lies in:
#   vcpkg install redlock[postgresql] --overlay-ports=packaging/vcpkg --no-binarycaching
# With binary caching, vcpkg would not see that the sources have changed. vcpkg has no client of ZooKeeper, and installs
# that of MariaDB in other places than src/find_mariadb.cmake looks, so these stores are left out.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS options
    FEATURES
        postgresql REDLOCK_POSTGRESQL
        tools REDLOCK_BUILD_TOOLS)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${options}
        -DREDLOCK_BUILD_TESTS=OFF
        -DREDLOCK_INSTALL=ON
        -DREDLOCK_MYSQL=OFF
        -DREDLOCK_ZOOKEEPER=OFF
        -DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/redlock)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES redlock redlock_bench redlock_demo AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
