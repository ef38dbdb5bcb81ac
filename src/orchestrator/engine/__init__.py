"""The flow: facts come in, one door decides, jobs go out."""
