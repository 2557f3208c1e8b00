"""What makes a file-based catalog invalid, in the words of `opm validate`. Pure."""
