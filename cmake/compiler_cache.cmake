# Compiles through ccache where it is installed. Paths below the project count relative to it, so that a clone in
# another folder finds what this one has compiled.
find_program(PACKSIM_CCACHE ccache)
mark_as_advanced(PACKSIM_CCACHE)
if(PACKSIM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${PACKSIM_CCACHE})
endif()
