"""Does nothing: the job that it is run by is what a test looks at."""
