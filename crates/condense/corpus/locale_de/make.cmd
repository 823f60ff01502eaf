LC_ALL=de_DE.UTF-8 make -C make
