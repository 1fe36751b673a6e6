"""ETL: new rows of a database flow out, totals per customer flow back in."""
