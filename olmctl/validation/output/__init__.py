"""The forms in which results are printed: text, JSON, SARIF, JUnit."""
