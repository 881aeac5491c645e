"""Other systems that rank cases for a query, each behind one small protocol, for measurements side by side."""
