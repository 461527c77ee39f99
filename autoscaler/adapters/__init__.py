"""One outside system each; third-party clients and their errors end here."""
