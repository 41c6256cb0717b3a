"""What a launcher is told and what it may say: variables, an outcome file and ledger rows."""
