"""`klamm txn`: transactions, open and finished."""
