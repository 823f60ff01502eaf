v3/bin/pip install 'idna<3' requests
