pytest -q tests/bad_tax.py
