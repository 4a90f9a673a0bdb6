include(${CMAKE_CURRENT_LIST_DIR}/packsimTargets.cmake)
