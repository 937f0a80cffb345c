"""`questions tdbench doctor`: a user's tables before questions are made of them."""
