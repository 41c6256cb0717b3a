"""Any launcher of the family: wrapped in the same admission, attestation and record as a run of our own."""
