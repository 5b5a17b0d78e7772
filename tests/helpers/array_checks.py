"""The type checker of the tests, for shapes and types that jaxtyping annotates; integers also count as floats."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
