LC_ALL=de_DE.UTF-8 wget http://127.0.0.1:9/
