python3 -m unittest -v tests/test_cart.py tests/bad_tax.py
