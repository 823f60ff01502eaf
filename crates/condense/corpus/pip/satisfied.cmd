v3/bin/pip install requests flask rich pandas
