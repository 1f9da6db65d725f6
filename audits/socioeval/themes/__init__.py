"""The templates of SocioEval, one file a theme."""
