# Component `program`: bin/packsim, and the files that it looks for in ../share/packsim (find_data_root() in
# scenarios/loader/data_root.cpp). All of it may be moved after installing.
set(packsim_bin_dir bin)
set(packsim_data_dir share/packsim)
if(SKBUILD)  # a wheel has a folder of its own for each
  set(packsim_bin_dir ${SKBUILD_SCRIPTS_DIR})
  set(packsim_data_dir ${SKBUILD_DATA_DIR}/share/packsim)
endif()
install(TARGETS packsim RUNTIME DESTINATION ${packsim_bin_dir} COMPONENT program)

# The manual page, which the program itself prints.
set(packsim_man_dir share/man/man1)
if(SKBUILD)
  set(packsim_man_dir ${SKBUILD_DATA_DIR}/share/man/man1)
endif()
add_custom_command(TARGET packsim POST_BUILD BYPRODUCTS ${PROJECT_BINARY_DIR}/packsim.1
                   COMMAND $<TARGET_FILE:packsim> man > ${PROJECT_BINARY_DIR}/packsim.1 VERBATIM)
install(FILES ${PROJECT_BINARY_DIR}/packsim.1 DESTINATION ${packsim_man_dir} COMPONENT program)

# packsim_data(<folder> <pattern>...): the files of that folder, and of those in it, whose names match.
function(packsim_data folder)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/${folder}/)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${ARGN})
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH to)
    install(FILES ${file} DESTINATION ${packsim_data_dir}/${to} COMPONENT program)
  endforeach()
endfunction()

packsim_data(models/architectures *.json)
packsim_data(models/clusters *.json)
packsim_data(models/gpus *.json README.md)
packsim_data(models/networks *.json)
packsim_data(models/trainers *.json)
packsim_data(calibration/profiles *.json)
packsim_data(calibration/plans *.txt)   # named on the command line of packsim calibrate run
packsim_data(calibration/steps *.py)    # what packsim calibrate run --with torch starts
packsim_data(scenarios *.json)
packsim_data(scenarios/lengths *.csv *.npy *.json *.md)
packsim_data(scenarios/traces *.jsonl)
packsim_data(validation *.json)
packsim_data(docs scenarios.md networks.md)  # what packsim schema says of each key
