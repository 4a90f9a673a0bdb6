# Component `program`: bin/packsim, and the files that it looks for in ../share/packsim (find_data_root() in
# cli/program.cpp). All of it may be moved after installing.
install(TARGETS packsim RUNTIME DESTINATION bin COMPONENT program)
if(TARGET packsim_microbench)
  install(TARGETS packsim_microbench RUNTIME DESTINATION bin COMPONENT program OPTIONAL)
endif()

packsim_install_data(share/packsim program)
