"""One file per API, named as the API. A handler holds no rules: it asks a machine and words the answer."""
