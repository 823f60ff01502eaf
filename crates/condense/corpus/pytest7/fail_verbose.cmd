python -m pytest -v tests/test_cart.py tests/bad_tax.py
