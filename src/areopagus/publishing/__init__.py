"""What a paper needs of a run: files for SPSS and Stata, a codebook, the methods paragraph."""
