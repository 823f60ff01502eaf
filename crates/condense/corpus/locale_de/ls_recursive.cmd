LC_ALL=de_DE.UTF-8 ls -laR src
