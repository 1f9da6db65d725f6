"""The kinds of markers of SocioEval, one file a kind."""
