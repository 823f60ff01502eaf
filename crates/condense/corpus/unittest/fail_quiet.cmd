python3 -m unittest tests/bad_tax.py
