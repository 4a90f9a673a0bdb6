# The library packsim_version, which defines build_version() (files/version.hpp). Each build writes its one source again if the
# commit or the sources have changed. No other object depends on it, so a compiler cache serves all others for any commit.
function(packsim_add_version root version)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/version.cpp)
  add_custom_target(packsim_write_version
                    COMMAND ${CMAKE_COMMAND} -DROOT=${root} -DVERSION=${version} -DOUTPUT=${source}
                            -P ${root}/cmake/write_version.cmake
                    BYPRODUCTS ${source} COMMENT "" VERBATIM)
  add_library(packsim_version STATIC ${source})
  set_target_properties(packsim_version PROPERTIES UNITY_BUILD OFF)
  add_dependencies(packsim_version packsim_write_version)
  target_include_directories(packsim_version PUBLIC ${root})
endfunction()
