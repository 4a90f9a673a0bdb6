# Component `packing`: the core as a static library with its headers (packsim::packing), its C interface as a shared
# one (packsim::c, packsim.pc), and the CMake package `packsim` of both. All of it may be moved after installing.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(packsim_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/packsim)
set_target_properties(packsim_packing PROPERTIES EXPORT_NAME packing)
# The core's headers include each other as "packing/...".
target_include_directories(packsim_packing PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/packsim>)
target_include_directories(packsim_c INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS packsim_packing packsim_c EXPORT packsim
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT packing
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT packing
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT packing)
install(DIRECTORY packing DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/packsim COMPONENT packing
        FILES_MATCHING PATTERN "*.hpp"
        PATTERN algorithms EXCLUDE PATTERN planner EXCLUDE PATTERN strategies EXCLUDE  # the insides of strategies
        PATTERN c_api EXCLUDE)
install(FILES packing/c_api/packsim.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT packing)

install(EXPORT packsim FILE packsimTargets.cmake NAMESPACE packsim:: DESTINATION ${packsim_cmake_dir}
        COMPONENT packing)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/packsimConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/packsimConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/packsimConfigVersion.cmake
        DESTINATION ${packsim_cmake_dir} COMPONENT packing)

set(packsim_pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH packsim_pc_to_prefix ${packsim_pc_dir} ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH packsim_pc_to_include ${packsim_pc_dir} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/packsim.pc.in ${CMAKE_CURRENT_BINARY_DIR}/packsim.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/packsim.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT packing)
